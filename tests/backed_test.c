// SPDX-License-Identifier: BSD-2-Clause
/*
 * backed_test.c - reservations that are memory: vmm/reserve.c, section 5.
 *
 * The backend is a bank: tests/bank.h.
 */
#include <errno.h>

#include "slab/space.h"
#include "tests/bank.h"
#include "tests/open_space.h"
#include "tests/random.h"
#include "vmm/internal.h"

#define FIRST_CHUNKS 32u	/* 64 MiB, see reserve.c */

/* ---- How much --------------------------------------------------------- */

static void first_region_is_small(struct kunit *test)
{
	struct space *s = bank_space(test, 10000, 0);

	EXPECT_BANK(s, 1, FIRST_CHUNKS);
}

static void first_region_is_within_the_limit(struct kunit *test)
{
	struct space *s = bank_space(test, 20, 0);

	EXPECT_BANK(s, 1, 20);
	KUNIT_EXPECT_EQ(test, space_close(s), 0);
	bank_space(test, 20, 1000);
	EXPECT_BANK(s, 1, 20);
}

static void caller_says_how_long_the_first_is(struct kunit *test)
{
	struct space *s = bank_space(test, 10000, 500);

	EXPECT_BANK(s, 1, 500);
	space_map(s, 500, 1);
	EXPECT_BANK(s, 1, 500);
}

static void further_regions_are_half_of_all(struct kunit *test)
{
	struct space *s = bank_space(test, 100, 0);

	space_map(s, 32, 1);
	EXPECT_BANK(s, 1, 32);
	space_map(s, 1, 1);
	EXPECT_BANK(s, 2, 32 + 16);
	space_map(s, 15, 1);
	EXPECT_BANK(s, 2, 48);
	space_map(s, 1, 1);
	EXPECT_BANK(s, 3, 48 + 24);
	space_map(s, 23, 1);
	/* Half would be 36, the limit leaves 28. */
	space_map(s, 1, 1);
	EXPECT_BANK(s, 4, 100);
}

static void long_request_has_a_region_as_long(struct kunit *test)
{
	struct space *s = bank_space(test, 1000, 0);

	space_map(s, 300, 300);
	EXPECT_BANK(s, 2, 32 + 300);
}

/* ---- The limit -------------------------------------------------------- */

static void limit_counts_regions(struct kunit *test)
{
	struct space *s = bank_space(test, 100, 0);
	u32 first;

	space_map(s, 1, 1);
	space_map(s, 60, 60);
	EXPECT_BANK(s, 2, 92);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 40, 40, &first), -EDQUOT);
	EXPECT_ERROR_HAS(s, "limit");
	/* 39 are below the limit, but not in one piece. */
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 39, 39, &first), -ENOMEM);
	EXPECT_ERROR_HAS(s, "pieces");
	EXPECT_BANK(s, 2, 92);
	space_map(s, 31, 31);
	space_map(s, 8, 8);
	EXPECT_BANK(s, 3, 100);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 1, 1, &first), -EDQUOT);
}

/* A region that nothing uses makes room for one that is wanted. */
static void idle_region_makes_room_below_the_limit(struct kunit *test)
{
	struct space *s = bank_space(test, 100, 0);
	u32 first;

	space_map(s, 1, 1);
	first = space_map(s, 50, 50);
	space_unmap(s, first, VMM_KEEP_MAPPED);
	EXPECT_BANK(s, 2, 82);
	space_map(s, 60, 60);
	EXPECT_BANK(s, 2, 92);
}

static void idle_region_makes_room_on_the_device(struct kunit *test)
{
	struct space *s = test->priv;
	u32 first;

	bank.capacity = 100 * VMM_MIN_CHUNK;
	bank_space(test, 1000, 0);
	space_map(s, 1, 1);
	first = space_map(s, 50, 50);
	space_unmap(s, first, VMM_KEEP_MAPPED);
	space_map(s, 60, 60);
	EXPECT_BANK(s, 2, 92);
}

/* The device has less than half of all: what it has is enough. */
static void full_device_gives_what_it_has(struct kunit *test)
{
	struct space *s = test->priv;
	u32 first;

	bank.capacity = 40 * VMM_MIN_CHUNK;
	bank_space(test, 1000, 0);
	space_map(s, 32, 1);
	first = space_map(s, 5, 5);
	KUNIT_EXPECT_GE(test, used_chunks(), 37);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 20, 20, &first), -ENOMEM);
	EXPECT_ERROR_HAS(s, "reserve");
	EXPECT_ERROR_HAS(s, "bank");
	EXPECT_VALID(s);
}

/* ---- Back ------------------------------------------------------------- */

static void empty_region_goes_back_and_the_first_stays(struct kunit *test)
{
	struct space *s = bank_space(test, 1000, 0);
	u32 in_first = space_map(s, 1, 1), longer = space_map(s, 80, 80);
	u64 addr = vmm_chunk_addr(&s->v, longer), offset;

	KUNIT_EXPECT_TRUE(test, vmm_offset(&s->v, addr, &offset));
	EXPECT_BANK(s, 2, 112);
	space_unmap(s, longer, VMM_RELEASE);
	EXPECT_BANK(s, 1, 32);
	KUNIT_EXPECT_FALSE(test, vmm_offset(&s->v, addr, &offset));
	space_unmap(s, in_first, VMM_RELEASE);
	EXPECT_BANK(s, 1, 32);
	KUNIT_EXPECT_TRUE(test, vmm_offset(&s->v, s->v.base, &offset));
}

static void kept_region_goes_back_at_a_trim(struct kunit *test)
{
	struct space *s = bank_space(test, 1000, 0);
	u32 first = space_map(s, 80, 80);

	space_unmap(s, first, VMM_KEEP_MAPPED);
	EXPECT_BANK(s, 2, 112);
	KUNIT_EXPECT_EQ(test, space_map(s, 80, 80), first);
	space_unmap(s, first, VMM_KEEP_MAPPED);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	EXPECT_BANK(s, 1, 32);
}

static void region_in_use_does_not_go(struct kunit *test)
{
	struct space *s = bank_space(test, 1000, 0);
	u32 first;

	space_map(s, 32, 1);
	first = space_map(s, 16, 1);
	EXPECT_BANK(s, 2, 48);
	space_unmap_singles(s, first, 7, VMM_RELEASE);
	space_unmap_singles(s, first + 8, 8, VMM_RELEASE);
	EXPECT_BANK(s, 2, 48);
	space_unmap(s, first + 7, VMM_RELEASE);
	EXPECT_BANK(s, 1, 32);
}

/* The numbers serve again, at whatever address. */
/* What was given back in the midst of others is not given back at the end. */
static void vacant_region_is_passed_over_at_the_end(struct kunit *test)
{
	struct space *s = bank_space(test, 1024, 0);
	u32 first, middle, last;

	first = space_map(s, FIRST_CHUNKS, FIRST_CHUNKS);
	middle = space_map(s, 40, 40);
	last = space_map(s, 50, 50);
	KUNIT_EXPECT_EQ(test, nr_regions(), 3);
	space_unmap(s, middle, VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, nr_regions(), 2);
	KUNIT_EXPECT_EQ(test, s->v.nr_res, 3);
	KUNIT_EXPECT_TRUE(test, s->v.res[1].is_vacant);
	KUNIT_EXPECT_LT(test, first, last);
	EXPECT_VALID(s);
	KUNIT_EXPECT_EQ(test, space_close(s), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.reserved, 0);
	KUNIT_EXPECT_EQ(test, bank.used, 0);
}

/* Regions 1 to 4 are used: of 40, 50, 70 and 100 chunks. */
static struct space *four_regions(struct kunit *test, u32 *at)
{
	static const u32 chunks[] = { 40, 50, 70, 100 };
	struct space *s = bank_space(test, 1024, 0);

	space_map(s, FIRST_CHUNKS, FIRST_CHUNKS);
	for (u32 i = 0; i < ARRAY_SIZE(chunks); i++) {
		at[i] = space_map(s, chunks[i], chunks[i]);
		KUNIT_ASSERT_EQ(test, s->v.res[i + 1].nr_chunks, chunks[i]);
		KUNIT_ASSERT_EQ(test, s->v.res[i + 1].first_chunk, at[i]);
	}
	return s;
}

/* Of numbers without memory the shortest run that is long enough. */
static void shortest_vacant_numbers_are_taken(struct kunit *test)
{
	u32 at[4];
	struct space *s = four_regions(test, at);

	space_unmap(s, at[0], VMM_RELEASE);
	space_unmap(s, at[2], VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, s->v.nr_res, 5);
	KUNIT_EXPECT_EQ(test, space_map(s, 40, 40), at[0]);
	EXPECT_VALID(s);
	/* All of the run has memory, as far as the limit goes. */
	KUNIT_EXPECT_EQ(test, space_map(s, 60, 60), at[2]);
	KUNIT_EXPECT_EQ(test, s->v.res[3].nr_chunks, 70);
	KUNIT_EXPECT_EQ(test, space_map(s, 10, 10), at[2] + 60);
	/* None is left that is long enough. */
	KUNIT_EXPECT_EQ(test, space_map(s, 11, 11), at[3] + 101);
	EXPECT_VALID(s);
}

/* Neighbours are one, with the number between them. */
static void vacant_neighbours_are_joined(struct kunit *test)
{
	u32 at[4];
	struct space *s = four_regions(test, at);

	space_unmap(s, at[0], VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, s->v.nr_res, 5);
	space_unmap(s, at[1], VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, s->v.nr_res, 4);
	KUNIT_EXPECT_EQ(test, s->v.res[1].nr_chunks, 40 + 1 + 50);
	KUNIT_EXPECT_EQ(test, s->v.res[2].first_chunk, at[2]);
	KUNIT_EXPECT_EQ(test, s->v.res[3].first_chunk, at[3]);
	KUNIT_EXPECT_TRUE(test, s->v.res[1].is_vacant);
	KUNIT_EXPECT_FALSE(test, s->v.res[2].is_vacant);
	EXPECT_VALID(s);
	KUNIT_EXPECT_EQ(test, space_map(s, 91, 91), at[0]);
	KUNIT_EXPECT_EQ(test, s->v.nr_res, 4);
	EXPECT_VALID(s);
	/* What is behind all others is forgotten. */
	space_unmap(s, at[2], VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, s->v.nr_res, 4);
	space_unmap(s, at[3], VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, s->v.nr_res, 2);
	EXPECT_VALID(s);
}

static void vacant_neighbours_on_both_sides(struct kunit *test)
{
	u32 at[4];
	struct space *s = four_regions(test, at);

	space_unmap(s, at[0], VMM_RELEASE);
	space_unmap(s, at[2], VMM_RELEASE);
	space_unmap(s, at[1], VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, s->v.nr_res, 3);
	KUNIT_EXPECT_EQ(test, s->v.res[1].nr_chunks, 40 + 1 + 50 + 1 + 70);
	KUNIT_EXPECT_EQ(test, s->v.res[2].first_chunk, at[3]);
	EXPECT_VALID(s);
}

/* Numbers that somebody has taken keep their memory, mapped or not. */
static void taken_numbers_keep_their_region(struct kunit *test)
{
	u32 at[4], first, last;
	struct space *s = four_regions(test, at);

	bank.unreserve_err = -EIO;
	space_unmap(s, at[1], VMM_RELEASE);
	KUNIT_EXPECT_FALSE(test, s->v.res[2].is_vacant);
	KUNIT_ASSERT_EQ(test, vmm_run_alloc(&s->v, 10, &first), 0);
	KUNIT_EXPECT_EQ(test, first, at[1]);
	bank.unreserve_err = 0;
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	KUNIT_EXPECT_EQ(test, nr_regions(), 5);
	/* Also those behind free ones. */
	KUNIT_ASSERT_EQ(test, vmm_run_alloc(&s->v, 1, &last), 0);
	KUNIT_EXPECT_EQ(test, last, at[1] + 10);
	range_free(&s->v.addresses, first, 10);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	KUNIT_EXPECT_EQ(test, nr_regions(), 5);
	range_free(&s->v.addresses, last, 1);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	EXPECT_BANK(s, 4, 242);
}

static void numbers_are_used_again(struct kunit *test)
{
	struct space *s = bank_space(test, 1000, 0);
	u32 first = space_map(s, 80, 80), again;
	u64 addr = vmm_chunk_addr(&s->v, first), offset;

	for (u32 i = 0; i < 3 * VMM_MAX_RANGES; i++) {
		space_unmap(s, first, VMM_RELEASE);
		again = space_map(s, 80 - i % 2, 80);
		KUNIT_ASSERT_EQ(test, again, first);
		KUNIT_EXPECT_NE(test, vmm_chunk_addr(&s->v, first), addr);
		KUNIT_EXPECT_FALSE(test, vmm_offset(&s->v, addr, &offset));
		addr = vmm_chunk_addr(&s->v, first);
		KUNIT_EXPECT_TRUE(test, vmm_offset(&s->v, addr, &offset));
		KUNIT_EXPECT_EQ(test, offset, vmm_chunk_offset(&s->v, first));
	}
	KUNIT_EXPECT_EQ(test, s->v.nr_res, 2);
}

/* Each a little longer than all before: no length serves again. */
static void ever_longer_requests_are_served(struct kunit *test)
{
	struct space *s = bank_space(test, 1000, 0);

	for (u32 nr = 40; nr < 40 + 2 * VMM_MAX_RANGES; nr++)
		space_unmap(s, space_map(s, nr, nr), VMM_RELEASE);
	EXPECT_BANK(s, 1, 32);
}

static void region_that_is_kept_by_the_backend(struct kunit *test)
{
	struct space *s = bank_space(test, 1000, 0);

	bank.unreserve_err = -EIO;
	space_unmap(s, space_map(s, 80, 80), VMM_RELEASE);
	EXPECT_BANK(s, 2, 112);
	/* It serves as before, and goes at the next occasion. */
	space_unmap(s, space_map(s, 80, 80), VMM_RELEASE);
	EXPECT_BANK(s, 2, 112);
	bank.unreserve_err = 0;
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	EXPECT_BANK(s, 1, 32);
}

/* ---- Addresses that are not aligned ----------------------------------- */

static void misaligned_region_has_one_chunk_more(struct kunit *test)
{
	struct space *s = test->priv;

	bank.shift = MIB;
	bank_space(test, 1000, 0);
	KUNIT_EXPECT_EQ(test, used_chunks(), 33);
	KUNIT_EXPECT_EQ(test, s->v.base % VMM_MIN_CHUNK, 0);
	space_map(s, 32, 1);
	space_unmap(s, space_map(s, 80, 80), VMM_KEEP_MAPPED);
	KUNIT_EXPECT_EQ(test, used_chunks(), 33 + 81);
	EXPECT_VALID(s);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	KUNIT_EXPECT_EQ(test, used_chunks(), 33);
}

/* ---- Random steps ----------------------------------------------------- */

#define NR_PIECES 30u

struct piece {
	u32 first, nr, handle;
};

static void random_step(struct space *s, struct piece *p, u64 *random)
{
	enum vmm_giveback how = (enum vmm_giveback)random_below(random, 3);
	int err;

	if (p->nr) {
		for (u32 i = 0; i < p->nr; i += p->handle)
			KUNIT_EXPECT_EQ(s->test, vmm_unmap(&s->v, p->first + i,
							   how), 0);
		p->nr = 0;
		return;
	}
	p->nr = 1 + random_below(random, random_below(random, 4) ? 6 : 90);
	p->handle = random_below(random, 2) ? 1 : p->nr;
	err = vmm_map(&s->v, p->nr, p->handle, &p->first);
	KUNIT_EXPECT_TRUE_MSG(s->test, !err || err == -EDQUOT ||
			      err == -ENOMEM, "%d: %s", err, error_get());
	if (err)
		p->nr = 0;
}

static void random_steps_keep_the_books(struct kunit *test)
{
	struct piece pieces[NR_PIECES] = { { 0 } };
	u64 random = random_seed(test);
	struct space *s = bank_space(test, 400, 0);

	bank.capacity = 350 * VMM_MIN_CHUNK;
	for (u32 step = 0; step < 3000; step++) {
		bank.shift = random_below(&random, 8) ? 0 : MIB;
		random_step(s, &pieces[random_below(&random, NR_PIECES)],
			    &random);
		if (!random_below(&random, 40))
			KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v,
				random_below(&random, 40) * 2 * MIB, true), 0);
		KUNIT_ASSERT_NULL_MSG(test, vmm_validate(&s->v), "step %u",
				      step);
		KUNIT_ASSERT_LE(test, s->cnt.reserved, s->cnt.limit);
	}
	for (u32 i = 0; i < NR_PIECES; i++)
		if (pieces[i].nr)
			random_step(s, &pieces[i], &random);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	KUNIT_EXPECT_EQ(test, nr_regions(), 1);
	/* After all that, all of the limit is one piece. */
	bank.capacity = TIB;
	bank.shift = 0;
	space_map(s, 400 - FIRST_CHUNKS, 400 - FIRST_CHUNKS);
}

#define NR_OBJECTS 200u

/* The same below a whole space: objects, classes, and their tables. */
static void space_over_regions(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct space *s = test->priv;
	void *objects[NR_OBJECTS] = { NULL };
	u64 random = random_seed(test);
	struct slabdev *sd;
	u32 i;

	attr.limit = 700 * MIB;
	KUNIT_ASSERT_EQ(test, space_open_on(&sd, &attr, &bank_ops,
					    s->host_dev), 0);
	for (u32 step = 0; step < 6000; step++) {
		i = random_below(&random, NR_OBJECTS);
		EXPECT_FREED(test, sd, objects[i]);
		objects[i] = must_alloc(test, sd, 1 + random_size(&random,
				random_below(&random, 30) ? 2 << 20 :
				90 << 20) / 2);
		if (!random_below(&random, 500))
			KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
		if (!random_below(&random, 500))
			expect_sound(test, sd);
	}
	for (i = 0; i < NR_OBJECTS; i++)
		EXPECT_FREED(test, sd, objects[i]);
	expect_empty(test, sd);
	KUNIT_EXPECT_EQ(test, nr_regions(), 1);
	close_space(test, sd);
}

static const struct kunit_case backed_cases[] = {
	KUNIT_CASE(first_region_is_small),
	KUNIT_CASE(first_region_is_within_the_limit),
	KUNIT_CASE(caller_says_how_long_the_first_is),
	KUNIT_CASE(further_regions_are_half_of_all),
	KUNIT_CASE(long_request_has_a_region_as_long),
	KUNIT_CASE(limit_counts_regions),
	KUNIT_CASE(idle_region_makes_room_below_the_limit),
	KUNIT_CASE(idle_region_makes_room_on_the_device),
	KUNIT_CASE(full_device_gives_what_it_has),
	KUNIT_CASE(empty_region_goes_back_and_the_first_stays),
	KUNIT_CASE(kept_region_goes_back_at_a_trim),
	KUNIT_CASE(region_in_use_does_not_go),
	KUNIT_CASE(vacant_region_is_passed_over_at_the_end),
	KUNIT_CASE(shortest_vacant_numbers_are_taken),
	KUNIT_CASE(vacant_neighbours_are_joined),
	KUNIT_CASE(vacant_neighbours_on_both_sides),
	KUNIT_CASE(taken_numbers_keep_their_region),
	KUNIT_CASE(numbers_are_used_again),
	KUNIT_CASE(ever_longer_requests_are_served),
	KUNIT_CASE(region_that_is_kept_by_the_backend),
	KUNIT_CASE(misaligned_region_has_one_chunk_more),
	KUNIT_CASE(random_steps_keep_the_books),
	KUNIT_CASE(space_over_regions),
	{ 0 }
};

static const struct kunit_suite backed_suite = {
	.name = "backed",
	.init = bank_init,
	.exit = bank_exit,
	.cases = backed_cases,
};
kunit_test_suite(backed_suite);
