// SPDX-License-Identifier: BSD-2-Clause
/*
 * torn_test.c - slabinfo and statistics that are anything at all
 *
 * Bytes at random, and bytes that change while they are read: slabinfo may find
 * the process or not, and says which and why, but it never crashes or hangs,
 * and what it writes is what readers of that form take. Nothing here depends
 * on how far the writer is when the reader looks.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fake_job.h"
#include "tests/kunit/kunit.h"
#include "tests/random.h"
#include "tests/slabinfo_run.h"

static const char *const views[] = {
	"-l", "-r", "-T", "-X", "-D", "-L", "--json", "--prometheus",
};

/* ---- Before it is read ------------------------------------------------ */

/* A few random bytes, mostly where the records are, anywhere in the files. */
static void spoil_at_random(struct fake_job *s, uint64_t *state)
{
	static const uint8_t bytes[] = { 0, 1, 0x7f, 0x80, 0xff };
	uint32_t i, n = 1 + random_below(state, 40);

	for (i = 0; i < n; i++) {
		struct fake_file *f = &s->file[random_below(state, s->nr)];
		uint32_t room = random_below(state, 4) ? 900
						       : (uint32_t)f->size;
		uint32_t at = random_below(state, room);

		((uint8_t *)f->head)[at] = random_below(state, 2) ?
			bytes[random_below(state, sizeof(bytes))] :
			(uint8_t)random_below(state, 256);
	}
}

/* The files as fake_job_init() made them, to begin each round with. */
static void *copy_files(struct kunit *test, const struct fake_job *s)
{
	uint8_t *copy = kunit_kmalloc(test, (size_t)s->nr * FAKE_ROOM);
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		memcpy(copy + i * FAKE_ROOM, s->file[i].head, FAKE_ROOM);
	return copy;
}

static void random_rounds(struct kunit *test, int rounds)
{
	const uint8_t *sound;
	uint64_t state = 1;
	struct fake_job s;
	struct program p;
	const char *view;
	unsigned int f;
	int i;

	fake_job_init(test, &s);
	sound = copy_files(test, &s);
	for (i = 0; i < rounds; i++) {
		for (f = 0; f < s.nr; f++)
			memcpy(s.file[f].head, sound + f * FAKE_ROOM,
			       FAKE_ROOM);
		spoil_at_random(&s, &state);
		view = views[i % (int)ARRAY_SIZE(views)];
		slabinfo_run(test, &p, fake_job_start(test, &s), "-e", view);
		expect_survived(test, &p, view);
	}
}

static void random_bytes(struct kunit *test)
{
	random_rounds(test, 60);
}

static void many_random_bytes(struct kunit *test)
{
	random_rounds(test, 1000);
}

/* ---- While it is read ------------------------------------------------- */

static void view_desc(const char *const *view, char *desc)
{
	strcpy(desc, *view + strspn(*view, "-"));
}

KUNIT_ARRAY_PARAM(view, views, view_desc)

static pid_t start_rewriting(struct kunit *test, bool sealed)
{
	struct fake_job s;
	unsigned int i;

	fake_job_init(test, &s);
	s.rewrites = true;
	for (i = 0; i < s.nr && !sealed; i++)
		s.file[i].kind = FAKE_UNSEALED;
	return fake_job_start(test, &s);
}

static void read_often(struct kunit *test, bool sealed)
{
	const char *view = *(const char *const *)test->param_value;
	pid_t pid = start_rewriting(test, sealed);
	struct program p;
	int i;

	for (i = 0; i < 10; i++) {
		slabinfo_run(test, &p, pid, "-e", view);
		expect_survived(test, &p, view);
	}
}

static void files_are_overwritten(struct kunit *test)
{
	read_often(test, true);
}

/* Truncated and grown, too: nothing but pread() may touch these. */
static void files_are_resized(struct kunit *test)
{
	read_often(test, false);
}

/* ---- Watched ---------------------------------------------------------- */

static void kill_later(struct kunit *test, pid_t pid)
{
	pid_t killer = fork();

	KUNIT_ASSERT_GE(test, killer, 0);
	if (killer)
		return;
	usleep(1000000);
	kill(pid, SIGKILL);
	_exit(0);
}

/* Rounds of JSON are lines, each of them whole. */
static void expect_lines(struct kunit *test, char *text)
{
	char *end, next;

	for (; *text; text = end) {
		end = text + strcspn(text, "\n");
		KUNIT_ASSERT_EQ(test, *end, '\n');
		next = *++end;
		*end = '\0';
		expect_readable(test, "--json", text);
		*end = next;
	}
}

static void watch_until_it_dies(struct kunit *test, bool sealed)
{
	pid_t pid = start_rewriting(test, sealed);
	struct program p;

	kill_later(test, pid);
	slabinfo_run(test, &p, pid, "--watch=0.1", "--json");
	KUNIT_EXPECT_TRUE_MSG(test, p.status == 0 || p.status == 1 ||
			      p.status == 3, "%d %s", p.status, p.err);
	expect_lines(test, p.out);
	expect_readable(test, "", p.err);
}

static void watched_files_are_overwritten(struct kunit *test)
{
	watch_until_it_dies(test, true);
}

static void watched_files_are_resized(struct kunit *test)
{
	watch_until_it_dies(test, false);
}

static const struct kunit_case torn_cases[] = {
	KUNIT_CASE_SLOW(random_bytes),
	KUNIT_CASE_LONG(many_random_bytes, .timeout_s = 600),
	KUNIT_CASE_PARAM(files_are_overwritten, view_gen_params, .slow = true),
	KUNIT_CASE_PARAM(files_are_resized, view_gen_params, .slow = true),
	KUNIT_CASE_SLOW(watched_files_are_overwritten),
	KUNIT_CASE_SLOW(watched_files_are_resized),
	{}
};

static const struct kunit_suite torn_suite = {
	.name = "torn",
	.cases = torn_cases,
};
kunit_test_suite(torn_suite);
