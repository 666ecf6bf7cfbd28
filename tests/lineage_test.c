// SPDX-License-Identifier: BSD-2-Clause
/*
 * lineage_test.c - children, grandchildren, and many at once.
 *
 * Eight threads allocate, free, trim and report while the process forks. Each
 * child finds a space that is whole, in which every object of the parent is
 * what it was, and uses all of the library: that space, a new one, threads, and
 * children of its own. The single ways in which a fork can fail are in
 * fork_test.c.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/slab.h"
#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/sanitizers.h"
#include "tests/tour.h"

#define NR_THREADS 8u
#define NR_HEIRLOOMS 24u
#define PATIENCE 120		/* seconds, for a loaded machine */

struct family {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache;
	char *heirloom[NR_HEIRLOOMS];	/* objects of the eldest */
	FILE *out;
	bool stop;			/* relaxed */
	u64 rounds;			/* atomic */
};

/* The tour has reports of all kinds, but never this one. */
static void hear(int level, int kind, const char *text, void *arg)
{
	struct family *f = arg;

	(void)level;
	if (kind == REPORT_CORRUPT)
		KUNIT_FAIL(f->test, "process %d: %s", (int)getpid(), text);
}

/* ---- Heirlooms -------------------------------------------------------- */

static size_t heirloom_size(u32 i)
{
	static const size_t sizes[] = { 100, 3000, 40000, 700000, 3 * MIB };

	return sizes[i % ARRAY_SIZE(sizes)];
}

static void make_heirlooms(struct family *f)
{
	u32 i;

	for (i = 0; i < NR_HEIRLOOMS; i++) {
		f->heirloom[i] = must_alloc(f->test, f->sd, heirloom_size(i));
		memset(f->heirloom[i], (int)i + 1, heirloom_size(i));
	}
}

static void check_heirlooms(struct family *f)
{
	u32 i;

	for (i = 0; i < NR_HEIRLOOMS; i++) {
		size_t last = heirloom_size(i) - 1;

		KUNIT_EXPECT_EQ(f->test, f->heirloom[i][0], (int)i + 1);
		KUNIT_EXPECT_EQ(f->test, f->heirloom[i][last], (int)i + 1);
	}
}

static void give_up_heirlooms(struct family *f)
{
	u32 i;

	for (i = 0; i < NR_HEIRLOOMS; i++)
		EXPECT_FREED(f->test, f->sd, f->heirloom[i]);
}

/* ---- Threads ---------------------------------------------------------- */

static void allocate(struct family *f)
{
	void *p[20], *c[20];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = slabdev_alloc(f->sd, heirloom_size(i));
		c[i] = slabdev_cache_alloc(f->cache);
	}
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		KUNIT_EXPECT_EQ(f->test, slabdev_free(f->sd, p[i]), 0);
		KUNIT_EXPECT_EQ(f->test, slabdev_cache_free(f->cache, c[i]),
				0);
	}
}

/* What holds other locks than an allocation does. */
static void look_after(struct family *f)
{
	struct slabdev_stats st;

	KUNIT_EXPECT_EQ(f->test, slabdev_stats(f->sd, &st, sizeof(st)), 0);
	KUNIT_EXPECT_EQ(f->test, slabdev_validate(f->sd), 0);
	KUNIT_EXPECT_EQ(f->test, slabdev_report(f->sd, f->out), 0);
	KUNIT_EXPECT_EQ(f->test, slabdev_cache_shrink(f->cache), 0);
	KUNIT_EXPECT_EQ(f->test, slabdev_trim(f->sd, 4 * MIB), 0);
}

static void work(void *arg)
{
	struct family *f = arg;

	while (!READ_ONCE(f->stop)) {
		allocate(f);
		__atomic_add_fetch(&f->rounds, 1, __ATOMIC_RELAXED);
	}
}

static void work_and_look(void *arg)
{
	struct family *f = arg;

	while (!READ_ONCE(f->stop)) {
		allocate(f);
		look_after(f);
	}
}

static void *work_once(void *arg)
{
	allocate(arg);
	return NULL;
}

/* ---- Children --------------------------------------------------------- */

static void live(struct family *f, u32 generations);

static void have_child(struct family *f, u32 generations)
{
	int status = -1;
	pid_t pid = fork();

	KUNIT_EXPECT_GE(f->test, pid, 0);
	if (!pid) {
		alarm(PATIENCE);
		live(f, generations);
		_exit(0);
	}
	KUNIT_EXPECT_EQ(f->test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ_MSG(f->test, status, 0, "wait status %#x", status);
}

static void use_threads(struct family *f)
{
	pthread_t thread[2];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(thread); i++)
		KUNIT_EXPECT_EQ(f->test, pthread_create(&thread[i], NULL,
							work_once, f), 0);
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
}

/* Alone with a copy of everything. The log may still be any thread's. */
static void live(struct family *f, u32 generations)
{
	expect_sound(f->test, f->sd);
	check_heirlooms(f);
	allocate(f);
	look_after(f);
	KUNIT_EXPECT_STREQ(f->test, tour_objects(f->sd, 5000) ?: "", "");
	if (generations)
		have_child(f, generations - 1);
	use_threads(f);
	check_heirlooms(f);
	expect_sound(f->test, f->sd);
	give_up_heirlooms(f);
	KUNIT_EXPECT_STREQ(f->test, tour(f->out) ?: "", "");
	KUNIT_EXPECT_EQ(f->test, slabdev_close(f->sd, SLABDEV_CLOSE_FORCE),
			0);
}

/* ---- Families --------------------------------------------------------- */

static struct family *found_family(struct kunit *test)
{
	struct family *f = kunit_kzalloc(test, sizeof(*f));

	f->test = test;
	f->sd = open_space(test, 512 * MIB);
	f->out = fopen("/dev/null", "we");
	KUNIT_ASSERT_NOT_NULL(test, f->out);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&f->cache, f->sd, "cache",
						   2000, NULL), 0);
	make_heirlooms(f);
	log_set_sink(hear, f);
	return f;
}

static struct crew *start_work(struct family *f)
{
	struct crew *crew = crew_new(f->test, NR_THREADS);
	u32 i;

	for (i = 0; i < NR_THREADS; i++)
		crew_start(crew, i, i < 6 ? work : work_and_look, f);
	while (__atomic_load_n(&f->rounds, __ATOMIC_RELAXED) < 50)
		os_sleep_us(1000);
	return crew;
}

static void end_work(struct family *f, struct crew *crew)
{
	u32 i;

	WRITE_ONCE(f->stop, true);
	for (i = 0; i < NR_THREADS; i++)
		crew_wait(crew, i);
	crew_dismiss(crew);
}

static void end_family(struct family *f)
{
	check_heirlooms(f);
	give_up_heirlooms(f);
	KUNIT_EXPECT_EQ(f->test, slabdev_cache_destroy(f->cache), 0);
	expect_empty(f->test, f->sd);
	close_space(f->test, f->sd);
	fclose(f->out);
}

static void children_while_threads_allocate(struct kunit *test)
{
	struct family *f = found_family(test);
	struct crew *crew = start_work(f);
	u32 i;

	for (i = 0; i < 15; i++)
		have_child(f, i % 3);
	end_work(f, crew);
	end_family(f);
}

static void generations(struct kunit *test)
{
	struct family *f = found_family(test);

	have_child(f, 12);
	end_family(f);
}

static void *have_children(void *arg)
{
	u32 i;

	for (i = 0; i < 4; i++)
		have_child(arg, 0);
	return NULL;
}

/* ---- Memory on its way ------------------------------------------------ */

static void find_what_was_on_its_way(struct slabdev *sd, struct kunit *test)
{
	struct slabdev_stats st = expect_sound(test, sd);

	if (sd->policy == SLABDEV_AGGRESSIVE)
		KUNIT_EXPECT_EQ(test, st.mapped, 0);
	else
		KUNIT_EXPECT_EQ(test, st.retained, 7 * CHUNK);
	expect_empty(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
}

/*
 * Between the vmm and the pool a chunk belongs to the thread that moves it,
 * which the child does not have. Method: be that thread, and stop half way.
 */
static void memory_on_its_way(struct kunit *test)
{
	static const u32 modes[] = { SLABDEV_RETAIN, SLABDEV_AGGRESSIVE };
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct slabdev *sd;
	u32 i, singles, whole;
	int status;
	pid_t pid;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		sd = open_space(test, 64 * MIB);
		policy.mode = modes[i];
		KUNIT_ASSERT_EQ(test, slabdev_set_policy(sd, &policy), 0);
		KUNIT_ASSERT_EQ(test, vmm_map(&sd->vmm, 2, 1, &singles), 0);
		KUNIT_ASSERT_EQ(test, vmm_map(&sd->vmm, 5, 5, &whole), 0);
		KUNIT_EXPECT_EQ(test, stats_of(test, sd).in_flight, 7 * CHUNK);
		pid = fork();
		KUNIT_ASSERT_GE(test, pid, 0);
		if (!pid) {
			find_what_was_on_its_way(sd, test);
			_exit(0);
		}
		KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
		KUNIT_EXPECT_EQ(test, status, 0);
		vmm_unmap(&sd->vmm, singles, VMM_KEEP_MAPPED);
		vmm_unmap(&sd->vmm, singles + 1, VMM_KEEP_MAPPED);
		vmm_unmap(&sd->vmm, whole, VMM_RELEASE);
		expect_empty(test, sd);
		close_space(test, sd);
	}
}

/* Several threads fork at once, beside those that allocate. */
static void many_fork_at_once(struct kunit *test)
{
	struct family *f = found_family(test);
	struct crew *crew = start_work(f);
	pthread_t thread[4];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(thread); i++)
		KUNIT_ASSERT_EQ(test, pthread_create(&thread[i], NULL,
						     have_children, f), 0);
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
	end_work(f, crew);
	end_family(f);
}

static int lineage_init(struct kunit *test)
{
	if (IS_THREAD_SANITIZED)
		kunit_skip(test, "the thread sanitizer ends a process that "
			   "holds more than 64 locks");
	return 0;
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(children_while_threads_allocate, .slow = true,
			    .timeout_s = 300),
	KUNIT_CASE_ISOLATED(memory_on_its_way),
	KUNIT_CASE_ISOLATED(generations, .timeout_s = 300),
	KUNIT_CASE_ISOLATED(many_fork_at_once, .slow = true,
			    .timeout_s = 300),
	{ 0 }
};

static const struct kunit_suite lineage_suite = {
	.name = "lineage",
	.init = lineage_init,
	.cases = cases,
};
kunit_test_suite(lineage_suite);
