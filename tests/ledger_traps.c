// SPDX-License-Identifier: BSD-2-Clause
/*
 * ledger_traps.c - ways in which the books of a textbook's device chapter went
 * wrong.
 */
#include <errno.h>

#include "tests/ledger_books.h"

/* Sizes below the alignment failed without an error, and were counted. */
void sizes_from_1_to_64_work(struct kunit *test)
{
	struct books *b = test->priv;
	struct slabdev_ledger l;
	void *p[65];
	u64 sum = 0;

	for (u32 i = 1; i <= 64; i++) {
		p[i] = take(b, i);
		sum += i;
		mem_fill(b->sd, p[i], i, (int)i);
		l = books_of(b);
		KUNIT_EXPECT_EQ(test, l.allocs, i);
		KUNIT_EXPECT_EQ(test, l.current, sum);
		KUNIT_EXPECT_EQ(test, l.failed, 0);
	}
	for (u32 i = 1; i <= 64; i++) {
		KUNIT_EXPECT_TRUE(test, mem_is(b->sd, p[i], i, (int)i));
		must_give(b, p[i]);
	}
}

/* In a space of its own, which a request can exceed. */
static void requests_fail(struct books *b)
{
	KUNIT_EXPECT_ERRNO(b->test, try_take(b, SIZE_MAX, 0), EOVERFLOW);
	KUNIT_EXPECT_ERRNO(b->test, try_take(b, (size_t)-64, 0), EOVERFLOW);
	KUNIT_EXPECT_ERRNO(b->test, try_take(b, (size_t)(ssize_t)-1, 256),
			   EOVERFLOW);
	kunit_expect_report(b->test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_ERRNO(b->test, try_take(b, 2 * GIB, 0), EDQUOT);
}

void failed_requests_change_only_the_failures(struct kunit *test)
{
	struct books *b = test->priv;
	struct slabdev_ledger before;
	void *p = take(b, 5000);

	must_give(b, take(b, 300));
	before = books_of(b);
	requests_fail(b);
	expect_only_failures(b, &before, 4);
	must_give(b, p);
}

/* Zero bytes are a mistake here; plain slabdev_alloc() has NULL for them. */
void zero_bytes_are_refused(struct kunit *test)
{
	struct books *b = test->priv;
	struct slabdev_ledger before = books_of(b);

	KUNIT_EXPECT_ERRNO(test, try_take(b, 0, 0), EINVAL);
	KUNIT_EXPECT_ERRNO(test, try_take(b, 0, 256), EINVAL);
	KUNIT_EXPECT_NOT_NULL(test, strstr(slabdev_last_error(), "0 bytes"));
	expect_only_failures(b, &before, 2);
}

/*
 * A copy of a pointer, of a block, of whatever: the first free frees, and each
 * further one is refused and counted nowhere.
 */
void second_free_never_moves_the_books(struct kunit *test)
{
	struct books *b = test->priv;
	void *p = take(b, 1000), *kept = take(b, 1000), *copy = p;
	struct slabdev_ledger before;

	must_give(b, p);
	before = books_of(b);
	KUNIT_EXPECT_EQ(test, before.current, 1000);
	for (u32 i = 0; i < 5; i++) {
		kunit_expect_report(test, REPORT_DOUBLE_FREE);
		KUNIT_EXPECT_EQ(test, give(b, copy), -EALREADY);
	}
	expect_only_failures(b, &before, 0);
	must_give(b, kept);
	KUNIT_EXPECT_EQ(test, books_of(b).current, 0);
}

/* The request for 256 was dropped, and gave 64. */
void alignment_is_honoured_or_refused(struct kunit *test)
{
	struct books *b = test->priv;
	u64 most = has_regions(b->sd) ? MIB : 64 * MIB;
	struct slabdev_ledger before;
	void *p;

	for (u64 align = 1; align <= most; align *= 2) {
		p = try_take(b, 4096, align);
		KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%llu: %s",
					  (unsigned long long)align,
					  slabdev_last_error());
		KUNIT_EXPECT_EQ(test, (uintptr_t)p % align, 0);
		KUNIT_EXPECT_EQ(test, (uintptr_t)p % SLABDEV_ALIGN, 0);
		must_give(b, p);
	}
	before = books_of(b);
	KUNIT_EXPECT_ERRNO(test, try_take(b, 4096, 3), EINVAL);
	KUNIT_EXPECT_ERRNO(test, try_take(b, 4096, 257), EINVAL);
	KUNIT_EXPECT_ERRNO(test, try_take(b, 4096, 2 * GIB), EINVAL);
	KUNIT_EXPECT_ERRNO(test, try_take(b, 4096, (size_t)1 << 63), EINVAL);
	expect_only_failures(b, &before, b->by_space ? 0 : 4);
}

/* Two copies of a handle have one ledger, which cannot drift apart. */
void copy_of_a_token_has_the_same_books(struct kunit *test)
{
	struct books *b = test->priv, copy = *b;
	struct slabdev_ledger l;
	void *p = take(b, 100), *q = take(&copy, 200);

	l = books_of(b);
	KUNIT_EXPECT_EQ(test, l.current, 300);
	expect_only_failures(&copy, &l, 0);
	must_give(&copy, p);
	must_give(b, q);
	KUNIT_EXPECT_EQ(test, books_of(&copy).current, 0);
}
