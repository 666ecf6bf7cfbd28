/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ledger_books.h - the books of a space or of a manager.
 */
#ifndef TESTS_LEDGER_BOOKS_H
#define TESTS_LEDGER_BOOKS_H

#include "tests/open_space.h"

struct books {
	struct kunit *test;
	struct slabdev_manager *m;
	struct slabdev *sd;
	uint32_t kind;
	int device;
	bool by_space;
};

static inline void *try_take(struct books *b, size_t bytes, size_t align)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.align = align;
	return b->by_space ? slabdev_alloc_ex(b->sd, bytes, &req) :
			     slabdev_manager_alloc(b->m, b->kind, b->device,
						   bytes, align);
}

static inline void *take(struct books *b, size_t bytes)
{
	void *p = try_take(b, bytes, 0);

	KUNIT_ASSERT_NOT_NULL_MSG(b->test, p, "%zu bytes: %s", bytes,
				  slabdev_last_error());
	return p;
}

static inline int give(struct books *b, void *p)
{
	return b->by_space ? slabdev_free(b->sd, p) :
			     slabdev_manager_free(b->m, p);
}

static inline void must_give(struct books *b, void *p)
{
	KUNIT_EXPECT_EQ_MSG(b->test, give(b, p), 0, "%s", slabdev_last_error());
}

static inline struct slabdev_ledger ledger_of(struct books *b)
{
	struct slabdev_ledger l, total;

	KUNIT_ASSERT_EQ(b->test, slabdev_manager_ledger(b->m, b->kind,
							b->device, &l,
							sizeof(l)), 0);
	KUNIT_ASSERT_EQ(b->test, slabdev_manager_total(b->m, &total,
						       sizeof(total)), 0);
	KUNIT_EXPECT_MEMEQ(b->test, &l, &total,
			   offsetof(struct slabdev_ledger, kind));
	return l;
}

/* The space and the manager say the same. */
static inline struct slabdev_ledger books_of(struct books *b)
{
	struct slabdev_stats st = figures(b->test, b->sd);
	struct slabdev_ledger l = ledger_of(b);

	KUNIT_EXPECT_EQ(b->test, l.allocs, st.allocs);
	KUNIT_EXPECT_EQ(b->test, l.frees, st.frees);
	KUNIT_EXPECT_EQ(b->test, l.active, st.live_objects);
	KUNIT_EXPECT_EQ(b->test, l.alloc_bytes, st.alloc_bytes);
	KUNIT_EXPECT_EQ(b->test, l.free_bytes, st.free_bytes);
	KUNIT_EXPECT_EQ(b->test, l.current, st.live);
	KUNIT_EXPECT_EQ(b->test, l.current, l.alloc_bytes - l.free_bytes);
	KUNIT_EXPECT_EQ(b->test, l.reused, st.reused);
	KUNIT_EXPECT_EQ(b->test, l.reused_bytes, st.reused_bytes);
	KUNIT_EXPECT_GE(b->test, l.peak, l.current);
	return l;
}

/* Nothing has changed since but the count of failures, by @failures. */
static inline void expect_only_failures(struct books *b,
					const struct slabdev_ledger *before,
					u64 failures)
{
	struct slabdev_ledger now = books_of(b);

	KUNIT_EXPECT_EQ(b->test, now.failed, before->failed + failures);
	now.failed = before->failed;
	KUNIT_EXPECT_MEMEQ(b->test, &now, before, sizeof(now));
}

/* The cases of the suite that are in ledger_traps.c. */
void sizes_from_1_to_64_work(struct kunit *test);
void failed_requests_change_only_the_failures(struct kunit *test);
void zero_bytes_are_refused(struct kunit *test);
void second_free_never_moves_the_books(struct kunit *test);
void alignment_is_honoured_or_refused(struct kunit *test);
void copy_of_a_token_has_the_same_books(struct kunit *test);

#endif /* TESTS_LEDGER_BOOKS_H */
