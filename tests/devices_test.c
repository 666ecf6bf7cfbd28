// SPDX-License-Identifier: BSD-2-Clause
/*
 * devices_test.c - slabinfo --devices, without a driver and on the model of one
 *
 * Whatever there is instead of a driver, the list is shown, the exit status is
 * 0, and nothing is on standard error: a login node has no driver, and that is
 * no failure. The model is pedantic here: one mistake of discovery and slabinfo
 * would not come to its end.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"
#include "tests/program.h"
#include "tests/slabinfo_run.h"
#include "tests/syntax.h"

#define MODEL "tests/model/libcuda.so.1"

/* @driver: an absolute path. With @json the answer is checked to be that. */
static const char *list_devices(struct kunit *test, const char *driver,
				const char *profile, bool json)
{
	const char *slabinfo = program_path(test, "tools/slabinfo");
	char lib[PATH_MAX + 32], machine[64];
	struct kunit_process p;
	const char *where;

	snprintf(lib, sizeof(lib), "SLABDEV_LIBCUDA=%s", driver);
	snprintf(machine, sizeof(machine), "SLABDEV_MODEL_PROFILE=%s",
		 profile);
	kunit_run_program(test, &p, (const char *const[]){
		"env", "-u", "SLABDEV_MODEL_VERBOSE",
		"SLABDEV_MODEL_PEDANTIC=1", lib, machine, slabinfo,
		"--devices", json ? "--json" : NULL, NULL });
	KUNIT_EXPECT_EQ(test, p.exit_code, 0);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	if (json)
		KUNIT_EXPECT_NULL_MSG(test, json_wrong(p.out, &where), "%s",
				      p.out);
	else
		KUNIT_EXPECT_NULL_MSG(test, print_wrong(p.out, false, &where),
				      "%s", p.out);
	return p.out;
}

/* ---- Any build -------------------------------------------------------- */

static void host_comes_first(struct kunit *test)
{
	const char *text = list_devices(test, "/nonexistent", "", false);

	KUNIT_EXPECT_EQ(test, strncmp(text, "host: host memory (", 19), 0);
	expect_in_order(test, text, (const char *const[]){
		")\n  usable       yes\n  memory       ", " free\n",
		"  granularity  2.0M\ncuda", NULL });
	text = list_devices(test, "/nonexistent", "", true);
	expect_in_order(test, text, (const char *const[]){
		"{\"version\":1,\"devices\":[{\"spec\":\"host\",\"name\":"
		"\"host memory (", "\"usable\":true,\"reason\":\"\"",
		"\"granularity\":2097152,\"uuid\":\"\",\"pci\":\"\"",
		"\"features\":[]},{\"spec\":\"cuda", "}]}\n", NULL });
}

static void bytes_are_exact(struct kunit *test)
{
	struct program p;

	program_run(test, &p, (const char *const[]){
		    "tools/slabinfo", "--devices", "-B", NULL }, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "\n  granularity  2097152\n");
}

static void only_devices_are_listed(struct kunit *test)
{
	static const char *const others[] = {
		"-l", "-r", "-T", "-X", "--prometheus", "-p1", "--space=x",
		"-e", "-z", "-N1", "-S", "-i", "-D", "--watch", "pattern",
	};
	struct program p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		program_run(test, &p, (const char *const[]){
			    "tools/slabinfo", "--devices", others[i], NULL },
			    NULL);
		KUNIT_EXPECT_EQ_MSG(test, p.status, 2, "%s", others[i]);
		KUNIT_EXPECT_STREQ(test, p.out, "");
		expect_text(test, p.err, "slabinfo: --devices goes with "
					 "--json and -B only\n");
	}
}

static void full_disk_is_told(struct kunit *test)
{
	struct kunit_process p;

	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", "\"$1\" --devices >/dev/full", "sh",
		program_path(test, "tools/slabinfo"), NULL });
	KUNIT_EXPECT_EQ(test, p.exit_code, 3);
	KUNIT_EXPECT_STREQ(test, p.err, "slabinfo: standard output cannot be "
					"written\n");
}

/* ---- No driver -------------------------------------------------------- */

static void built_without_cuda(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_BACKEND_CUDA))
		kunit_skip(test, "this build has CUDA");
	expect_text(test, list_devices(test, "/nonexistent", "", false),
		    "\ncuda: CUDA devices\n  usable       no: this library was "
		    "built without CUDA (CONFIG_BACKEND_CUDA, "
		    "\"make cuda_defconfig\")\n");
}

struct no_driver_param {
	const char *driver;
	const char *reason;
};

static const struct no_driver_param no_driver_params[] = {
	{ "/nonexistent", "no CUDA driver: /nonexistent: " },
	{ "/dev/null", "no CUDA driver: /dev/null: " },
	{ "/", "no CUDA driver: /: " },
	{ "", "SLABDEV_LIBCUDA='' is not accepted: give a path" },
};

static void describe_no_driver(const struct no_driver_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "'%s'", p->driver);
}
KUNIT_ARRAY_PARAM(no_driver, no_driver_params, describe_no_driver)

static void no_driver(struct kunit *test)
{
	const struct no_driver_param *p = test->param_value;

	if (!IS_ENABLED(CONFIG_BACKEND_CUDA))
		kunit_skip(test, "this build has no CUDA");
	expect_in_order(test, list_devices(test, p->driver, "", false),
			(const char *const[]){
		"\ncuda: CUDA devices\n  usable       no: ", p->reason, "\n",
		NULL });
}

/* ---- On the model of a driver ----------------------------------------- */

struct machine_param {
	const char *driver;
	const char *profile;
	const char *text[8];	/* in this order */
};

#define ALL "features     vmm pools managed fd fabric rdma\n"
#define H200 "cuda:0: MODEL H200\n  usable       yes\n  memory       139.8G\n"

static const struct machine_param machine_params[] = {
	{ MODEL, "h200", { H200, "granularity  2.0M\n  uuid         GPU-4d4f",
	  "  pci          0000:1b:00.0\n  compute      9.0\n",
	  "  driver       CUDA 13.0\n  " ALL } },
	{ MODEL, "two", { H200, "GPU-4d4f", "0000:1b:00.0\n", ALL
	  "cuda:1: MODEL H200\n", "GPU-4d4f", "0000:1c:00.0\n", ALL } },
	{ MODEL, "twonopeer", { "cuda:0: MODEL L4\n", " 22.0G\n",
	  "cuda:1: MODEL L4\n", " 22.0G\n" } },
	{ MODEL, "novmm", { "cuda:0: MODEL vGPU\n", " 8.0G\n  uuid ",
	  "features     pools managed\n" } },
	{ MODEL, "plain", { "cuda:0: MODEL vGPU without pools\n",
	  "features     managed\n" } },
	{ MODEL, "smallva", { "cuda:0: MODEL Jetson\n",
	  "managed fd fabric rdma integrated\n" } },
	{ MODEL, "wsl", { "cuda:0: MODEL RTX on WSL\n", ALL } },
	{ MODEL, "mig", { "cuda:0: MODEL H200 MIG 1g.18gb\n", " 16.0G\n",
	  "uuid         MIG-4d4f", "fabric rdma mig\n" } },
	{ MODEL, "nodevice", { "cuda: CUDA devices\n  usable       no: the "
	  "CUDA driver sees no device; see CUDA_VISIBLE_DEVICES " } },
	{ "tests/model/cuda-12.0/libcuda.so.1", "h200", { H200, "GPU-4d4f",
	  "driver       CUDA 12.0\n" } },
	{ "tests/model/cuda-11.0/libcuda.so.1", "h200", { H200,
	  "granularity  2.0M\n  pci ", "driver       CUDA 11.0\n",
	  "features     vmm managed fd fabric rdma\n" } },
	{ "tests/model/cuda-10.2/libcuda.so.1", "h200", { "cuda: CUDA devices"
	  "\n  usable       no: the CUDA driver ", " is too old: it lacks " } },
};

static void describe_machine(const struct machine_param *p, char *desc)
{
	const char *age = strstr(p->driver, "cuda-");

	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %.9s", p->profile,
		 age ? age : "");
}
KUNIT_ARRAY_PARAM(machine, machine_params, describe_machine)

static void machine_is_described(struct kunit *test)
{
	const struct machine_param *p = test->param_value;

	if (!IS_ENABLED(CONFIG_DRIVER_MODEL))
		kunit_skip(test, "the model of the driver was not built");
	expect_in_order(test, list_devices(test, program_path(test, p->driver),
					   p->profile, false), p->text);
}

static void json_of_a_device(struct kunit *test)
{
	const char *text;

	if (!IS_ENABLED(CONFIG_DRIVER_MODEL))
		kunit_skip(test, "the model of the driver was not built");
	text = list_devices(test, program_path(test, MODEL), "two", true);
	expect_in_order(test, text, (const char *const[]){
		"{\"spec\":\"cuda:0\",\"name\":\"MODEL H200\",\"usable\":true,"
		"\"reason\":\"\",\"memory_total\":150109945856,"
		"\"memory_free\":0,\"granularity\":2097152,\"uuid\":\"GPU-",
		"\"pci\":\"0000:1b:00.0\",\"compute_major\":9,"
		"\"compute_minor\":0,\"driver\":13000,\"features\":[\"vmm\","
		"\"pools\",\"managed\",\"fd\",\"fabric\",\"rdma\"]},"
		"{\"spec\":\"cuda:1\"", "}]}\n", NULL });
	text = list_devices(test, program_path(test, MODEL), "nodevice", true);
	expect_text(test, text, "{\"spec\":\"cuda\",\"name\":\"CUDA devices\","
				"\"usable\":false,\"reason\":\"the CUDA driver "
				"sees no device");
}

/* This process itself, while it has a space there. */
static void space_on_a_device_is_shown(struct kunit *test)
{
	struct slabdev *sd = NULL;
	struct program p;
	void *obj;

	if (!IS_ENABLED(CONFIG_DRIVER_MODEL) ||
	    !IS_ENABLED(CONFIG_SLAB_SEGMENT))
		kunit_skip(test, "no model of the driver, or no statistics");
	setenv("SLABDEV_LIBCUDA", program_path(test, MODEL), 1);
	setenv("SLABDEV_MODEL_PROFILE", "h200", 1);
	KUNIT_ASSERT_EQ_MSG(test, slabdev_open(&sd, "cuda:0", NULL), 0, "%s",
			    slabdev_last_error());
	obj = slabdev_alloc(sd, 5000);
	KUNIT_EXPECT_NOT_NULL(test, obj);
	slabinfo_run(test, &p, getpid(), "-B");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, ": space cuda:0 (cuda:0: CUDA VMM), policy ");
	expect_text(test, p.out, "  # live               5000 ");
	expect_text(test, p.out, "\n  limit 150109945856, ");
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, obj), 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(host_comes_first),
	KUNIT_CASE(bytes_are_exact),
	KUNIT_CASE(only_devices_are_listed),
	KUNIT_CASE(full_disk_is_told),
	KUNIT_CASE(built_without_cuda),
	KUNIT_CASE_PARAM(no_driver, no_driver_gen_params),
	KUNIT_CASE_PARAM(machine_is_described, machine_gen_params),
	KUNIT_CASE(json_of_a_device),
	KUNIT_CASE_ISOLATED(space_on_a_device_is_shown),
	{}
};

static const struct kunit_suite devices_suite = {
	.name = "devices",
	.cases = cases,
};
kunit_test_suite(devices_suite);
