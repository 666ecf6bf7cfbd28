// SPDX-License-Identifier: BSD-2-Clause
/*
 * vmm_test.c - chunks, handles, and what is kept: the theory in vmm/vmm.c.
 *
 * Every case runs over real host memory, ends with a validation, and closes
 * with nothing left. Which backend calls a step makes is part of what is
 * promised, so most cases count them. Where addresses come from is in
 * reserve_test.c, what happens when calls fail in fault_test.c.
 */
#include <errno.h>
#include <pthread.h>

#include "core/os.h"
#include "tests/random.h"
#include "tests/vmm_space.h"

static int vmm_test_init(struct kunit *test)
{
	test->priv = space_new(test);
	return 0;
}

static void vmm_test_exit(struct kunit *test)
{
	if (test->priv)
		space_end(test->priv);
}

static u64 chunk_addr(struct space *s, u32 chunk)
{
	return vmm_addr(&s->v, vmm_chunk_offset(&s->v, chunk));
}

/* ---- Transitions ------------------------------------------------------ */

static void mapped_memory_counts_and_goes(struct kunit *test)
{
	struct space *s = test->priv;
	u32 first;

	space_open(s, 16, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.limit, 32 * MIB);
	first = space_map(s, 3, 3);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 6 * MIB);
	KUNIT_EXPECT_EQ(test, s->cnt.handles, 1);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 0);
	space_mark(s);
	space_unmap(s, first, VMM_RELEASE);
	EXPECT_CALLS(s, 0, 0, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.handles, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.peak_created, 6 * MIB);
}

static void idle_mapping_is_used_without_a_call(struct kunit *test)
{
	struct space *s = test->priv;
	u32 first;

	space_open(s, 16, 0);
	first = space_map(s, 1, 1);
	space_mark(s);
	for (u32 i = 0; i < 3; i++) {
		space_unmap(s, first, VMM_KEEP_MAPPED);
		KUNIT_EXPECT_EQ(test, s->cnt.idle, 2 * MIB);
		KUNIT_EXPECT_EQ(test, space_map(s, 1, 1), first);
		KUNIT_EXPECT_EQ(test, s->cnt.idle, 0);
	}
	EXPECT_CALLS(s, 0, 0, 0, 0, 0);
}

static void spare_handle_is_mapped_again(struct kunit *test)
{
	struct space *s = test->priv;
	u32 first;

	space_open(s, 16, 0);
	first = space_map(s, 1, 1);
	space_mark(s);
	space_unmap(s, first, VMM_KEEP_HANDLE);
	EXPECT_CALLS(s, 0, 0, 0, 1, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.spare_handles, 1);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 2 * MIB);
	EXPECT_VALID(s);
	space_map(s, 1, 1);
	EXPECT_CALLS(s, 0, 1, 1, 1, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.spare_handles, 0);
}

/* A handle of several chunks fills no holes: only the device can use it. */
static void long_handle_is_not_kept_spare(struct kunit *test)
{
	struct space *s = test->priv;

	space_open(s, 16, 0);
	space_unmap(s, space_map(s, 4, 4), VMM_KEEP_HANDLE);
	KUNIT_EXPECT_EQ(test, s->cnt.spare_handles, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
}

static void only_the_exact_length_is_reused(struct kunit *test)
{
	struct space *s = test->priv;
	u32 four, five;

	space_open(s, 64, 0);
	four = space_map(s, 4, 4);
	five = space_map(s, 5, 5);
	space_unmap(s, four, VMM_KEEP_MAPPED);
	space_unmap(s, five, VMM_KEEP_MAPPED);
	EXPECT_VALID(s);
	space_mark(s);
	KUNIT_EXPECT_EQ(test, space_map(s, 5, 5), five);
	EXPECT_CALLS(s, 0, 0, 0, 0, 0);
	space_map(s, 3, 3);
	EXPECT_CALLS(s, 1, 1, 1, 0, 0);
	KUNIT_EXPECT_EQ(test, space_map(s, 4, 4), four);
	EXPECT_CALLS(s, 1, 1, 1, 0, 0);
}

static void adjacent_idle_chunks_serve_a_run(struct kunit *test)
{
	struct space *s = test->priv;
	u32 first;

	space_open(s, 64, 0);
	first = space_map(s, 8, 1);
	space_unmap_singles(s, first, 8, VMM_KEEP_MAPPED);
	space_mark(s);
	KUNIT_EXPECT_EQ(test, space_map(s, 3, 1), first);
	KUNIT_EXPECT_EQ(test, space_map(s, 5, 1), first + 3);
	EXPECT_CALLS(s, 0, 0, 0, 0, 0);
	space_unmap_singles(s, first + 2, 4, VMM_KEEP_MAPPED);
	KUNIT_EXPECT_EQ(test, space_map(s, 4, 1), first + 2);
	EXPECT_CALLS(s, 0, 0, 0, 0, 0);
}

static void one_access_call_for_each_map(struct kunit *test)
{
	struct space *s = test->priv;

	space_open(s, 64, 0);
	space_mark(s);
	space_map(s, 16, 1);
	EXPECT_CALLS(s, 16, 16, 1, 0, 0);
}

static void last_handle_may_be_smaller(struct kunit *test)
{
	struct space *s = test->priv;
	u32 run;

	space_open(s, 64, 0);
	run = space_map(s, 10, 4);
	KUNIT_EXPECT_EQ(test, s->cnt.handles, 3);
	KUNIT_EXPECT_EQ(test, vmm_unmap(&s->v, run + 3, VMM_RELEASE), -EINVAL);
	KUNIT_EXPECT_EQ(test, vmm_unmap(&s->v, run + 9, VMM_RELEASE), -EINVAL);
	space_unmap(s, run + 8, VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 8 * 2 * MIB);
	space_unmap(s, run + 4, VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 4 * 2 * MIB);
	EXPECT_VALID(s);
	/* One chunk more than a handle: the last is single and may be spare. */
	space_unmap(s, space_map(s, 1, 1), VMM_KEEP_HANDLE);
	space_mark(s);
	space_map(s, 5, 4);
	EXPECT_CALLS(s, 1, 2, 1, 0, 0);
}

static void misuse_is_refused(struct kunit *test)
{
	struct space *s = test->priv;
	u32 run, first;

	space_open(s, 64, 0);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 0, 1, &first), -EINVAL);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 1, 0, &first), -EINVAL);
	run = space_map(s, 4, 4);
	KUNIT_EXPECT_EQ(test, vmm_unmap(&s->v, run + 1, VMM_RELEASE), -EINVAL);
	KUNIT_EXPECT_EQ(test, vmm_unmap(&s->v, run + 9, VMM_RELEASE), -EINVAL);
	KUNIT_EXPECT_EQ(test, vmm_unmap(&s->v, 1u << 30, VMM_RELEASE), -EINVAL);
	space_unmap(s, run, VMM_KEEP_MAPPED);
	KUNIT_EXPECT_EQ(test, vmm_unmap(&s->v, run, VMM_KEEP_MAPPED), -EINVAL);
	EXPECT_ERROR_HAS(s, "no handle in use");
	/* More handle than chunks is one exact handle. */
	KUNIT_EXPECT_EQ(test, space_map(s, 4, 9), run);
}

/* ---- Holes ------------------------------------------------------------ */

static void low_hole_is_filled_first(struct kunit *test)
{
	struct space *s = test->priv;
	u32 first;

	space_open(s, 64, 0);
	first = space_map(s, 16, 1);
	space_unmap(s, first + 9, VMM_RELEASE);
	space_unmap(s, first + 2, VMM_RELEASE);
	space_unmap(s, first + 5, VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, space_map(s, 1, 1), first + 2);
	KUNIT_EXPECT_EQ(test, space_map(s, 1, 1), first + 5);
	KUNIT_EXPECT_EQ(test, space_map(s, 1, 1), first + 9);
}

/*
 * Goal: no physical fragmentation among single-chunk handles. Method: fill the
 * limit, free every other chunk, ask for a run of all that is idle.
 */
static void scattered_idle_chunks_make_a_run(struct kunit *test)
{
	struct space *s = test->priv;
	u32 chunks[32];
	u32 run;

	space_open(s, 32, 0);
	for (u32 i = 0; i < 32; i++)
		chunks[i] = space_map(s, 1, 1);
	for (u32 i = 0; i < 32; i += 2)
		space_unmap(s, chunks[i], i % 4 ? VMM_KEEP_HANDLE :
						  VMM_KEEP_MAPPED);
	EXPECT_VALID(s);
	space_mark(s);
	run = space_map(s, 16, 1);
	EXPECT_CALLS(s, 0, 16, 1, 8, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 64 * MIB);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 0);
	space_unmap_singles(s, run, 16, VMM_RELEASE);
}

/* ---- The limit -------------------------------------------------------- */

static void limit_is_reached_exactly(struct kunit *test)
{
	struct space *s = test->priv;
	u32 first = 42;

	space_open(s, 16, 0);
	space_map(s, 10, 1);
	space_map(s, 5, 5);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 2, 1, &first), -EDQUOT);
	EXPECT_ERROR_HAS(s, "limit 32768 KiB, in use 30720 KiB, "
			 "asked for 4096 KiB");
	KUNIT_EXPECT_EQ(test, first, 42);
	space_map(s, 1, 1);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 1, 1, &first), -EDQUOT);
	KUNIT_EXPECT_EQ(test, s->cnt.created, s->cnt.limit);
}

static void limit_gives_back_what_does_not_serve(struct kunit *test)
{
	struct space *s = test->priv;
	u32 two, six, four;

	space_open(s, 16, 0);
	two = space_map(s, 2, 2);
	six = space_map(s, 6, 6);
	four = space_map(s, 4, 4);
	space_unmap(s, two, VMM_KEEP_MAPPED);
	space_unmap(s, six, VMM_KEEP_MAPPED);
	space_unmap(s, four, VMM_KEEP_MAPPED);
	/* 12 idle, 4 free, 7 asked for: 3 too few, the 4 is the tightest. */
	space_mark(s);
	space_map(s, 7, 1);
	EXPECT_CALLS(s, 7, 7, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 16 * MIB);
	KUNIT_EXPECT_EQ(test, space_map(s, 6, 6), six);
	space_unmap(s, six, VMM_KEEP_MAPPED);
	/* One is missing: 1 of 16 is free, and the 2 covers it best. */
	space_mark(s);
	space_map(s, 2, 1);
	EXPECT_CALLS(s, 2, 2, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 12 * MIB);
}

/* What could not be met anyway does not cost what is idle. */
static void hopeless_request_gives_nothing_back(struct kunit *test)
{
	struct space *s = test->priv;
	u32 first;

	space_open(s, 16, 0);
	space_map(s, 8, 1);
	space_unmap(s, space_map(s, 4, 4), VMM_KEEP_MAPPED);
	space_unmap(s, space_map(s, 1, 1), VMM_KEEP_HANDLE);
	space_mark(s);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 9, 1, &first), -EDQUOT);
	EXPECT_CALLS(s, 0, 0, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 10 * MIB);
	space_map(s, 8, 1);
}

static void singles_make_room_for_a_long_handle(struct kunit *test)
{
	struct space *s = test->priv;
	u32 first;

	space_open(s, 16, 0);
	first = space_map(s, 16, 1);
	space_unmap_singles(s, first, 5, VMM_KEEP_MAPPED);
	space_unmap_singles(s, first + 5, 3, VMM_KEEP_HANDLE);
	space_mark(s);
	space_map(s, 6, 6);
	/* Six go: three spare ones, three that had to be unmapped. */
	EXPECT_CALLS(s, 1, 1, 1, 3, 6);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 4 * MIB);
}

/* The spare handle that the last chunk will use is not given back for it. */
static void spare_handle_that_serves_is_kept(struct kunit *test)
{
	struct space *s = test->priv;
	u32 first;

	space_open(s, 8, 0);
	first = space_map(s, 5, 1);
	space_unmap(s, first, VMM_KEEP_MAPPED);
	space_unmap(s, first + 1, VMM_KEEP_HANDLE);
	space_mark(s);
	space_map(s, 5, 4);
	EXPECT_CALLS(s, 1, 2, 1, 1, 1);
}

/* ---- Giving back ------------------------------------------------------ */

static void reclaim_keeps_what_it_is_told(struct kunit *test)
{
	struct space *s = test->priv;
	u32 first;

	space_open(s, 64, 0);
	first = space_map(s, 8, 1);
	space_unmap_singles(s, first, 5, VMM_KEEP_MAPPED);
	space_unmap_singles(s, first + 5, 2, VMM_KEEP_HANDLE);
	space_mark(s);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 20 * MIB, true), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 16 * MIB);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 8 * MIB, true), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 10 * MIB);
	/* The mappings are dearer to make again than the handles. */
	EXPECT_CALLS(s, 0, 0, 0, 1, 3);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 8 * MIB);
	EXPECT_VALID(s);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 2 * MIB);
}

static void reclaim_takes_the_tightest_long_mapping(struct kunit *test)
{
	static const u32 sizes[] = { 40, 9, 12, 3 };
	struct space *s = test->priv;
	u32 first[4];

	space_open(s, 100, 0);
	for (u32 i = 0; i < 4; i++)
		first[i] = space_map(s, sizes[i], sizes[i]);
	for (u32 i = 0; i < 4; i++)
		space_unmap(s, first[i], VMM_KEEP_MAPPED);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 56 * 2 * MIB, true), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, (40 + 12 + 3) * 2 * MIB);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 14 * 2 * MIB, true), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 12 * 2 * MIB);
	EXPECT_VALID(s);
}

static void close_takes_what_is_in_use(struct kunit *test)
{
	struct space *s = test->priv;

	space_open(s, 64, 0);
	space_map(s, 5, 1);
	space_map(s, 7, 7);
	space_map(s, 7, 3);
	space_unmap(s, space_map(s, 2, 2), VMM_KEEP_MAPPED);
	space_unmap(s, space_map(s, 1, 1), VMM_KEEP_HANDLE);
	KUNIT_EXPECT_EQ(test, space_close(s), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.handles, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.spare_handles, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.reserved, 0);
}

/* ---- Others ----------------------------------------------------------- */

static u8 read_byte(struct space *s, u64 addr)
{
	u8 byte = 0;

	KUNIT_EXPECT_EQ(s->test, s->v.ops->read(s->v.dev, &byte, addr, 1), 0);
	return byte;
}

static void work_is_counted(struct kunit *test)
{
	struct space *s = test->priv;
	u64 addr, free_bytes, total;

	space_open(s, 8, 0);
	addr = chunk_addr(s, space_map(s, 1, 1));
	space_mark(s);
	KUNIT_EXPECT_EQ(test, vmm_fill(&s->v, addr, 8, 3, NULL), 0);
	KUNIT_EXPECT_EQ(test, vmm_copy(&s->v, addr + 8, addr, 8, NULL), 0);
	KUNIT_EXPECT_EQ(test, read_byte(s, addr + 15), 3);
	KUNIT_EXPECT_EQ(test, vmm_meminfo(&s->v, &free_bytes, &total), 0);
	KUNIT_EXPECT_EQ(test, space_calls(s, VMM_OP_FILL), 1);
	KUNIT_EXPECT_EQ(test, space_calls(s, VMM_OP_COPY), 1);
	KUNIT_EXPECT_EQ(test, space_calls(s, VMM_OP_MEMINFO), 1);
	KUNIT_EXPECT_STREQ(test, vmm_op_name(VMM_OP_SET_ACCESS), "set_access");
	KUNIT_EXPECT_TRUE(test, vmm_survives_fork(&s->v));
}

/* ---- Random steps ----------------------------------------------------- */

struct piece {
	u32 first, nr, handle_chunks;
};

static int unmap_piece(struct space *s, const struct piece *p,
		       enum vmm_giveback how)
{
	int err = 0;

	for (u32 i = 0; i < p->nr && !err; i += p->handle_chunks)
		err = vmm_unmap(&s->v, p->first + i, how);
	return err;
}

#define NR_PIECES 40

static void random_map(struct space *s, struct piece *p, u64 *random)
{
	static const u32 shapes[] = { 0, 1, 1, 4, 7 };
	u32 shape = shapes[random_below(random, ARRAY_SIZE(shapes))];
	int err;

	p->nr = 1 + random_below(random, 12);
	p->handle_chunks = shape ? shape : p->nr;
	err = vmm_map(&s->v, p->nr, p->handle_chunks, &p->first);
	KUNIT_EXPECT_TRUE(s->test, !err || err == -EDQUOT);
	if (err)
		p->nr = 0;
}

static void random_steps_keep_all_invariants(struct kunit *test)
{
	struct piece pieces[NR_PIECES] = { { 0 } };
	struct space *s = test->priv;
	u64 random = 20261129;
	struct piece *p;

	space_open(s, 100, 40);
	for (u32 step = 0; step < 3000; step++) {
		p = &pieces[random_below(&random, NR_PIECES)];
		if (!p->nr) {
			random_map(s, p, &random);
		} else {
			KUNIT_ASSERT_EQ(test, unmap_piece(s, p,
				random_below(&random, 3)), 0);
			p->nr = 0;
		}
		if (!random_below(&random, 50))
			KUNIT_ASSERT_EQ(test, vmm_reclaim(&s->v,
				random_below(&random, 20) * 2 * MIB, true), 0);
		KUNIT_ASSERT_NULL_MSG(test, vmm_validate(&s->v), "step %u",
				      step);
	}
	for (u32 i = 0; i < NR_PIECES; i++)
		KUNIT_ASSERT_EQ(test, unmap_piece(s, &pieces[i], VMM_RELEASE),
				0);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
}

/* ---- Threads ---------------------------------------------------------- */

struct worker {
	pthread_t thread;
	struct space *s;
	u32 number;
};

/* Map, mark each chunk as ours, look again, unmap. */
static void *map_and_unmap(void *arg)
{
	struct worker *w = arg;
	struct space *s = w->s;
	u64 random = w->number;
	struct piece p;
	u64 addr;

	for (u32 step = 0; step < 300; step++) {
		random_map(s, &p, &random);
		for (u32 i = 0; i < p.nr; i++) {
			addr = chunk_addr(s, p.first + i);
			KUNIT_EXPECT_EQ(s->test, vmm_fill(&s->v, addr, 64,
				(u8)w->number, NULL), 0);
		}
		for (u32 i = 0; i < p.nr; i++) {
			addr = chunk_addr(s, p.first + i);
			KUNIT_EXPECT_EQ(s->test, read_byte(s, addr + 63),
					w->number);
		}
		KUNIT_EXPECT_EQ(s->test, unmap_piece(s, &p,
			random_below(&random, 3)), 0);
	}
	return NULL;
}

static void threads_get_memory_of_their_own(struct kunit *test)
{
	struct space *s = test->priv;
	struct worker workers[3];

	space_open(s, 64, 16);
	for (u32 i = 0; i < ARRAY_SIZE(workers); i++) {
		workers[i] = (struct worker){ .s = s, .number = i + 1 };
		KUNIT_ASSERT_EQ(test, pthread_create(&workers[i].thread, NULL,
						     map_and_unmap,
						     &workers[i]), 0);
	}
	for (u32 i = 0; i < ARRAY_SIZE(workers); i++)
		pthread_join(workers[i].thread, NULL);
	KUNIT_EXPECT_EQ(test, s->cnt.created, s->cnt.idle);
}

static const struct kunit_case vmm_cases[] = {
	KUNIT_CASE(mapped_memory_counts_and_goes),
	KUNIT_CASE(idle_mapping_is_used_without_a_call),
	KUNIT_CASE(spare_handle_is_mapped_again),
	KUNIT_CASE(long_handle_is_not_kept_spare),
	KUNIT_CASE(only_the_exact_length_is_reused),
	KUNIT_CASE(adjacent_idle_chunks_serve_a_run),
	KUNIT_CASE(one_access_call_for_each_map),
	KUNIT_CASE(last_handle_may_be_smaller),
	KUNIT_CASE(misuse_is_refused),
	KUNIT_CASE(low_hole_is_filled_first),
	KUNIT_CASE(scattered_idle_chunks_make_a_run),
	KUNIT_CASE(limit_is_reached_exactly),
	KUNIT_CASE(limit_gives_back_what_does_not_serve),
	KUNIT_CASE(hopeless_request_gives_nothing_back),
	KUNIT_CASE(singles_make_room_for_a_long_handle),
	KUNIT_CASE(spare_handle_that_serves_is_kept),
	KUNIT_CASE(reclaim_keeps_what_it_is_told),
	KUNIT_CASE(reclaim_takes_the_tightest_long_mapping),
	KUNIT_CASE(close_takes_what_is_in_use),
	KUNIT_CASE(work_is_counted),
	KUNIT_CASE(random_steps_keep_all_invariants),
	KUNIT_CASE(threads_get_memory_of_their_own),
	{ 0 }
};

static const struct kunit_suite vmm_suite = {
	.name = "vmm",
	.init = vmm_test_init,
	.exit = vmm_test_exit,
	.cases = vmm_cases,
};
kunit_test_suite(vmm_suite);
