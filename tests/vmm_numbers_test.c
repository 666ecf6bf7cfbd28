// SPDX-License-Identifier: BSD-2-Clause
/*
 * vmm_numbers_test.c - which chunk numbers there are, who gets which, and what
 * becomes of them at the end: vmm/reserve.c.
 *
 * The backend is the host's behind the wrapper that fails calls. reserve_test.c
 * has how many addresses are asked for.
 */
#include <errno.h>
#include <pthread.h>

#include "core/os.h"
#include "core/thread.h"
#include "tests/vmm_failing.h"
#include "vmm/fault.h"
#include "vmm/internal.h"

struct numbers {
	struct space *s;
	struct vmm *v;
	struct vmm_fault f;
};

static int numbers_init(struct kunit *test)
{
	struct numbers *t = kunit_kzalloc(test, sizeof(*t));

	/* The text of an error has to be kept somewhere. */
	KUNIT_ASSERT_NOT_NULL(test, thread_get());
	test->priv = t;
	t->s = failing_space_new(test, &t->f);
	t->v = &t->s->v;
	return 0;
}

static void numbers_exit(struct kunit *test)
{
	struct numbers *t = test->priv;

	if (t)
		failing_space_end(t->s, &t->f);
}

static const struct vmm_reservation *nth(const struct numbers *t, u32 i)
{
	return &t->v->res[i];
}

/* ---- Further reservations ------------------------------------------------ */

static void each_is_twice_as_long(struct kunit *test)
{
	static const u32 first[] = { 0, 5, 10, 19 };
	static const u32 chunks[] = { 4, 4, 8, 16 };
	struct numbers *t = test->priv;

	space_open(t->s, 64, 4);
	for (u32 i = 0; i < 8; i++)
		space_map(t->s, 4, 4);
	KUNIT_ASSERT_EQ(test, t->v->nr_res, ARRAY_SIZE(first));
	for (u32 i = 0; i < ARRAY_SIZE(first); i++) {
		KUNIT_EXPECT_EQ(test, nth(t, i)->first_chunk, first[i]);
		KUNIT_EXPECT_EQ(test, nth(t, i)->nr_chunks, chunks[i]);
	}
}

/* One that is empty stays: it costs nothing. */
static void empty_ones_stay(struct kunit *test)
{
	struct numbers *t = test->priv;
	u32 first;

	space_open(t->s, 64, 4);
	space_map(t->s, 4, 4);
	first = space_map(t->s, 4, 4);
	space_mark(t->s);
	space_unmap(t->s, first, VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(t->v, 0, true), 0);
	KUNIT_EXPECT_EQ(test, space_calls(t->s, VMM_OP_UNRESERVE), 0);
	KUNIT_EXPECT_EQ(test, t->v->nr_res, 2);
}

/* To the last number, and not one further. */
static void the_last_number_is_the_end(struct kunit *test)
{
	struct numbers *t = test->priv;
	u32 first = 42;

	space_open(t->s, 64, 4);
	space_map(t->s, 4, 4);
	t->v->max_chunks = 8;
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 4, 4, &first), -ENOMEM);
	EXPECT_ERROR_HAS(t->s, "no run of addresses is long enough, and no "
			 "more may be reserved");
	KUNIT_EXPECT_EQ(test, first, 42);
	KUNIT_EXPECT_EQ(test, t->v->nr_res, 1);
	/* Shorter than it would be otherwise. */
	KUNIT_EXPECT_EQ(test, space_map(t->s, 3, 3), 5);
	KUNIT_EXPECT_EQ(test, nth(t, 1)->nr_chunks, 3);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 1, 1, &first), -ENOMEM);
	EXPECT_ERROR_HAS(t->s, "no run of addresses");
	EXPECT_VALID(t->s);
}

static void the_places_for_them_end(struct kunit *test)
{
	struct numbers *t = test->priv;
	u32 first;

	space_open(t->s, 256, 1);
	t->v->max_chunks = 1024;
	space_map(t->s, 1, 1);
	for (u32 i = 1; i < VMM_MAX_RANGES; i++) {
		t->v->reserve_next = 0;
		space_map(t->s, 1, 1);
		KUNIT_EXPECT_EQ(test, nth(t, i)->nr_chunks, 1);
	}
	KUNIT_EXPECT_EQ(test, t->v->nr_res, VMM_MAX_RANGES);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 1, 1, &first), -ENOMEM);
	EXPECT_ERROR_HAS(t->s, "no more may be reserved");
	EXPECT_VALID(t->s);
}

static void there_is_one_with_the_same_layout(struct kunit *test)
{
	struct numbers *t = test->priv;
	const struct vmm_config cfg = {
		.limit = 64 * MIB, .reserve = 16 * MIB, .same_layout = true,
		.counters = &t->s->cnt, .name = "test",
	};
	u32 first;

	KUNIT_ASSERT_EQ(test, vmm_open(t->v, t->s->ops, t->s->dev, &cfg), 0);
	t->s->is_open = true;
	KUNIT_EXPECT_EQ(test, t->v->max_chunks, 8);
	space_map(t->s, 7, 7);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 2, 2, &first), -ENOMEM);
	EXPECT_ERROR_HAS(t->s, "attr.reserve has no run of addresses");
	EXPECT_ERROR_HAS(t->s, "SLABDEV_OPEN_SAME_LAYOUT");
	space_map(t->s, 1, 1);
	KUNIT_EXPECT_EQ(test, t->v->nr_res, 1);
}

/* ---- Who gets which ------------------------------------------------------ */

/* Where something was held once the tightest run is taken as elsewhere. */
static void ended_holds_move_nothing(struct kunit *test)
{
	struct numbers *t = test->priv;
	u32 held, first;

	space_open(t->s, 64, 64);
	KUNIT_ASSERT_EQ(test, vmm_hold(t->v, 60, &held), 0);
	KUNIT_EXPECT_EQ(test, held, 4);
	vmm_unhold(t->v, held, 60);
	first = space_map(t->s, 12, 1);
	KUNIT_EXPECT_EQ(test, first, 0);
	for (u32 i = 0; i < 4; i++)
		space_unmap(t->s, i, VMM_RELEASE);
	space_unmap(t->s, 8, VMM_RELEASE);
	space_unmap(t->s, 9, VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, space_map(t->s, 2, 2), 8);
}

/* And where something is, not above it. */
static void what_is_held_is_passed_below(struct kunit *test)
{
	struct numbers *t = test->priv;
	u32 held;

	space_open(t->s, 64, 64);
	space_map(t->s, 12, 1);
	KUNIT_ASSERT_EQ(test, vmm_hold(t->v, 40, &held), 0);
	KUNIT_EXPECT_EQ(test, held, 24);
	vmm_unhold(t->v, held + 8, 2);
	for (u32 i = 0; i < 4; i++)
		space_unmap(t->s, i, VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, space_map(t->s, 2, 2), 0);
	KUNIT_EXPECT_EQ(test, space_map(t->s, 2, 2), 2);
	KUNIT_EXPECT_EQ(test, space_map(t->s, 12, 12), 12);
	/* Nothing is left but the two in the hold. */
	KUNIT_EXPECT_EQ(test, space_map(t->s, 2, 2), held + 8);
	EXPECT_VALID(t->s);
	vmm_unhold(t->v, held, 8);
	vmm_unhold(t->v, held + 10, 30);
}

/* Where numbers lack for a hold, holes and idle mappings give theirs, spare
 * handles stay; but only a lack is cured so. */
static void holds_get_what_holes_have(struct kunit *test)
{
	struct numbers *t = test->priv;
	u32 first, held = 42;

	space_open(t->s, 16, 8);
	for (u32 i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, vmm_map_guarded(t->v, 2, &first), 0);
		KUNIT_ASSERT_EQ(test, vmm_unmap_guarded(t->v, first,
							VMM_RELEASE), 0);
	}
	vmm_fault_arm(&t->f, VMM_OP_RESERVE, 1, 100, -EIO);
	KUNIT_EXPECT_EQ(test, vmm_hold(t->v, 6, &held), -EIO);
	KUNIT_EXPECT_EQ(test, t->v->nr_holes, 2);
	KUNIT_EXPECT_EQ(test, held, 42);
	t->v->max_chunks = 8;
	KUNIT_EXPECT_EQ(test, vmm_hold(t->v, 6, &held), 0);
	KUNIT_EXPECT_EQ(test, t->v->nr_holes, 0);
	vmm_unhold(t->v, held, 6);

	space_unmap(t->s, space_map(t->s, 1, 1), VMM_KEEP_HANDLE);
	space_unmap(t->s, space_map(t->s, 7, 7), VMM_KEEP_MAPPED);
	KUNIT_EXPECT_EQ(test, vmm_hold(t->v, 6, &held), 0);
	KUNIT_EXPECT_EQ(test, t->s->cnt.spare_handles, 1);
	KUNIT_EXPECT_EQ(test, t->s->cnt.created, 2 * MIB);
	vmm_unhold(t->v, held, 6);
	space_map(t->s, 3, 3);
	KUNIT_EXPECT_EQ(test, vmm_hold(t->v, 6, &held), -ENOMEM);
	EXPECT_ERROR_HAS(t->s, "no run of addresses");
	KUNIT_EXPECT_EQ(test, t->s->cnt.spare_handles, 1);
	EXPECT_VALID(t->s);
	t->f.table.backed = true;
	KUNIT_EXPECT_EQ(test, vmm_hold(t->v, 1, &held), -ENOTSUP);
	EXPECT_ERROR_HAS(t->s, "memory is not mapped by the library");
	t->f.table.backed = false;
}

static void held_memory_has_seams(struct kunit *test)
{
	struct numbers *t = test->priv;
	static const u32 seam[] = { 0, 2, 2, 4, 4, 5 };
	u32 at, i, nr;

	space_open(t->s, 16, 16);
	KUNIT_ASSERT_EQ(test, vmm_hold(t->v, 6, &at), 0);
	KUNIT_ASSERT_EQ(test, vmm_map_held(t->v, at, 4, 2), 0);
	for (i = 0; i < ARRAY_SIZE(seam); i++)
		KUNIT_EXPECT_EQ(test, vmm_held_seam(t->v, at + i),
				at + seam[i]);
	for (i = 0; i <= 6; i++)
		KUNIT_EXPECT_EQ(test, vmm_mapped_held(t->v, at, i), min(i, 4u));
	/* Two chunks are no spare handle. */
	nr = 2;
	KUNIT_EXPECT_EQ(test, vmm_unmap_held(t->v, at + 2, &nr,
					     VMM_KEEP_HANDLE), 0);
	KUNIT_EXPECT_EQ(test, t->s->cnt.spare_handles, 0);
	KUNIT_EXPECT_EQ(test, vmm_held_seam(t->v, at + 3), at + 3);
	nr = 2;
	KUNIT_EXPECT_EQ(test, vmm_unmap_held(t->v, at, &nr, VMM_RELEASE), 0);
	vmm_unhold(t->v, at, 6);
}

static void refuse_unmap_held(struct numbers *t, u32 at)
{
	u32 nr = 1;

	KUNIT_EXPECT_EQ(t->s->test, vmm_unmap_held(t->v, at, &nr, VMM_RELEASE),
			-EINVAL);
	KUNIT_EXPECT_EQ(t->s->test, nr, 1);
	EXPECT_ERROR_HAS(t->s, "no memory at held addresses ends there");
	EXPECT_VALID(t->s);
}

/* Free numbers, walls, others' memory, what is lost. */
static void only_held_memory_is_unmapped(struct kunit *test)
{
	struct numbers *t = test->priv;
	u32 at, other, nr = 1;

	space_open(t->s, 16, 16);
	KUNIT_ASSERT_EQ(test, vmm_hold(t->v, 2, &at), 0);
	KUNIT_ASSERT_EQ(test, vmm_map_held(t->v, at, 1, 1), 0);
	other = space_map(t->s, 1, 1);
	refuse_unmap_held(t, at + 1);
	refuse_unmap_held(t, other);
	refuse_unmap_held(t, other + 1);
	refuse_unmap_held(t, 1u << 30);
	kunit_expect_report(test, REPORT_LOST);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, vmm_unmap_held(t->v, at, &nr, VMM_RELEASE), -EIO);
	refuse_unmap_held(t, at);
	KUNIT_EXPECT_EQ(test, vmm_mapped_held(t->v, at, 2), 0);
	vmm_unhold(t->v, at, 2);
}

/* ---- The tables ---------------------------------------------------------- */

static int refuse_commit(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return -ENOMEM;
}

/* Nothing is reserved in place of numbers that the tables cannot have. */
static void tables_that_cannot_grow_are_told(struct kunit *test)
{
	struct numbers *t = test->priv;
	u32 first;

	space_open(t->s, 64, 64);
	kunit_activate_static_stub(test, os_commit, refuse_commit);
	KUNIT_EXPECT_EQ(test, vmm_hold(t->v, 8, &first), -ENOMEM);
	EXPECT_ERROR_HAS(t->s, "no host memory for the table of chunks");
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 1, 1, &first), -ENOMEM);
	EXPECT_ERROR_HAS(t->s, "no host memory for the table of chunks");
	kunit_deactivate_static_stub(test, os_commit);
	KUNIT_EXPECT_EQ(test, t->v->nr_res, 1);
	KUNIT_EXPECT_EQ(test, nth(t, 0)->nr_open, 0);
	EXPECT_VALID(t->s);
	space_map(t->s, 1, 1);
}

/* ---- Addresses ----------------------------------------------------------- */

static bool is_around(const struct numbers *t, u64 at, u32 i)
{
	u64 addr = 1, bytes = 1;

	return vmm_reservation_at(t->v, at, &addr, &bytes) &&
	       addr == nth(t, i)->addr &&
	       bytes == (u64)nth(t, i)->nr_chunks * VMM_MIN_CHUNK;
}

static void the_reservation_around_an_address(struct kunit *test)
{
	struct numbers *t = test->priv;
	u64 last, addr, bytes;

	space_open(t->s, 64, 4);
	space_map(t->s, 4, 4);
	space_map(t->s, 4, 4);
	space_map(t->s, 4, 4);
	for (u32 i = 0; i < 3; i++) {
		addr = nth(t, i)->addr;
		last = addr + nth(t, i)->nr_chunks * VMM_MIN_CHUNK - 1;
		KUNIT_EXPECT_TRUE(test, is_around(t, addr, i));
		KUNIT_EXPECT_TRUE(test, is_around(t, last, i));
		KUNIT_EXPECT_FALSE(test, is_around(t, addr - 1, i));
		KUNIT_EXPECT_FALSE(test, is_around(t, last + 1, i));
	}
	KUNIT_EXPECT_FALSE(test, vmm_reservation_at(t->v, 0, &addr, &bytes));
	/* One that was given back has no addresses, and not the first ones. */
	addr = nth(t, 1)->addr;
	vmm_res_place(t->v, &t->v->res[1], 0, nth(t, 1)->first_chunk,
		      nth(t, 1)->nr_chunks);
	KUNIT_EXPECT_FALSE(test, vmm_reservation_at(t->v, addr, &last, &bytes));
	KUNIT_EXPECT_FALSE(test, vmm_reservation_at(t->v, 4096, &last, &bytes));
	KUNIT_EXPECT_FALSE(test, vmm_offset(t->v, 4096, &last));
	vmm_res_place(t->v, &t->v->res[1], addr, nth(t, 1)->first_chunk,
		      nth(t, 1)->nr_chunks);
	KUNIT_EXPECT_TRUE(test, is_around(t, addr, 1));
}

struct reader {
	struct numbers *t;
	u32 which;
	u64 addr, offset;
	bool began;
};

static void *read_while_it_changes(void *arg)
{
	struct reader *r = arg;
	struct vmm *v = r->t->v;
	u64 bytes;

	store_release(&r->began, true);
	if (r->which == 0)
		r->addr = vmm_addr(v, r->offset);
	else if (r->which == 1)
		(void)vmm_offset(v, r->addr, &r->offset);
	else
		(void)vmm_reservation_at(v, r->addr, &r->addr, &bytes);
	return NULL;
}

/*
 * Goal: who reads while res[] changes sees all of the change, or nothing.
 * Method: the change is half done until a reader has been at it for a while;
 * however long that was, it has to say what holds in the end.
 */
static void readers_wait_for_a_change(struct kunit *test)
{
	struct numbers *t = test->priv;
	struct vmm_reservation *res;
	u64 addr, offset;

	space_open(t->s, 64, 4);
	space_map(t->s, 4, 4);
	space_map(t->s, 4, 4);
	res = &t->v->res[1];
	addr = res->addr;
	offset = vmm_chunk_offset(t->v, res->first_chunk);
	for (u32 which = 0; which < 3; which++) {
		struct reader r = { t, which, addr, offset, false };
		pthread_t thread;

		WRITE_ONCE(t->v->res_seq, t->v->res_seq + 1);
		store_release(&res->addr, addr - MIB);
		KUNIT_ASSERT_EQ(test, pthread_create(&thread, NULL,
						     read_while_it_changes,
						     &r), 0);
		while (!load_acquire(&r.began))
			os_yield();
		os_sleep_us(2000);
		store_release(&res->addr, addr);
		store_release(&t->v->res_seq, t->v->res_seq + 1);
		pthread_join(thread, NULL);
		KUNIT_EXPECT_EQ(test, r.addr, addr);
		KUNIT_EXPECT_EQ(test, r.offset, offset);
	}
}

/* ---- The end ------------------------------------------------------------- */

/* What is refused once is tried again; what is refused twice is still there,
 * and counted. */
static void the_end_is_tried_twice(struct kunit *test)
{
	struct numbers *t = test->priv;
	struct vmm_reservation res;

	space_open(t->s, 16, 4);
	space_map(t->s, 4, 4);
	space_map(t->s, 4, 4);
	vmm_fault_arm(&t->f, VMM_OP_UNRESERVE, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, space_close(t->s), 0);
	KUNIT_EXPECT_EQ(test, t->s->cnt.reserved, 0);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));

	space_open(t->s, 16, 4);
	space_map(t->s, 4, 4);
	space_map(t->s, 2, 2);
	res = *nth(t, 1);
	vmm_fault_arm(&t->f, VMM_OP_UNRESERVE, 1, 2, -EIO);
	KUNIT_EXPECT_EQ(test, space_close(t->s), -EIO);
	EXPECT_ERROR_HAS(t->s, "unreserve of 10240 KiB");
	KUNIT_EXPECT_EQ(test, t->s->cnt.reserved, 8 * MIB);
	KUNIT_EXPECT_EQ(test, t->f.reservations, 1);
	KUNIT_EXPECT_EQ(test, t->f.table.unreserve(&t->f, res.raw_addr,
						   res.raw_size), 0);
}

/* Addresses at which something is mapped are never freed. */
static void what_is_mapped_keeps_its_addresses(struct kunit *test)
{
	struct numbers *t = test->priv;
	const struct vmm_ops *ops = &t->f.table;
	struct vmm_reservation res;
	u64 id;

	space_open(t->s, 16, 4);
	id = (*vmm_chunk(t->v, space_map(t->s, 4, 4)))->id;
	space_map(t->s, 2, 2);
	res = *nth(t, 0);
	/* Neither when it is to go, nor at the last try of what is lost. */
	kunit_expect_report(test, REPORT_LOST);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, vmm_unmap(t->v, 0, VMM_RELEASE), -EIO);
	kunit_expect_report(test, REPORT_LOST);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 2, 1, -EIO);
	space_mark(t->s);
	KUNIT_EXPECT_EQ(test, space_close(t->s), -EIO);
	KUNIT_EXPECT_EQ(test, space_calls(t->s, VMM_OP_UNRESERVE), 1);
	KUNIT_EXPECT_EQ(test, t->s->cnt.reserved, 8 * MIB);
	KUNIT_EXPECT_EQ(test, t->s->cnt.lost, 8 * MIB);
	KUNIT_EXPECT_EQ(test, ops->unmap(&t->f, res.addr, 8 * MIB), 0);
	KUNIT_EXPECT_EQ(test, ops->release(&t->f, id, 8 * MIB), 0);
	KUNIT_EXPECT_EQ(test, ops->unreserve(&t->f, res.raw_addr,
					     res.raw_size), 0);
}

static const struct kunit_case numbers_cases[] = {
	KUNIT_CASE(each_is_twice_as_long),
	KUNIT_CASE(empty_ones_stay),
	KUNIT_CASE(the_last_number_is_the_end),
	KUNIT_CASE(the_places_for_them_end),
	KUNIT_CASE(there_is_one_with_the_same_layout),
	KUNIT_CASE(ended_holds_move_nothing),
	KUNIT_CASE(what_is_held_is_passed_below),
	KUNIT_CASE(holds_get_what_holes_have),
	KUNIT_CASE(held_memory_has_seams),
	KUNIT_CASE(only_held_memory_is_unmapped),
	KUNIT_CASE(tables_that_cannot_grow_are_told),
	KUNIT_CASE(the_reservation_around_an_address),
	KUNIT_CASE(readers_wait_for_a_change),
	KUNIT_CASE(the_end_is_tried_twice),
	KUNIT_CASE(what_is_mapped_keeps_its_addresses),
	{ 0 }
};

static const struct kunit_suite numbers_suite = {
	.name = "vmm_numbers",
	.init = numbers_init,
	.exit = numbers_exit,
	.cases = numbers_cases,
};
kunit_test_suite(numbers_suite);
