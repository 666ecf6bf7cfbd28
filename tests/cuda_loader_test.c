// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_loader_test.c - finding the driver, and drivers that will not do.
 *
 * The library is linked with no driver: one is loaded when a CUDA device is
 * first asked for. Whatever is wrong with it then, the reason is in words, what
 * was asked for fails, and the rest of the process goes on: nothing is printed,
 * and host spaces work. A process loads one driver, so that most of these cases
 * happen in children.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/param.h"
#include "tests/crew.h"
#include "tests/cuda_space.h"
#include "tests/folder.h"
#include "tests/kunit/spawn.h"
#include "tests/program.h"
#include "tests/sanitizers.h"

#define MODEL "tests/model/libcuda.so.1"

/* ---- A driver that will not do ---------------------------------------- */

/* What a child is to find. Of the case; static, so that the child has it. */
static struct finding {
	char path[4096];	/* of SLABDEV_LIBCUDA */
	int err;		/* of the open; 0: it works */
	const char *says;
} finding;

static int output_fd;

/* What is printed from here on is kept. */
static void keep_output(void)
{
	output_fd = memfd_create("output", MFD_CLOEXEC);
	(void)dup2(output_fd, STDOUT_FILENO);
	(void)dup2(output_fd, STDERR_FILENO);
	slabdev_set_log(NULL, NULL);
}

static void expect_silence(struct kunit *test)
{
	struct stat st = { .st_size = -1 };

	fflush(NULL);
	KUNIT_EXPECT_EQ(test, fstat(output_fd, &st), 0);
	KUNIT_EXPECT_EQ(test, st.st_size, 0);
}

static void expect_host_works(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	char *p = must_alloc(test, sd, 100);

	*p = 1;
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

static void expect_unusable(struct kunit *test)
{
	struct slabdev_device_info info;
	struct slabdev *sd = NULL;

	KUNIT_EXPECT_EQ(test, slabdev_device_count(), 2);
	KUNIT_EXPECT_EQ(test, slabdev_device_get(1, &info, sizeof(info)), 0);
	KUNIT_EXPECT_STREQ(test, info.spec, "cuda");
	KUNIT_EXPECT_EQ(test, info.usable, 0);
	KUNIT_EXPECT_EQ(test, info.features, 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(info.reason, finding.says),
				  "no '%s' in: %s", finding.says, info.reason);
	KUNIT_EXPECT_EQ(test, slabdev_open(&sd, "cuda:0", NULL), finding.err);
	EXPECT_LAST_ERROR_HAS(test, finding.says);
	KUNIT_EXPECT_EQ(test, slabdev_open(&sd, "cuda-host:0", NULL),
			finding.err);
	KUNIT_EXPECT_NULL(test, sd);
}

static void expect_usable(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;
	void *p;

	attr.limit = 256 * MIB;
	sd = cuda_open(test, "cuda:0", &attr);
	p = slabdev_zalloc(sd, 3 * MIB);
	KUNIT_ASSERT_NOT_NULL(test, p);
	p = slabdev_realloc(sd, p, 80 * MIB);
	KUNIT_ASSERT_NOT_NULL(test, p);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	cuda_close(test, sd);
}

static void find_driver(struct kunit *test)
{
	keep_output();
	setenv("SLABDEV_LIBCUDA", finding.path, 1);
	if (finding.err) {
		expect_unusable(test);
		expect_host_works(test);
		/* Asked again it says the same. */
		expect_unusable(test);
		expect_silence(test);
	} else {
		expect_usable(test);
	}
}

static void expect_finding(struct kunit *test, const char *path, int err,
			   const char *says)
{
	snprintf(finding.path, sizeof(finding.path), "%s", path);
	finding.err = err;
	finding.says = says;
	KUNIT_EXPECT_EQ(test, in_fork(test, find_driver), 0);
}

static void no_driver(struct kunit *test)
{
	expect_finding(test, "/nowhere/libcuda.so.1", -ENODEV,
		       "/nowhere/libcuda.so.1");
	expect_finding(test, "no-such-libcuda.so.1", -ENODEV, "no CUDA driver");
}

static void path_is_no_library(struct kunit *test)
{
	expect_finding(test, "/dev/null", -ENODEV, "/dev/null");
	expect_finding(test, "/", -ENODEV, "no CUDA driver");
	expect_finding(test, kunit_built_path(test, "tests/run"), -ENODEV,
		       "no CUDA driver");
}

/* A library, but none of a driver. */
static void library_is_no_driver(struct kunit *test)
{
	expect_finding(test, "libpthread.so.0", -ENODEV, "no cuInit");
}

static void old_driver(struct kunit *test)
{
	expect_finding(test, kunit_built_path(test,
			"tests/model/cuda-10.2/libcuda.so.1"), -ENOTSUP,
		       "too old");
}

static void drivers_that_will_do(struct kunit *test)
{
	static const char *const names[] = {
		"tests/model/cuda-11.0/libcuda.so.1",
		"tests/model/cuda-12.0/libcuda.so.1", MODEL,
	};

	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		expect_finding(test, program_path(test, names[i]), 0, "");
}

/* ---- Stubs ------------------------------------------------------------ */

#define NAME(need, base, suffix, version, args, names) #base #suffix,
static const char *const functions[] = { SLABDEV_CUDA_FUNCS(NAME) };

/* In the sources, one function after another: returns @code, writes nothing. */
static const char *make_driver(struct kunit *test, const char *first,
			       const char *const *own, int code)
{
	static const char build[] =
		"cc=$(sed -n 's/^CC := //p' \"$1/.build-vars\"); "
		"exec ${cc:-cc} -w -shared -fPIC -o \"$2/libcuda.so.1\" "
		"\"$2/driver.c\"";
	char *folder = new_folder(test);
	struct kunit_process p;
	static char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/driver.c", folder);
	f = fopen(path, "w");
	KUNIT_ASSERT_NOT_NULL(test, f);
	fprintf(f, "%s", first);
	for (u32 i = 0; i < ARRAY_SIZE(functions); i++) {
		const char *const *o = own;

		while (*o && strcmp(*o, functions[i]))
			o++;
		if (!*o)
			fprintf(f, "int %s(void) { return %d; }\n",
				functions[i], code);
	}
	fclose(f);
	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", build, "sh", kunit_built_path(test, "."), folder,
		NULL });
	if (p.exit_code == 127)
		kunit_skip(test, "there is no compiler");
	KUNIT_ASSERT_EQ_MSG(test, p.exit_code, 0, "%s", p.err);
	snprintf(path, sizeof(path), "%s/libcuda.so.1", folder);
	return path;
}

static void stub_of_the_toolkit(struct kunit *test)
{
	static const char *const none[] = { NULL };

	expect_finding(test, make_driver(test, "", none,
					 CUDA_ERROR_STUB_LIBRARY),
		       -ENODEV, "stub");
}

/* That of a toolkit that is installed. */
static void stub_itself(struct kunit *test)
{
	static const char path[] = "/usr/local/cuda/lib64/stubs/libcuda.so";

	if (access(path, R_OK))
		kunit_skip(test, "no CUDA toolkit is installed");
	expect_finding(test, path, -ENODEV, "stub");
}

/* Initialised, and nothing to be seen. */
static void driver_counts_no_devices(struct kunit *test)
{
	static const char *const own[] = { "cuInit", "cuDriverGetVersion",
					   "cuDeviceGetCount", NULL };

	expect_finding(test, make_driver(test,
			"int cuInit(unsigned f) { return 0; }\n"
			"int cuDriverGetVersion(int *v)"
			" { *v = 12000; return 0; }\n"
			"int cuDeviceGetCount(int *n) { *n = 0; return 0; }\n",
			own, CUDA_ERROR_UNKNOWN), -ENODEV,
		       "CUDA_VISIBLE_DEVICES");
}

/* ---- Functions that are missing --------------------------------------- */

/*
 * hide - have @name not be found in a copy of the model, in memory
 *
 * The name in its table of names becomes another one of the same hash: the last
 * letter but one is one more, the last 33 less. So the library itself still
 * finds its function, and nobody else does.
 */
static bool hide(char *image, size_t size, const char *name)
{
	size_t len = strlen(name) + 1;
	bool found = false;
	char *at = image;

	while ((at = memmem(at, size - (size_t)(at - image), name, len))) {
		if (!at[-1]) {
			at[len - 3] += 1;
			at[len - 2] -= 33;
			found = true;
		}
		at += len;
	}
	return found;
}

static char *read_model(struct kunit *test, size_t *size)
{
	const char *path = program_path(test, MODEL);
	struct stat st;
	char *image;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	KUNIT_ASSERT_GE(test, fd, 0);
	KUNIT_ASSERT_EQ(test, fstat(fd, &st), 0);
	*size = (size_t)st.st_size;
	image = kunit_kmalloc(test, *size);
	KUNIT_ASSERT_EQ(test, read(fd, image, *size), st.st_size);
	close(fd);
	return image;
}

static void write_driver(struct kunit *test, const char *path,
			 const char *image, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	KUNIT_ASSERT_GE(test, fd, 0);
	KUNIT_ASSERT_EQ(test, write(fd, image, size), (ssize_t)size);
	close(fd);
}

struct function {
	const char *name;
	char need;
	bool is_of_vmm;
};

#define ROW(need, base, suffix, version, args, names) \
	{ #base #suffix, #need[0], false },
#define ROW_VMM(need, base, suffix, version, args, names) \
	{ #base #suffix, #need[0], true },

static const struct function table[] = {
	SLABDEV_CUDA_DRIVER_FUNCS(ROW)
	SLABDEV_CUDA_CONTEXT_FUNCS(ROW)
	SLABDEV_CUDA_VMM_FUNCS(ROW_VMM)
	SLABDEV_CUDA_MEMORY_FUNCS(ROW)
	SLABDEV_CUDA_POOL_FUNCS(ROW)
	SLABDEV_CUDA_COPY_FUNCS(ROW)
	SLABDEV_CUDA_STREAM_FUNCS(ROW)
	SLABDEV_CUDA_PEER_FUNCS(ROW)
};

/*
 * Goal: a driver that lacks one function is refused by its name when nothing
 * works without, and else does what it can: without memory management the next
 * backing serves.
 */
static void driver_lacks_a_function(struct kunit *test)
{
	char *path = new_folder(test), *image, *copy;
	size_t size;
	int err;

	path = strcat(strcpy(kunit_kmalloc(test, strlen(path) + 20), path),
		      "/libcuda.so.1");
	image = read_model(test, &size);
	copy = kunit_kmalloc(test, size);
	for (u32 i = 0; i < ARRAY_SIZE(table); i += IS_SANITIZED ? 9 : 1) {
		const struct function *f = &table[i];
		bool needed = f->need == 'E' && !f->is_of_vmm;

		memcpy(copy, image, size);
		KUNIT_EXPECT_TRUE_MSG(test, hide(copy, size, f->name), "%s",
				      f->name);
		write_driver(test, path, copy, size);
		err = !strcmp(f->name, "cuInit") ? -ENODEV : -ENOTSUP;
		expect_finding(test, path, needed ? err : 0, f->name);
	}
}

/* ---- cuInit() --------------------------------------------------------- */

struct init_error {
	const char *code;
	int err;
	const char *says;
};

static const struct init_error init_errors[] = {
	{ "100", -ENODEV, "no device" },
	{ "34", -ENODEV, "stub" },
	{ "803", -ENOTSUP, "kernel module" },
	{ "804", -ENOTSUP, "COMPAT_NOT_SUPPORTED_ON_DEVICE (804)" },
	{ "802", -EIO, "CUDA_ERROR_SYSTEM_NOT_READY" },
	{ "46", -ENODEV, "DEVICE_UNAVAILABLE (46)" },
	{ "999", -EIO, "CUDA_ERROR_UNKNOWN (999)" },
	{ "12345", -EIO, "(12345)" },
};

static void driver_does_not_initialise(struct kunit *test)
{
	static const char *const own[] = { "cuInit", NULL };
	const char *path = make_driver(test,
		"extern int atoi(const char *);\n"
		"extern char *getenv(const char *);\n"
		"int cuInit(unsigned f) { return atoi(getenv(\"CODE\")); }\n",
		own, CUDA_ERROR_NOT_INITIALIZED);

	for (u32 i = 0; i < ARRAY_SIZE(init_errors); i++) {
		setenv("CODE", init_errors[i].code, 1);
		expect_finding(test, path, init_errors[i].err,
			       init_errors[i].says);
	}
}

static void fail_in_init_once(struct kunit *test)
{
	struct slabdev *sd = NULL;

	cuda_model(test, NULL);
	cu.model_fail("cuInit", 1, CUDA_ERROR_SYSTEM_NOT_READY, 0);
	KUNIT_EXPECT_EQ(test, slabdev_open(&sd, "cuda:0", NULL), -EIO);
	expect_host_works(test);
	expect_usable(test);
}

static void what_failed_is_tried_again(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, in_fork(test, fail_in_init_once), 0);
}

/* ---- When it is loaded ------------------------------------------------ */

static bool is_mapped(const char *name)
{
	char line[4096];
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, name);
	if (f)
		fclose(f);
	return found;
}

static void use_host_only(struct kunit *test)
{
	setenv("SLABDEV_LIBCUDA", kunit_built_path(test, MODEL), 1);
	expect_host_works(test);
	KUNIT_EXPECT_FALSE(test, is_mapped("libcuda"));
	KUNIT_EXPECT_EQ(test, slabdev_device_count(), 2);
	KUNIT_EXPECT_TRUE(test, is_mapped("libcuda"));
}

static void host_program_loads_none(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, in_fork(test, use_host_only), 0);
}

static void count_first_calls(struct kunit *test)
{
	u64 calls;

	cuda_model(test, NULL);
	calls = cu.model_calls("*");
	expect_host_works(test);
	KUNIT_EXPECT_EQ(test, cu.model_calls("*"), calls);
	expect_usable(test);
	expect_usable(test);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuInit"), 1);
	KUNIT_EXPECT_TRUE(test, is_mapped("libcuda"));
}

static void driver_is_called_when_asked_for(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, in_fork(test, count_first_calls), 0);
}

static void privileged_process_chooses_none(struct kunit *test)
{
	static char name[] = "SLABDEV_LIBCUDA=/tmp/libcuda.so.1";
	char *const env[] = { name, NULL };
	struct params p;

	KUNIT_EXPECT_EQ(test, params_parse(&p, env, true), 0);
	KUNIT_EXPECT_STREQ(test, p.libcuda, "");
	KUNIT_EXPECT_EQ(test, params_parse(&p, env, false), 0);
	KUNIT_EXPECT_STREQ(test, p.libcuda, "/tmp/libcuda.so.1");
}

#define NR_OPENERS 8u

struct opener {
	struct kunit *test;
	u32 *ready;		/* atomic: threads that are there */
};

static void open_with_others(void *arg)
{
	struct opener *o = arg;
	struct slabdev *sd = NULL;

	__atomic_fetch_add(o->ready, 1, __ATOMIC_ACQ_REL);
	while (load_acquire(o->ready) < NR_OPENERS)
		;
	KUNIT_EXPECT_EQ_MSG(o->test, slabdev_open(&sd, "cuda:0", NULL), 0,
			    "%s", slabdev_last_error());
	EXPECT_FREED(o->test, sd, must_alloc(o->test, sd, 3 * MIB));
	KUNIT_EXPECT_EQ(o->test, slabdev_close(sd, 0), 0);
}

static void open_in_threads(struct kunit *test)
{
	struct crew *crew;
	struct opener openers[NR_OPENERS];
	u32 ready = 0;

	cuda_model(test, NULL);
	crew = crew_new(test, NR_OPENERS);
	for (u32 i = 0; i < NR_OPENERS; i++)
		openers[i] = (struct opener){ test, &ready };
	crew_all(crew, open_with_others, openers, sizeof(openers[0]));
	crew_dismiss(crew);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuInit"), 1);
	KUNIT_EXPECT_EQ(test, cu.model_leaks(NULL), 0);
	EXPECT_NO_VIOLATION(test);
}

static void threads_open_at_the_same_time(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, in_fork(test, open_in_threads), 0);
}

static void open_again_and_again(struct kunit *test)
{
	struct slabdev *sd;

	cuda_model(test, NULL);
	for (u32 i = 0; i < 1000; i++) {
		sd = cuda_open(test, cuda_kinds[i % 5].spec, NULL);
		EXPECT_FREED(test, sd, must_alloc(test, sd, 1000));
		KUNIT_ASSERT_EQ(test, slabdev_close(sd, 0), 0);
	}
	KUNIT_EXPECT_EQ(test, cu.model_leaks(NULL), 0);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuDevicePrimaryCtxRetain"), 1000);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuDevicePrimaryCtxRelease_v2"),
			1000);
	EXPECT_NO_VIOLATION(test);
}

static void thousand_opens_leave_nothing(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, in_fork(test, open_again_and_again), 0);
}

/* ---- The end of a process --------------------------------------------- */

struct ending {
	const char *way;
	bool leaves;		/* the model says that something was left */
};

static const struct ending endings[] = {
	{ "close", false }, { "exit", true }, { "late", true },
};

static void describe_ending(const struct ending *e, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", e->way);
}
KUNIT_ARRAY_PARAM(ending, endings, describe_ending);

static void program_ends(struct kunit *test)
{
	const struct ending *e = test->param_value;
	const char *const argv[] = { program_path(test, "tests/cuda_guest"),
				     e->way, NULL };
	struct kunit_process p;

	unsetenv("SLABDEV_MODEL_PROFILE");
	setenv("SLABDEV_LIBCUDA", kunit_built_path(test, MODEL), 1);
	kunit_run_program(test, &p, argv);
	KUNIT_EXPECT_EQ(test, p.exit_code, 0);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_EQ_MSG(test, *p.err != '\0', e->leaves, "%s", p.err);
	KUNIT_EXPECT_NULL_MSG(test, strstr(p.err, "slabdev"), "%s", p.err);
}

static const struct kunit_case loader_cases[] = {
	KUNIT_CASE_ISOLATED(no_driver),
	KUNIT_CASE_ISOLATED(path_is_no_library),
	KUNIT_CASE_ISOLATED(library_is_no_driver),
	KUNIT_CASE_ISOLATED(old_driver),
	KUNIT_CASE_ISOLATED(drivers_that_will_do),
	KUNIT_CASE_ISOLATED(stub_of_the_toolkit),
	KUNIT_CASE_ISOLATED(stub_itself),
	KUNIT_CASE_ISOLATED(driver_counts_no_devices),
	KUNIT_CASE_ISOLATED(driver_lacks_a_function, .slow = true),
	KUNIT_CASE_ISOLATED(driver_does_not_initialise),
	KUNIT_CASE_ISOLATED(what_failed_is_tried_again),
	KUNIT_CASE_ISOLATED(host_program_loads_none),
	KUNIT_CASE_ISOLATED(driver_is_called_when_asked_for),
	KUNIT_CASE(privileged_process_chooses_none),
	KUNIT_CASE_ISOLATED(threads_open_at_the_same_time),
	KUNIT_CASE_ISOLATED(thousand_opens_leave_nothing, .slow = true),
	KUNIT_CASE_PARAM(program_ends, ending_gen_params, .isolated = true),
	{ 0 }
};

static const struct kunit_suite cuda_loader_suite = {
	.name = "cuda_loader",
	.cases = loader_cases,
};
kunit_test_suite(cuda_loader_suite);
