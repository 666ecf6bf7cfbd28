// SPDX-License-Identifier: BSD-2-Clause
/*
 * live_test.c - slabinfo beside processes that use the library
 *
 * What it shows must be what the library itself counts, at rest to the byte,
 * and at work so that it adds up.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "tests/kunit/kunit.h"
#include "tests/slabinfo_run.h"

/* ---- Processes that use the library ----------------------------------- */

/* What a job says once it is where its test wants it. */
struct hello {
	struct slabdev_stats stats;
	bool ok;
};

typedef bool (*job_fn)(struct slabdev **sd);

static void end_job(void *arg)
{
	pid_t pid = (pid_t)(intptr_t)arg;

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void __attribute__((noreturn)) be_job(job_fn job, int out)
{
	struct slabdev *sd = NULL;
	struct hello hello;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	memset(&hello, 0, sizeof(hello));
	hello.ok = job(&sd) && !slabdev_stats(sd, &hello.stats,
					      sizeof(hello.stats));
	if (write(out, &hello, sizeof(hello)) == (ssize_t)sizeof(hello))
		for (;;)
			pause();
	_exit(1);
}

/* A child that did @job and waits; @st is what the library itself counts. */
static pid_t start_job(struct kunit *test, job_fn job,
		       struct slabdev_stats *st)
{
	struct hello hello;
	int ends[2];
	pid_t pid;

	KUNIT_ASSERT_EQ(test, pipe(ends), 0);
	pid = fork();
	if (!pid)
		be_job(job, ends[1]);
	KUNIT_ASSERT_GT(test, pid, 0);
	kunit_add_action(test, end_job, (void *)(intptr_t)pid);
	close(ends[1]);
	KUNIT_ASSERT_EQ(test, read(ends[0], &hello, sizeof(hello)),
			(ssize_t)sizeof(hello));
	close(ends[0]);
	KUNIT_ASSERT_TRUE(test, hello.ok);
	*st = hello.stats;
	return pid;
}

/* The number after @key, in the first space that has one. */
static long long number_of(struct kunit *test, const char *json,
			   const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(json, quoted);
	KUNIT_ASSERT_NOT_NULL_MSG(test, at, "%s is not in %s", key, json);
	return strtoll(at + strlen(quoted), NULL, 10);
}

static long long sum_of_parts(struct kunit *test, const char *json)
{
	static const char *const parts[] = {
		"live", "cached", "pending", "retained", "rounding", "slack",
		"lost", "in_flight",
	};
	long long sum = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		sum += number_of(test, json, parts[i]);
	return sum;
}

/* Objects of all kinds, some of them freed, and caches, one destroyed. */
static bool varied_job(struct slabdev **sd)
{
	struct slabdev_cache *kept, *gone;
	void *p;
	int i;

	if (slabdev_open(sd, "host", NULL) ||
	    slabdev_cache_create(&kept, *sd, "kept", 5000, NULL) ||
	    slabdev_cache_create(&gone, *sd, "gone", 300, NULL))
		return false;
	for (i = 0; i < 1000; i++) {
		p = slabdev_alloc(*sd, (size_t)(1 + i * 997 % 200000));
		if (!p || (i % 3 && slabdev_free(*sd, p)))
			return false;
	}
	p = slabdev_alloc(*sd, 5000000);
	if (!p || !slabdev_alloc(*sd, 9000001) || slabdev_free(*sd, p))
		return false;
	for (i = 0; i < 100; i++)
		if (!slabdev_cache_alloc(kept))
			return false;
	p = slabdev_cache_alloc(gone);
	return p && !slabdev_cache_free(gone, p) &&
	       !slabdev_cache_destroy(gone);
}

#define SAME(field) \
	KUNIT_EXPECT_EQ_MSG(test, number_of(test, p.out, #field), \
			    (long long)st.field, #field)

static void figures_are_the_librarys(struct kunit *test)
{
	struct slabdev_stats st;
	struct program p;
	pid_t pid = start_job(test, varied_job, &st);

	slabinfo_run(test, &p, pid, "--json");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	SAME(mapped);
	SAME(live);
	SAME(cached);
	SAME(pending);
	SAME(retained);
	SAME(rounding);
	SAME(slack);
	SAME(lost);
	SAME(in_flight);
	KUNIT_EXPECT_EQ(test, st.in_flight, 0);
	SAME(reserved);
	SAME(limit);
	SAME(peak_mapped);
	SAME(peak_live);
	SAME(live_objects);
	SAME(allocs);
	SAME(frees);
	SAME(failed);
	SAME(alloc_bytes);
	SAME(free_bytes);
	SAME(refills);
	SAME(flushes);
	SAME(backend_calls);
	SAME(backend_fails);
	SAME(handles);
	SAME(cached_handles);
	SAME(threads);
	SAME(caches);
	SAME(host_bytes);
	KUNIT_EXPECT_EQ(test, sum_of_parts(test, p.out), (long long)st.mapped);
	slabinfo_run(test, &p, pid, "kept");
	expect_text(test, p.out, "Slabcache: kept ");
	expect_text(test, p.out, "Object  :     5000 ");
	expect_text(test, p.out, "Live    :      100 ");
	slabinfo_run(test, &p, pid, "gone");
	KUNIT_EXPECT_EQ(test, p.status, 1);
}

/* Caches beyond the first window of 128 class numbers. */
static bool many_caches_job(struct slabdev **sd)
{
	struct slabdev_cache *cache;
	char name[16];
	int i;

	if (slabdev_open(sd, "host", NULL))
		return false;
	for (i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		if (slabdev_cache_create(&cache, *sd, name, 4096, NULL) ||
		    !slabdev_cache_alloc(cache))
			return false;
	}
	return true;
}

static void many_caches(struct kunit *test)
{
	struct slabdev_stats st;
	struct program p;
	pid_t pid = start_job(test, many_caches_job, &st);

	slabinfo_run(test, &p, pid);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_in_order(test, p.out, (const char *const[]){
			"caches 600\n", "\nc0 ", "\nc9 ", "\nc10 ", "\nc599 ",
			NULL });
	slabinfo_run(test, &p, pid, "--json");
	SAME(live);
	SAME(live_objects);
	SAME(in_flight);
}

static bool private_job(struct slabdev **sd)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.flags = SLABDEV_OPEN_PRIVATE_STATS;
	return !slabdev_open(sd, "host", &attr);
}

static void private_statistics_stay_private(struct kunit *test)
{
	struct slabdev_stats st;
	struct program p;

	slabinfo_run(test, &p, start_job(test, private_job, &st));
	KUNIT_EXPECT_EQ(test, p.status, 1);
	expect_text(test, p.err, "opened it with private statistics");
}

static bool two_spaces_job(struct slabdev **sd)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *other, *closed;

	attr.name = "second";
	attr.policy.mode = SLABDEV_AGGRESSIVE;
	return !slabdev_open(sd, "host", NULL) &&
	       !slabdev_open(&closed, "host", NULL) &&
	       !slabdev_open(&other, "host", &attr) &&
	       !slabdev_close(closed, 0) && slabdev_alloc(other, 1 << 20);
}

static void two_spaces(struct kunit *test)
{
	struct slabdev_stats st;
	struct program p;
	pid_t pid = start_job(test, two_spaces_job, &st);

	slabinfo_run(test, &p, pid);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_in_order(test, p.out, (const char *const[]){
			"space host (host), policy retain", "\n\n",
			"space second (host), policy aggressive", NULL });
	slabinfo_run(test, &p, pid, "-T");
	expect_text(test, p.out, "processes 1, spaces 2\n");
	slabinfo_run(test, &p, pid, "--space", "second");
	expect_no_text(test, p.out, "policy retain");
}

/* A program of its own, one rank of a job. */
static pid_t start_rank(struct kunit *test)
{
	const char *path = program_path(test, "tests/waiter");
	char word = 0;
	int ends[2];
	pid_t pid;

	KUNIT_ASSERT_EQ(test, pipe(ends), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("SLURM_PROCID", "0", 1);
		setenv("OMPI_COMM_WORLD_RANK", "17", 1);
		setenv("SLURM_JOB_ID", "4242", 1);
		dup2(ends[1], STDOUT_FILENO);
		execl(path, path, (char *)NULL);
		_exit(1);
	}
	KUNIT_ASSERT_GT(test, pid, 0);
	kunit_add_action(test, end_job, (void *)(intptr_t)pid);
	close(ends[1]);
	KUNIT_ASSERT_EQ(test, read(ends[0], &word, 1), (ssize_t)1);
	close(ends[0]);
	return pid;
}

static void rank_is_shown(struct kunit *test)
{
	pid_t pid = start_rank(test);
	struct program p;

	slabinfo_run(test, &p, pid);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, " waiter rank 17: space host (host)");
	slabinfo_run(test, &p, pid, "--json");
	expect_text(test, p.out, "\"rank\":\"17\",\"job\":\"4242\"");
	slabinfo_run(test, &p, pid, "--prometheus");
	expect_text(test, p.out, "rank=\"17\",job=\"4242\",space=\"host\"");
}

/* ---- Processes at work ------------------------------------------------ */

static void *short_work(void *arg)
{
	struct slabdev *sd = arg;
	void *p[64];
	int i, round;

	for (round = 0; round < 50; round++) {
		for (i = 0; i < 64; i++)
			p[i] = slabdev_alloc(sd, (size_t)(256 + i * 999));
		for (i = 0; i < 64; i++)
			slabdev_free(sd, p[i]);
	}
	return NULL;
}

/* Threads come, work a moment, and end: counters are folded all the time. */
static void *work_forever(void *arg)
{
	pthread_t thread;

	for (;;)
		if (!pthread_create(&thread, NULL, short_work, arg))
			pthread_join(thread, NULL);
	return NULL;
}

static bool busy_job(struct slabdev **sd)
{
	pthread_t thread;
	int i;

	if (slabdev_open(sd, "host", NULL))
		return false;
	for (i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, work_forever, *sd))
			return false;
	return true;
}

/* Every reading adds up, and none is torn. */
static void busy_process_adds_up(struct kunit *test)
{
	struct slabdev_stats st;
	struct program p;
	pid_t pid = start_job(test, busy_job, &st);
	int i;

	for (i = 0; i < 100; i++) {
		slabinfo_run(test, &p, pid, "--json");
		KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
		KUNIT_EXPECT_EQ(test, sum_of_parts(test, p.out),
				number_of(test, p.out, "mapped"));
	}
}

/* What is half done at one look is done at another. */
static void busy_process_is_possible(struct kunit *test)
{
	struct slabdev_stats st;
	struct program p;
	pid_t pid = start_job(test, busy_job, &st);
	int i;

	for (i = 0; i < 10; i++) {
		slabinfo_run(test, &p, pid, "-v");
		KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s%s", p.out, p.err);
	}
}

/* Opens and closes spaces and caches all the time. */
static void *open_forever(void *arg)
{
	struct slabdev_cache *cache;
	struct slabdev *sd;

	for (;;) {
		if (slabdev_open(&sd, "host", NULL))
			continue;
		if (!slabdev_cache_create(&cache, sd, "brief", 512, NULL)) {
			slabdev_free(sd, slabdev_cache_alloc(cache));
			slabdev_cache_destroy(cache);
		}
		if (slabdev_close(sd, SLABDEV_CLOSE_FORCE))
			return arg;
	}
}

static bool restless_job(struct slabdev **sd)
{
	pthread_t thread;

	return !slabdev_open(sd, "host", NULL) && slabdev_alloc(*sd, 4096) &&
	       !pthread_create(&thread, NULL, open_forever, NULL);
}

/* The space that stays is always shown. */
static void spaces_that_come_and_go(struct kunit *test)
{
	struct slabdev_stats st;
	struct program p;
	pid_t pid = start_job(test, restless_job, &st);
	int i;

	for (i = 0; i < 100; i++) {
		slabinfo_run(test, &p, pid);
		KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
		expect_text(test, p.out, "\nalloc-4096 ");
	}
}

/* A child publishes statistics of its own, and not its parent's again. */
static bool forking_job(struct slabdev **sd)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	char name[32], word = 'y';
	int ready[2];

	snprintf(name, sizeof(name), "forked-%d", (int)getppid());
	attr.name = name;
	if (slabdev_open(sd, "host", &attr) || !slabdev_alloc(*sd, 10000) ||
	    pipe(ready))
		return false;
	/* The child publishes before it returns from fork(). */
	if (fork())
		return read(ready[0], &word, 1) == 1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(ready[1], &word, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void forked_child_is_its_own(struct kunit *test)
{
	struct slabdev_stats st;
	struct program p;
	char name[32];

	start_job(test, forking_job, &st);
	snprintf(name, sizeof(name), "forked-%d", (int)getpid());
	program_run(test, &p, (const char *const[]){ "tools/slabinfo",
		    "--space", name, "-T", NULL }, NULL);
	expect_text(test, p.out, "processes 2, spaces 2\n");
	expect_text(test, p.out, "# Objects  :               2 ");
}

static const struct kunit_case live_cases[] = {
	KUNIT_CASE(figures_are_the_librarys),
	KUNIT_CASE(many_caches),
	KUNIT_CASE(private_statistics_stay_private),
	KUNIT_CASE(two_spaces),
	KUNIT_CASE(forked_child_is_its_own),
	KUNIT_CASE(rank_is_shown),
	KUNIT_CASE_SLOW(busy_process_adds_up),
	KUNIT_CASE_SLOW(busy_process_is_possible),
	KUNIT_CASE_SLOW(spaces_that_come_and_go),
	{}
};

static const struct kunit_suite live_suite = {
	.name = "live",
	.cases = live_cases,
};
kunit_test_suite(live_suite);
