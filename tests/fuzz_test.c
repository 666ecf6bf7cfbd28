// SPDX-License-Identifier: BSD-2-Clause
/*
 * fuzz_test.c - the fuzzer's targets with the inputs that we know
 *
 * Each target is run on its seeds, among them every input that once failed,
 * and on mutations of them that are always the same; "make fuzz" looks for
 * others. Before that, that it would be noticed if one failed, and that the
 * texts which targets look at are looked at properly.
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"
#include "tests/sanitizers.h"
#include "tests/slabinfo_run.h"
#include "tests/syntax.h"

/* ---- The driver ------------------------------------------------------- */

static void remove_file(void *path)
{
	unlink(path);
}

/* A file of seeds with one line of text; lives as long as the case. */
static const char *seeds_file(struct kunit *test, const char *text)
{
	char *path = kunit_kzalloc(test, 32);
	int fd;

	strcpy(path, "/tmp/slabdev-seeds-XXXXXX");
	fd = mkstemp(path);
	KUNIT_ASSERT_GE(test, fd, 0);
	kunit_add_action(test, remove_file, path);
	dprintf(fd, "%s", text);
	close(fd);
	return path;
}

static void run_demo(struct kunit *test, struct kunit_process *proc,
		     const char *option, const char *seeds)
{
	kunit_run_program(test, proc, (const char *[]){
		kunit_built_path(test, "tests/fuzz/demo"), option,
		seeds_file(test, seeds), NULL });
}

static void failing_input_is_shown(struct kunit *test)
{
	static const struct {
		const char *seeds, *option, *says;
		int status;
	} runs[] = {
		{ "00 01\n\n# no input\nff\n", "--mutate=0", "", 0 },
		{ "00\nf0 0d 01 # why\nff\n", "--mutate=0",
		  "food\n", 1 },
		{ "00\nf00d01\n", "--mutate=0",
		  "this input failed:\nf00d01\n", 1 },
		{ "defa\n", "--mutate=0", "this input failed:\ndefa\n", 1 },
		{ "00\ndef\n", "--mutate=0", "2: not pairs of hex", 2 },
		{ "0g\n", "--mutate=0", "1: not pairs of hex", 2 },
		/* Two seeds of which a mutation makes a third. */
		{ "f000\n000d\n", "--mutate=100000", "this input failed:\n",
		  1 },
	};
	struct kunit_process proc;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(runs); i++) {
		run_demo(test, &proc, runs[i].option, runs[i].seeds);
		KUNIT_EXPECT_EQ_MSG(test, proc.exit_code, runs[i].status,
				    "%s: %s", runs[i].seeds, proc.err);
		expect_text(test, proc.err, runs[i].says);
	}
}

static void endless_input_is_ended(struct kunit *test)
{
	struct kunit_process proc;
	char line[256] = { 0 };

	memset(line, '0', sizeof(line) - 2);
	run_demo(test, &proc, "--mutate=0", line);
	KUNIT_EXPECT_EQ(test, proc.exit_code, 1);
	expect_text(test, proc.err, "takes more than");
}

/* ---- Texts ------------------------------------------------------------ */

struct text {
	const char *text;
	const char *wrong;	/* or NULL */
};

#define METRIC "# HELP m Words.\n# TYPE m gauge\n"

static const struct text json_texts[] = {
	{ "{\"a\":[1,-2.5e+3,0,true,false,null],\"b\":{}}\n", NULL },
	{ "\"\\u00ff\\\\\\\"\\n\"\n", NULL },
	{ "{}", "no newline" },
	{ "{}\n{}\n", "no newline" },
	{ "{\"a\":1,}\n", "no string" },
	{ "{\"a\":1,\"a\":2}\n", "a key twice" },
	{ "{\"a\" 1}\n", "no colon" },
	{ "[1 2]\n", "no comma in an array" },
	{ "[1,]\n", "no digit" },
	{ "[01]\n", "no comma in an array" },
	{ "[-]\n", "no digit" },
	{ "[nan]\n", "no value" },
	{ "\"\x1b\"\n", "must be escaped" },
	{ "\"\\x41\"\n", "an escape that does not exist" },
	{ "\"\\u12\"\n", "without four digits" },
	{ "\"a\n", "must be escaped" },
	{ "[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]\n", "too deep" },
};

static const struct text prometheus_texts[] = {
	{ "", NULL },
	{ METRIC "m{a=\"1\",b=\"\\\\\\\"\"} -1\nm{a=\"2\"} 3\n", NULL },
	{ METRIC "# HELP n N.\n# TYPE n counter\nn{a=\"1\"} 1\n", NULL },
	{ METRIC "m{a=\"1\"} 1\nm{a=\"1\"} 2\n", "a sample twice" },
	{ METRIC METRIC, "a metric twice" },
	{ METRIC "n{a=\"1\"} 1\n", "not below its metric" },
	{ "m{a=\"1\"} 1\n", "not below its metric" },
	{ "# TYPE m gauge\n", "TYPE without its HELP" },
	{ "# HELP m M.\n# TYPE m thing\n", "a type" },
	{ METRIC "m 1\n", "no labels" },
	{ METRIC "m{a=\"1\"} x\n", "no number" },
	{ METRIC "m{a=\"1\"} 1 2\n", "more on the line" },
	{ METRIC "m{a=\"1} 1\n", "must be escaped" },
	{ METRIC "m{a=\"\\x\"} 1\n", "an escape that does not exist" },
	{ METRIC "m{a=\"1\"b=\"2\"} 1\n", "without an end" },
	{ METRIC "m{1=\"1\"} 1\n", "a label without a name" },
};

static void expect_verdict(struct kunit *test, const struct text *t,
			   const char *got)
{
	if (!t->wrong)
		KUNIT_EXPECT_NULL_MSG(test, got, "%s: %s", t->text, got);
	else
		expect_text(test, got ? got : "nothing is wrong", t->wrong);
}

static void syntax_is_checked(struct kunit *test)
{
	const char *where;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(json_texts); i++)
		expect_verdict(test, &json_texts[i],
			       json_wrong(json_texts[i].text, &where));
	for (i = 0; i < ARRAY_SIZE(prometheus_texts); i++)
		expect_verdict(test, &prometheus_texts[i],
			       prometheus_wrong(prometheus_texts[i].text,
						&where));
}

static void what_a_terminal_obeys_is_found(struct kunit *test)
{
	const char *where;

	KUNIT_EXPECT_NULL(test, print_wrong("a ~\n", false, &where));
	KUNIT_EXPECT_NULL(test, print_wrong("\033[32m#\033[0m", true, &where));
	KUNIT_EXPECT_NOT_NULL(test, print_wrong("\033[0m", false, &where));
	KUNIT_EXPECT_NOT_NULL(test, print_wrong("\033[2J", true, &where));
	KUNIT_EXPECT_NOT_NULL(test, print_wrong("a\tb", false, &where));
	KUNIT_EXPECT_NOT_NULL(test, print_wrong("a\rb", false, &where));
	KUNIT_EXPECT_NOT_NULL(test, print_wrong("\xff", false, &where));
	KUNIT_EXPECT_NOT_NULL(test, print_wrong("\x7f", false, &where));
}

/* ---- Targets ---------------------------------------------------------- */

static const char *const targets[] = { "api", "param", "range", "reader" };

static void target_desc(const char *const *name, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", *name);
}

KUNIT_ARRAY_PARAM(target, targets, target_desc)

static void run_target(struct kunit *test, const char *mutations)
{
	const char *name = *(const char *const *)test->param_value;
	struct kunit_process proc;
	char program[64], seeds[64];

	snprintf(program, sizeof(program), "tests/fuzz/%s", name);
	snprintf(seeds, sizeof(seeds), "tests/fuzz/seeds/%s.hex", name);
	kunit_run_program(test, &proc, (const char *[]){
		kunit_built_path(test, program), mutations,
		kunit_source_path(test, seeds), NULL });
	KUNIT_EXPECT_EQ(test, proc.exit_code, 0);
	if (proc.exit_code)
		kunit_show_process(test, &proc);
}

static void known_inputs_pass(struct kunit *test)
{
	run_target(test, "--mutate=0");
}

static void mutated_inputs_pass(struct kunit *test)
{
	run_target(test, IS_SANITIZED ? "--mutate=500" : "--mutate=2000");
}

static void more_mutated_inputs_pass(struct kunit *test)
{
	run_target(test, IS_SANITIZED ? "--mutate=10000" : "--mutate=100000");
}

/* ---- The search ------------------------------------------------------- */

static const char search[] =
"dir=$(mktemp -d) && trap 'rm -rf \"$dir\"' EXIT && "
"unset MAKEFLAGS MAKELEVEL && "
"make -s -C \"$1\" O=\"$dir\" FUZZ_SECONDS=600 fuzz";

/* In a build of its own: the one around us may lack what it needs. */
static void search_finds_nothing(struct kunit *test)
{
	const char *makefile = kunit_source_path(test, "Makefile");
	char *top = kunit_kzalloc(test, strlen(makefile));
	struct kunit_process proc;

	memcpy(top, makefile, strlen(makefile) - strlen("/Makefile"));
	kunit_run_program(test, &proc, (const char *[]){
		"sh", "-c", search, "sh", top, NULL });
	if (strstr(proc.err, "needs clang"))
		kunit_skip(test, "there is no clang with libFuzzer");
	KUNIT_EXPECT_EQ(test, proc.exit_code, 0);
	if (proc.exit_code)
		kunit_show_process(test, &proc);
}

static const struct kunit_case fuzz_cases[] = {
	KUNIT_CASE(failing_input_is_shown),
	KUNIT_CASE(endless_input_is_ended),
	KUNIT_CASE(syntax_is_checked),
	KUNIT_CASE(what_a_terminal_obeys_is_found),
	KUNIT_CASE_PARAM(known_inputs_pass, target_gen_params),
	KUNIT_CASE_PARAM(mutated_inputs_pass, target_gen_params, .slow = true,
			 .timeout_s = 300),
	KUNIT_CASE_PARAM(more_mutated_inputs_pass, target_gen_params,
			 .is_long = true, .timeout_s = 1200),
	KUNIT_CASE_LONG(search_finds_nothing, .timeout_s = 2400),
	{}
};

static const struct kunit_suite fuzz_suite = {
	.name = "fuzz",
	.cases = fuzz_cases,
};
kunit_test_suite(fuzz_suite);
