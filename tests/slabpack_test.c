// SPDX-License-Identifier: BSD-2-Clause
/*
 * slabpack_test.c - plans from files, and what slabpack says of bad ones.
 *
 * Each case writes a file of its own and runs the program on it.
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/kunit/kunit.h"
#include "tests/program.h"
#include "tests/slabinfo_run.h"

static void remove_file(void *path)
{
	if (remove(path))
		fprintf(stderr, "%s is left\n", (char *)path);
}

/* A file of these bytes; it goes with the case. */
static const char *make_bytes(struct kunit *test, const char *bytes, size_t n)
{
	char *path = kunit_kzalloc(test, 64);
	int fd;

	strcpy(path, "/tmp/slabpack-XXXXXX");
	fd = mkstemp(path);
	KUNIT_ASSERT_GE(test, fd, 0);
	kunit_add_action(test, remove_file, path);
	KUNIT_ASSERT_EQ(test, write(fd, bytes, n), n);
	KUNIT_ASSERT_EQ(test, close(fd), 0);
	return path;
}

static const char *make_file(struct kunit *test, const char *text)
{
	return make_bytes(test, text, strlen(text));
}

#define slabpack(test, p, ...) \
	program_run(test, p, (const char *const[]){ "tools/slabpack", \
		    ##__VA_ARGS__, NULL }, NULL)

/* ---- Plans --------------------------------------------------------------- */

static const char small[] =
	"id,lower,upper,size\n"
	"first,0,2,4096\n"
	"long,1,3,8192\n"
	"second,2,4,4096\n";

/* The same lines again, with an offset; the rest is on standard error. */
static void a_plan_is_csv(struct kunit *test)
{
	const char *path = make_file(test, small);
	struct program p;

	slabpack(test, &p, path);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	expect_in_order(test, p.out, (const char *const[]){
		"id,lower,upper,size,offset\n", "first,0,2,4096,",
		"\nlong,1,3,8192,", "\nsecond,2,4,4096,", NULL });
	expect_text(test, p.err, ": 3 blocks in 12288 bytes, 0.00 % above the "
		    "12288 that live at once");
}

static void a_plan_is_json(struct kunit *test)
{
	const char *path = make_file(test, small);
	struct program p;

	slabpack(test, &p, "--json", path);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_in_order(test, p.out, (const char *const[]){
		"{\"version\":1,\"file\":\"", "\",\"nr_blocks\":3,"
		"\"total\":12288,\"bound\":12288,\"capacity\":0,"
		"\"fits\":true,\"steps\":", ",\"seconds\":", ",\"blocks\":["
		"{\"id\":\"first\",\"lower\":0,\"upper\":2,\"size\":4096,"
		"\"align\":0,\"offset\":", "}]}\n", NULL });
}

/* Columns in another order, others, blanks, line ends, alignments, an empty
 * line, negative times; from a plan that was made before. */
static void forms_of_a_file(struct kunit *test)
{
	const char *path = make_file(test,
		" size , note,align,upper, id,lower,offset\r\n"
		"100,,1, 5,a b,-3,7\r\n"
		"\r\n"
		"\t200,\"x\",1,9223372036854775807,c,-9223372036854775808,\r\n"
		"1,?,64,0,d,-1,zero");
	struct program p;

	slabpack(test, &p, path);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	expect_in_order(test, p.out, (const char *const[]){
		"id,lower,upper,size,align,offset\n", "a b,-3,5,100,1,",
		"\nc,-9223372036854775808,9223372036854775807,200,1,",
		"\nd,-1,0,1,64,", NULL });
}

static void nothing_is_a_plan(struct kunit *test)
{
	const char *path = make_file(test, "id,lower,upper,size\n");
	struct program p;

	slabpack(test, &p, path);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	KUNIT_EXPECT_STREQ(test, p.out, "id,lower,upper,size,offset\n");
	expect_text(test, p.err, ": 0 blocks in 0 bytes, 0.00 %");
}

/* A pipe that holds nothing. */
static void standard_input(struct kunit *test)
{
	struct program p;

	slabpack(test, &p, "-");
	KUNIT_EXPECT_EQ(test, p.status, 3);
	expect_text(test, p.err, "slabpack: -:1: no column id");
}

static void a_picture(struct kunit *test)
{
	const char *path = make_file(test,
		"id,lower,upper,size\n<a&b>,0,4,256\nc,-2,3,512\n");
	const char *svg = make_file(test, "");
	struct program p;
	char text[4096];
	size_t n;
	FILE *f;

	slabpack(test, &p, "--svg", svg, "--capacity=1K", path);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	f = fopen(svg, "re");
	KUNIT_ASSERT_NOT_NULL(test, f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	expect_in_order(test, text, (const char *const[]){
		"<svg xmlns=", "<title>&#60;a&#38;b>: 256 bytes at ",
		", 0 to 4</title></rect>", "<title>c: 512 bytes at ",
		"768 bytes, capacity 1024", "</svg>\n", NULL });
	slabpack(test, &p, "--svg=/dev/full", path);
	KUNIT_EXPECT_EQ(test, p.status, 3);
	expect_text(test, p.err, "slabpack: /dev/full: No space left");
	slabpack(test, &p, "--svg=/no/such/folder", path);
	KUNIT_EXPECT_EQ(test, p.status, 3);
	expect_text(test, p.err, "slabpack: /no/such/folder: ");
}

/* There is a plan on standard output all the same. */
static void what_does_not_fit_fails(struct kunit *test)
{
	const char *path = make_file(test, small);
	struct program p;

	slabpack(test, &p, "--capacity=12288", path);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	slabpack(test, &p, "--capacity=12287", "--json", path);
	KUNIT_EXPECT_EQ(test, p.status, 1);
	expect_text(test, p.err, "12288 bytes live at once");
	expect_text(test, p.out, "\"fits\":false");
	slabpack(test, &p, "--effort=1", path);
	KUNIT_EXPECT_EQ(test, p.status, 0);
}

/* ---- What is refused ----------------------------------------------------- */

#define HEAD "id,lower,upper,size,align\n"

struct bad_file {
	const char *name;
	const char *text;
	u32 line;
	const char *says;
};

static const struct bad_file bad_files[] = {
	{ "empty", "", 1, "no column id" },
	{ "no size", "id,lower,upper\n", 1, "no column size" },
	{ "twice", "id,size,lower,upper,size\n", 1,
	  "the column size is there twice" },
	{ "few fields", HEAD "a,0,1,5,8\nb,0,1\n", 3,
	  "3 fields, but there are 5 columns" },
	{ "many fields", HEAD "a,0,1,5,8,9\n", 2,
	  "more fields than the 5 columns" },
	{ "no id", HEAD ",0,1,5,8\n", 2, "id is empty" },
	{ "no number", HEAD "a,zero,1,5,8\n", 2,
	  "lower 'zero' is not a decimal number" },
	{ "only a sign", HEAD "a,-,1,5,8\n", 2,
	  "lower '-' is not a decimal number" },
	{ "fraction", HEAD "a,0,1.5,5,8\n", 2,
	  "upper '1.5' is not a decimal number" },
	{ "negative size", HEAD "a,0,1,-5,8\n", 2,
	  "size '-5' is not a decimal number" },
	{ "long size", HEAD "a,0,1,18446744073709551616,8\n", 2,
	  "size '18446744073709551616' does not fit 64 bits" },
	{ "late", HEAD "a,0,9223372036854775808,1,8\n", 2,
	  "upper '9223372036854775808' does not fit 64 bits" },
	{ "early", HEAD "a,-9223372036854775809,0,1,8\n", 2,
	  "lower '-9223372036854775809' does not fit 64 bits" },
	{ "size 0", HEAD "a,0,1,0,8\n", 2, "size is 0" },
	{ "no life", HEAD "a,0,0,1,8\n", 2, "upper 0 is not above lower 0" },
	{ "backwards", HEAD "a,3,-2,1,8\n", 2,
	  "upper -2 is not above lower 3" },
	{ "align", HEAD "a,0,1,5,24\n", 2, "align 24 is no power of two" },
	{ "same id", HEAD "a,0,1,5,8\nb,0,1,5,8\na,1,2,5,8\n", 4,
	  "id a is that of line 2" },
	{ "not text", HEAD "a,\033[2J,1,5,8\n", 2,
	  "lower '?[2J' is not a decimal number" },
};

static void bad_file_desc(const struct bad_file *b, char *desc)
{
	strcpy(desc, b->name);
}
KUNIT_ARRAY_PARAM(bad_file, bad_files, bad_file_desc)

/* File and line are named, what was wrong is said, and there is no plan. */
static void bad_files_are_told(struct kunit *test)
{
	const struct bad_file *b = test->param_value;
	const char *path = make_file(test, b->text);
	struct program p;
	char where[96];

	slabpack(test, &p, path);
	KUNIT_EXPECT_EQ(test, p.status, 3);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	snprintf(where, sizeof(where), "slabpack: %s:%u: ", path, b->line);
	expect_text(test, p.err, where);
	expect_text(test, p.err, b->says);
}

static void files_that_are_none(struct kunit *test)
{
	static const char zero[] = HEAD "a,0,1,5\0,8\n";
	struct program p;

	slabpack(test, &p, "/no/such/file");
	KUNIT_EXPECT_EQ(test, p.status, 3);
	expect_text(test, p.err, "slabpack: /no/such/file: No such file");
	slabpack(test, &p, "/tmp");
	KUNIT_EXPECT_EQ(test, p.status, 3);
	expect_text(test, p.err, "slabpack: /tmp: Is a directory");
	slabpack(test, &p, make_bytes(test, zero, sizeof(zero) - 1));
	KUNIT_EXPECT_EQ(test, p.status, 3);
	expect_text(test, p.err, "a zero byte");
	/* What only the library can see. */
	slabpack(test, &p, make_file(test, "id,lower,upper,size\n"
		 "a,0,1,18446744073709551615\nb,0,1,2\n"));
	KUNIT_EXPECT_EQ(test, p.status, 3);
	expect_text(test, p.err, "does not fit 64 bits");
}

static void bad_options_are_told(struct kunit *test)
{
	const char *path = make_file(test, small);
	struct program p;

	slabpack(test, &p);
	KUNIT_EXPECT_EQ(test, p.status, 2);
	expect_text(test, p.err, "no file was named");
	slabpack(test, &p, path, path);
	KUNIT_EXPECT_EQ(test, p.status, 2);
	expect_text(test, p.err, "one file at a time");
	slabpack(test, &p, "--capacity=0", path);
	KUNIT_EXPECT_EQ(test, p.status, 2);
	expect_text(test, p.err, "--capacity=0: a number from 1");
	slabpack(test, &p, "--capacity=-1", path);
	KUNIT_EXPECT_EQ(test, p.status, 2);
	slabpack(test, &p, "--capacity=16777216T", path);
	KUNIT_EXPECT_EQ(test, p.status, 2);
	slabpack(test, &p, "--effort=some", path);
	KUNIT_EXPECT_EQ(test, p.status, 2);
	expect_text(test, p.err, "--effort=some: ");
	slabpack(test, &p, "--no-such-option", path);
	KUNIT_EXPECT_EQ(test, p.status, 2);
}

static void help_and_version(struct kunit *test)
{
	struct program p;

	slabpack(test, &p, "--help");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "Usage: slabpack [OPTION]... FILE\n");
	slabpack(test, &p, "--version");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "slabpack (libslabdev) ");
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(a_plan_is_csv),
	KUNIT_CASE(a_plan_is_json),
	KUNIT_CASE(forms_of_a_file),
	KUNIT_CASE(nothing_is_a_plan),
	KUNIT_CASE(standard_input),
	KUNIT_CASE(a_picture),
	KUNIT_CASE(what_does_not_fit_fails),
	KUNIT_CASE_PARAM(bad_files_are_told, bad_file_gen_params),
	KUNIT_CASE(files_that_are_none),
	KUNIT_CASE(bad_options_are_told),
	KUNIT_CASE(help_and_version),
	{ 0 }
};

static const struct kunit_suite slabpack_suite = {
	.name = "slabpack",
	.cases = cases,
};
kunit_test_suite(slabpack_suite);
