// SPDX-License-Identifier: BSD-2-Clause
/*
 * dmrg_gpu_test.c - samples/dmrg with its blocks on a GPU, which here is the
 * model of the driver
 *
 * The model has no cuBLAS. Its place takes tests/cublas_on_model.c, which is
 * compiled for each case and found as the real one would be, by its name. So
 * this shows that blocks are never touched by the CPU, that all work is in
 * order, what is copied, and what is said when something is missing. It shows
 * nothing about cuBLAS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/dmrg_run.h"
#include "tests/folder.h"
#include "tests/kunit/spawn.h"

/* Newest first, as they are looked for. */
static const char *const names[] = {
	"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
};

/* $1 is the library to make, $2 the build, $3 the source, or nothing. */
static const char build[] =
	"cc=$(sed -n 's/^CC := //p' \"$2/.build-vars\") && "
	"$cc -std=gnu11 -O1 -fPIC -shared -o \"$1\" -x c \"$3\" -ldl";

static char *path_in(struct kunit *test, const char *folder, const char *name)
{
	char *path = kunit_kmalloc(test, strlen(folder) + strlen(name) + 2);

	sprintf(path, "%s/%s", folder, name);
	return path;
}

static void make_library(struct kunit *test, const char *folder,
			 const char *name, const char *source)
{
	struct kunit_process p;

	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", build, "sh", path_in(test, folder, name),
		kunit_built_path(test, "."), source, NULL });
	KUNIT_ASSERT_EQ_MSG(test, p.exit_code, 0, "%s", p.err);
}

static void forget(void *name)
{
	unsetenv(name);
}

static void set(struct kunit *test, const char *name, const char *value)
{
	setenv(name, value, 1);
	kunit_add_action(test, forget, (void *)(uintptr_t)name);
}

/* A folder where dmrg looks for cuBLAS before it looks elsewhere. */
static const char *library_folder(struct kunit *test)
{
	const char *folder = new_folder(test);

	if (!IS_ENABLED(CONFIG_DRIVER_MODEL))
		kunit_skip(test, "the model of the driver was not built");
	set(test, "LD_LIBRARY_PATH", folder);
	return folder;
}

static void use_stand_in(struct kunit *test, const char *name)
{
	make_library(test, library_folder(test), name,
		     kunit_source_path(test, "tests/cublas_on_model.c"));
}

/* What tells dmrg which driver it has. */
static const char *on_model(struct kunit *test)
{
	const char *path = program_path(test, "tests/model/libcuda.so.1");
	char *env = kunit_kmalloc(test, strlen(path) + 32);

	sprintf(env, "SLABDEV_LIBCUDA=%s", path);
	return env;
}

/* ---- It works --------------------------------------------------------- */

struct gpu_param {
	const char *device, *blocks, *threads, *policy;
};

static const struct gpu_param gpus[] = {
	{ "cuda:0", "single", "1", "retain" },
	{ "cuda:0", "group", "1", "retain" },
	{ "cuda:0", "single", "4", "trim" },
	{ "cuda:0", "group", "4", "trim" },
	{ "cuda:0", "group", "2", "aggressive:1,retain:1,aggressive" },
	{ "cuda:0", "group", "2", "push:2,retain" },
	{ "cuda-host:0", "group", "2", "retain" },
	{ "cuda-managed:0", "single", "2", "retain" },
};

static void describe_gpu(const struct gpu_param *param, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %s %s %.30s", param->device,
		 param->blocks, param->threads, param->policy);
}

KUNIT_ARRAY_PARAM(gpu, gpus, describe_gpu);

static const char *option(struct kunit *test, const char *name,
			  const char *value)
{
	char *text = kunit_kmalloc(test, strlen(name) + strlen(value) + 2);

	sprintf(text, "%s=%s", name, value);
	return text;
}

/* The energy is that of the CPU. Products are the device's, where it is one. */
static void gpu_energy(struct kunit *test)
{
	const struct gpu_param *param = test->param_value;
	const char *const argv[] = {
		DMRG, "-L", "10", "-m", "32", "-s", "4",
		option(test, "--device", param->device),
		option(test, "--blocks", param->blocks),
		option(test, "--threads", param->threads),
		option(test, "--policy", param->policy), "--json=-", NULL };
	const bool computes = !strcmp(param->device, "cuda:0");
	struct program p;

	use_stand_in(test, names[0]);
	expect_near(test, dmrg_energy_in(test, argv, on_model(test), &p),
		    -4.258035207283, 1e-10);
	KUNIT_EXPECT_TRUE(test, figure(test, p.out, "live") >= 0);
	KUNIT_EXPECT_TRUE_MSG(test, (figure(test, p.out, "device_products") >
				     1000) == computes, "%s", p.out);
}

/* What is in one allocation is copied at once. */
static void groups_are_copied_at_once(struct kunit *test)
{
	double copies[2];
	struct program p;
	int i;

	use_stand_in(test, names[0]);
	for (i = 0; i < 2; i++) {
		const char *const argv[] = {
			DMRG, "-L", "10", "-m", "16", "-s", "3", "--json=-",
			"--device=cuda:0", i ? "--blocks=group" :
			"--blocks=single", NULL };

		dmrg_energy_in(test, argv, on_model(test), &p);
		copies[i] = figure(test, p.out, "device_reads") +
			    figure(test, p.out, "device_writes");
	}
	KUNIT_EXPECT_TRUE_MSG(test, 3 * copies[1] < copies[0],
			      "%.0f of %.0f", copies[1], copies[0]);
}

static void gpu_is_shown(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "8", "-m", "8", "-s", "2",
				     "--device=cuda:0", "--compare", NULL };
	struct program p;

	use_stand_in(test, names[0]);
	dmrg_energy_in(test, argv, on_model(test), &p);
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, " on cuda:0, "));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "products on the device"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "\n  copies to the CPU "));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "the same\n"));
}

/* An older name does as well, where the newer ones cannot be used. */
static void older_cublas_is_taken(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "4", "-m", "8", "-s", "2",
				     "--device=cuda:0", "--quiet", NULL };
	const char *folder = library_folder(test);
	struct program p;

	make_library(test, folder, names[0], "/dev/null");
	make_library(test, folder, names[1],
		     kunit_source_path(test, "tests/cublas_on_model.c"));
	expect_near(test, dmrg_energy_in(test, argv, on_model(test), &p),
		    -1.616025403784, 1e-10);
}

/* ---- It does not work ------------------------------------------------- */

static void expect_failure(struct kunit *test, const char *device,
			   const char *env, const char *says)
{
	const char *const argv[] = { DMRG, "-L", "8", "-m", "8", "-s", "2",
				     option(test, "--device", device),
				     "--quiet", NULL };
	struct program p;

	program_run(test, &p, argv, env);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 1, "%s", p.err);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, says), "%s", p.err);
}

/* All names that were tried, and what was wrong with each. */
static void no_cublas(struct kunit *test)
{
	const char *folder = library_folder(test);

	make_library(test, folder, names[0], "/dev/null");
	make_library(test, folder, names[1], "/dev/null");
	make_library(test, folder, names[2], "/dev/null");
	expect_failure(test, "cuda:0", on_model(test),
		       "dmrg: cannot open a memory space: No such file or "
		       "directory: no cuBLAS to compute with: "
		       "libcublas.so.13 has no cublasCreate_v2(); "
		       "libcublas.so.12 has no cublasCreate_v2(); "
		       "libcublas.so.11 has no cublasCreate_v2()\n");
}

/* A library that cannot even be opened, in the words of the loader. */
static void broken_cublas(struct kunit *test)
{
	const char *folder = library_folder(test);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		FILE *f = fopen(path_in(test, folder, names[i]), "w");

		KUNIT_ASSERT_NOT_NULL(test, f);
		fclose(f);
	}
	expect_failure(test, "cuda:0", on_model(test), "file too short");
}

static void no_driver(struct kunit *test)
{
	expect_failure(test, "cuda:0", "SLABDEV_LIBCUDA=/nonexistent",
		       "there is no CUDA driver: ");
}

static void no_such_device(struct kunit *test)
{
	use_stand_in(test, names[0]);
	expect_failure(test, "cuda:99", on_model(test),
		       "No such device: the driver has no device 99\n");
	expect_failure(test, "cuda:first", on_model(test),
		       "want cuda:NUMBER to compute on, not \"cuda:first\"");
	expect_failure(test, "floppy", on_model(test),
		       "device 'floppy' is not known");
}

/* A product that fails ends the run, in words, and everything is given back. */
static void a_product_fails(struct kunit *test)
{
	static const char *const nth[] = { "1", "2", "50", "1000" };
	size_t i;

	use_stand_in(test, names[0]);
	for (i = 0; i < ARRAY_SIZE(nth); i++) {
		set(test, "CUBLAS_FAIL", nth[i]);
		expect_failure(test, "cuda:0", on_model(test),
			       "dmrg: cuBLAS: ");
	}
}

static const struct kunit_case dmrg_gpu_cases[] = {
	KUNIT_CASE_PARAM(gpu_energy, gpu_gen_params),
	KUNIT_CASE(groups_are_copied_at_once),
	KUNIT_CASE(gpu_is_shown),
	KUNIT_CASE(older_cublas_is_taken),
	KUNIT_CASE(no_cublas),
	KUNIT_CASE(broken_cublas),
	KUNIT_CASE(no_driver),
	KUNIT_CASE(no_such_device),
	KUNIT_CASE(a_product_fails),
	{}
};

static const struct kunit_suite dmrg_gpu_suite = {
	.name = "dmrg_gpu",
	.cases = dmrg_gpu_cases,
};
kunit_test_suite(dmrg_gpu_suite);
