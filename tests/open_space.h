/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open_space.h - an open space, and what must hold of it at rest.
 *
 * It is one of this machine's memory, or of what SLABDEV_TEST_SPEC says, so
 * that the same cases run on a device: they use the memory by tests/memory.h,
 * and what is about the host alone begins with host_only().
 *
 * Three ways to have one:
 *
 *   - a suite whose init is open_space_init() finds a space of 1 GiB in
 *     test->priv; with open_space_exit() every case ends with a validation,
 *     the sum of figures, and a close that finds nothing live;
 *   - open_space() and close_space() do the same where the case says;
 *   - case_space() is for cases with threads or without memory: the space is
 *     closed after the case, whatever happened in it.
 */
#ifndef TESTS_OPEN_SPACE_H
#define TESTS_OPEN_SPACE_H

#include <errno.h>
#include <stdio.h>

#include <slabdev/slabdev.h>

#include "core/overflow.h"
#include "slab/slab.h"
#include "tests/kunit/kunit.h"
#include "tests/memory.h"

#define CHUNK (2 * MIB)

static inline bool on_host(void)
{
	return !strcmp(test_spec(), "host");
}

/* Skips the case where spaces are of another memory. */
static inline void host_only(struct kunit *test, const char *why)
{
	if (!on_host())
		kunit_skip(test, "about host memory: %s", why);
}

/*
 * Memory that comes in regions: an object does not span two, and one that was
 * given back is none of the space's addresses any more.
 */
static inline bool has_regions(const struct slabdev *sd)
{
	return sd->ops->backed;
}

/* Where an address is in the space's tables; VMM_MAX_OFFSET: in none. */
static inline u64 space_offset(const struct slabdev *sd, const void *p)
{
	u64 offset = VMM_MAX_OFFSET;

	(void)vmm_offset(&sd->vmm, (u64)(uintptr_t)p, &offset);
	return offset;
}

static inline bool is_address_of(const struct slabdev *sd, const void *p)
{
	return space_offset(sd, p) < VMM_MAX_OFFSET;
}

/* The longest handle that growth makes: it goes whole or not at all. */
static inline u64 handle_max(const struct slabdev *sd)
{
	return sd->ops->dear_handles ? 64 * MIB : CHUNK;
}

/* Skips the case where an object may not use all that is free together. */
static inline void need_merging(struct kunit *test, const struct slabdev *sd)
{
	if (has_regions(sd))
		kunit_skip(test, "memory comes in regions, which do not merge");
}

static inline struct slabdev *open_space_attr(struct kunit *test,
					      const struct slabdev_attr *attr)
{
	struct slabdev *sd = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_open(&sd, test_spec(), attr), 0,
			    "%s", slabdev_last_error());
	return sd;
}

static inline struct slabdev *open_space(struct kunit *test, u64 limit)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = limit;
	attr.name = "test";
	return open_space_attr(test, &attr);
}

/* ---- Figures ---------------------------------------------------------- */

/* What the library says just now; other threads may be at work. */
static inline struct slabdev_stats stats_of(struct kunit *test,
					    struct slabdev *sd)
{
	struct slabdev_stats st = { .mapped = 1 };

	KUNIT_EXPECT_EQ(test, slabdev_stats(sd, &st, sizeof(st)), 0);
	return st;
}

static inline u64 calls_of(struct kunit *test, struct slabdev *sd)
{
	return stats_of(test, sd).backend_calls;
}

static inline u64 sum_of_figures(const struct slabdev_stats *st)
{
	return st->live + st->cached + st->pending + st->retained +
	       st->rounding + st->slack + st->lost + (u64)st->in_flight;
}

/* The figures of a space at rest, which add up. */
static inline struct slabdev_stats figures(struct kunit *test,
					   struct slabdev *sd)
{
	struct slabdev_stats st = stats_of(test, sd);

	KUNIT_EXPECT_EQ(test, st.in_flight, 0);
	KUNIT_EXPECT_EQ(test, st.mapped, sum_of_figures(&st));
	KUNIT_EXPECT_LE(test, st.mapped, st.limit);
	KUNIT_EXPECT_LE(test, st.mapped, st.peak_mapped);
	KUNIT_EXPECT_EQ(test, st.live_objects, st.allocs - st.frees);
	KUNIT_EXPECT_EQ(test, st.live - st.arena_bytes,
			st.alloc_bytes - st.free_bytes);
	return st;
}

/* No operation is in flight: every byte is accounted for, every list agrees. */
static inline struct slabdev_stats expect_sound(struct kunit *test,
						struct slabdev *sd)
{
	KUNIT_EXPECT_EQ_MSG(test, slabdev_validate(sd), 0, "%s",
			    slabdev_last_error());
	return figures(test, sd);
}

/* Nothing is live, and trim gives all of it back. */
static inline void expect_empty(struct kunit *test, struct slabdev *sd)
{
	struct slabdev_stats st;

	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	st = expect_sound(test, sd);
	KUNIT_EXPECT_EQ(test, st.live_objects, 0);
	KUNIT_EXPECT_EQ(test, st.live, 0);
	KUNIT_EXPECT_EQ(test, st.cached, 0);
	KUNIT_EXPECT_EQ(test, st.retained, 0);
	KUNIT_EXPECT_EQ(test, st.mapped, 0);
	KUNIT_EXPECT_EQ(test, st.handles, 0);
}

/* No figure changed but that of failures, by @failures. */
#define EXPECT_ONLY_FAILURES(test, sd, before, failures)		\
do {									\
	struct slabdev_stats now_ = figures(test, sd);			\
									\
	KUNIT_EXPECT_EQ(test, now_.failed, (before).failed + (failures)); \
	now_.failed = (before).failed;					\
	KUNIT_EXPECT_MEMEQ(test, &now_, &(before), sizeof(now_));	\
} while (0)

/*
 * What a device may still have been using when it was freed goes back with a
 * later call: now all of it is done, and that call was made.
 */
static inline void settle(struct kunit *test, struct slabdev *sd)
{
	if (sd->ops->synchronous)
		return;
	KUNIT_EXPECT_EQ(test, vmm_quiesce(&sd->vmm), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
}

/* ---- Objects ---------------------------------------------------------- */

static inline void *must_alloc(struct kunit *test, struct slabdev *sd,
			       size_t size)
{
	void *p = slabdev_alloc(sd, size);

	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%zu bytes: %s", size,
				  slabdev_last_error());
	return p;
}

#define EXPECT_FREED(test, sd, p) \
	KUNIT_EXPECT_EQ_MSG(test, slabdev_free(sd, p), 0, "%s", \
			    slabdev_last_error())

/* ---- The end ---------------------------------------------------------- */

static inline void close_space(struct kunit *test, struct slabdev *sd)
{
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).live_objects, 0);
	if (slabdev_close(sd, 0)) {
		KUNIT_FAIL(test, "%s", slabdev_last_error());
		slabdev_close(sd, SLABDEV_CLOSE_FORCE);
	}
}

static inline int open_space_init(struct kunit *test)
{
	test->priv = open_space(test, GIB);
	return 0;
}

static inline void open_space_exit(struct kunit *test)
{
	if (test->priv)
		close_space(test, test->priv);
}

struct case_space {
	struct kunit *test;
	struct slabdev *sd;
};

static inline void case_space_close(void *arg)
{
	struct case_space *c = arg;

	KUNIT_EXPECT_EQ(c->test, slabdev_close(c->sd, SLABDEV_CLOSE_FORCE), 0);
}

static inline struct slabdev *case_space_attr(struct kunit *test,
					      const struct slabdev_attr *attr)
{
	struct case_space *c = kunit_kzalloc(test, sizeof(*c));

	c->test = test;
	c->sd = open_space_attr(test, attr);
	kunit_add_action(test, case_space_close, c);
	return c->sd;
}

static inline struct slabdev *case_space(struct kunit *test, u64 limit)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = limit;
	return case_space_attr(test, &attr);
}

#endif /* TESTS_OPEN_SPACE_H */
