// SPDX-License-Identifier: BSD-2-Clause
/*
 * report_test.c - what becomes of a report that is finished: rates, JSON, the
 * function of the program, and the end of the process.
 *
 * What is set is the process's, so that cases which set something are isolated.
 * Time is the test's own where rates are about it. log_test.c has the text of
 * reports and the ways of the log, report_json_test.c what is in the JSON.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "core/log.h"
#include "core/os.h"
#include "core/os_private.h"
#include "core/param.h"
#include "core/ratelimit.h"
#include "core/report_json.h"
#include "tests/crew.h"
#include "tests/folder.h"
#include "tests/kunit/spawn.h"
#include "tests/syntax.h"

#define NS_PER_S ((u64)1000000000)

/* ---- The value of SLABDEV_REPORT -------------------------------------- */

#define NONE { 0 }

static const struct value_param {
	const char *value;
	bool accepted;
	struct report_policy wanted;
} value_params[] = {
	{ "abort", true, { .abort = true, .rate_nr = 100, .rate_s = 60 } },
	{ "json", true, { .json = true, .rate_nr = 100, .rate_s = 60 } },
	{ "json:/a b:c", true,
	  { .json = true, .rate_nr = 100, .rate_s = 60,
	    .json_path = "/a b:c" } },
	{ "rate=1/0", true, { .rate_nr = 1 } },
	{ "rate=1000000/1000000", true, { .rate_nr = 1000000,
					  .rate_s = 1000000 } },
	{ "rate=3/60,json:x,abort", true,
	  { .abort = true, .json = true, .rate_nr = 3, .rate_s = 60,
	    .json_path = "x" } },
	{ "json:x,json", true, { .json = true, .rate_nr = 100, .rate_s = 60 } },
	{ "", false, NONE }, { ",", false, NONE }, { "abort,", false, NONE },
	{ ",json", false, NONE }, { "Abort", false, NONE },
	{ "abor", false, NONE }, { "aborts", false, NONE },
	{ "json:", false, NONE }, { "json:,abort", false, NONE },
	{ "jsonl", false, NONE }, { "rate", false, NONE },
	{ "rate=", false, NONE }, { "rate=1", false, NONE },
	{ "rate=1/", false, NONE }, { "rate=/1", false, NONE },
	{ "rate=0/1", false, NONE }, { "rate=1/2/3", false, NONE },
	{ "rate=-1/2", false, NONE }, { "rate=1/2s", false, NONE },
	{ "rate=1000001/1", false, NONE }, { "rate=1/1000001", false, NONE },
	{ "rate=99999999999999999999/1", false, NONE },
	{ "rate 1/2", false, NONE },
};

static void describe_value(const struct value_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "'%s'", p->value);
}
KUNIT_ARRAY_PARAM(value, value_params, describe_value)

static void value_is_read(struct kunit *test)
{
	const struct value_param *v = test->param_value;
	struct report_policy p = REPORT_POLICY_INIT;

	KUNIT_ASSERT_EQ(test, report_policy_parse(&p, v->value), v->accepted);
	if (!v->accepted)
		return;
	KUNIT_EXPECT_EQ(test, p.abort, v->wanted.abort);
	KUNIT_EXPECT_EQ(test, p.json, v->wanted.json);
	KUNIT_EXPECT_EQ(test, p.rate_nr, v->wanted.rate_nr);
	KUNIT_EXPECT_EQ(test, p.rate_s, v->wanted.rate_s);
	KUNIT_EXPECT_STREQ(test, p.json_path, v->wanted.json_path);
}

static void too_long_path_is_refused(struct kunit *test)
{
	struct report_policy p = REPORT_POLICY_INIT;
	char value[300] = "json:";

	memset(value + 5, 'x', sizeof(p.json_path) - 1);
	KUNIT_EXPECT_TRUE(test, report_policy_parse(&p, value));
	KUNIT_EXPECT_EQ(test, strlen(p.json_path), sizeof(p.json_path) - 1);
	value[strlen(value)] = 'x';
	KUNIT_EXPECT_FALSE(test, report_policy_parse(&p, value));
}

static void file_that_cannot_be_opened_is_refused(struct kunit *test)
{
	const struct params *p = NULL;

	setenv("SLABDEV_REPORT", "json:/nonexistent/json,abort", 1);
	KUNIT_EXPECT_EQ(test, params_get(&p), -EINVAL);
	KUNIT_EXPECT_STREQ(test, error_get(),
			   "SLABDEV_REPORT: cannot append to "
			   "'/nonexistent/json': No such file or directory");
}

/* ---- Rates ------------------------------------------------------------ */

static void rate_lets_so_many_pass_in_a_stretch(struct kunit *test)
{
	struct ratelimit r = { 0 };
	u32 left_out = 1, i;

	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, ratelimit_pass(&r, 3, 100, 50 + i,
						       &left_out));
		KUNIT_EXPECT_EQ(test, left_out, 0);
	}
	for (i = 1; i <= 5; i++) {
		KUNIT_EXPECT_FALSE(test, ratelimit_pass(&r, 3, 100, 149,
							&left_out));
		KUNIT_EXPECT_EQ(test, left_out, i);
	}
	/* The stretch began at 50. Its successor begins when one comes. */
	KUNIT_EXPECT_TRUE(test, ratelimit_pass(&r, 3, 100, 150, &left_out));
	KUNIT_EXPECT_EQ(test, left_out, 5);
	KUNIT_EXPECT_TRUE(test, ratelimit_pass(&r, 3, 100, 249, &left_out));
	KUNIT_EXPECT_EQ(test, left_out, 0);
	KUNIT_EXPECT_TRUE(test, ratelimit_pass(&r, 3, 100, 1000, &left_out));
	KUNIT_EXPECT_EQ(test, left_out, 0);
}

static void stretch_of_no_length_limits_nothing(struct kunit *test)
{
	struct ratelimit r = { 0 };
	u32 left_out, i;

	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_TRUE(test, ratelimit_pass(&r, 1, 0, 7, &left_out));
	KUNIT_EXPECT_EQ(test, left_out, 0);
}

/* ---- A report of everything ------------------------------------------- */

static void send_report(enum report_kind kind, const char *headline,
			const char *line)
{
	struct report r;

	report_start(&r, kind, "host", "%s", headline);
	if (line)
		report_line(&r, "%s", line);
	report_end(&r);
}

static void send_many(enum report_kind kind, int n)
{
	while (n--)
		send_report(kind, "again", NULL);
}

/* What was written to a file that has 64 KiB at most. */
static char *text_of(struct kunit *test, const char *path)
{
	char *text = kunit_kzalloc(test, 64 * KIB);

	KUNIT_EXPECT_EQ(test, os_read_file(path, text, 64 * KIB), 0);
	return text;
}

static u32 count_of(const char *text, const char *what)
{
	u32 n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void set_policy(struct kunit *test, const char *value)
{
	struct report_policy p = REPORT_POLICY_INIT;

	KUNIT_ASSERT_TRUE(test, report_policy_parse(&p, value));
	KUNIT_ASSERT_EQ(test, report_policy_set(&p), 0);
}

static char *path_in(struct kunit *test, const char *folder, const char *name)
{
	char *path = kunit_kzalloc(test, 512);

	snprintf(path, 512, "%s/%s", folder, name);
	return path;
}

/* The default sink, and where it writes to. */
static char *log_to_file(struct kunit *test)
{
	char *path = path_in(test, new_folder(test), "log");
	const struct params *p;

	/* Which is done once, and changes what is set here. */
	KUNIT_ASSERT_EQ(test, params_get(&p), 0);
	log_set_sink(NULL, NULL);
	KUNIT_ASSERT_EQ(test, log_configure(LOG_WARN, path), 0);
	return path;
}

static u64 time_now = 1000 * NS_PER_S;

static u64 tell_time(void)
{
	return time_now;
}

static void default_sink_limits_each_kind(struct kunit *test)
{
	const char *path = log_to_file(test), *text;

	kunit_activate_static_stub(test, os_monotonic_ns, tell_time);
	send_many(REPORT_DOUBLE_FREE, 100);
	text = text_of(test, path);
	KUNIT_EXPECT_EQ(test, count_of(text, "BUG slabdev host: again\n"), 100);
	KUNIT_EXPECT_EQ(test, count_of(text, "left out"), 0);
	send_many(REPORT_DOUBLE_FREE, 7);
	send_many(REPORT_LOST, 1);
	text = text_of(test, path);
	KUNIT_EXPECT_EQ(test, count_of(text, "BUG slabdev host: again\n"), 101);
	KUNIT_EXPECT_EQ(test, count_of(text, "slabdev: more reports of the "
				       "kind double-free are left out for a "
				       "while: see SLABDEV_REPORT\n"), 1);
	time_now += 60 * NS_PER_S;
	send_many(REPORT_DOUBLE_FREE, 1);
	text = text_of(test, path);
	KUNIT_EXPECT_EQ(test, count_of(text, "BUG slabdev host: again\n"), 102);
	KUNIT_EXPECT_EQ(test, count_of(text, "slabdev: 7 reports of the kind "
				       "double-free were left out\n"
				       "======"), 1);
	KUNIT_EXPECT_EQ(test, count_of(text, "left out"), 2);
}

static void rate_can_be_set(struct kunit *test)
{
	const char *path = log_to_file(test);

	kunit_activate_static_stub(test, os_monotonic_ns, tell_time);
	set_policy(test, "rate=2/60");
	send_many(REPORT_LOST, 5);
	time_now += 59 * NS_PER_S;
	send_many(REPORT_LOST, 1);
	KUNIT_EXPECT_EQ(test, count_of(text_of(test, path), "BUG"), 2);
	time_now += NS_PER_S;
	send_many(REPORT_LOST, 1);
	KUNIT_EXPECT_EQ(test, count_of(text_of(test, path), "BUG"), 3);
	KUNIT_EXPECT_EQ(test, count_of(text_of(test, path), "4 reports of"), 1);
	set_policy(test, "rate=1/0");
	send_many(REPORT_LOST, 100);
	KUNIT_EXPECT_EQ(test, count_of(text_of(test, path), "BUG"), 103);
}

/* ---- JSON in a file ---------------------------------------------------- */

/* Each report is a line of the file, and says how many were left out. */
static void json_goes_to_a_file(struct kunit *test)
{
	char *path = path_in(test, new_folder(test), "json"), value[600];
	const char *where, *line;
	char *text;

	kunit_activate_static_stub(test, os_monotonic_ns, tell_time);
	snprintf(value, sizeof(value), "rate=2/5,json:%s", path);
	log_to_file(test);
	set_policy(test, value);
	send_report(REPORT_DOUBLE_FREE, "one \"quoted\"", "a line");
	send_many(REPORT_DOUBLE_FREE, 4);
	time_now += 5 * NS_PER_S;
	send_many(REPORT_DOUBLE_FREE, 1);
	text = text_of(test, path);
	KUNIT_EXPECT_EQ(test, count_of(text, "\n"), 3);
	KUNIT_EXPECT_EQ(test, count_of(text, "\"left_out\":0}\n"), 2);
	KUNIT_EXPECT_EQ(test, count_of(text, "\"left_out\":3}\n"), 1);
	KUNIT_EXPECT_EQ(test, count_of(text, "\"headline\":\"one \\\"quoted\\\""
				       "\",\"lines\":[\"a line\"]"), 1);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char one[512];

		snprintf(one, sizeof(one), "%s\n", line);
		KUNIT_EXPECT_NULL(test, json_wrong(one, &where));
	}
}

/* What another program makes of it. */
static void python_reads_the_file(struct kunit *test)
{
	static const char script[] =
		"import json, sys, time\n"
		"for line in open(sys.argv[1]):\n"
		"    r = json.loads(line)\n"
		"    assert abs(r['time'] - time.time()) < 3600\n"
		"    print(r['kind'], r['space'], r['pid'])\n"
		"    print(ascii(r['headline']), ascii(r['lines']))\n";
	char *path = path_in(test, new_folder(test), "json"), value[600];
	const char *argv[] = { "/usr/bin/python3", "-c", script, path, NULL };
	struct kunit_process proc;

	if (access(argv[0], X_OK))
		kunit_skip(test, "there is no %s", argv[0]);
	snprintf(value, sizeof(value), "json:%s", path);
	log_to_file(test);
	set_policy(test, value);
	send_report(REPORT_HAZARD, "\xc3\xa9 \xf0\x9f\x98\x80", "a\"b\\\nc");
	kunit_run_program(test, &proc, argv);
	KUNIT_EXPECT_EQ_MSG(test, proc.exit_code, 0, "%s", proc.err);
	snprintf(value, sizeof(value), "hazard host %d\n"
		 "'\\xe9 \\U0001f600' ['a\"b\\\\', 'c']\n", (int)getpid());
	KUNIT_EXPECT_STREQ(test, proc.out, value);
}

/* The level of the log is about text. */
static void json_is_written_without_a_log(struct kunit *test)
{
	char *path = path_in(test, new_folder(test), "json"), value[600];
	const char *log = log_to_file(test);

	snprintf(value, sizeof(value), "json:%s", path);
	set_policy(test, value);
	KUNIT_ASSERT_EQ(test, log_configure(LOG_NONE, log), 0);
	send_many(REPORT_LOST, 1);
	KUNIT_EXPECT_STREQ(test, text_of(test, log), "");
	KUNIT_EXPECT_EQ(test, count_of(text_of(test, path), "\"lost\""), 1);
}

/* Also when it went to a file before. */
static void json_goes_to_standard_error(struct kunit *test)
{
	char *path = path_in(test, new_folder(test), "stderr");
	char *before = path_in(test, new_folder(test), "json"), value[600];
	FILE *f = fopen(path, "we");

	KUNIT_ASSERT_NOT_NULL(test, f);
	KUNIT_ASSERT_GE(test, dup2(fileno(f), STDERR_FILENO), 0);
	fclose(f);
	log_to_file(test);
	snprintf(value, sizeof(value), "json:%s", before);
	set_policy(test, value);
	set_policy(test, "json");
	send_many(REPORT_LOST, 1);
	KUNIT_EXPECT_EQ(test, count_of(text_of(test, path), "\"lost\""), 1);
}

static int refuse_reserve(size_t size, void **addr)
{
	(void)size;
	(void)addr;
	return -ENOMEM;
}

static int refuse_commit(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return -ENOMEM;
}

static void without_memory_the_text_is_left(struct kunit *test)
{
	char *path = path_in(test, new_folder(test), "json"), value[600];
	const char *log = log_to_file(test), *text;

	snprintf(value, sizeof(value), "json:%s", path);
	set_policy(test, value);
	kunit_activate_static_stub(test, os_reserve, refuse_reserve);
	send_many(REPORT_LOST, 1);
	kunit_deactivate_static_stub(test, os_reserve);
	kunit_activate_static_stub(test, os_commit, refuse_commit);
	send_many(REPORT_LOST, 1);
	text = text_of(test, log);
	KUNIT_EXPECT_EQ(test, count_of(text, "BUG slabdev host: again"), 2);
	KUNIT_EXPECT_EQ(test, count_of(text, "slabdev: no host memory to make "
				       "JSON of a report\n"), 2);
	KUNIT_EXPECT_STREQ(test, text_of(test, path), "");
}

/* ---- The function of the program --------------------------------------- */

struct received {
	int answer;
	u32 count;
	struct slabdev_report last;
	char text[REPORT_TEXT_MAX], json[REPORT_JSON_MAX];
	char headline[256], space[64], kind[64];
};

static int receive(const struct slabdev_report *report, void *arg)
{
	struct received *got = arg;

	got->count++;
	got->last = *report;
	snprintf(got->kind, sizeof(got->kind), "%s", report->kind);
	snprintf(got->space, sizeof(got->space), "%s", report->space);
	snprintf(got->headline, sizeof(got->headline), "%s", report->headline);
	snprintf(got->text, sizeof(got->text), "%s", report->text);
	snprintf(got->json, sizeof(got->json), "%s", report->json);
	errno = EDOM;
	return got->answer;
}

/* A mistake of this process, and its report. */
static void free_twice(struct kunit *test)
{
	struct slabdev *sd = NULL;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_open(&sd, "host", NULL), 0);
	p = slabdev_alloc(sd, 100);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), 0);
	errno = ENOENT;
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EALREADY);
	KUNIT_EXPECT_EQ(test, errno, ENOENT);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
}

static void function_gets_each_report_in_parts(struct kunit *test)
{
	struct received *got = kunit_kzalloc(test, sizeof(*got));
	const char *log = log_to_file(test);
	char start[sizeof(got->headline) + 32];

	slabdev_set_report(receive, got);
	free_twice(test);
	KUNIT_EXPECT_EQ(test, got->count, 1);
	KUNIT_EXPECT_EQ(test, got->last.size, sizeof(got->last));
	KUNIT_EXPECT_STREQ(test, got->kind, "double-free");
	KUNIT_EXPECT_STREQ(test, got->space, "host");
	KUNIT_EXPECT_NE(test, *got->headline, '\0');
	snprintf(start, sizeof(start), "\nBUG slabdev host: %s\n---",
		 got->headline);
	KUNIT_EXPECT_EQ(test, count_of(got->text, start), 1);
	KUNIT_EXPECT_MEMEQ(test, got->json, "{\"kind\":\"double-free\",", 22);
	/* It did not say that the log is not to have it. */
	KUNIT_EXPECT_EQ(test, count_of(text_of(test, log), got->text), 1);
}

static void function_can_keep_the_log_out(struct kunit *test)
{
	struct received *got = kunit_kzalloc(test, sizeof(*got));
	const char *log = log_to_file(test);

	got->answer = 1;
	slabdev_set_report(receive, got);
	send_many(REPORT_LOST, 100);
	KUNIT_EXPECT_EQ(test, got->count, 100);
	KUNIT_EXPECT_STREQ(test, text_of(test, log), "");
	slabdev_set_report(NULL, NULL);
	send_many(REPORT_LOST, 1);
	KUNIT_EXPECT_EQ(test, got->count, 100);
	KUNIT_EXPECT_EQ(test, count_of(text_of(test, log), "BUG"), 1);
}

/* It is called without locks: it may report in its turn. */
static int report_again(const struct slabdev_report *report, void *arg)
{
	u32 *depth = arg;

	(void)report;
	if (++*depth < 3)
		send_many(REPORT_LOST, 1);
	slabdev_set_report(report_again, arg);
	return 1;
}

static void function_may_call_the_library(struct kunit *test)
{
	u32 depth = 0;

	log_to_file(test);
	slabdev_set_report(report_again, &depth);
	send_many(REPORT_LOST, 1);
	KUNIT_EXPECT_EQ(test, depth, 3);
}

#define NR_THREADS 4
#define NR_EACH 200

static int count_report(const struct slabdev_report *report, void *arg)
{
	(void)report;
	__atomic_add_fetch((u32 *)arg, 1, __ATOMIC_RELAXED);
	return 1;
}

static void report_much(void *arg)
{
	(void)arg;
	send_many(REPORT_LOST, NR_EACH);
}

static void threads_report_at_once(struct kunit *test)
{
	struct crew *crew = crew_new(test, NR_THREADS);
	char *path = path_in(test, new_folder(test), "json"), value[600];
	const char *where;
	u32 count = 0, i;
	char *text;

	snprintf(value, sizeof(value), "json:%s,rate=100/1000000", path);
	log_to_file(test);
	set_policy(test, value);
	slabdev_set_report(count_report, &count);
	for (i = 0; i < NR_THREADS; i++)
		crew_start(crew, i, report_much, NULL);
	for (i = 0; i < NR_THREADS; i++)
		crew_wait(crew, i);
	KUNIT_EXPECT_EQ(test, count, NR_THREADS * NR_EACH);
	text = text_of(test, path);
	KUNIT_EXPECT_EQ(test, count_of(text, "\n"), 100);
	for (text = strtok(text, "\n"); text; text = strtok(NULL, "\n")) {
		char one[512];

		snprintf(one, sizeof(one), "%s\n", text);
		KUNIT_EXPECT_NULL(test, json_wrong(one, &where));
	}
}

/* ---- The end of the process -------------------------------------------- */

static const void *kind_gen_params(const void *prev, char *desc)
{
	static enum report_kind kind;

	kind = prev ? *(const enum report_kind *)prev + 1 : 0;
	if (kind == REPORT_NR_KINDS)
		return NULL;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", report_kind_name(kind));
	return &kind;
}

static void process_ends_after_a_mistake(struct kunit *test)
{
	enum report_kind kind = *(const enum report_kind *)test->param_value;
	bool mistake = kind != REPORT_OUT_OF_MEMORY && kind != REPORT_LOST &&
		       kind != REPORT_DEAD;
	const char *log = log_to_file(test);
	int status = -1;
	pid_t pid;

	set_policy(test, "abort");
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		/* What the harness or a sanitizer does at a crash is theirs. */
		signal(SIGABRT, SIG_DFL);
		alarm(60);
		send_report(kind, "the last words", NULL);
		_exit(0);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	if (mistake)
		KUNIT_EXPECT_TRUE(test, WIFSIGNALED(status) &&
				  WTERMSIG(status) == SIGABRT);
	else
		KUNIT_EXPECT_EQ(test, status, 0);
	KUNIT_EXPECT_EQ(test, count_of(text_of(test, log),
				       "BUG slabdev host: the last words"), 1);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(value_is_read, value_gen_params),
	KUNIT_CASE(too_long_path_is_refused),
	KUNIT_CASE_ISOLATED(file_that_cannot_be_opened_is_refused),
	KUNIT_CASE(rate_lets_so_many_pass_in_a_stretch),
	KUNIT_CASE(stretch_of_no_length_limits_nothing),
	KUNIT_CASE_ISOLATED(default_sink_limits_each_kind),
	KUNIT_CASE_ISOLATED(rate_can_be_set),
	KUNIT_CASE_ISOLATED(json_goes_to_a_file),
	KUNIT_CASE_ISOLATED(python_reads_the_file),
	KUNIT_CASE_ISOLATED(json_is_written_without_a_log),
	KUNIT_CASE_ISOLATED(json_goes_to_standard_error),
	KUNIT_CASE_ISOLATED(without_memory_the_text_is_left),
	KUNIT_CASE_ISOLATED(function_gets_each_report_in_parts),
	KUNIT_CASE_ISOLATED(function_can_keep_the_log_out),
	KUNIT_CASE_ISOLATED(function_may_call_the_library),
	KUNIT_CASE_ISOLATED(threads_report_at_once),
	KUNIT_CASE_PARAM(process_ends_after_a_mistake, kind_gen_params,
			 .isolated = true),
	{ 0 }
};

static const struct kunit_suite report_suite = {
	.name = "report",
	.cases = cases,
};
kunit_test_suite(report_suite);
