// SPDX-License-Identifier: BSD-2-Clause
/*
 * gpu_check_test.c - tests/gpu-check.sh, where there is no GPU.
 *
 * Once on the model of the driver with what was built, to see that all of it
 * works together. Else with a folder of shell scripts in the place of a build,
 * whose tests fail or hang as a case wants it. No time decides a verdict: a
 * part that hangs does so for ever, and what else the machine is too slow for
 * may fail beside it.
 */
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/docs_page.h"
#include "tests/folder.h"
#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"
#include "tests/slabinfo_run.h"
#include "tests/syntax.h"

#define MODEL "tests/model/libcuda.so.1"

/* Of a case: what gpu-check.sh is given. */
struct check {
	const char *build;	/* a folder of programs */
	const char *out;	/* a folder for what comes of it */
};

static char *text(struct kunit *test, const char *a, const char *b)
{
	char *s = kunit_kzalloc(test, strlen(a) + strlen(b) + 1);

	return strcat(strcpy(s, a), b);
}

static struct check check_new(struct kunit *test, const char *build)
{
	struct check c = { .build = build, .out = new_folder(test) };

	setenv("SLABDEV_LIBCUDA", kunit_built_path(test, MODEL), 1);
	return c;
}

/* With options. */
#define check_run(test, c, p, ...)					\
	kunit_run_program(test, p, (const char *const[]){		\
		"sh", kunit_source_path(test, "tests/gpu-check.sh"),	\
		text(test, "--build=", (c)->build),			\
		text(test, "--out=", (c)->out), __VA_ARGS__, NULL })

/* results.json without its newlines but the last, which is JSON. */
static const char *results(struct kunit *test, const struct check *c)
{
	char *json = docs_read_file(test, text(test, c->out,
					       "/results.json"));
	const char *where = NULL, *wrong, *from = json;
	char *to = json;

	while (*from) {
		if (*from != '\n' || !from[1])
			*to++ = *from;
		from++;
	}
	*to = '\0';
	wrong = json_wrong(json, &where);
	KUNIT_EXPECT_NULL_MSG(test, wrong, "%s at: %.40s", wrong, where);
	return json;
}

/* ---- A folder of scripts --------------------------------------------- */

static void write_file(struct kunit *test, const char *folder,
		       const char *name, const char *content)
{
	const char *path = text(test, folder, name);
	FILE *f = fopen(path, "we");

	KUNIT_ASSERT_NOT_NULL(test, f);
	fputs(content, f);
	KUNIT_ASSERT_EQ(test, fclose(f), 0);
	KUNIT_ASSERT_EQ(test, chmod(path, 0755), 0);
}

static const char bench_script[] =
"#!/bin/sh\n"
"case $1 in\n"
"--device) echo 'GPU of a test' ;;\n"
"--open=cuda-managed:0) echo 'no managed memory' >&2; exit 3 ;;\n"
"--open=*) ;;\n"
"*) echo '{}' >\"${1#--json=}\" ;;\n"
"esac\n";

/* @contract and @library are commands. */
static struct check check_scripts(struct kunit *test, const char *contract,
				  const char *library)
{
	char *build = new_folder(test), *script;
	size_t len = strlen(contract) + strlen(library) + 200;

	script = kunit_kzalloc(test, len);
	snprintf(script, len, "#!/bin/sh\ncase $* in\n"
		 "*contract_probe*) echo '1 passed, 0 failed, 0 skipped' ;;\n"
		 "*contract*) %s ;;\n*) %s ;;\nesac\n", contract, library);
	KUNIT_ASSERT_EQ(test, mkdir(text(test, build, "/tests"), 0700), 0);
	KUNIT_ASSERT_EQ(test, mkdir(text(test, build, "/tests/gpu"), 0700),
			0);
	write_file(test, build, "/.config", "CONFIG_CONTRACT_KUNIT_TEST=y\n");
	write_file(test, build, "/tests/run", script);
	write_file(test, build, "/tests/gpu/bench", bench_script);
	return check_new(test, build);
}

/* ---- Cases ------------------------------------------------------------ */

/* Goal: everything works on the model, and nothing of it looks measured. */
static void runs_on_the_model(struct kunit *test)
{
	struct check c = check_new(test, kunit_built_path(test, "."));
	struct kunit_process p;

	/* Also with a sanitizer, on a machine that does much else. */
	check_run(test, &c, &p, "--quick", "--slow=10");
	if (p.exit_code)
		kunit_show_process(test, &p);
	KUNIT_EXPECT_EQ(test, p.exit_code, 0);
	expect_in_order(test, p.out, (const char *const[]){
		"gpu-check: MODELLED: MODEL H200", "no figure and no time",
		"contract ", " ok ", " 0 failed, 0 skipped",
		"probes ", " ok ", "costs ", " ok ", "benchmarks ", " ok ",
		"library-cuda-0 ", " ok ", " 0 failed,",
		"p02_map_offset: passed", "\nMODELLED      cuMemMap(",
		"\nMODELLED  cuMemCreate ", " 2 MiB ", " 193.000 ", "  M ",
		" 1.00\n", "\nMODELLED  256 B ",
		"\nMODELLED  driver calls of slabdev while measured: 0\n",
		"\nMODELLED  cuMemAlloc ", "All is fine.", NULL });
	expect_in_order(test, results(test, &c), (const char *const[]){
		"{\"version\":1,\"modelled\":true,", "\"name\":\"contract\"",
		"\"contract_init.c001_not_initialised\"",
		"\"figures\":{\"modelled\":true,", "\"call\":\"cuMemCreate\"",
		NULL });
}

/* Goal: statements and cases that failed are named, and say why. */
static void names_what_failed(struct kunit *test)
{
	struct check c = check_scripts(test,
		"echo '    # Subtest: contract_map'; "
		"echo '    # c085_offset: line 3: \"1\", wanted 0'; "
		"echo '    not ok 1 c085_offset'; "
		"echo '    ok 2 c086_other # SKIP no such device'; "
		"echo '0 passed, 1 failed, 1 skipped'; exit 1",
		"echo '    # Subtest: alloc'; echo '    not ok 1 basic'; "
		"echo '    ok 2 other'; exit 1");
	struct kunit_process p;
	const char *json;

	check_run(test, &c, &p, "--jobs=1");
	KUNIT_EXPECT_EQ(test, p.exit_code, 1);
	expect_in_order(test, p.out, (const char *const[]){
		"GPU of a test", "contract ", "failed ",
		"0 passed, 1 failed, 1 skipped: C085\n",
		"contract-alone ", "failed ", "by themselves fail: C085\n",
		"library-cuda-0 ", "failed ",
		"1 passed, 1 failed, 0 skipped, then it ended\n",
		"library-cuda-host-0 ", "failed ",
		"library-cuda-managed-0 ", "skipped ", "no managed memory\n",
		"contract_map.c085_offset\n    line 3: \"1\", wanted 0\n",
		"alloc.basic\n",
		"Not fine: contract, contract-alone, library-cuda-0, ",
		NULL });
	expect_no_text(test, p.out, "MODELLED");
	json = results(test, &c);
	expect_text(test, json, "{\"name\":\"contract_map.c085_offset\","
		    "\"verdict\":\"failed\",\"reason\":\"\",\"notes\":"
		    "[\"line 3: \\\"1\\\", wanted 0\"]}");
	expect_text(test, json, "\"verdict\":\"skipped\","
		    "\"reason\":\"no such device\"");
}

/* Goal: a part that hangs is stopped, and the others come after it. */
static void goes_on_after_a_part_that_hangs(struct kunit *test)
{
	struct check c = check_scripts(test,
		"while :; do sleep 60; done",
		"echo '1 passed, 0 failed, 0 skipped'");
	struct kunit_process p;

	check_run(test, &c, &p, "--limit=1");
	KUNIT_EXPECT_EQ(test, p.exit_code, 1);
	expect_in_order(test, p.out, (const char *const[]){
		"contract ", "failed ", "stopped after ", "probes ", "costs ",
		"benchmarks ", "library-cuda-0 ", "library-cuda-host-0 ",
		"Not fine: contract", NULL });
	results(test, &c);
}

/* Goal: when the time is over, what is left is said not to have run. */
static void ends_in_time(struct kunit *test)
{
	struct check c = check_scripts(test, "while :; do sleep 60; done",
				       "exit 0");
	struct kunit_process p;

	check_run(test, &c, &p, "--time=1");
	KUNIT_EXPECT_EQ(test, p.exit_code, 1);
	expect_in_order(test, p.out, (const char *const[]){
		"contract ", "probes ", "not run ", "no time was left\n",
		"library-cuda-managed-0 ", "not run ",
		"Not fine: contract, ", NULL });
	results(test, &c);
}

/* $1 is the script, $2 the build, $3 where to. */
static const char interrupt_script[] =
	"sh \"$1\" --build=\"$2\" --out=\"$3\" & pid=$!\n"
	"until [ -e \"$3/contract.log\" ]; do sleep 0.1; done\n"
	"kill -TERM $pid; wait $pid\n";

/* Goal: who does not want to wait any longer has what there is. */
static void tells_what_it_has_when_interrupted(struct kunit *test)
{
	struct check c = check_scripts(test, "while :; do sleep 60; done",
				       "exit 0");
	struct kunit_process p;

	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", interrupt_script, "sh",
		kunit_source_path(test, "tests/gpu-check.sh"), c.build, c.out,
		NULL });
	KUNIT_EXPECT_EQ(test, p.exit_code, 1);
	expect_in_order(test, p.out, (const char *const[]){
		"contract ", "failed ", "interrupted\n", "Not fine: contract.",
		NULL });
	results(test, &c);
}

/* Goal: no driver, or none with a device, is said so at once. */
static void needs_a_device(struct kunit *test)
{
	struct check c = check_new(test, kunit_built_path(test, "."));
	struct kunit_process p;

	setenv("SLABDEV_MODEL_PROFILE", "nodevice", 1);
	check_run(test, &c, &p, "--quick");
	KUNIT_EXPECT_EQ(test, p.exit_code, 2);
	expect_text(test, p.err, "CUDA_ERROR_NO_DEVICE");
	KUNIT_EXPECT_STREQ(test, p.out, "");
	setenv("SLABDEV_LIBCUDA", "/nowhere/libcuda.so.1", 1);
	check_run(test, &c, &p, "--quick");
	KUNIT_EXPECT_EQ(test, p.exit_code, 2);
	expect_text(test, p.err, "no driver: /nowhere/libcuda.so.1");
	KUNIT_EXPECT_STREQ(test, p.out, "");
}

static void says_how_it_is_used(struct kunit *test)
{
	struct check c = check_new(test, "/nowhere");
	struct kunit_process p;

	check_run(test, &c, &p, "--help");
	KUNIT_EXPECT_EQ(test, p.exit_code, 0);
	expect_text(test, p.out, "Usage: tests/gpu-check.sh");
	check_run(test, &c, &p, "--no-such");
	KUNIT_EXPECT_EQ(test, p.exit_code, 2);
	expect_text(test, p.err, "--no-such: no such option");
	check_run(test, &c, &p, "--time=1x");
	KUNIT_EXPECT_EQ(test, p.exit_code, 2);
	expect_text(test, p.err, "--time=1x: not a number");
	check_run(test, &c, &p, "--quick");
	KUNIT_EXPECT_EQ(test, p.exit_code, 2);
	expect_text(test, p.err, "/nowhere has no tests/run");
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(runs_on_the_model, .timeout_s = 900),
	KUNIT_CASE_ISOLATED(names_what_failed, .timeout_s = 300),
	KUNIT_CASE_ISOLATED(goes_on_after_a_part_that_hangs,
			    .timeout_s = 300),
	KUNIT_CASE_ISOLATED(ends_in_time, .timeout_s = 300),
	KUNIT_CASE_ISOLATED(tells_what_it_has_when_interrupted),
	KUNIT_CASE_ISOLATED(needs_a_device, .timeout_s = 120),
	KUNIT_CASE_ISOLATED(says_how_it_is_used),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "gpu_check",
	.cases = cases,
};
kunit_test_suite(suite);
