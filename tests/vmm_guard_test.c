// SPDX-License-Identifier: BSD-2-Clause
/*
 * vmm_guard_test.c - walls and holes, number by number: vmm/guard.c, and what
 * maps between walls in vmm/map.c.
 *
 * The backend is the host's behind the wrapper that fails calls. guard_test.c
 * has what the objects of a space make of it.
 */
#include <errno.h>

#include "tests/vmm_failing.h"
#include "vmm/fault.h"
#include "vmm/internal.h"

struct walls {
	struct space *s;
	struct vmm *v;
	struct vmm_fault f;
};

static int walls_init(struct kunit *test)
{
	struct walls *t = kunit_kzalloc(test, sizeof(*t));

	test->priv = t;
	t->s = failing_space_new(test, &t->f);
	t->v = &t->s->v;
	return 0;
}

static void walls_exit(struct kunit *test)
{
	struct walls *t = test->priv;

	if (t)
		failing_space_end(t->s, &t->f);
}

static u32 map_guarded(struct walls *t, u32 nr)
{
	u32 first = 0;

	KUNIT_ASSERT_EQ_MSG(t->s->test, vmm_map_guarded(t->v, nr, &first), 0,
			    "%s", error_get());
	EXPECT_VALID(t->s);
	return first;
}

static void unmap_guarded(struct walls *t, u32 first, enum vmm_giveback how)
{
	KUNIT_ASSERT_EQ_MSG(t->s->test, vmm_unmap_guarded(t->v, first, how), 0,
			    "%s", error_get());
	EXPECT_VALID(t->s);
}

/* Numbers, open and free ones. */
static u32 nr_free(const struct walls *t)
{
	return t->v->addresses.nr_free;
}

/* ---- One mapping --------------------------------------------------------- */

static void walls_stand_on_both_sides(struct kunit *test)
{
	struct walls *t = test->priv;
	u32 before, first;

	space_open(t->s, 16, 64);
	space_map(t->s, 1, 1);
	before = nr_free(t);
	first = map_guarded(t, 3);
	KUNIT_EXPECT_EQ(test, t->v->nr_walls, 2);
	KUNIT_EXPECT_EQ(test, nr_free(t), before - 5);
	KUNIT_EXPECT_TRUE(test, vmm_is_wall(t->v, first - 1));
	KUNIT_EXPECT_TRUE(test, vmm_is_wall(t->v, first + 3));
	for (u32 i = 0; i < 3; i++)
		KUNIT_EXPECT_FALSE(test, vmm_is_wall(t->v, first + i));
	/* Only the whole of it can be unmapped. */
	for (u32 i = 0; i < 5; i++) {
		if (i == 1)
			continue;
		KUNIT_EXPECT_EQ(test, vmm_unmap_guarded(t->v, first - 1 + i,
							VMM_RELEASE), -EINVAL);
		EXPECT_ERROR_HAS(t->s, "no handle in use begins");
	}
	KUNIT_EXPECT_EQ(test, vmm_unmap_guarded(t->v, first + 9, VMM_RELEASE),
			-EINVAL);
	unmap_guarded(t, first, VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, vmm_unmap_guarded(t->v, first, VMM_RELEASE),
			-EINVAL);
	/* All five numbers are the hole. */
	KUNIT_EXPECT_EQ(test, t->v->nr_holes, 1);
	KUNIT_EXPECT_EQ(test, t->v->hole_chunks, 5);
	KUNIT_EXPECT_EQ(test, t->v->nr_walls, 5);
	KUNIT_EXPECT_EQ(test, nr_free(t), before - 5);
	for (u32 i = 0; i < 5; i++)
		KUNIT_EXPECT_TRUE(test, vmm_is_wall(t->v, first - 1 + i));
	KUNIT_EXPECT_TRUE(test, vmm_open_holes(t->v));
	KUNIT_EXPECT_FALSE(test, vmm_open_holes(t->v));
	KUNIT_EXPECT_EQ(test, nr_free(t), before);
	KUNIT_EXPECT_EQ(test, t->v->nr_walls, 0);
	KUNIT_EXPECT_EQ(test, t->v->hole_chunks, 0);
}

static void single_chunks_become_spare(struct kunit *test)
{
	struct walls *t = test->priv;

	space_open(t->s, 16, 64);
	unmap_guarded(t, map_guarded(t, 1), VMM_KEEP_HANDLE);
	KUNIT_EXPECT_EQ(test, t->s->cnt.spare_handles, 1);
	space_mark(t->s);
	unmap_guarded(t, map_guarded(t, 1), VMM_RELEASE);
	EXPECT_CALLS(t->s, 0, 1, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, t->s->cnt.spare_handles, 0);
	unmap_guarded(t, map_guarded(t, 2), VMM_KEEP_HANDLE);
	KUNIT_EXPECT_EQ(test, t->s->cnt.spare_handles, 0);
	KUNIT_EXPECT_EQ(test, t->s->cnt.created, 0);
}

static void kept_mapped_has_no_walls(struct kunit *test)
{
	struct walls *t = test->priv;
	u32 first, before;

	space_open(t->s, 16, 64);
	first = map_guarded(t, 2);
	before = nr_free(t);
	unmap_guarded(t, first, VMM_KEEP_MAPPED);
	KUNIT_EXPECT_EQ(test, vmm_unmap_guarded(t->v, first, VMM_KEEP_MAPPED),
			-EINVAL);
	EXPECT_VALID(t->s);
	KUNIT_EXPECT_EQ(test, t->v->nr_walls, 0);
	KUNIT_EXPECT_EQ(test, t->v->nr_holes, 0);
	KUNIT_EXPECT_EQ(test, nr_free(t), before + 2);
	KUNIT_EXPECT_EQ(test, t->s->cnt.idle, 4 * MIB);
	KUNIT_EXPECT_EQ(test, space_map(t->s, 2, 2), first);
}

static void not_where_addresses_are_memory(struct kunit *test)
{
	struct walls *t = test->priv;
	u32 first = 42;

	space_open(t->s, 16, 64);
	t->v->same_layout = true;
	KUNIT_EXPECT_EQ(test, vmm_map_guarded(t->v, 1, &first), -ENOTSUP);
	EXPECT_ERROR_HAS(t->s, "with SLABDEV_OPEN_SAME_LAYOUT");
	t->v->same_layout = false;
	t->f.table.backed = true;
	KUNIT_EXPECT_EQ(test, vmm_map_guarded(t->v, 1, &first), -ENOTSUP);
	EXPECT_ERROR_HAS(t->s, "where it is not mapped by the library");
	t->f.table.backed = false;
	KUNIT_EXPECT_EQ(test, first, 42);
}

/* ---- Room ---------------------------------------------------------------- */

static void the_limit_is_for_memory_only(struct kunit *test)
{
	struct walls *t = test->priv;
	u32 first = 42;

	space_open(t->s, 4, 64);
	KUNIT_EXPECT_EQ(test, vmm_map_guarded(t->v, 5, &first), -EDQUOT);
	EXPECT_ERROR_HAS(t->s, "in use 0 KiB, asked for 10240 KiB");
	KUNIT_EXPECT_EQ(test, first, 42);
	first = map_guarded(t, 4);
	unmap_guarded(t, first, VMM_RELEASE);
	map_guarded(t, 3);
	KUNIT_EXPECT_EQ(test, vmm_map_guarded(t->v, 2, &first), -EDQUOT);
	EXPECT_ERROR_HAS(t->s, "in use 6144 KiB, asked for 4096 KiB");
	map_guarded(t, 1);
}

/* A spare handle serves a single chunk, and goes back for two. */
static void spare_handles_serve_one_chunk(struct kunit *test)
{
	struct walls *t = test->priv;
	u32 first;

	space_open(t->s, 2, 64);
	first = space_map(t->s, 2, 1);
	space_unmap_singles(t->s, first, 2, VMM_KEEP_MAPPED);
	space_mark(t->s);
	map_guarded(t, 1);
	EXPECT_CALLS(t->s, 0, 1, 1, 1, 0);
	first = map_guarded(t, 1);
	EXPECT_CALLS(t->s, 0, 2, 2, 2, 0);
	unmap_guarded(t, first, VMM_KEEP_HANDLE);
	KUNIT_EXPECT_EQ(test, t->s->cnt.idle, 2 * MIB);
}

/* The oldest of so many is opened for the next, and its numbers come again. */
static void holes_are_so_many(struct kunit *test)
{
	struct walls *t = test->priv;
	u32 first, i;

	space_open(t->s, 1024, 4096);
	first = map_guarded(t, 1);
	unmap_guarded(t, first, VMM_KEEP_HANDLE);
	for (i = 1; i < VMM_HOLES; i++) {
		KUNIT_ASSERT_EQ(test, map_guarded(t, 1), first + 3 * i);
		unmap_guarded(t, first + 3 * i, VMM_KEEP_HANDLE);
	}
	KUNIT_EXPECT_EQ(test, t->v->nr_holes, VMM_HOLES);
	KUNIT_EXPECT_EQ(test, t->v->hole_chunks, 3 * VMM_HOLES);
	for (i = 0; i < 3; i++) {
		u32 next = map_guarded(t, 1);

		unmap_guarded(t, next, VMM_KEEP_HANDLE);
		KUNIT_EXPECT_EQ(test, t->v->nr_holes, VMM_HOLES);
		KUNIT_EXPECT_EQ(test, t->v->hole_chunks, 3 * VMM_HOLES);
		KUNIT_EXPECT_FALSE(test, vmm_is_wall(t->v, first + 3 * i));
		KUNIT_EXPECT_TRUE(test, vmm_is_wall(t->v, first + 3 * i + 3));
		EXPECT_VALID(t->s);
	}
}

/* Nor have they more than half of all numbers, but the newest may. */
static void holes_have_half_of_the_numbers(struct kunit *test)
{
	struct walls *t = test->priv;
	u32 first;

	space_open(t->s, 256, 256);
	t->v->max_chunks = 256;
	first = map_guarded(t, 62);
	unmap_guarded(t, first, VMM_RELEASE);
	unmap_guarded(t, map_guarded(t, 62), VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, t->v->hole_chunks, 128);
	KUNIT_EXPECT_EQ(test, t->v->nr_holes, 2);
	unmap_guarded(t, map_guarded(t, 1), VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, t->v->hole_chunks, 67);
	KUNIT_EXPECT_EQ(test, t->v->nr_holes, 2);
	KUNIT_EXPECT_FALSE(test, vmm_is_wall(t->v, first));
	KUNIT_EXPECT_TRUE(test, vmm_open_holes(t->v));
	unmap_guarded(t, map_guarded(t, 1), VMM_RELEASE);
	unmap_guarded(t, map_guarded(t, 62), VMM_RELEASE);
	unmap_guarded(t, map_guarded(t, 130), VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, t->v->nr_holes, 1);
	KUNIT_EXPECT_EQ(test, t->v->hole_chunks, 132);
}

/* Before anything is reserved, the numbers of holes are used. */
static void holes_yield_their_numbers(struct kunit *test)
{
	struct walls *t = test->priv;

	space_open(t->s, 16, 8);
	unmap_guarded(t, map_guarded(t, 2), VMM_RELEASE);
	unmap_guarded(t, map_guarded(t, 2), VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, t->v->nr_holes, 2);
	vmm_fault_arm(&t->f, VMM_OP_RESERVE, 1, 1, -ENOMEM);
	space_map(t->s, 8, 8);
	KUNIT_EXPECT_EQ(test, t->v->nr_holes, 0);
	KUNIT_EXPECT_EQ(test, t->v->nr_res, 1);
}

/* ---- Failure ------------------------------------------------------------- */

static const enum vmm_op steps[] = {
	VMM_OP_RESERVE, VMM_OP_CREATE, VMM_OP_MAP, VMM_OP_SET_ACCESS,
};

static void nothing_is_left_of_a_failure(struct kunit *test)
{
	struct walls *t = test->priv;
	u32 first, before;

	for (u32 i = 0; i < ARRAY_SIZE(steps); i++) {
		space_open(t->s, 16, 8);
		space_map(t->s, 1, 1);
		before = nr_free(t);
		first = 42;
		vmm_fault_arm(&t->f, steps[i], 1, 1, -EIO);
		KUNIT_EXPECT_EQ(test, vmm_map_guarded(t->v, 6, &first), -EIO);
		EXPECT_ERROR_HAS(t->s, vmm_op_name(steps[i]));
		EXPECT_VALID(t->s);
		KUNIT_EXPECT_EQ(test, t->s->cnt.created, 2 * MIB);
		KUNIT_EXPECT_EQ(test, t->v->nr_walls, 0);
		KUNIT_EXPECT_EQ(test, t->f.handles, 1);
		/* Further numbers may have been made, and are free. */
		KUNIT_EXPECT_GE(test, nr_free(t), before);
		KUNIT_EXPECT_EQ(test, space_map(t->s, 7, 7), 1);
		KUNIT_EXPECT_EQ(test, space_close(t->s), 0);
	}
}

/* What cannot be unmapped is lost, and its walls stay. */
static void lost_memory_keeps_its_walls(struct kunit *test)
{
	struct walls *t = test->priv;
	u32 first;

	space_open(t->s, 16, 64);
	first = map_guarded(t, 1);
	kunit_expect_report(test, REPORT_LOST);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 1, -EPERM);
	KUNIT_EXPECT_EQ(test, vmm_unmap_guarded(t->v, first, VMM_KEEP_HANDLE),
			-EIO);
	KUNIT_EXPECT_EQ(test, t->s->cnt.lost, 2 * MIB);
	KUNIT_EXPECT_EQ(test, t->v->nr_walls, 2);
	KUNIT_EXPECT_EQ(test, t->v->nr_holes, 0);
	KUNIT_EXPECT_EQ(test, t->s->cnt.spare_handles, 0);
	EXPECT_VALID(t->s);

	first = map_guarded(t, 2);
	kunit_expect_report(test, REPORT_LOST);
	vmm_fault_arm(&t->f, VMM_OP_RELEASE, 1, 1, -EPERM);
	KUNIT_EXPECT_EQ(test, vmm_unmap_guarded(t->v, first, VMM_RELEASE),
			-EIO);
	KUNIT_EXPECT_EQ(test, t->s->cnt.lost, 6 * MIB);
	KUNIT_EXPECT_EQ(test, t->v->nr_holes, 1);
	EXPECT_VALID(t->s);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(t->v, 0, true), 0);
	KUNIT_EXPECT_EQ(test, t->s->cnt.lost, 0);
	EXPECT_VALID(t->s);
}

/* No wall and no hole is left behind, wherever it is. */
static void the_end_takes_walls_away(struct kunit *test)
{
	struct walls *t = test->priv;
	u32 held;

	space_open(t->s, 32, 8);
	map_guarded(t, 2);
	unmap_guarded(t, map_guarded(t, 2), VMM_RELEASE);
	map_guarded(t, 6);
	map_guarded(t, 1);
	KUNIT_ASSERT_EQ(test, vmm_hold(t->v, 2, &held), 0);
	KUNIT_EXPECT_GT(test, t->v->nr_res, 1);
	KUNIT_EXPECT_EQ(test, space_close(t->s), 0);
	KUNIT_EXPECT_EQ(test, t->s->cnt.reserved, 0);
	KUNIT_EXPECT_EQ(test, t->v->nr_walls, 0);
	KUNIT_EXPECT_EQ(test, t->v->nr_holes, 0);
	KUNIT_EXPECT_EQ(test, t->v->hole_chunks, 0);
	KUNIT_EXPECT_EQ(test, t->v->nr_held, 0);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));
}

static const struct kunit_case walls_cases[] = {
	KUNIT_CASE(walls_stand_on_both_sides),
	KUNIT_CASE(single_chunks_become_spare),
	KUNIT_CASE(kept_mapped_has_no_walls),
	KUNIT_CASE(not_where_addresses_are_memory),
	KUNIT_CASE(the_limit_is_for_memory_only),
	KUNIT_CASE(spare_handles_serve_one_chunk),
	KUNIT_CASE(holes_are_so_many),
	KUNIT_CASE(holes_have_half_of_the_numbers),
	KUNIT_CASE(holes_yield_their_numbers),
	KUNIT_CASE(nothing_is_left_of_a_failure),
	KUNIT_CASE(lost_memory_keeps_its_walls),
	KUNIT_CASE(the_end_takes_walls_away),
	{ 0 }
};

static const struct kunit_suite walls_suite = {
	.name = "vmm_guard",
	.init = walls_init,
	.exit = walls_exit,
	.cases = walls_cases,
};
kunit_test_suite(walls_suite);
