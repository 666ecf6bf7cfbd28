// SPDX-License-Identifier: BSD-2-Clause
/*
 * slabreplay_test.c - what slabreplay measures, and what it says of a bad trace
 *
 * Each case writes a trace of its own whose figures are known, and runs the
 * program on it.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/os.h"
#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"
#include "tests/program.h"
#include "tests/slabinfo_run.h"

/* ---- Traces ----------------------------------------------------------- */

static void remove_file(void *path)
{
	if (remove(path))
		fprintf(stderr, "%s is left\n", (char *)path);
}

/* A file of these bytes; it goes with the case. */
static const char *make_file(struct kunit *test, const char *bytes, size_t n)
{
	char *path = kunit_kzalloc(test, 64);
	ssize_t done = 0, some;
	int fd;

	strcpy(path, "/tmp/slabreplay-XXXXXX");
	fd = mkstemp(path);
	KUNIT_ASSERT_GE(test, fd, 0);
	kunit_add_action(test, remove_file, path);
	for (; (size_t)done < n; done += some) {
		some = write(fd, bytes + done, n - (size_t)done);
		KUNIT_ASSERT_GT(test, some, 0);
	}
	KUNIT_ASSERT_EQ(test, close(fd), 0);
	return path;
}

static const char *make_trace(struct kunit *test, const char *text)
{
	return make_file(test, text, strlen(text));
}

#define replay(test, p, env, ...) \
	program_run(test, p, (const char *const[]){ "tools/slabreplay", \
		    ##__VA_ARGS__, NULL }, env)

/* ---- Results ---------------------------------------------------------- */

/* The number after @key, which is the first after @after in the JSON text. */
static u64 number(struct kunit *test, const struct program *p,
		  const char *after, const char *key)
{
	const char *at = strstr(p->out, after);
	char wanted[64];

	KUNIT_ASSERT_NOT_NULL_MSG(test, at, "no %s in %s%s", after, p->out,
				  p->err);
	snprintf(wanted, sizeof(wanted), "\"%s\":", key);
	at = strstr(at, wanted);
	KUNIT_ASSERT_NOT_NULL_MSG(test, at, "no %s in %s", key, p->out);
	return strtoull(at + strlen(wanted), NULL, 10);
}

#define ALL "{\"version\":1,"
#define FIRST "\"first_loop\":{"
#define LATER "\"later_loops\":{"

/* Two objects live at once at most, one of them to the end; 9 MiB. */
static const char small[] =
	"# a small trace\n"
	"a 1 1048576\n"
	"a 2 3145728\n"
	"f 1\n"
	"\n"
	"a 3 6291456\n"
	"f 2\n";

static void figures_are_exact(struct kunit *test)
{
	const char *trace = make_trace(test, small);
	struct program p;

	replay(test, &p, NULL, "--json", "--loops=3", trace);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "loops"), 3);
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "events"), 18);
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "failed"), 0);
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "peak_live"), 9 * MIB);
	KUNIT_EXPECT_GE(test, number(test, &p, ALL, "peak_mapped"), 9 * MIB);
	KUNIT_EXPECT_LE(test, number(test, &p, ALL, "peak_mapped"), 16 * MIB);
	KUNIT_EXPECT_EQ(test, number(test, &p, FIRST, "loops"), 1);
	KUNIT_EXPECT_EQ(test, number(test, &p, FIRST, "allocs"), 3);
	KUNIT_EXPECT_EQ(test, number(test, &p, FIRST, "frees"), 3);
	KUNIT_EXPECT_EQ(test, number(test, &p, FIRST, "peak_live"), 9 * MIB);
	KUNIT_EXPECT_GT(test, number(test, &p, FIRST, "backend_calls"), 0);
	KUNIT_EXPECT_EQ(test, number(test, &p, LATER, "loops"), 2);
	KUNIT_EXPECT_EQ(test, number(test, &p, LATER, "events"), 12);
	KUNIT_EXPECT_EQ(test, number(test, &p, LATER, "backend_calls"), 0);
}

/* One object, and nothing else on standard output. */
static void json_is_one_object(struct kunit *test)
{
	const char *trace = make_trace(test, small);
	struct program p;
	size_t n;

	replay(test, &p, NULL, "--json", trace);
	n = strlen(p.out);
	KUNIT_ASSERT_GT(test, n, 2);
	KUNIT_EXPECT_EQ(test, p.out[0], '{');
	KUNIT_EXPECT_STREQ(test, p.out + n - 2, "}\n");
	KUNIT_EXPECT_PTR_EQ(test, strchr(p.out, '\n'), p.out + n - 1);
	expect_text(test, p.out, "\"policy\":\"retain\"");
	expect_text(test, p.out, "\"touched\":false");
	expect_text(test, p.out, trace);
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

static void people_get_a_table_and_a_picture(struct kunit *test)
{
	const char *trace = make_trace(test, small);
	struct program p;

	replay(test, &p, NULL, trace);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_in_order(test, p.out, (const char *const[]){
		": policy retain, memory not touched\n", " peak live ",
		"\nfirst loop ", " 9.0M ", "\nlater loop ", " 9.0M ", " |##",
		"# live", "first loop", "last loop", ". mapped", NULL });
	KUNIT_EXPECT_EQ_MSG(test, count_lines(p.out), 16, "%s", p.out);
	/* One loop has no later ones. */
	replay(test, &p, NULL, "--loops=1", trace);
	expect_no_text(test, p.out, "later");
	expect_no_text(test, p.out, "last loop");
	replay(test, &p, NULL, "--loops=1", "--json", trace);
	KUNIT_EXPECT_EQ(test, number(test, &p, LATER, "loops"), 0);
}

/* Anything that a text may have: other line ends, no last one, any id. */
static void forms_of_a_line(struct kunit *test)
{
	const char *trace = make_trace(test,
		"a 18446744073709551615 256\r\n"
		" \t a\t0  512 # after an event\r\n"
		"# a comment that is much longer than any line that has an "
		"event in it could be, since people write what they like, and "
		"some programs put a whole command line there, with all of its "
		"arguments and the environment, which is a good thing to have "
		"when one wonders, years later, where a trace came from\n"
		"f 18446744073709551615\n"
		"a 18446744073709551615 1024\n"
		"\t\n"
		"f 0");
	struct program p;

	replay(test, &p, NULL, "--json", "--loops=1", trace);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "events"), 6);
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "peak_live"), 1536);
}

/* Ids belong to their trace; what one leaves is freed before the next. */
static void several_traces(struct kunit *test)
{
	const char *one = make_trace(test, "a 7 2097152\n");
	const char *two = make_trace(test, "a 7 1048576\na 8 2\nf 7\n");
	struct program p;

	replay(test, &p, NULL, "--json", "--loops=2", one, two, one);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "events"), 16);
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "peak_live"), 2 * MIB);
	replay(test, &p, NULL, one, two, one);
	expect_text(test, p.out, " and 2 more: ");
}

/*
 * Far more objects than a block, a table, or the picture has entries, ids that
 * are multiples of a power of two, freed in another order.
 */
static void long_traces(struct kunit *test)
{
	const u32 n = 40000;
	size_t room = 64 * (size_t)n, len = 0;
	char *text = kunit_kmalloc(test, room);
	struct program p;
	u32 i;

	for (i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, room - len, "a %llu 256\n",
					(unsigned long long)i << 21);
	for (i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, room - len, "f %llu\n",
					(unsigned long long)(i * 7919ull % n)
					<< 21);
	replay(test, &p, NULL, "--json", make_file(test, text, len));
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_EQ(test, number(test, &p, FIRST, "events"), 2 * n);
	KUNIT_EXPECT_EQ(test, number(test, &p, FIRST, "peak_live"), 256 * n);
	KUNIT_EXPECT_EQ(test, number(test, &p, LATER, "peak_live"), 256 * n);
	KUNIT_EXPECT_EQ(test, number(test, &p, LATER, "backend_calls"), 0);
}

/* ---- The space -------------------------------------------------------- */

static bool kernel_counts_all(void)
{
	FILE *f = fopen("/proc/sys/vm/overcommit_memory", "re");
	int mode = 0;

	if (!f)
		return false;
	if (fscanf(f, "%d", &mode) != 1)
		mode = 0;
	fclose(f);
	return mode == 2;
}

/* Twice the memory of this machine, at least 96 GiB, in objects of 1 GiB. */
static void large_traces_take_no_memory(struct kunit *test)
{
	u32 n = max((u32)(2 * os_memory_total() / GIB), 96u), i;
	char *text = kunit_kzalloc(test, (size_t)n * 32);
	struct program p;

	if (kernel_counts_all())
		kunit_skip(test, "the kernel counts memory that is mapped");
	if (n > 900)
		kunit_skip(test, "a space addresses less than twice the memory "
			   "of this machine");
	for (i = 0; i < n; i++)
		sprintf(text + strlen(text), "a %u 1073741824\n", i);
	replay(test, &p, NULL, "--json", "--loops=1", make_trace(test, text));
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "peak_live"), n * GIB);
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "failed"), 0);
}

static void touches_when_told(struct kunit *test)
{
	const char *trace = make_trace(test, small);
	struct program p;

	replay(test, &p, NULL, "--json", "--touch", trace);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "\"touched\":true");
	replay(test, &p, NULL, "--json", "--touch", "--no-touch", trace);
	expect_text(test, p.out, "\"touched\":false");
}

/* 3 of the 9 MiB do not fit: the rest goes on, and the report comes once. */
static void failures_are_counted(struct kunit *test)
{
	const char *trace = make_trace(test, small);
	struct program p;

	replay(test, &p, NULL, "--json", "--limit=4M", trace);
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "limit"), 4 * MIB);
	KUNIT_EXPECT_EQ(test, number(test, &p, FIRST, "failed"), 1);
	KUNIT_EXPECT_EQ(test, number(test, &p, LATER, "failed"), 1);
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "peak_live"), 4 * MIB);
	expect_text(test, p.err, "Out of memory");
	expect_text(test, p.err, "slabreplay: messages not shown: 1 ");
}

static void parameters_work(struct kunit *test)
{
	const char *trace = make_trace(test, small);
	struct program p;

	replay(test, &p, "SLABDEV_LIMIT=64M", "--json", trace);
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "limit"), 64 * MIB);
	replay(test, &p, "SLABDEV_LIMIT=64M", "--json", "--limit=32M", trace);
	KUNIT_EXPECT_EQ(test, number(test, &p, ALL, "limit"), 32 * MIB);
	replay(test, &p, "SLABDEV_POLICY=aggressive", "--json", trace);
	expect_text(test, p.out, "\"policy\":\"aggressive\"");
	KUNIT_EXPECT_GT(test, number(test, &p, LATER, "backend_calls"), 0);
	replay(test, &p, NULL, "--json", "--policy=trim:2M", "--sheaf=1M",
	       trace);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "\"policy\":\"trim:2M\"");
	replay(test, &p, "SLABDEV_STEDY=1", trace);
	KUNIT_EXPECT_EQ(test, p.status, 2);
	expect_text(test, p.err, "slabreplay: ");
	expect_text(test, p.err, "SLABDEV_STEDY");
}

/* ---- What is refused -------------------------------------------------- */

struct bad_trace {
	const char *name;
	const char *text;
	u32 line;
	const char *says;
};

static const struct bad_trace bad_traces[] = {
	{ "unknown id", "a 1 5\nf 2\n", 2,
	  "id 2 is freed but was never allocated" },
	{ "double free", "a 1 5\n#\nf 1\nf 1\n", 4, "id 1 is freed twice" },
	{ "double allocation", "a 1 5\n\na 1 5\n", 3,
	  "id 1 is allocated again: it is live since line 1" },
	{ "freed before", "f 1\na 1 5\n", 1, "was never allocated" },
	{ "size 0", "a 1 0\n", 1, "id 1 has size 0" },
	{ "no size", "a 1\n", 1, "the size is missing" },
	{ "no id", "a 1 2\nf\n", 2, "the id is missing" },
	{ "negative size", "a 1 -5\n", 1,
	  "the size '-5' is not a decimal number" },
	{ "long size", "a 1 18446744073709551616\n", 1,
	  "the size '18446744073709551616' does not fit 64 bits" },
	{ "long id", "f 99999999999999999999\n", 1, "does not fit 64 bits" },
	{ "suffix", "a 1 5K\n", 1, "the size '5K' is not a decimal number" },
	{ "fraction", "a 1.5 5\n", 1, "the id '1.5' is not" },
	{ "other verb", "a 1 5\nm 1 6\n", 2, "'m' is none of" },
	{ "long verb", "alloc 1 5\n", 1, "'alloc' is none of" },
	{ "a word more", "f 1 5\n", 1, "'5' is one word too many" },
	{ "no verb", "1 5\n", 1, "'1' is none of" },
	{ "control characters", "a \033[2J 5\n", 1, "the id '?[2J' is not" },
	{ "empty", "", 1, "the trace has no event" },
	{ "comments only", "# one\n# two", 3, "the trace has no event" },
};

static void describe_bad_trace(const struct bad_trace *bad, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", bad->name);
}
KUNIT_ARRAY_PARAM(bad_trace, bad_traces, describe_bad_trace)

/* File and line are named, what was wrong is said, and there is no result. */
static void bad_lines_are_named(struct kunit *test)
{
	const struct bad_trace *bad = test->param_value;
	const char *trace = make_trace(test, bad->text);
	char where[128];
	struct program p;

	snprintf(where, sizeof(where), "slabreplay: %s:%u: ", trace, bad->line);
	replay(test, &p, NULL, "--json", trace);
	KUNIT_EXPECT_EQ(test, p.status, 3);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	expect_text(test, p.err, where);
	expect_text(test, p.err, bad->says);
	KUNIT_EXPECT_EQ_MSG(test, count_lines(p.err), 1, "%s", p.err);
}

static void binary_files_are_refused(struct kunit *test)
{
	static const char zero[] = "a 1 5\na\0 2 6\n";
	char *line = kunit_kmalloc(test, 5000);
	struct program p;

	replay(test, &p, NULL, make_file(test, zero, sizeof(zero) - 1));
	KUNIT_EXPECT_EQ(test, p.status, 3);
	expect_text(test, p.err, ":2: a zero byte");
	memset(line, '1', 5000);
	replay(test, &p, NULL, make_file(test, line, 5000));
	KUNIT_EXPECT_EQ(test, p.status, 3);
	expect_text(test, p.err, ":1: more than 255 characters");
	KUNIT_EXPECT_STREQ(test, p.out, "");
}

static void files_that_cannot_be_read(struct kunit *test)
{
	const char *trace = make_trace(test, small), *fifo;
	struct program p;

	replay(test, &p, NULL, trace, "/tmp/slabreplay/no/such");
	KUNIT_EXPECT_EQ(test, p.status, 3);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_STREQ(test, p.err, "slabreplay: /tmp/slabreplay/no/such: "
			   "No such file or directory\n");
	replay(test, &p, NULL, "/tmp");
	KUNIT_EXPECT_EQ(test, p.status, 3);
	KUNIT_EXPECT_STREQ(test, p.err, "slabreplay: /tmp: Is a directory\n");
	fifo = make_trace(test, "");
	KUNIT_ASSERT_EQ(test, remove(fifo), 0);
	KUNIT_ASSERT_EQ(test, mkfifo(fifo, 0600), 0);
	replay(test, &p, NULL, fifo);
	KUNIT_EXPECT_EQ(test, p.status, 3);
	expect_text(test, p.err, "use --loops=1");
}

static void options_are_checked(struct kunit *test)
{
	static const char *const bad[][2] = {
		{ "--loops=0", "--loops=0: a number from 1 to 1000000" },
		{ "--loops=-1", "a number from 1" },
		{ "--loops=2x", "a number from 1" },
		{ "--policy=keep", "slabreplay: --policy='keep' is not acc" },
		{ "--limit=1", "slabreplay: --limit='1' is not accepted" },
		{ "--sheaf=", "slabreplay: --sheaf='' is not accepted" },
		{ "--wrong", "slabreplay: unrecognized option '--wrong'" },
	};
	const char *trace = make_trace(test, small);
	struct program p;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		replay(test, &p, NULL, bad[i][0], trace);
		KUNIT_EXPECT_EQ_MSG(test, p.status, 2, "%s", bad[i][0]);
		KUNIT_EXPECT_STREQ(test, p.out, "");
		expect_text(test, p.err, bad[i][1]);
	}
	/* Who named the variable is told of the variable. */
	replay(test, &p, "SLABDEV_POLICY=keep", "--limit=1G", trace);
	KUNIT_EXPECT_EQ(test, p.status, 2);
	expect_text(test, p.err, "slabreplay: SLABDEV_POLICY='keep' is not");
	replay(test, &p, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 2);
	expect_text(test, p.err, "no trace was named");
	replay(test, &p, NULL, "--help");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "Usage: slabreplay");
	replay(test, &p, NULL, "--version");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "slabreplay (libslabdev) ");
}

static void output_that_cannot_be_written(struct kunit *test)
{
	struct kunit_process p;

	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", "\"$0\" \"$1\" >/dev/full",
		program_path(test, "tools/slabreplay"),
		make_trace(test, small), NULL });
	KUNIT_EXPECT_EQ(test, p.exit_code, 3);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(figures_are_exact),
	KUNIT_CASE(json_is_one_object),
	KUNIT_CASE(people_get_a_table_and_a_picture),
	KUNIT_CASE(forms_of_a_line),
	KUNIT_CASE(several_traces),
	KUNIT_CASE(long_traces),
	KUNIT_CASE(large_traces_take_no_memory),
	KUNIT_CASE(touches_when_told),
	KUNIT_CASE(failures_are_counted),
	KUNIT_CASE(parameters_work),
	KUNIT_CASE_PARAM(bad_lines_are_named, bad_trace_gen_params),
	KUNIT_CASE(binary_files_are_refused),
	KUNIT_CASE(files_that_cannot_be_read),
	KUNIT_CASE(options_are_checked),
	KUNIT_CASE(output_that_cannot_be_written),
	{ 0 }
};

static const struct kunit_suite slabreplay_suite = {
	.name = "slabreplay",
	.cases = cases,
};
kunit_test_suite(slabreplay_suite);
