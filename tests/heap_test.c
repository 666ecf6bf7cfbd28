// SPDX-License-Identifier: BSD-2-Clause
/*
 * heap_test.c - a thread's heap from inside: its fast halves, what it does
 * without, its budget, its counters, and what is left when the thread is gone.
 *
 * What no public figure tells apart is looked up in the heap and in the memory
 * that heaps and sheaves are cut from.
 */
#include <pthread.h>
#include <stdio.h>

#include "core/os.h"
#include "slab/heap.h"
#include "slab/segment.h"
#include "slab/steal.h"
#include "tests/crew.h"
#include "tests/open_space.h"

#define SIZE 1024u
#define CAP 64u		/* of a sheaf of 1 KiB objects */
#define SHEAF_BYTES ((u64)CAP * SIZE)

static struct heap *my_heap(struct slabdev *sd)
{
	return thread_self->heap[sd->id];
}

static struct bin *bin_of(struct slabdev *sd, size_t size)
{
	return &my_heap(sd)->bin[layout_class(size)];
}

static void alloc_many(struct kunit *test, struct slabdev *sd, void **p, u32 n,
		       size_t size)
{
	for (u32 i = 0; i < n; i++)
		p[i] = must_alloc(test, sd, size);
}

static void free_many(struct kunit *test, struct slabdev *sd, void **p, u32 n)
{
	for (u32 i = 0; i < n; i++)
		EXPECT_FREED(test, sd, p[i]);
}

static void one_round(struct kunit *test, struct slabdev *sd, size_t size)
{
	EXPECT_FREED(test, sd, must_alloc(test, sd, size));
}

static struct slabdev *space_with_sheaves(struct kunit *test, u64 bytes)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = 256 * MIB;
	attr.sheaf_bytes = bytes;
	return case_space_attr(test, &attr);
}

/* ---- The fast halves -------------------------------------------------- */

static void what_was_pushed_last_is_popped_first(struct kunit *test)
{
	static struct heap h;
	struct bin *b = &h.bin[1];
	struct sheaf *s = kunit_kzalloc(test, sizeof(*s) + 2 * sizeof(slot_t));
	slot_t slot = 0;

	s->cap = 2;
	b->main = s;
	KUNIT_EXPECT_FALSE(test, sheaf_pop(&h, b, &slot));
	KUNIT_EXPECT_TRUE(test, sheaf_push(&h, b, 7));
	KUNIT_EXPECT_TRUE(test, sheaf_push(&h, b, 8));
	KUNIT_EXPECT_FALSE(test, sheaf_push(&h, b, 9));
	KUNIT_EXPECT_TRUE(test, sheaf_pop(&h, b, &slot));
	KUNIT_EXPECT_EQ(test, slot, 8);
	KUNIT_EXPECT_TRUE(test, sheaf_pop(&h, b, &slot));
	KUNIT_EXPECT_EQ(test, slot, 7);
	KUNIT_EXPECT_FALSE(test, sheaf_pop(&h, b, &slot));
	KUNIT_EXPECT_EQ(test, h.busy, 0);
}

#define HITS 20u
#define NR_CODES (CODE_CACHE_LAST - CODE_CACHE_FIRST + 1u)

struct locked {
	struct slabdev *sd;
	const struct class *class[3];
	u32 held, leave;	/* atomic */
};

static void for_each_lock(struct locked *l, int (*fn)(pthread_mutex_t *m))
{
	struct slabdev *sd = l->sd;

	fn(&sd->lock.mutex);
	fn(&sd->heaps_lock.mutex);
	for (u32 i = 0; i < ARRAY_SIZE(l->class); i++) {
		struct class *c = sd->class[l->class[i]->id];

		fn(&c->lock.mutex);
		fn(&c->barn_lock.mutex);
	}
	fn(&sd->pool.lock.mutex);
	fn(&sd->vmm.lock.mutex);
}

static void hold_all(void *arg)
{
	struct locked *l = arg;

	for_each_lock(l, pthread_mutex_lock);
	store_release(&l->held, 1);
	while (!load_acquire(&l->leave))
		os_yield();
	for_each_lock(l, pthread_mutex_unlock);
}

static void hit(struct kunit *test, struct slabdev *sd,
		struct slabdev_cache *cache)
{
	void *p[HITS], *q[HITS];
	u32 i;

	/* Objects of one granule: every second is at an odd one. */
	alloc_many(test, sd, p, HITS, 256);
	for (i = 0; i < HITS; i++)
		q[i] = slabdev_cache_alloc(cache);
	free_many(test, sd, p, HITS);
	for (i = 0; i < HITS; i++)
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, q[i]), 0);
}

/* Of general objects, and of the first and the last cache with a code. Method:
 * another thread has all locks meanwhile; who waited would wait for ever. */
static void hits_take_no_lock(struct kunit *test)
{
	struct locked l = { .sd = case_space(test, 64 * MIB) };
	struct crew *crew = crew_new(test, 1);
	struct slabdev_cache *cache[NR_CODES];
	char name[20];
	u32 i;

	for (i = 0; i < NR_CODES; i++) {
		snprintf(name, sizeof(name), "cache-%u", i);
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache[i], l.sd,
							   name, 300, NULL), 0);
	}
	l.class[0] = l.sd->class[1];
	l.class[1] = cache_class(cache[0]);
	l.class[2] = cache_class(cache[NR_CODES - 1]);
	hit(test, l.sd, cache[0]);
	hit(test, l.sd, cache[NR_CODES - 1]);
	crew_start(crew, 0, hold_all, &l);
	while (!load_acquire(&l.held))
		os_yield();
	hit(test, l.sd, cache[0]);
	hit(test, l.sd, cache[NR_CODES - 1]);
	store_release(&l.leave, 1);
	crew_wait(crew, 0);
	for (i = 0; i < NR_CODES; i++)
		KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache[i]), 0);
	expect_empty(test, l.sd);
}

/* Also of caches whose number is in a later window. */
static void second_allocation_is_a_hit(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct slabdev_cache_stats st;
	struct slabdev_cache *cache;
	void *p[2];

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, sd, "tiny", 64,
						   NULL), 0);
	KUNIT_ASSERT_GE(test, cache_class(cache)->id, CLASS_WINDOW);
	p[0] = slabdev_cache_alloc(cache);
	p[1] = slabdev_cache_alloc(cache);
	KUNIT_EXPECT_EQ(test, slabdev_cache_stats(cache, &st, sizeof(st)), 0);
	KUNIT_EXPECT_EQ(test, st.allocs, 2);
	KUNIT_EXPECT_EQ(test, st.refills, 1);
	free_many(test, sd, p, 2);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	expect_empty(test, sd);
}

/* Slots of objects in a second reservation lie in sheaves like all others. */
static void hit_beyond_the_first_reservation(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	void *large[10], *p, *q;
	struct slabdev *sd;
	u32 i;

	attr.limit = 256 * MIB;
	attr.reserve = 32 * MIB;
	sd = case_space_attr(test, &attr);
	for (i = 0; i < ARRAY_SIZE(large); i++)
		large[i] = must_alloc(test, sd, 4 * MIB);
	p = must_alloc(test, sd, 256);
	q = must_alloc(test, sd, 256);
	KUNIT_ASSERT_GE(test, (u64)(uintptr_t)p - sd->base, sd->vmm.base_bytes);
	KUNIT_ASSERT_GE(test, (u64)(uintptr_t)q - sd->base, sd->vmm.base_bytes);
	EXPECT_FREED(test, sd, q);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_alloc(sd, 256), q);
	EXPECT_FREED(test, sd, q);
	EXPECT_FREED(test, sd, p);
	for (i = 0; i < ARRAY_SIZE(large); i++)
		EXPECT_FREED(test, sd, large[i]);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).refills, 1);
	expect_sound(test, sd);
}

/* ---- Without ---------------------------------------------------------- */

static int no_reserve(size_t size, void **addr)
{
	(void)size;
	(void)addr;
	return -ENOMEM;
}

static struct slabdev *space_with_free_slices(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;

	attr.limit = 64 * MIB;
	attr.flags = SLABDEV_OPEN_PRIVATE_STATS;
	sd = case_space_attr(test, &attr);
	KUNIT_ASSERT_EQ(test, slabdev_prime(sd, 4 * MIB), 0);
	return sd;
}

/* Every operation goes to the slabs, and is counted where all may count. */
static void thread_without_a_heap_works(struct kunit *test)
{
	struct slabdev *sd = space_with_free_slices(test);
	u32 id = (u32)layout_class(SIZE);

	kunit_activate_static_stub(test, os_reserve, no_reserve);
	one_round(test, sd, SIZE);
	one_round(test, sd, 3 * MIB);
	kunit_deactivate_static_stub(test, os_reserve);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).threads, 0);
	KUNIT_EXPECT_EQ(test, sd->window[0]->retired[id].frees, 1);
	one_round(test, sd, SIZE);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).threads, 1);
	KUNIT_EXPECT_EQ(test, figures(test, sd).allocs, 3);
	expect_empty(test, sd);
}

static void thread_without_sheaves_works(struct kunit *test)
{
	struct slabdev *sd = space_with_free_slices(test);
	void *p[100];

	one_round(test, sd, 3 * MIB);
	kunit_activate_static_stub(test, os_reserve, no_reserve);
	alloc_many(test, sd, p, 100, SIZE);
	free_many(test, sd, p, 100);
	kunit_deactivate_static_stub(test, os_reserve);
	KUNIT_EXPECT_EQ(test, my_heap(sd)->charged, 0);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).refills, 100);
	one_round(test, sd, SIZE);
	KUNIT_EXPECT_EQ(test, my_heap(sd)->charged, SHEAF_BYTES);
	expect_empty(test, sd);
}

static void use_without_bins(struct kunit *test, struct slabdev_cache *cache)
{
	struct slabdev *sd = cache_class(cache)->sd;
	void *p;

	kunit_activate_static_stub(test, os_reserve, no_reserve);
	p = slabdev_cache_alloc(cache);
	KUNIT_EXPECT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	kunit_deactivate_static_stub(test, os_reserve);
	KUNIT_EXPECT_NULL(test, my_heap(sd)->bins[1]);
	expect_sound(test, sd);
}

/* A cache whose number is in the second window, with free objects. */
static struct slabdev_cache *later_cache(struct kunit *test, struct slabdev *sd)
{
	struct slabdev_cache *cache = NULL;

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, sd, "tiny", 64,
						   NULL), 0);
	KUNIT_ASSERT_EQ(test, cache_class(cache)->id, CLASS_WINDOW);
	KUNIT_ASSERT_EQ(test, slabdev_cache_prefill(cache, 10), 0);
	one_round(test, sd, 3 * MIB);
	return cache;
}

static void end_later_cache(struct kunit *test, struct slabdev_cache *cache)
{
	struct slabdev *sd = cache_class(cache)->sd;

	EXPECT_FREED(test, sd, slabdev_cache_alloc(cache));
	KUNIT_EXPECT_NOT_NULL(test, my_heap(sd)->bins[1]);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	expect_empty(test, sd);
}

static void window_without_bins_works(struct kunit *test)
{
	struct slabdev *sd = space_with_free_slices(test);
	struct slabdev_cache *cache = later_cache(test, sd);

	use_without_bins(test, cache);
	end_later_cache(test, cache);
}

static void use_cache(void *arg)
{
	struct slabdev_cache *cache = arg;

	slabdev_cache_free(cache, slabdev_cache_alloc(cache));
}

/* There are bins, of a thread that is gone, but all blocks are taken. */
static void window_without_counters_works(struct kunit *test)
{
	struct slabdev_seg_thread *b[SLABDEV_SEG_THREADS_PER_SEGMENT];
	struct slabdev *sd = space_with_free_slices(test);
	struct slabdev_cache *cache = later_cache(test, sd);
	struct crew *crew = crew_new(test, 1);
	u32 n = 0;

	crew_do(crew, 0, use_cache, cache);
	crew_dismiss(crew);
	lock_acquire(&sd->heaps_lock);
	while (bitmap_next(sd->block_free, BLOCK_MAX, 0) < BLOCK_MAX)
		b[n++] = segment_block_get_locked(sd, 0);
	lock_release(&sd->heaps_lock);
	use_without_bins(test, cache);
	lock_acquire(&sd->heaps_lock);
	while (n)
		segment_block_put_locked(sd, b[--n]);
	lock_release(&sd->heaps_lock);
	end_later_cache(test, cache);
}

/* ---- The budget ------------------------------------------------------- */

/* Each eighth request that finds no room evicts. */
static void use_until_it_has_a_sheaf(struct kunit *test, struct slabdev *sd,
				     size_t size)
{
	for (u32 i = 0; i < 8 && !bin_of(sd, size)->main->cap; i++)
		one_round(test, sd, size);
	KUNIT_EXPECT_GT(test, bin_of(sd, size)->main->cap, 0);
}

static void spare_sheaf_is_evicted_first(struct kunit *test)
{
	struct slabdev *sd = space_with_sheaves(test, 2 * SHEAF_BYTES);
	void *p[3 * CAP];

	alloc_many(test, sd, p, 3 * CAP, SIZE);
	free_many(test, sd, p, 3 * CAP);
	KUNIT_ASSERT_EQ(test, my_heap(sd)->charged, 2 * SHEAF_BYTES);
	use_until_it_has_a_sheaf(test, sd, 512);
	KUNIT_EXPECT_EQ(test, bin_of(sd, SIZE)->main->cap, CAP);
	KUNIT_EXPECT_EQ(test, bin_of(sd, SIZE)->spare->cap, 0);
	expect_sound(test, sd);
	expect_empty(test, sd);
}

/* One sheaf that is full goes to the barn, or half of it to the slabs: at most
 * one flush for half a sheaf of frees. */
static void one_sheaf_has_to_do(struct kunit *test)
{
	struct slabdev *sd = space_with_sheaves(test, SHEAF_BYTES);
	struct slabdev_stats st;
	void *p[8 * CAP];

	alloc_many(test, sd, p, 8 * CAP, SIZE);
	free_many(test, sd, p, 8 * CAP);
	st = expect_sound(test, sd);
	KUNIT_EXPECT_GT(test, st.flushes, 0);
	KUNIT_EXPECT_LE(test, st.flushes, 2 * 8);
	KUNIT_EXPECT_EQ(test, my_heap(sd)->charged, SHEAF_BYTES);
	expect_empty(test, sd);
}

/*
 * A note says which sheaf to evict next. When there is no room for one more,
 * the sheaf of the oldest goes with it: without a note nothing would evict it.
 */
static void no_sheaf_is_without_a_note(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct class *taken = sd->class[layout_class(SIZE)];

	one_round(test, sd, 512);
	for (u32 i = 0; i < GAINED_MAX - 1; i++) {
		one_round(test, sd, SIZE);
		take_back(sd, taken);
	}
	KUNIT_EXPECT_GT(test, bin_of(sd, 512)->main->cap, 0);
	one_round(test, sd, SIZE);
	KUNIT_EXPECT_EQ(test, bin_of(sd, 512)->main->cap, 0);
	expect_sound(test, sd);
	expect_empty(test, sd);
}

/* Sheaves that the barn has no room for are used again, or given back. */
static void sheaves_do_not_become_more(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	u32 n = 150 * CAP;
	void **p = kunit_kzalloc(test, n * sizeof(*p));
	u64 bytes = 0;

	for (u32 round = 0; round < 3; round++) {
		alloc_many(test, sd, p, n, SIZE);
		free_many(test, sd, p, n);
		if (!round)
			bytes = sd->sheaf_pool[NR_SHEAF_POOLS - 1].bytes;
	}
	KUNIT_EXPECT_EQ(test, sd->sheaf_pool[NR_SHEAF_POOLS - 1].bytes, bytes);
	expect_empty(test, sd);
}

/* There are three sizes of sheaves: for 12, 28 and 64 objects. */
static void sheaf_is_the_smallest_that_will_do(struct kunit *test)
{
	static const u32 sizes[NR_SHEAF_POOLS] = { 10 * KIB, 5 * KIB, SIZE };
	struct slabdev *sd = case_space(test, 64 * MIB);

	for (u32 i = 0; i < NR_SHEAF_POOLS; i++) {
		KUNIT_EXPECT_EQ(test, sd->sheaf_pool[i].bytes, 0);
		one_round(test, sd, sizes[i]);
		KUNIT_EXPECT_GT(test, sd->sheaf_pool[i].bytes, 0);
	}
}

/* ---- Counters --------------------------------------------------------- */

static void expect_counted(struct kunit *test, struct slabdev *sd, u32 id,
			   u64 allocs, u64 frees)
{
	struct slabdev_seg_counters *mine = &my_heap(sd)->block[0]->c[id];
	struct slabdev_seg_counters *retired = &sd->window[0]->retired[id];

	KUNIT_EXPECT_EQ(test, mine->allocs, allocs);
	KUNIT_EXPECT_EQ(test, mine->frees, frees);
	KUNIT_EXPECT_EQ(test, retired->allocs, 0);
	KUNIT_EXPECT_EQ(test, retired->frees, 0);
}

/* Those of no heap are shared, and counted with atomic operations. */
static void thread_counts_in_its_own_block(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	u32 id = (u32)layout_class(SIZE);
	void *small = must_alloc(test, sd, SIZE);
	void *large = must_alloc(test, sd, 3 * MIB);

	expect_counted(test, sd, id, 1, 0);
	expect_counted(test, sd, CLASS_LARGE, 1, 0);
	EXPECT_FREED(test, sd, large);
	EXPECT_FREED(test, sd, small);
	expect_counted(test, sd, id, 1, 1);
	expect_counted(test, sd, CLASS_LARGE, 1, 1);
}

/* ---- Threads that are gone -------------------------------------------- */

struct guest {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *tiny;
};

/* In two windows. */
static void work(void *arg)
{
	struct guest *g = arg;
	void *p = slabdev_cache_alloc(g->tiny);

	one_round(g->test, g->sd, SIZE);
	KUNIT_EXPECT_EQ(g->test, slabdev_cache_free(g->tiny, p), 0);
}

static void come_and_go(struct guest *g, u32 n)
{
	while (n--) {
		struct crew *crew = crew_new(g->test, 1);

		crew_do(crew, 0, work, g);
		crew_dismiss(crew);
	}
}

static u64 bytes_of_heaps(struct slabdev *sd)
{
	return sd->heap_pool.bytes + sd->bin_pool.bytes;
}

/* The heap, the bins and the counters of one thread serve the next. */
static void memory_of_heaps_is_used_again(struct kunit *test)
{
	struct guest g = { .test = test, .sd = case_space(test, 64 * MIB) };
	u32 segments;
	u64 bytes;

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&g.tiny, g.sd, "tiny", 64,
						   NULL), 0);
	come_and_go(&g, 1);
	bytes = bytes_of_heaps(g.sd);
	segments = g.sd->rec->nr_thread_segments;
	come_and_go(&g, 2 * SLABDEV_SEG_THREADS_PER_SEGMENT);
	KUNIT_EXPECT_EQ(test, bytes_of_heaps(g.sd), bytes);
	KUNIT_EXPECT_EQ(test, g.sd->rec->nr_thread_segments, segments);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(g.tiny), 0);
	expect_empty(test, g.sd);
}

/* The blocks of two threads lie side by side. */
static void exit_leaves_others_counters_alone(struct kunit *test)
{
	struct guest g = { .test = test, .sd = case_space(test, 64 * MIB) };
	struct crew *first = crew_new(test, 1), *second = crew_new(test, 1);

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&g.tiny, g.sd, "tiny", 64,
						   NULL), 0);
	crew_do(first, 0, work, &g);
	crew_do(second, 0, work, &g);
	crew_dismiss(first);
	KUNIT_EXPECT_EQ(test, expect_sound(test, g.sd).allocs, 4);
	KUNIT_EXPECT_EQ(test, figures(test, g.sd).threads, 1);
	crew_do(second, 0, work, &g);
	crew_dismiss(second);
	KUNIT_EXPECT_EQ(test, expect_sound(test, g.sd).allocs, 6);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(g.tiny), 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(what_was_pushed_last_is_popped_first),
	KUNIT_CASE(hits_take_no_lock),
	KUNIT_CASE(second_allocation_is_a_hit),
	KUNIT_CASE(hit_beyond_the_first_reservation),
	KUNIT_CASE(thread_without_a_heap_works),
	KUNIT_CASE(thread_without_sheaves_works),
	KUNIT_CASE(window_without_bins_works),
	KUNIT_CASE(window_without_counters_works),
	KUNIT_CASE(spare_sheaf_is_evicted_first),
	KUNIT_CASE(one_sheaf_has_to_do),
	KUNIT_CASE(no_sheaf_is_without_a_note),
	KUNIT_CASE(sheaves_do_not_become_more),
	KUNIT_CASE(sheaf_is_the_smallest_that_will_do),
	KUNIT_CASE(thread_counts_in_its_own_block),
	KUNIT_CASE(memory_of_heaps_is_used_again),
	KUNIT_CASE(exit_leaves_others_counters_alone),
	{ 0 }
};

static const struct kunit_suite heap_suite = {
	.name = "heap",
	.cases = cases,
};
kunit_test_suite(heap_suite);
