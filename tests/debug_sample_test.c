// SPDX-License-Identifier: BSD-2-Clause
/*
 * debug_sample_test.c - samples/debug, and the page that walks through it
 *
 * Each planted fault is found by the letters that its help names, and by no
 * more than a report of that kind; its twin is silent with all of them. What
 * debugging.rst shows is what the program prints, but for addresses, threads
 * and times.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>

#include "tests/docs_page.h"
#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"
#include "tests/program.h"
#include "tests/sanitizers.h"

#define PAGE "Documentation/debugging.rst"
#define SAMPLE "samples/debug/debug"
#define MODEL "tests/model/libcuda.so.1"
#define EVERYTHING "SLABDEV_DEBUG=FZPUQ"

struct planted {
	const char *fault;
	const char *env;	/* by which it is found */
	const char *kind;	/* of the report */
	const char *says;	/* in its text */
	bool host_only;
};

static const struct planted planted[] = {
	{ "end", "SLABDEV_DEBUG=Z", "red-zone",
	  "1 byte behind the end of the object", false },
	{ "tail", "SLABDEV_DEBUG=Z", "red-zone",
	  "1 byte behind the end of the object", false },
	{ "start", "SLABDEV_DEBUG=Z", "red-zone",
	  "or by the one behind it, Object 0x", false },
	{ "far", "SLABDEV_DEBUG=P", "use-after-free", "Poison overwritten",
	  false },
	{ "after-free", "SLABDEV_DEBUG=P", "use-after-free",
	  "First byte 0x9 instead of 0x6b", false },
	{ "twice", "SLABDEV_LOG=warn", "double-free", "Object already free",
	  false },
	{ "twice-later", "SLABDEV_DEBUG=Q", "double-free",
	  "Object already free", false },
	{ "inside", "SLABDEV_LOG=warn", "invalid-pointer",
	  "256 bytes inside a live object of alloc-4096", false },
	{ "foreign", "SLABDEV_LOG=warn", "invalid-pointer",
	  "is no address of space", false },
	{ "elsewhere", "SLABDEV_LOG=warn", "wrong-cache",
	  "it was to be freed to cache bonds", false },
	{ "leak", "SLABDEV_DEBUG=U", "live-objects", "age ", false },
	{ "unwind", "SLABDEV_FAILSLAB=nth=2", "live-objects",
	  "1 objects are live", false },
};

struct place {
	const char *device;
	bool on_model;
};

static const struct place places[] = {
	{ "host", false },
	{ "cuda:0", true },
};

static void describe_place(const struct place *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", p->device);
}
KUNIT_ARRAY_PARAM(place, places, describe_place)

/* The sample as its user runs it; a report is a line of JSON as well. */
static void run_sample(struct kunit *test, struct kunit_process *p,
		       const char *env, const char *option, const char *fault)
{
	const struct place *place = test->param_value;
	char driver[4096];

	if (place->on_model && !IS_ENABLED(CONFIG_DRIVER_MODEL))
		kunit_skip(test, "the model of the driver was not built");
	snprintf(driver, sizeof(driver), "SLABDEV_LOG=warn");
	if (place->on_model)
		snprintf(driver, sizeof(driver), "SLABDEV_LIBCUDA=%s",
			 kunit_built_path(test, MODEL));
	kunit_run_program(test, p, (const char *const[]){
		"env", driver, "SLABDEV_REPORT=json", env,
		program_path(test, SAMPLE), "--device", place->device, fault,
		option, NULL });
}

static void need_letters(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_SLAB_DEBUG))
		kunit_skip(test, "the letters were not built");
}

/* ---- Faults ------------------------------------------------------------- */

static void check_kinds(struct kunit *test, const struct planted *f,
			const char *err)
{
	char wanted[64];
	const char *at;

	snprintf(wanted, sizeof(wanted), "{\"kind\":\"%s\"", f->kind);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(err, wanted), "%s: %s",
				  f->fault, err);
	for (at = err; (at = strstr(at, "{\"kind\":")); at++)
		KUNIT_EXPECT_TRUE_MSG(test, !strncmp(at, wanted,
						     strlen(wanted)),
				      "%s: %s", f->fault, err);
}

/* The text, and no report of any other kind. */
static void each_fault_is_found(struct kunit *test)
{
	const struct planted *f;
	struct kunit_process p;

	need_letters(test);
	for (f = planted; f < planted + ARRAY_SIZE(planted); f++) {
		run_sample(test, &p, f->env, NULL, f->fault);
		check_kinds(test, f, p.err);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, f->says),
					  "%s: %s", f->fault, p.err);
	}
}

static void run_twin(struct kunit *test, const char *fault, const char *env)
{
	struct kunit_process p;
	char says[64];

	run_sample(test, &p, env, "--right", fault);
	snprintf(says, sizeof(says), "%s: the sum is right\n", fault);
	KUNIT_EXPECT_STREQ(test, p.out, says);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_EQ(test, p.exit_code, 0);
}

static void the_twins_are_right(struct kunit *test)
{
	size_t i;

	need_letters(test);
	for (i = 0; i < ARRAY_SIZE(planted); i++) {
		run_twin(test, planted[i].fault, EVERYTHING);
		run_twin(test, planted[i].fault, "SLABDEV_DEBUG=-");
	}
}

/* What the fault does when nobody looks: the worst, or nothing. */
static void without_letters_nobody_notices(struct kunit *test)
{
	struct kunit_process p;

	run_sample(test, &p, "SLABDEV_DEBUG=-", NULL, "end");
	KUNIT_EXPECT_STREQ(test, p.out, "end: the sum is WRONG\n");
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_EQ(test, p.exit_code, 1);
	run_sample(test, &p, "SLABDEV_DEBUG=-", NULL, "after-free");
	KUNIT_EXPECT_STREQ(test, p.out, "after-free: the sum is right\n");
	KUNIT_EXPECT_STREQ(test, p.err, "");
}

/* The way out after an error that was injected. */
static void the_twin_unwinds(struct kunit *test)
{
	struct kunit_process p;

	need_letters(test);
	run_sample(test, &p, "SLABDEV_FAILSLAB=nth=2", "--right", "unwind");
	KUNIT_EXPECT_NULL_MSG(test, strstr(p.err, "BUG slabdev"), "%s", p.err);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "debug: failslab"),
				  "%s", p.err);
	KUNIT_EXPECT_EQ(test, p.exit_code, 1);
}

static void validate_says_in_which_phase(struct kunit *test)
{
	struct kunit_process p;

	need_letters(test);
	run_sample(test, &p, "SLABDEV_DEBUG=Z", "--validate", "end");
	KUNIT_EXPECT_EQ_MSG(test, strncmp(p.out, "after load: all is well\n"
			    "after smooth: memory is damaged\n", 56), 0, "%s",
			    p.out);
	run_sample(test, &p, "SLABDEV_DEBUG=P", "--validate", "far");
	KUNIT_EXPECT_EQ_MSG(test, strncmp(p.out, "after load: all is well\n"
			    "after smooth: memory is damaged\n", 56), 0, "%s",
			    p.out);
}

static bool symbols_have_lines(void)
{
	void *lib = dlopen("libdw.so.1", RTLD_LAZY);

	if (lib)
		dlclose(lib);
	return lib;
}

/* "(faults.c:N)" of the line that has @text; "" when it has none. */
static void place_of(struct kunit *test, const char *text, char *place,
		     size_t len)
{
	struct docs_lines l = {
		.next = docs_read_one(test, "samples/debug/faults.c")
	};

	*place = '\0';
	while (docs_next_line(test, &l))
		if (strstr(l.line, text))
			snprintf(place, len, "(faults.c:%u)", l.nr);
}

/* U: the line of the source that allocated what was damaged. */
static void the_report_has_the_line(struct kunit *test)
{
	struct kunit_process p;
	char place[64];

	need_letters(test);
	if (IS_SANITIZED && !IS_THREAD_SANITIZED)
		kunit_skip(test, "libdw is not used beside LeakSanitizer");
	if (!symbols_have_lines())
		kunit_skip(test, "libdw, which knows lines, is not installed");
	place_of(test, "row[i] = slabdev_alloc(", place, sizeof(place));
	run_sample(test, &p, "SLABDEV_DEBUG=ZU", NULL, "end");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, place), "%s: %s", place,
				  p.err);
}

/* ---- Options ------------------------------------------------------------ */

static void help_has_each_fault(struct kunit *test)
{
	struct program p;
	char line[64];
	size_t i;

	program_run(test, &p, (const char *const[]){ SAMPLE, "--help", NULL },
		    NULL);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	for (i = 0; i < ARRAY_SIZE(planted); i++) {
		snprintf(line, sizeof(line), "\n  %s ", planted[i].fault);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, line), "%s",
					  planted[i].fault);
	}
	program_run(test, &p, (const char *const[]){ SAMPLE, "nothing", NULL },
		    NULL);
	KUNIT_EXPECT_EQ(test, p.status, 2);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_EQ(test, strncmp(p.err, "usage: debug ", 13), 0);
}

static void it_says_why_not(struct kunit *test)
{
	struct program p;

	program_run(test, &p, (const char *const[]){ SAMPLE, "--device",
		    "floppy", "end", NULL }, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_EQ(test, strncmp(p.err, "debug: device 'floppy' ", 23),
			0);
}

/* ---- The page ----------------------------------------------------------- */

static bool is_hex(char c)
{
	return isdigit((unsigned char)c) || (c >= 'a' && c <= 'f');
}

/* Does the number at @at differ from run to run? @begin: of its line. */
static bool is_of_this_run(const char *begin, const char *at, size_t len)
{
	static const char *const before[] = { "thread ", "age ", "pid " };
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(before); i++) {
		n = strlen(before[i]);
		if (at - begin >= (ptrdiff_t)n &&
		    !strncmp(at - n, before[i], n))
			return true;
	}
	return len >= 8;
}

/* A line without what differs from run to run, and with single spaces. */
static void plain(const char *line, char *out)
{
	const char *begin = line;
	size_t n;

	while (*line) {
		for (n = 0; is_hex(line[n]) || line[n] == '.'; n++)
			;
		if (n && isdigit((unsigned char)*line) &&
		    (line == begin || !isalnum((unsigned char)line[-1]) ||
		     line[-1] == 'x') && is_of_this_run(begin, line, n)) {
			*out++ = '#';
			line += n;
			continue;
		}
		if (*line != ' ' || line[1] != ' ')
			*out++ = *line;
		line++;
	}
	*out = '\0';
}

/* A frame: its place in the source is all that any compiler agrees on. */
static bool is_frame(const char *line)
{
	return !strncmp(line, "  ", 2) && strchr(line, '+');
}

static bool frame_is_there(const char *line, const char *out)
{
	char place[64];

	if (!symbols_have_lines() ||
	    sscanf(line, "%*[^(]%63[^)]", place) != 1 ||
	    !strstr(place, ".c:"))
		return true;
	return strstr(out, place);
}

/* Is the line, or what stands before " ...", in the output from @l on? */
static bool line_is_there(struct kunit *test, struct docs_lines *l,
			  const char *line)
{
	char wanted[1024], got[1024];
	size_t len;

	plain(line, wanted);
	len = strlen(wanted) + 1;
	if (len > 5 && !strcmp(wanted + len - 5, " ..."))
		len -= 5;
	while (docs_next_line(test, l)) {
		plain(l->line, got);
		if (!strncmp(got, wanted, len))
			return true;
	}
	return false;
}

/* Runs what stands behind "$ " where the build is, and returns all it wrote. */
static const char *run_command(struct kunit *test, const char *command)
{
	struct kunit_process p;
	char text[1200];

	snprintf(text, sizeof(text), "cd \"$1\" || exit\n{ %s; } 2>&1",
		 command);
	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", text, "sh", kunit_built_path(test, "."), NULL });
	return p.out;
}

/* The lines of a console below @l's, up to one that is not indented. */
static int check_console(struct kunit *test, struct docs_lines *l)
{
	struct docs_lines out = { .next = "" };
	const char *text = "", *line;
	int n = 0;

	while (docs_next_line(test, l)) {
		if (!*l->line)
			continue;
		if (strncmp(l->line, "   ", 3))
			break;
		line = l->line + 3;
		if (!strncmp(line, "$ ", 2)) {
			text = run_command(test, line + 2);
			out = (struct docs_lines){ .next = text };
			n++;
		} else if (is_frame(line)) {
			KUNIT_EXPECT_TRUE_MSG(test, frame_is_there(line, text),
					      "%s:%u: %s", PAGE, l->nr, text);
		} else if (strcmp(line, "...")) {
			KUNIT_EXPECT_TRUE_MSG(test,
					      line_is_there(test, &out, line),
					      "%s:%u: %s", PAGE, l->nr, text);
		}
	}
	return n;
}

/* Goal: who follows the page sees what it says. */
static void the_page_shows_what_is_printed(struct kunit *test)
{
	struct docs_lines l = { .next = docs_read_one(test, PAGE) };
	int n = 0;

	need_letters(test);
	if (!IS_ENABLED(CONFIG_SLAB_GUARD))
		kunit_skip(test, "guard mode was not built");
	if (IS_SANITIZED)
		kunit_skip(test, "sanitized stacks have frames of the library");
	program_path(test, SAMPLE);
	while (docs_next_line(test, &l))
		if (!strcmp(l.line, ".. code-block:: console"))
			n += check_console(test, &l);
	KUNIT_EXPECT_GE(test, n, 8);
}

static const struct kunit_case debug_sample_cases[] = {
	KUNIT_CASE_PARAM(each_fault_is_found, place_gen_params),
	KUNIT_CASE_PARAM(the_twins_are_right, place_gen_params),
	KUNIT_CASE_PARAM(without_letters_nobody_notices, place_gen_params),
	KUNIT_CASE_PARAM(the_twin_unwinds, place_gen_params),
	KUNIT_CASE_PARAM(validate_says_in_which_phase, place_gen_params),
	KUNIT_CASE_PARAM(the_report_has_the_line, place_gen_params),
	KUNIT_CASE(help_has_each_fault),
	KUNIT_CASE(it_says_why_not),
	KUNIT_CASE(the_page_shows_what_is_printed),
	{}
};

static const struct kunit_suite debug_sample_suite = {
	.name = "debug_sample",
	.cases = debug_sample_cases,
};
kunit_test_suite(debug_sample_suite);
