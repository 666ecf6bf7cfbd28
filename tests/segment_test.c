// SPDX-License-Identifier: BSD-2-Clause
/*
 * segment_test.c - the memory of the counters: blocks that threads take in
 * turn, numbers that caches take in turn, and windows that are refused.
 *
 * What a reader of the statistics may rely on is in <slabdev/segment.h>.
 */
#include <string.h>
#include <unistd.h>

#include "core/os.h"
#include "slab/segment.h"
#include "tests/open_space.h"

/* A space whose segments are its own memory. */
static struct slabdev *private_space(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = 64 * MIB;
	attr.flags = SLABDEV_OPEN_PRIVATE_STATS;
	return case_space_attr(test, &attr);
}

static struct slabdev_cache *new_cache(struct kunit *test, struct slabdev *sd,
				       const char *name)
{
	struct slabdev_cache *cache = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_cache_create(&cache, sd, name, 64,
						       NULL), 0, "%s",
			    slabdev_last_error());
	return cache;
}

static struct slabdev_seg_header *window_of(struct slabdev *sd,
					    struct slabdev_cache *cache)
{
	u32 window = cache_class(cache)->id / CLASS_WINDOW;

	return (struct slabdev_seg_header *)(void *)sd->window[window] - 1;
}

/* ---- Blocks ----------------------------------------------------------- */

static struct slabdev_seg_thread *get(struct slabdev *sd)
{
	struct slabdev_seg_thread *b;

	lock_acquire(&sd->heaps_lock);
	b = segment_block_get_locked(sd, 0);
	lock_release(&sd->heaps_lock);
	return b;
}

static void put(struct slabdev *sd, struct slabdev_seg_thread *b)
{
	lock_acquire(&sd->heaps_lock);
	segment_block_put_locked(sd, b);
	lock_release(&sd->heaps_lock);
}

/* A reader that looks twice sees that it is another thread's. */
static void generation_tells_one_thread_from_the_next(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct slabdev_seg_thread *b = get(sd);
	u32 generation = b->generation;

	KUNIT_EXPECT_EQ(test, b->state, SLABDEV_SEG_USED);
	KUNIT_EXPECT_EQ(test, b->window, 0);
	KUNIT_EXPECT_EQ(test, b->tid, gettid());
	put(sd, b);
	KUNIT_EXPECT_EQ(test, b->state, SLABDEV_SEG_FREE);
	KUNIT_EXPECT_PTR_EQ(test, get(sd), b);
	KUNIT_EXPECT_NE(test, b->generation, generation);
	put(sd, b);
}

static void a_block_ends_where_the_next_begins(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct slabdev_seg_thread *b = get(sd), *next = get(sd), copy;

	KUNIT_ASSERT_PTR_EQ(test, next, b + 1);
	b->c[SLABDEV_SEG_WINDOW - 1].allocs = 5;
	next->sheaf_bytes = 1000;
	copy = *next;
	put(sd, b);
	KUNIT_EXPECT_MEMEQ(test, next, &copy, sizeof(copy));
	KUNIT_EXPECT_EQ(test,
		sd->window[0]->retired[SLABDEV_SEG_WINDOW - 1].allocs, 5);
	sd->window[0]->retired[SLABDEV_SEG_WINDOW - 1].allocs = 0;
	put(sd, next);
}

/* ---- Numbers of caches ------------------------------------------------ */

/* The record counts from 0, and no reader has to try again. */
static void number_is_handed_on_clean(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct slabdev_cache *cache = new_cache(test, sd, "first");
	struct slabdev_seg_header *window = window_of(sd, cache);
	u16 id = cache_class(cache)->id;
	struct slabdev_seg_class *r;
	u32 seq = window->fold_seq;

	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache,
					slabdev_cache_alloc(cache)), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	KUNIT_EXPECT_GT(test, window->fold_seq, seq);
	KUNIT_EXPECT_EQ(test, window->fold_seq % 2, 0);
	cache = new_cache(test, sd, "second");
	r = cache_class(cache)->rec;
	KUNIT_EXPECT_EQ(test, cache_class(cache)->id, id);
	KUNIT_EXPECT_EQ(test, r->refills, 0);
	KUNIT_EXPECT_EQ(test, r->flushes, 0);
	KUNIT_EXPECT_EQ(test, r->slab_allocs, 0);
	KUNIT_EXPECT_EQ(test, r->slab_frees, 0);
	KUNIT_EXPECT_EQ(test, r->failed, 0);
	KUNIT_EXPECT_EQ(test, r->stolen, 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

static void slabs_are_counted_once(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct slabdev_cache *cache = new_cache(test, sd, "cache");
	struct slabdev_seg_class *r = cache_class(cache)->rec;

	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache,
					slabdev_cache_alloc(cache)), 0);
	KUNIT_EXPECT_EQ(test, r->slabs, 1);
	KUNIT_EXPECT_EQ(test, r->slab_allocs, 1);
	KUNIT_EXPECT_EQ(test, r->slab_frees, 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(cache), 0);
	KUNIT_EXPECT_EQ(test, r->slabs, 0);
	KUNIT_EXPECT_EQ(test, r->slab_allocs, 1);
	KUNIT_EXPECT_EQ(test, r->slab_frees, 1);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

/* ---- Windows ---------------------------------------------------------- */

static int no_reserve(size_t size, void **addr)
{
	(void)size;
	(void)addr;
	return -ENOMEM;
}

static void window_may_be_refused(struct kunit *test)
{
	struct slabdev *sd = private_space(test);
	u32 windows = sd->rec->nr_windows;
	struct slabdev_cache *cache = NULL;
	struct slabdev_stats before;

	/* Now the thread has room for the text of an error. */
	EXPECT_FREED(test, sd, must_alloc(test, sd, 1000));
	before = figures(test, sd);
	kunit_activate_static_stub(test, os_reserve, no_reserve);
	KUNIT_EXPECT_EQ(test, slabdev_cache_create(&cache, sd, "tiny", 64,
						   NULL), -ENOMEM);
	KUNIT_EXPECT_NOT_NULL(test, strstr(slabdev_last_error(),
					   "statistics"));
	KUNIT_EXPECT_NULL(test, cache);
	KUNIT_EXPECT_EQ(test, sd->rec->nr_windows, windows);
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
	kunit_deactivate_static_stub(test, os_reserve);
	cache = new_cache(test, sd, "tiny");
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(generation_tells_one_thread_from_the_next),
	KUNIT_CASE(a_block_ends_where_the_next_begins),
	KUNIT_CASE(number_is_handed_on_clean),
	KUNIT_CASE(slabs_are_counted_once),
	KUNIT_CASE(window_may_be_refused),
	{ 0 }
};

static const struct kunit_suite segment_suite = {
	.name = "segment",
	.cases = cases,
};
kunit_test_suite(segment_suite);
