// SPDX-License-Identifier: BSD-2-Clause
/*
 * log_test.c - messages, reports, error texts, and where they go.
 *
 * Every case that changes the sink is isolated, since the sink in place is the
 * harness's own and there is no asking for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "core/log.h"
#include "core/os_private.h"
#include "tests/kunit/kunit.h"

/* What a sink saw: the last text, and how many there were. */
struct seen {
	int level;
	int kind;
	unsigned int count;
	char text[REPORT_TEXT_MAX + 1];
};

static void to_seen(int level, int kind, const char *text, void *arg)
{
	struct seen *s = arg;

	s->level = level;
	s->kind = kind;
	s->count++;
	snprintf(s->text, sizeof(s->text), "%s", text);
	errno = EDOM;
}

static void to_seen_user(int level, const char *text, void *arg)
{
	to_seen(level, -2, text, arg);
}

static void levels_are_those_of_the_interface(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, LOG_NONE, SLABDEV_LOG_NONE);
	KUNIT_EXPECT_EQ(test, LOG_ERROR, SLABDEV_LOG_ERROR);
	KUNIT_EXPECT_EQ(test, LOG_WARN, SLABDEV_LOG_WARN);
	KUNIT_EXPECT_EQ(test, LOG_INFO, SLABDEV_LOG_INFO);
	KUNIT_EXPECT_EQ(test, LOG_DEBUG, SLABDEV_LOG_DEBUG);
}

static void every_kind_has_a_name(struct kunit *test)
{
	int i, j;

	for (i = 0; i < REPORT_NR_KINDS; i++) {
		const char *name = report_kind_name((enum report_kind)i);

		KUNIT_ASSERT_NOT_NULL(test, name);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_STRNEQ(test, name, report_kind_name(
						(enum report_kind)j));
	}
	KUNIT_EXPECT_STREQ(test, report_kind_name(REPORT_NR_KINDS), "unknown");
}

static void messages_above_the_level_are_dropped(struct kunit *test)
{
	struct seen s = { 0 };
	int level;

	log_set_sink(to_seen, &s);
	for (level = LOG_NONE; level <= LOG_DEBUG; level++) {
		s.count = 0;
		KUNIT_ASSERT_EQ(test, log_configure((enum log_level)level,
						    NULL), 0);
		log_printf(LOG_ERROR, "e");
		pr_warn("w");
		pr_info("i");
		log_printf(LOG_DEBUG, "d");
		KUNIT_EXPECT_EQ(test, s.count, level);
	}
	KUNIT_EXPECT_EQ(test, s.level, LOG_DEBUG);
	KUNIT_EXPECT_EQ(test, s.kind, LOG_PLAIN);
	KUNIT_EXPECT_STREQ(test, s.text, "d");
}

static void message_is_cut_and_errno_kept(struct kunit *test)
{
	struct seen s = { 0 };

	log_set_sink(to_seen, &s);
	errno = ENOENT;
	log_printf(LOG_ERROR, "%*d", 5000, 1);
	KUNIT_EXPECT_EQ(test, errno, ENOENT);
	KUNIT_EXPECT_GT(test, strlen(s.text), 500);
	KUNIT_EXPECT_LT(test, strlen(s.text), 5000);
}

static void sink_comes_before_user(struct kunit *test)
{
	struct seen sink = { 0 }, user = { 0 };

	log_set_user(to_seen_user, &user);
	log_set_sink(to_seen, &sink);
	pr_warn("to the sink");
	KUNIT_EXPECT_EQ(test, sink.count, 1);
	KUNIT_EXPECT_EQ(test, user.count, 0);
	log_set_sink(NULL, NULL);
	pr_warn("to the user");
	KUNIT_EXPECT_EQ(test, sink.count, 1);
	KUNIT_EXPECT_EQ(test, user.count, 1);
	KUNIT_EXPECT_EQ(test, user.level, LOG_WARN);
	KUNIT_EXPECT_STREQ(test, user.text, "to the user");
}

/* A sink that logs and changes the sink needs every lock that we might hold. */
static void reenter(int level, const char *text, void *arg)
{
	struct seen *s = arg;

	(void)level;
	(void)text;
	if (s->count++)
		return;
	pr_warn("from within");
	log_set_user(reenter, arg);
}

static void sink_may_call_back(struct kunit *test)
{
	struct seen s = { 0 };

	log_set_sink(NULL, NULL);
	log_set_user(reenter, &s);
	pr_warn("outer");
	KUNIT_EXPECT_EQ(test, s.count, 2);
}

/* ---- Reports ---------------------------------------------------------- */

#define RULE77(c11) c11 c11 c11 c11 c11 c11 c11
#define DOUBLE_RULE RULE77("===========")
#define SINGLE_RULE RULE77("-----------")

static void report_has_the_kernels_frame(struct kunit *test)
{
	struct report r;

	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	report_start(&r, REPORT_DOUBLE_FREE, "host", "%s freed %d times",
		     "0x1000", 2);
	report_line(&r, "Object at offset %#x", 256);
	report_line(&r, "Fix the program");
	report_end(&r);
	KUNIT_EXPECT_STREQ(test, kunit_report_text(test),
			   DOUBLE_RULE "\n"
			   "BUG slabdev host: 0x1000 freed 2 times\n"
			   SINGLE_RULE "\n"
			   "Object at offset 0x100\n"
			   "Fix the program");
}

static void report_is_cut_at_a_line_end(struct kunit *test)
{
	struct seen s = { 0 };
	struct report r;
	char *last;
	int i;

	log_set_sink(to_seen, &s);
	report_start(&r, REPORT_CORRUPT, "host", "long");
	for (i = 0; i < 1000; i++)
		report_line(&r, "line %03d", i);
	report_end(&r);
	KUNIT_EXPECT_EQ(test, s.count, 1);
	KUNIT_EXPECT_EQ(test, s.level, LOG_ERROR);
	KUNIT_EXPECT_EQ(test, s.kind, REPORT_CORRUPT);
	KUNIT_EXPECT_LT(test, strlen(s.text), REPORT_TEXT_MAX);
	last = strrchr(s.text, '\n');
	KUNIT_ASSERT_NOT_NULL(test, last);
	/* What is there and what is missing add up to what was given. */
	KUNIT_ASSERT_EQ(test, sscanf(last, "\n(lines that did not fit: %d)",
				     &i), 1);
	*last = '\0';
	last = strrchr(s.text, '\n');
	KUNIT_EXPECT_EQ(test, atoi(last + strlen("\nline ")) + 1 + i, 1000);
}

/* A line that would fit after one that did not is left out as well. */
static void report_has_no_hole(struct kunit *test)
{
	struct seen s = { 0 };
	struct report r;

	log_set_sink(to_seen, &s);
	report_start(&r, REPORT_LOST, "host", "hole");
	report_line(&r, "before");
	report_line(&r, "%*d", REPORT_TEXT_MAX, 1);
	report_line(&r, "after");
	report_end(&r);
	KUNIT_EXPECT_STREQ(test, strrchr(s.text, '-') + 1,
			   "\nbefore\n(lines that did not fit: 2)");
}

/* However long the lines are, the text ends within its buffer. */
static void report_of_any_length_fits(struct kunit *test)
{
	struct seen s = { 0 };
	struct report r;
	int len;

	log_set_sink(to_seen, &s);
	for (len = REPORT_TEXT_MAX - 300; len < REPORT_TEXT_MAX + 10; len++) {
		report_start(&r, REPORT_LOST, "host", "h");
		report_line(&r, "%*d", len, 1);
		report_line(&r, "x");
		report_end(&r);
		KUNIT_ASSERT_LT(test, r.len, REPORT_TEXT_MAX);
		KUNIT_ASSERT_EQ(test, strlen(r.text), r.len);
	}
	KUNIT_EXPECT_EQ(test, s.count, 310);
}

static void headline_too_long_is_counted(struct kunit *test)
{
	struct seen s = { 0 };
	struct report r;

	log_set_sink(to_seen, &s);
	report_start(&r, REPORT_LOST, "host", "%*d", REPORT_TEXT_MAX, 1);
	report_end(&r);
	KUNIT_EXPECT_STREQ(test, s.text,
			   DOUBLE_RULE "\n(lines that did not fit: 1)");
}

static void level_none_silences_reports(struct kunit *test)
{
	struct seen s = { 0 };
	struct report r;

	log_set_sink(to_seen, &s);
	KUNIT_ASSERT_EQ(test, log_configure(LOG_NONE, NULL), 0);
	report_start(&r, REPORT_LOST, "host", "silent");
	report_end(&r);
	KUNIT_EXPECT_EQ(test, s.count, 0);
}

/* ---- The default sink ------------------------------------------------- */

static char *log_file(struct kunit *test)
{
	const char *dir = getenv("TMPDIR");
	char *path = kunit_kzalloc(test, 512);

	snprintf(path, 512, "%s/slabdev-%d.log", dir ? dir : "/tmp",
		 (int)getpid());
	unlink(path);
	return path;
}

static void remove_file(void *path)
{
	unlink(path);
}

static void file_gets_prefixed_lines(struct kunit *test)
{
	char *path = log_file(test), text[512];
	struct report r;

	kunit_add_action(test, remove_file, path);
	log_set_sink(NULL, NULL);
	KUNIT_ASSERT_EQ(test, log_configure(LOG_INFO, path), 0);
	pr_info("space %s opened", "host");
	report_start(&r, REPORT_LOST, "host", "2 chunks");
	report_end(&r);
	KUNIT_ASSERT_EQ(test, os_read_file(path, text, sizeof(text)), 0);
	KUNIT_EXPECT_STREQ(test, text,
			   "slabdev: space host opened\n"
			   DOUBLE_RULE "\n"
			   "BUG slabdev host: 2 chunks\n"
			   SINGLE_RULE "\n");
}

static void default_is_standard_error(struct kunit *test)
{
	char *path = log_file(test), text[128];
	int fd;

	kunit_add_action(test, remove_file, path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	KUNIT_ASSERT_GE(test, fd, 0);
	KUNIT_ASSERT_GE(test, dup2(fd, STDERR_FILENO), 0);
	log_set_sink(NULL, NULL);
	pr_warn("no membarrier");
	pr_info("not shown");
	KUNIT_ASSERT_EQ(test, os_read_file(path, text, sizeof(text)), 0);
	KUNIT_EXPECT_STREQ(test, text, "slabdev: no membarrier\n");
	close(fd);
}

/* Whoever closed our descriptor gets no log lines in the file that took its
 * number; they go to standard error. */
static void closed_log_falls_back_to_standard_error(struct kunit *test)
{
	char *path = log_file(test), other[600], text[128];
	int fd;

	kunit_add_action(test, remove_file, path);
	snprintf(other, sizeof(other), "%s.other", path);
	log_set_sink(NULL, NULL);
	KUNIT_ASSERT_EQ(test, log_configure(LOG_WARN, path), 0);
	for (fd = 3; fd < 1024; fd++) {
		char link[64], target[600];
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, target, sizeof(target) - 1);
		if (n > 0 && (target[n] = '\0', !strcmp(target, path)))
			break;
	}
	KUNIT_ASSERT_LT(test, fd, 1024);
	KUNIT_ASSERT_GE(test, dup2(open(other, O_RDWR | O_CREAT, 0600), fd), 0);
	pr_warn("astray");
	KUNIT_EXPECT_EQ(test, os_read_file(other, text, sizeof(text)), 0);
	KUNIT_EXPECT_STREQ(test, text, "");
	KUNIT_EXPECT_EQ(test, os_read_file(path, text, sizeof(text)), 0);
	KUNIT_EXPECT_STREQ(test, text, "");
	unlink(other);
}

static void unwritable_path_changes_nothing(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, log_configure(LOG_DEBUG, "/nonexistent/log"),
			-ENOENT);
	KUNIT_EXPECT_FALSE(test, log_enabled(LOG_INFO));
	KUNIT_EXPECT_TRUE(test, log_enabled(LOG_WARN));
}

static unsigned int count_in_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "re");
	char line[512];
	unsigned int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, text) != NULL;
	if (f)
		fclose(f);
	return n;
}

static void send_reports(int n)
{
	struct report r;

	while (n--) {
		report_start(&r, REPORT_LOST, "host", "again");
		report_end(&r);
	}
}

/* The default sink shows some of a kind (report_test.c). Messages are not
 * limited, and a sink of a test or of the user gets everything. */
static void only_the_default_sink_is_limited(struct kunit *test)
{
	char *path = log_file(test);
	struct seen s = { 0 };

	kunit_add_action(test, remove_file, path);
	log_set_sink(NULL, NULL);
	KUNIT_ASSERT_EQ(test, log_configure(LOG_WARN, path), 0);
	send_reports(105);
	pr_warn("a message still is");
	KUNIT_EXPECT_LT(test, count_in_file(path, "BUG slabdev"), 105);
	KUNIT_EXPECT_EQ(test, count_in_file(path, "a message still is"), 1);
	log_set_user(to_seen_user, &s);
	send_reports(105);
	KUNIT_EXPECT_EQ(test, s.count, 105);
}

#define NR_THREADS 4
#define NR_MESSAGES 300

static void *log_much(void *arg)
{
	int i;

	for (i = 0; i < NR_MESSAGES; i++)
		pr_warn("thread %c%c%c%c end", *(char *)arg, *(char *)arg,
			*(char *)arg, *(char *)arg);
	return NULL;
}

static void lines_of_threads_do_not_mix(struct kunit *test)
{
	static char names[NR_THREADS] = { 'a', 'b', 'c', 'd' };
	char *path = log_file(test), wanted[64];
	pthread_t thread[NR_THREADS];
	int i;

	kunit_add_action(test, remove_file, path);
	log_set_sink(NULL, NULL);
	KUNIT_ASSERT_EQ(test, log_configure(LOG_WARN, path), 0);
	for (i = 0; i < NR_THREADS; i++)
		KUNIT_ASSERT_EQ(test, pthread_create(&thread[i], NULL, log_much,
						     &names[i]), 0);
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < NR_THREADS; i++) {
		snprintf(wanted, sizeof(wanted),
			 "slabdev: thread %c%c%c%c end\n", names[i], names[i],
			 names[i], names[i]);
		KUNIT_EXPECT_EQ(test, count_in_file(path, wanted), NR_MESSAGES);
	}
}

/* ---- Error texts ------------------------------------------------------ */

/* It may be set under a lock, where nothing may be logged. */
static void error_text_is_never_logged(struct kunit *test)
{
	struct seen s = { 0 };

	log_set_sink(to_seen, &s);
	KUNIT_ASSERT_EQ(test, log_configure(LOG_DEBUG, NULL), 0);
	KUNIT_EXPECT_EQ(test, error_set(-EDQUOT, "limit %d", 5), -EDQUOT);
	KUNIT_EXPECT_STREQ(test, error_get(), "limit 5");
	KUNIT_EXPECT_EQ(test, s.count, 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(levels_are_those_of_the_interface),
	KUNIT_CASE(every_kind_has_a_name),
	KUNIT_CASE_ISOLATED(messages_above_the_level_are_dropped),
	KUNIT_CASE_ISOLATED(message_is_cut_and_errno_kept),
	KUNIT_CASE_ISOLATED(sink_comes_before_user),
	KUNIT_CASE_ISOLATED(sink_may_call_back),
	KUNIT_CASE(report_has_the_kernels_frame),
	KUNIT_CASE_ISOLATED(report_is_cut_at_a_line_end),
	KUNIT_CASE_ISOLATED(report_has_no_hole),
	KUNIT_CASE_ISOLATED(report_of_any_length_fits),
	KUNIT_CASE_ISOLATED(headline_too_long_is_counted),
	KUNIT_CASE_ISOLATED(level_none_silences_reports),
	KUNIT_CASE_ISOLATED(file_gets_prefixed_lines),
	KUNIT_CASE_ISOLATED(default_is_standard_error),
	KUNIT_CASE_ISOLATED(closed_log_falls_back_to_standard_error),
	KUNIT_CASE_ISOLATED(unwritable_path_changes_nothing),
	KUNIT_CASE_ISOLATED(only_the_default_sink_is_limited),
	KUNIT_CASE_ISOLATED(lines_of_threads_do_not_mix),
	KUNIT_CASE_ISOLATED(error_text_is_never_logged),
	{ 0 }
};

static const struct kunit_suite log_suite = {
	.name = "log",
	.cases = cases,
};
kunit_test_suite(log_suite);
