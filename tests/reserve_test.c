// SPDX-License-Identifier: BSD-2-Clause
/*
 * reserve_test.c - addresses: how many are reserved, how they are numbered,
 * and what happens where they are few.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "core/os.h"
#include "core/thread.h"
#include "tests/vmm_space.h"

/* What the text of an error is kept in needs addresses, too. */
static int reserve_test_init(struct kunit *test)
{
	KUNIT_ASSERT_NOT_NULL(test, thread_get());
	test->priv = space_new(test);
	return 0;
}

static void reserve_test_exit(struct kunit *test)
{
	if (test->priv)
		space_end(test->priv);
}

static u64 chunk_addr(struct space *s, u32 chunk)
{
	return vmm_addr(&s->v, vmm_chunk_offset(&s->v, chunk));
}

static void further_reservation_when_the_first_is_full(struct kunit *test)
{
	struct space *s = test->priv;
	u32 low, high, longer;
	u64 offset;

	space_open(s, 64, 4);
	KUNIT_EXPECT_EQ(test, s->v.base_bytes, 8 * MIB);
	low = space_map(s, 4, 1);
	KUNIT_EXPECT_EQ(test, low, 0);
	high = space_map(s, 2, 1);
	/* Number 4 is the gap. */
	KUNIT_EXPECT_EQ(test, high, 5);
	longer = space_map(s, 20, 20);
	KUNIT_EXPECT_EQ(test, s->v.nr_res, 3);
	KUNIT_EXPECT_GT(test, longer, high + 2);
	EXPECT_VALID(s);

	KUNIT_ASSERT_TRUE(test, vmm_offset(&s->v, chunk_addr(s, high) + 5,
					   &offset));
	KUNIT_EXPECT_EQ(test, offset, vmm_chunk_offset(&s->v, high) + 5);
	KUNIT_ASSERT_TRUE(test, vmm_offset(&s->v, chunk_addr(s, longer + 19),
					   &offset));
	KUNIT_EXPECT_EQ(test, offset, vmm_chunk_offset(&s->v, longer + 19));
	KUNIT_EXPECT_FALSE(test, vmm_offset(&s->v, s->v.base - 1, &offset));
	KUNIT_EXPECT_FALSE(test, vmm_offset(&s->v, 0, &offset));
	KUNIT_EXPECT_FALSE(test, vmm_offset(&s->v, ~(u64)0, &offset));
}

static void numbers_end_somewhere(struct kunit *test)
{
	struct space *s = test->priv;
	u32 first;

	space_open(s, 4, 4);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 1u << 31, 1, &first), -EDQUOT);
	/* Within the limit there is room, whatever was fragmented. */
	for (u32 i = 0; i < 40; i++) {
		first = space_map(s, 1 + i % 4, 1 + i % 4);
		space_unmap(s, first, VMM_RELEASE);
	}
	KUNIT_EXPECT_EQ(test, s->v.nr_res, 1);
}

/* mmap without the stub that stands in for os_reserve(). */
static size_t largest_reservation;

static int reserve_up_to(size_t size, void **addr)
{
	void *p;

	if (size > largest_reservation)
		return -ENOMEM;
	p = mmap(NULL, size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	*addr = p;
	return 0;
}

static void reservation_halves_until_it_fits(struct kunit *test)
{
	struct space *s = test->priv;

	largest_reservation = 500 * MIB;
	kunit_activate_static_stub(test, os_reserve, reserve_up_to);
	space_open(s, 512, 0);
	/* 8 GiB were wished for; with its margins, 256 MiB is what fits. */
	KUNIT_EXPECT_EQ(test, s->v.base_bytes, 256 * MIB);
	KUNIT_EXPECT_EQ(test, s->cnt.fails[VMM_OP_RESERVE], 5);
	/* More comes as it is needed, up to the limit. */
	for (u32 i = 0; i < 8; i++)
		space_map(s, 64, 64);
	KUNIT_EXPECT_GE(test, s->v.nr_res, 4);
	KUNIT_EXPECT_EQ(test, s->cnt.created, GIB);
	EXPECT_VALID(s);
}

static void too_few_addresses_is_an_error(struct kunit *test)
{
	struct space *s = test->priv;

	largest_reservation = 32 * MIB;
	kunit_activate_static_stub(test, os_reserve, reserve_up_to);
	KUNIT_EXPECT_EQ(test, space_try_open(s, 512, 0), -ENOMEM);
	EXPECT_ERROR_HAS(s, "reserve");
	KUNIT_EXPECT_EQ(test, s->cnt.reserved, 0);
	/* What was asked for in so many words is not halved. */
	KUNIT_EXPECT_EQ(test, space_try_open(s, 2, 20), -ENOMEM);
	KUNIT_EXPECT_EQ(test, s->cnt.calls[VMM_OP_RESERVE], 1);
	/* Below 64 MiB the limit is enough. */
	space_open(s, 8, 0);
	KUNIT_EXPECT_EQ(test, s->v.base_bytes, 16 * MIB);
	space_map(s, 8, 8);
}

static int reservations_left;

static int reserve_some(size_t size, void **addr)
{
	largest_reservation = ~(size_t)0;
	return reservations_left-- > 0 ? reserve_up_to(size, addr) : -ENOMEM;
}

/* Each table by chunk number in turn lacks addresses: all goes back. */
static void failing_tables_undo_the_reservation(struct kunit *test)
{
	struct space *s = test->priv;
	int fails = 0;

	kunit_activate_static_stub(test, os_reserve, reserve_some);
	for (reservations_left = 0; space_try_open(s, 8, 8);
	     reservations_left = ++fails) {
		KUNIT_EXPECT_EQ(test, s->cnt.reserved, 0);
		KUNIT_ASSERT_LT(test, fails, 20);
	}
	/* The addresses, the backend's books, two ranges, the chunks. */
	KUNIT_EXPECT_GE(test, fails, 9);
	kunit_deactivate_static_stub(test, os_reserve);
	space_map(s, 8, 1);
}

static void idle_mappings_yield_their_addresses(struct kunit *test)
{
	struct space *s = test->priv;
	u32 four;

	space_open(s, 64, 8);
	four = space_map(s, 4, 4);
	space_unmap(s, four, VMM_KEEP_MAPPED);
	space_unmap_singles(s, space_map(s, 4, 1), 4, VMM_KEEP_MAPPED);
	largest_reservation = 0;
	kunit_activate_static_stub(test, os_reserve, reserve_up_to);
	KUNIT_EXPECT_EQ(test, space_map(s, 8, 8), 0);
	KUNIT_EXPECT_EQ(test, s->v.nr_res, 1);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 1, 1, &four), -ENOMEM);
	EXPECT_ERROR_HAS(s, "reserve");
}

static void reservation_beyond_the_numbering_is_refused(struct kunit *test)
{
	struct space *s = test->priv;

	KUNIT_EXPECT_EQ(test, space_try_open(s, 8, VMM_MAX_OFFSET /
						   VMM_MIN_CHUNK + 1), -EINVAL);
	EXPECT_ERROR_HAS(s, "1 TiB");
}

static u64 addresses_used(void)
{
	char text[64] = "";
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	return strtoull(text, NULL, 10) * os_page_size();
}

static void limit_addresses(struct kunit *test, u64 left)
{
	struct rlimit rl;

	KUNIT_ASSERT_EQ(test, getrlimit(RLIMIT_AS, &rl), 0);
	rl.rlim_cur = addresses_used() + left;
	KUNIT_ASSERT_EQ(test, setrlimit(RLIMIT_AS, &rl), 0);
}

/*
 * Goal: a batch system's ulimit -v leaves room for everybody. Method: real
 * limits, in a process of its own; then what slab/ needs, a hundredth of all
 * that may ever be numbered, and the memory itself.
 */
static void ulimit_v_is_shared_fairly(struct kunit *test)
{
	struct space *s = test->priv;
	void *tables;

	limit_addresses(test, GIB);
	space_open(s, 0, 0);
	KUNIT_EXPECT_LE(test, s->v.base_bytes, 512 * MIB);
	KUNIT_EXPECT_GE(test, s->v.base_bytes, 256 * MIB);
	KUNIT_EXPECT_LE(test, s->v.max_chunks, GIB / VMM_MIN_CHUNK);
	KUNIT_EXPECT_EQ(test, os_reserve(s->v.max_chunks * s->v.chunk_size /
					 100, &tables), 0);
	space_map(s, 100, 1);
	space_map(s, 20, 20);
}

static void tight_ulimit_v_is_an_error_or_works(struct kunit *test)
{
	struct space *s = test->priv;
	int err;

	limit_addresses(test, 24 * MIB);
	err = space_try_open(s, 0, 0);
	KUNIT_EXPECT_TRUE(test, !err || err == -ENOMEM);
	if (err)
		space_open(s, 2, 0);
	space_map(s, 2, 1);
}

static void limit_below_a_chunk_is_refused(struct kunit *test)
{
	struct space *s = test->priv;
	struct vmm_config cfg = {
		.limit = 2 * MIB - 1, .counters = &s->cnt, .name = "test",
	};

	KUNIT_EXPECT_EQ(test, vmm_open(&s->v, s->ops, s->dev, &cfg), -EDQUOT);
	EXPECT_ERROR_HAS(s, "below one chunk");
}

static void default_limit_is_the_memory_there_is(struct kunit *test)
{
	struct space *s = test->priv;
	u64 total = min(os_memory_total(), VMM_MAX_OFFSET);

	space_open(s, 0, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.limit, align_down(total, 2 * MIB));
}

static void same_calls_give_the_same_offsets(struct kunit *test)
{
	struct space *s = test->priv;
	u32 got[2][8];

	for (u32 turn = 0; turn < 2; turn++) {
		space_open(s, 64, 0);
		for (u32 i = 0; i < 8; i++) {
			got[turn][i] = space_map(s, 1 + i % 3, 1);
			if (i % 2)
				space_unmap(s, got[turn][i - 1],
					    VMM_KEEP_MAPPED);
		}
		KUNIT_EXPECT_EQ(test, space_close(s), 0);
	}
	KUNIT_EXPECT_MEMEQ(test, got[0], got[1], sizeof(got[0]));
}

static const struct kunit_case reserve_cases[] = {
	KUNIT_CASE(further_reservation_when_the_first_is_full),
	KUNIT_CASE(numbers_end_somewhere),
	KUNIT_CASE(reservation_halves_until_it_fits),
	KUNIT_CASE(too_few_addresses_is_an_error),
	KUNIT_CASE(failing_tables_undo_the_reservation),
	KUNIT_CASE(idle_mappings_yield_their_addresses),
	KUNIT_CASE(reservation_beyond_the_numbering_is_refused),
	KUNIT_CASE_ISOLATED(ulimit_v_is_shared_fairly),
	KUNIT_CASE_ISOLATED(tight_ulimit_v_is_an_error_or_works),
	KUNIT_CASE(limit_below_a_chunk_is_refused),
	KUNIT_CASE(default_limit_is_the_memory_there_is),
	KUNIT_CASE(same_calls_give_the_same_offsets),
	{ 0 }
};

static const struct kunit_suite reserve_suite = {
	.name = "reserve",
	.init = reserve_test_init,
	.exit = reserve_test_exit,
	.cases = reserve_cases,
};
kunit_test_suite(reserve_suite);
