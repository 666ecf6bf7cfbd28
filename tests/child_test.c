// SPDX-License-Identifier: BSD-2-Clause
/*
 * child_test.c - what the child of a fork has when threads of its parent stood
 * in the middle of something.
 *
 * Each case holds another thread at one place, forks, and looks in the child:
 * at the locks, at memory on its way into the pool, at what sheaves held, at
 * the counters of threads that are not there. fork_test.c has the kernels that
 * refuse the child its memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/heap.h"
#include "slab/steal.h"
#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/reserved.h"
#include "tests/sanitizers.h"

#define MOMENT_US 20000u

struct scene {
	struct kunit *test;
	struct slabdev *sd;
	pthread_mutex_t *lock;
	u32 inside, leave;	/* atomic */
	u32 left;
	void *kept;
};

static void in_child(struct scene *s, void (*fn)(struct scene *s))
{
	pid_t pid = fork();
	int status = -1;

	KUNIT_ASSERT_GE(s->test, pid, 0);
	if (!pid) {
		alarm(60);
		fn(s);
		_exit(0);
	}
	KUNIT_ASSERT_EQ(s->test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ_MSG(s->test, status, 0, "wait status %#x", status);
}

static void wait_inside(struct scene *s)
{
	while (!load_acquire(&s->inside))
		os_yield();
}

/* ---- Locks ------------------------------------------------------------ */

static const struct place {
	const char *name;
	size_t at;		/* in struct slabdev */
} places[] = {
	{ "space", offsetof(struct slabdev, lock.mutex) },
	{ "heaps", offsetof(struct slabdev, heaps_lock.mutex) },
	{ "pool", offsetof(struct slabdev, pool.lock.mutex) },
	{ "vmm", offsetof(struct slabdev, vmm.lock.mutex) },
	{ "handles", offsetof(struct slabdev, vmm.handles.lock.mutex) },
	{ "heap pool", offsetof(struct slabdev, heap_pool.lock.mutex) },
	{ "bin pool", offsetof(struct slabdev, bin_pool.lock.mutex) },
	{ "class pool", offsetof(struct slabdev, class_pool.lock.mutex) },
	{ "tiny pool", offsetof(struct slabdev, tiny_pool.lock.mutex) },
	{ "sheaf pool", offsetof(struct slabdev, sheaf_pool[1].lock.mutex) },
};

static void describe_place(const struct place *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", p->name);
}
KUNIT_ARRAY_PARAM(place, places, describe_place);

static void hold_for_a_moment(void *arg)
{
	struct scene *s = arg;

	pthread_mutex_lock(s->lock);
	store_release(&s->inside, 1);
	os_sleep_us(MOMENT_US);
	WRITE_ONCE(s->left, 1);
	pthread_mutex_unlock(s->lock);
}

static void expect_that_it_left(struct scene *s)
{
	KUNIT_EXPECT_EQ(s->test, s->left, 1);
	KUNIT_EXPECT_EQ(s->test, pthread_mutex_trylock(s->lock), 0);
	pthread_mutex_unlock(s->lock);
	expect_sound(s->test, s->sd);
}

/* Who has a lock is not left behind in the middle of what it does. */
static void fork_waits_for_a_lock(struct kunit *test)
{
	const struct place *place = test->param_value;
	struct scene s = { .test = test, .sd = case_space(test, 64 * MIB) };
	struct crew *crew = crew_new(test, 1);

	s.lock = (pthread_mutex_t *)(void *)((char *)s.sd + place->at);
	crew_start(crew, 0, hold_for_a_moment, &s);
	wait_inside(&s);
	in_child(&s, expect_that_it_left);
	crew_wait(crew, 0);
}

/* ---- Memory on its way ------------------------------------------------ */

static void stay_at_report(int level, int kind, const char *text, void *arg)
{
	struct scene *s = arg;

	(void)level;
	(void)text;
	if (kind != REPORT_STEADY || s->inside)
		return;
	store_release(&s->inside, 1);
	while (!load_acquire(&s->leave))
		os_yield();
}

static void alloc_large(void *arg)
{
	struct scene *s = arg;

	EXPECT_FREED(s->test, s->sd, must_alloc(s->test, s->sd, 4 * MIB));
}

/* The kept object has its two chunks, and the other two are nobody's. */
static void expect_it_is_idle(struct scene *s)
{
	struct slabdev_stats st = expect_sound(s->test, s->sd);

	KUNIT_EXPECT_EQ(s->test, st.mapped, 8 * MIB);
	KUNIT_EXPECT_EQ(s->test, st.live, 4 * MIB);
	KUNIT_EXPECT_EQ(s->test, st.retained, 4 * MIB);
	EXPECT_FREED(s->test, s->sd, s->kept);
	expect_empty(s->test, s->sd);
	EXPECT_FREED(s->test, s->sd, must_alloc(s->test, s->sd, 4 * MIB));
}

/*
 * Mapped, and not in the pool yet. Method: the report that memory is mapped in
 * a steady state comes between the two.
 */
static void mapping_on_its_way_is_given_back(struct kunit *test)
{
	struct scene s = { .test = test };
	struct crew *crew = crew_new(test, 1);

	setenv("SLABDEV_ASSERT_STEADY", "1", 1);
	s.sd = case_space(test, 64 * MIB);
	s.kept = must_alloc(test, s.sd, 4 * MIB);
	alloc_large(&s);
	KUNIT_EXPECT_EQ(test, slabdev_trim(s.sd, 0), 0);
	log_set_sink(stay_at_report, &s);
	crew_start(crew, 0, alloc_large, &s);
	wait_inside(&s);
	in_child(&s, expect_it_is_idle);
	store_release(&s.leave, 1);
	crew_wait(crew, 0);
	EXPECT_FREED(test, s.sd, s.kept);
	expect_sound(test, s.sd);
}

static void expect_no_object(struct scene *s)
{
	KUNIT_EXPECT_EQ(s->test, expect_sound(s->test, s->sd).live_objects, 0);
	expect_empty(s->test, s->sd);
}

static const u64 large_sizes[] = { 3 * MIB, 70 * MIB };
KUNIT_ARRAY_PARAM(large_size, large_sizes, NULL);

/* Its run is there, and its life has not begun or has ended. White-box: its
 * tag says so for a moment. */
static void large_object_on_its_way_is_given_back(struct kunit *test)
{
	struct scene s = { .test = test, .sd = case_space(test, 256 * MIB) };
	void *p = must_alloc(test, s.sd, *(const u64 *)test->param_value);
	tag_t *tag = &s.sd->tags[((u64)(uintptr_t)p - s.sd->base) >>
				 GRANULE_SHIFT];
	tag_t was = *tag;

	*tag = 0;
	in_child(&s, expect_no_object);
	*tag = was;
	EXPECT_FREED(test, s.sd, p);
	expect_empty(test, s.sd);
}

/* ---- Sheaves ---------------------------------------------------------- */

#define SIZE 1024u
#define CAP 64u		/* of a sheaf of 1 KiB objects */

static void fill_both_sheaves(struct scene *s)
{
	void *p[3 * CAP];
	u32 i;

	for (i = 0; i < 3 * CAP; i++)
		p[i] = must_alloc(s->test, s->sd, SIZE);
	for (i = 0; i < 3 * CAP; i++)
		EXPECT_FREED(s->test, s->sd, p[i]);
}

static int by_address(const void *a, const void *b)
{
	const char *const *p = a, *const *q = b;

	return *p < *q ? -1 : *p > *q;
}

static void expect_distinct_objects(struct scene *s)
{
	void *p[6 * CAP];
	u32 i;

	expect_sound(s->test, s->sd);
	for (i = 0; i < 6 * CAP; i++)
		p[i] = must_alloc(s->test, s->sd, SIZE);
	qsort(p, 6 * CAP, sizeof(*p), by_address);
	for (i = 1; i < 6 * CAP; i++)
		KUNIT_EXPECT_PTR_NE(s->test, p[i], p[i - 1]);
	expect_sound(s->test, s->sd);
}

/* They are in their slabs again, and only there. */
static void objects_leave_both_sheaves(struct kunit *test)
{
	struct scene s = { .test = test, .sd = case_space(test, 64 * MIB) };
	struct bin *b;

	fill_both_sheaves(&s);
	b = &((struct heap *)thread_self->heap[s.sd->id])
		    ->bin[layout_class(SIZE)];
	KUNIT_ASSERT_GT(test, b->main->n, 0);
	KUNIT_ASSERT_GT(test, b->spare->n, 0);
	in_child(&s, expect_distinct_objects);
	expect_sound(test, s.sd);
}

static int no_barrier(void)
{
	return -EPERM;
}

/* Taken back, and waiting for the barrier: they are forgotten, too. */
static void objects_leave_stolen_sheaves(struct kunit *test)
{
	struct scene s = { .test = test, .sd = case_space(test, 64 * MIB) };
	struct heap *h;

	fill_both_sheaves(&s);
	h = thread_self->heap[s.sd->id];
	kunit_activate_static_stub(test, os_membarrier, no_barrier);
	KUNIT_EXPECT_FALSE(test, take_back(s.sd, NULL));
	KUNIT_ASSERT_NOT_NULL(test, h->stolen);
	in_child(&s, expect_distinct_objects);
	kunit_deactivate_static_stub(test, os_membarrier);
	expect_empty(test, s.sd);
	KUNIT_EXPECT_EQ(test, h->charged, 0);
}

/* ---- Threads that are not there --------------------------------------- */

#define OTHERS (2 * SLABDEV_SEG_THREADS_PER_SEGMENT)

static void one_round(void *arg)
{
	struct scene *s = arg;

	EXPECT_FREED(s->test, s->sd, must_alloc(s->test, s->sd, SIZE));
}

static void expect_blocks_for_others(struct scene *s)
{
	u32 segments = s->sd->rec->nr_thread_segments;
	struct crew *crew = crew_new(s->test, OTHERS);

	KUNIT_EXPECT_EQ(s->test, figures(s->test, s->sd).threads, 0);
	for (u32 i = 0; i < OTHERS; i++)
		crew_do(crew, i, one_round, s);
	KUNIT_EXPECT_EQ(s->test, figures(s->test, s->sd).threads, OTHERS);
	KUNIT_EXPECT_EQ(s->test, s->sd->rec->nr_thread_segments, segments);
	KUNIT_EXPECT_EQ(s->test, figures(s->test, s->sd).allocs, 2 * OTHERS);
	crew_dismiss(crew);
	expect_empty(s->test, s->sd);
}

/* Their counters are there for threads of the child's own. */
static void blocks_of_other_threads_are_free(struct kunit *test)
{
	struct scene s = { .test = test, .sd = case_space(test, 64 * MIB) };
	struct crew *crew = crew_new(test, OTHERS);

	for (u32 i = 0; i < OTHERS; i++)
		crew_do(crew, i, one_round, &s);
	in_child(&s, expect_blocks_for_others);
	expect_sound(test, s.sd);
}

/* ---- Copies ----------------------------------------------------------- */

static void expect_nothing_held(struct scene *s)
{
	KUNIT_EXPECT_EQ(s->test, reserved.held, 0);
	expect_sound(s->test, s->sd);
}

/* What was copied for the child is in the place of the parent's pages, or
 * gone. */
static void child_keeps_no_copy(struct kunit *test)
{
	struct scene s = { .test = test, .sd = case_space(test, 64 * MIB) };

	if (s.sd->segment[0].file.fd < 0)
		kunit_skip(test, "statistics are not published");
	one_round(&s);
	reserved_watch(test);
	in_child(&s, expect_nothing_held);
	KUNIT_EXPECT_EQ(test, reserved.held, 0);
	reserved_ignore(test);
}

/* ---- Who never was there ---------------------------------------------- */

static int no_move(void *from, void *to, size_t size)
{
	(void)from;
	(void)to;
	(void)size;
	return -ENOMEM;
}

static void expect_dead(struct scene *s)
{
	KUNIT_EXPECT_ERRNO(s->test, slabdev_alloc(s->sd, SIZE), EOWNERDEAD);
	KUNIT_EXPECT_EQ(s->test, slabdev_close(s->sd, 0), 0);
}

/* The thread that forks has nothing in the space; its child has not either. */
static void space_of_others_does_not_survive(struct kunit *test)
{
	struct scene s = { .test = test, .sd = case_space(test, 64 * MIB) };
	struct crew *crew = crew_new(test, 1);

	crew_do(crew, 0, one_round, &s);
	KUNIT_ASSERT_PTR_EQ(test, thread_self->heap[s.sd->id], &heap_none);
	kunit_activate_static_stub(test, os_move, no_move);
	in_child(&s, expect_dead);
	kunit_deactivate_static_stub(test, os_move);
	crew_do(crew, 0, one_round, &s);
	expect_empty(test, s.sd);
}

static int child_test_init(struct kunit *test)
{
	if (IS_THREAD_SANITIZED)
		kunit_skip(test, "the thread sanitizer ends a process that "
			   "holds more than 64 locks");
	return 0;
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(fork_waits_for_a_lock, place_gen_params,
			 .isolated = true),
	KUNIT_CASE_ISOLATED(mapping_on_its_way_is_given_back),
	KUNIT_CASE_PARAM(large_object_on_its_way_is_given_back,
			 large_size_gen_params, .isolated = true),
	KUNIT_CASE_ISOLATED(objects_leave_both_sheaves),
	KUNIT_CASE_ISOLATED(objects_leave_stolen_sheaves),
	KUNIT_CASE_ISOLATED(blocks_of_other_threads_are_free),
	KUNIT_CASE_ISOLATED(child_keeps_no_copy),
	KUNIT_CASE_ISOLATED(space_of_others_does_not_survive),
	{ 0 }
};

static const struct kunit_suite child_suite = {
	.name = "child",
	.init = child_test_init,
	.cases = cases,
};
kunit_test_suite(child_suite);
