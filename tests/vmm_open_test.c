// SPDX-License-Identifier: BSD-2-Clause
/*
 * vmm_open_test.c - how a vmm begins and ends, what it asks of a backend, and
 * what it says of its handles: vmm/vmm.c and vmm/handle.c.
 *
 * The backend is the host's with operations of the case's in it, behind the
 * wrapper that fails calls.
 */
#include <errno.h>
#include <sys/mman.h>

#include "core/os.h"
#include "core/thread.h"
#include "tests/vmm_space.h"
#include "vmm/fault.h"
#include "vmm/internal.h"

struct opening {
	struct space *s;
	struct vmm *v;
	struct vmm_ops ops;	/* below the wrapper */
	struct vmm_fault f;
};

/* What the operations of the case answer. */
static struct {
	u64 granularity, total;
	int granularity_err, meminfo_err, health_err;
	u32 trims;
} answer;

static int tell_granularity(void *dev, u64 *bytes)
{
	(void)dev;
	*bytes = answer.granularity;
	return answer.granularity_err;
}

static int tell_memory(void *dev, u64 *free_bytes, u64 *total)
{
	(void)dev;
	*free_bytes = 2 * MIB;
	*total = answer.total;
	return answer.meminfo_err ?
	       error_set(answer.meminfo_err, "ask the moon") : 0;
}

static int tell_health(void *dev)
{
	(void)dev;
	return answer.health_err;
}

static int count_trims(void *dev)
{
	(void)dev;
	answer.trims++;
	return 0;
}

static int opening_init(struct kunit *test)
{
	struct opening *t = kunit_kzalloc(test, sizeof(*t));

	KUNIT_ASSERT_NOT_NULL(test, thread_get());
	memset(&answer, 0, sizeof(answer));
	answer.granularity = 2 * MIB;
	answer.total = GIB;
	test->priv = t;
	t->s = space_new(test);
	t->v = &t->s->v;
	t->ops = *t->s->host_ops;
	t->ops.granularity = tell_granularity;
	t->ops.meminfo = tell_memory;
	vmm_fault_init(&t->f, &t->ops, t->s->host_dev);
	t->s->ops = &t->f.table;
	t->s->dev = &t->f;
	return 0;
}

static void opening_exit(struct kunit *test)
{
	struct opening *t = test->priv;

	if (!t)
		return;
	space_end(t->s);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));
	vmm_fault_fini(&t->f);
}

static int try_config(struct opening *t, u64 limit, u32 permille, u32 ranks)
{
	const struct vmm_config cfg = {
		.limit = limit, .limit_permille = permille, .ranks = ranks,
		.reserve = 64 * MIB, .counters = &t->s->cnt, .name = "test",
	};
	int err;

	t->s->cnt = (struct vmm_counters){ 0 };
	err = vmm_open(t->v, t->s->ops, t->s->dev, &cfg);
	t->s->is_open = !err;
	return err;
}

/* ---- What is asked of a backend ------------------------------------------ */

static void granularities_are_powers_of_two(struct kunit *test)
{
	static const u64 wrong[] = { 0, 3 * MIB, 2 * TIB };
	struct opening *t = test->priv;

	for (u32 i = 0; i < ARRAY_SIZE(wrong); i++) {
		answer.granularity = wrong[i];
		KUNIT_EXPECT_EQ(test, space_try_open(t->s, 8, 16), -ENODEV);
		EXPECT_ERROR_HAS(t->s, "backend fault: granularity");
	}
	answer.granularity = 2 * MIB;
	answer.granularity_err = -EIO;
	KUNIT_EXPECT_EQ(test, space_try_open(t->s, 8, 16), -EIO);
	EXPECT_ERROR_HAS(t->s, "backend fault tells no granularity");
	KUNIT_EXPECT_EQ(test, t->f.calls[VMM_OP_RESERVE], 0);
}

static void chunks_are_two_megabytes_or_more(struct kunit *test)
{
	struct opening *t = test->priv;

	answer.granularity = 4 * KIB;
	space_open(t->s, 8, 16);
	KUNIT_EXPECT_EQ(test, t->v->chunk_size, 2 * MIB);
	KUNIT_EXPECT_EQ(test, t->v->chunk_shift, 21);
	KUNIT_EXPECT_EQ(test, space_close(t->s), 0);
	answer.granularity = 8 * MIB;
	space_open(t->s, 8, 16);
	KUNIT_EXPECT_EQ(test, t->v->chunk_size, 8 * MIB);
	KUNIT_EXPECT_EQ(test, t->v->base % (8 * MIB), 0);
	KUNIT_EXPECT_EQ(test, t->v->limit_chunks, 2);
	space_map(t->s, 1, 1);
	KUNIT_EXPECT_EQ(test, t->s->cnt.created, 8 * MIB);
}

static void limits_are_parts_of_the_device(struct kunit *test)
{
	struct opening *t = test->priv;
	static const struct {
		u64 limit;
		u32 permille, ranks;
		u64 chunks;
	} is[] = {
		{ 0, 0, 0, 512 }, { 0, 0, 3, 170 }, { 0, 500, 0, 255 },
		{ 0, 1, 0, 0 }, { 0, 2, 0, 1 }, { 0, 2, 2, 0 },
		{ 9 * MIB, 0, 0, 4 }, { 9 * MIB, 500, 1, 4 },
		{ 9 * MIB, 0, 2, 2 }, { 9 * MIB, 0, 5, 0 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(is); i++) {
		int err = try_config(t, is[i].limit, is[i].permille,
				     is[i].ranks);

		KUNIT_EXPECT_EQ_MSG(test, err, is[i].chunks ? 0 : -EDQUOT,
				    "%u: %s", i, error_get());
		if (err) {
			EXPECT_ERROR_HAS(t->s, "below one chunk of 2097152");
			continue;
		}
		KUNIT_EXPECT_EQ_MSG(test, t->v->limit_chunks, is[i].chunks,
				    "%u", i);
		KUNIT_EXPECT_EQ(test, t->s->cnt.limit, is[i].chunks * 2 * MIB);
		KUNIT_EXPECT_EQ(test, t->s->cnt.calls[VMM_OP_MEMINFO],
				!is[i].limit);
		KUNIT_EXPECT_EQ(test, space_close(t->s), 0);
	}
}

static void devices_may_not_tell_their_memory(struct kunit *test)
{
	struct opening *t = test->priv;

	answer.meminfo_err = -EIO;
	KUNIT_EXPECT_EQ(test, try_config(t, 0, 0, 0), -EIO);
	KUNIT_EXPECT_STREQ(test, error_get(), "test: backend fault does not "
			   "tell how much memory there is; set a limit");
	t->f.table.explains = true;
	KUNIT_EXPECT_EQ(test, try_config(t, 0, 0, 0), -EIO);
	KUNIT_EXPECT_STREQ(test, error_get(), "test: backend fault does not "
			   "tell how much memory there is; set a limit: ask "
			   "the moon");
	KUNIT_EXPECT_EQ(test, try_config(t, 4 * MIB, 0, 0), 0);
}

/* ---- Tables -------------------------------------------------------------- */

/* Bytes of addresses that the library has, and how many calls still work. */
static s64 bytes_reserved;
static u32 reservations_left;

static int reserve_counted(size_t size, void **addr)
{
	void *p;

	if (!reservations_left)
		return -ENOMEM;
	reservations_left--;
	p = mmap(NULL, size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	bytes_reserved += (s64)size;
	*addr = p;
	return 0;
}

static int unreserve_counted(void *addr, size_t size)
{
	bytes_reserved -= (s64)size;
	return munmap(addr, size) ? -errno : 0;
}

/* Whichever table lacks addresses, what was reserved before goes back; and all
 * of it does at the end. */
static void nothing_stays_reserved(struct kunit *test)
{
	struct opening *t = test->priv;
	u32 works = 0;

	bytes_reserved = 0;
	kunit_activate_static_stub(test, os_reserve, reserve_counted);
	kunit_activate_static_stub(test, os_unreserve, unreserve_counted);
	for (reservations_left = 0; space_try_open(t->s, 8, 8);
	     reservations_left = ++works) {
		KUNIT_EXPECT_EQ_MSG(test, bytes_reserved, 0, "%u calls work",
				    works);
		KUNIT_ASSERT_LT(test, works, 30);
		if (works > 1)
			EXPECT_ERROR_HAS(t->s, "no addresses for the table of "
					 "chunks");
	}
	reservations_left = 100;
	space_map(t->s, 3, 1);
	space_unmap(t->s, space_map(t->s, 2, 2), VMM_KEEP_MAPPED);
	KUNIT_EXPECT_GT(test, bytes_reserved, 16 * MIB);
	KUNIT_EXPECT_EQ(test, space_close(t->s), 0);
	KUNIT_EXPECT_EQ(test, bytes_reserved, 0);
	/* Work that is done at once needs no events. */
	KUNIT_EXPECT_EQ(test, t->s->cnt.calls[VMM_OP_EVENT], 0);
	kunit_deactivate_static_stub(test, os_reserve);
	kunit_deactivate_static_stub(test, os_unreserve);
}

static int refuse_commit(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return -ENOMEM;
}

static void descriptors_need_host_memory(struct kunit *test)
{
	struct opening *t = test->priv;
	u32 first;

	space_open(t->s, 8, 16);
	/* The tables are there already. */
	KUNIT_ASSERT_EQ(test, vmm_run_alloc(t->v, 1, &first), 0);
	range_free(&t->v->addresses, first, 1);
	kunit_activate_static_stub(test, os_commit, refuse_commit);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 1, 1, &first), -ENOMEM);
	EXPECT_ERROR_HAS(t->s, "no host memory for a handle");
	kunit_deactivate_static_stub(test, os_commit);
	KUNIT_EXPECT_EQ(test, t->f.calls[VMM_OP_CREATE], 0);
	EXPECT_VALID(t->s);
	space_map(t->s, 1, 1);
}

/* ---- Handles ------------------------------------------------------------- */

/* The descriptor of one that is gone, or could not be made, is the next's. */
static void descriptors_are_used_again(struct kunit *test)
{
	struct opening *t = test->priv;
	struct vmm_handle *h;
	u32 first;

	space_open(t->s, 8, 16);
	first = space_map(t->s, 1, 1);
	h = *vmm_chunk(t->v, first);
	space_unmap(t->s, first, VMM_RELEASE);
	vmm_fault_arm(&t->f, VMM_OP_CREATE, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 2, 2, &first), -EIO);
	first = space_map(t->s, 2, 2);
	KUNIT_EXPECT_PTR_EQ(test, *vmm_chunk(t->v, first), h);
	KUNIT_EXPECT_PTR_EQ(test, *vmm_chunk(t->v, first + 1), h);
	KUNIT_EXPECT_PTR_EQ(test, vmm_handle_at(t->v, first), h);
	KUNIT_EXPECT_NULL(test, vmm_handle_at(t->v, first + 2));
	KUNIT_EXPECT_NULL(test, vmm_handle_at(t->v, 1u << 30));
}

/* The state of a descriptor that served before is not the new one's. */
static void new_handles_know_nothing(struct kunit *test)
{
	struct opening *t = test->priv;
	struct vmm_handle *h;
	u32 held, first, nr = 2;

	space_open(t->s, 8, 32);
	KUNIT_ASSERT_EQ(test, vmm_hold(t->v, 2, &held), 0);
	KUNIT_ASSERT_EQ(test, vmm_map_held(t->v, held, 2, 2), 0);
	h = *vmm_chunk(t->v, held);
	KUNIT_EXPECT_TRUE(test, h->is_held);
	h->stamp = 4711;
	KUNIT_EXPECT_EQ(test, vmm_chunk_stamp(t->v, held + 1), 4711);
	KUNIT_EXPECT_EQ(test, vmm_unmap_held(t->v, held, &nr, VMM_RELEASE), 0);
	first = space_map(t->s, 1, 1);
	KUNIT_EXPECT_PTR_EQ(test, *vmm_chunk(t->v, first), h);
	KUNIT_EXPECT_FALSE(test, h->is_held);
	KUNIT_EXPECT_EQ(test, vmm_chunk_stamp(t->v, first), 0);
	KUNIT_EXPECT_EQ(test, vmm_chunk_stamp(t->v, first + 1), 0);
	/* Nor is the state that it had where it was mapped before. */
	h->stamp = 4711;
	space_unmap(t->s, first, VMM_KEEP_HANDLE);
	KUNIT_EXPECT_EQ(test, h->stamp, 0);
	KUNIT_EXPECT_EQ(test, h->first, VMM_NO_CHUNK);
	KUNIT_EXPECT_EQ(test, h->state, VMM_CREATED);
	KUNIT_EXPECT_EQ(test, vmm_map_held(t->v, held, 1, 1), 0);
	KUNIT_EXPECT_PTR_EQ(test, *vmm_chunk(t->v, held), h);
	KUNIT_EXPECT_EQ(test, vmm_chunk_stamp(t->v, held), 0);
	nr = 1;
	KUNIT_EXPECT_EQ(test, vmm_unmap_held(t->v, held, &nr, VMM_KEEP_HANDLE),
			0);
	KUNIT_EXPECT_FALSE(test, h->is_held);
	vmm_unhold(t->v, held, 2);
}

/* What was never mapped is not unmapped when it is tried again. */
static void lost_before_it_was_mapped(struct kunit *test)
{
	struct opening *t = test->priv;
	u32 first;

	space_open(t->s, 8, 16);
	kunit_expect_report(test, REPORT_LOST);
	vmm_fault_arm(&t->f, VMM_OP_MAP, 1, 1, -EIO);
	vmm_fault_arm(&t->f, VMM_OP_RELEASE, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 2, 2, &first), -EIO);
	KUNIT_EXPECT_EQ(test, t->s->cnt.lost, 4 * MIB);
	EXPECT_VALID(t->s);
	space_mark(t->s);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(t->v, 0, true), 0);
	EXPECT_CALLS(t->s, 0, 0, 0, 0, 1);
	KUNIT_EXPECT_EQ(test, t->s->cnt.lost, 0);
}

static void unmapping_may_fail_however(struct kunit *test)
{
	static const enum vmm_giveback ways[] = { VMM_KEEP_HANDLE,
						  VMM_RELEASE };
	struct opening *t = test->priv;
	u32 held;

	space_open(t->s, 8, 16);
	for (u32 i = 0; i < ARRAY_SIZE(ways); i++) {
		u32 first = space_map(t->s, 1, 1);

		kunit_expect_report(test, REPORT_LOST);
		vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 1, -EPERM);
		KUNIT_EXPECT_EQ(test, vmm_unmap(t->v, first, ways[i]), -EIO);
		KUNIT_EXPECT_EQ(test, t->s->cnt.spare_handles, 0);
		KUNIT_EXPECT_EQ(test, t->s->cnt.lost, (i + 1) * 2 * MIB);
		EXPECT_VALID(t->s);
	}
	/* Nobody tries again who does not need the place. */
	KUNIT_ASSERT_EQ(test, vmm_hold(t->v, 2, &held), 0);
	space_mark(t->s);
	KUNIT_EXPECT_EQ(test, vmm_map_held(t->v, held, 2, 2), 0);
	EXPECT_CALLS(t->s, 1, 1, 1, 0, 0);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(t->v, 0, false), 0);
	KUNIT_EXPECT_EQ(test, t->s->cnt.lost, 0);
}

/* Where mapping lacks memory, spare handles go, but those that serve stay. */
static void spare_handles_that_serve_stay(struct kunit *test)
{
	struct opening *t = test->priv;
	u32 first;

	space_open(t->s, 16, 16);
	first = space_map(t->s, 5, 1);
	space_unmap_singles(t->s, first, 5, VMM_KEEP_HANDLE);
	vmm_fault_arm(&t->f, VMM_OP_MAP, 1, 1, -ENOMEM);
	space_mark(t->s);
	space_map(t->s, 3, 1);
	EXPECT_CALLS(t->s, 0, 4, 1, 0, 2);
	KUNIT_EXPECT_EQ(test, t->s->cnt.spare_handles, 0);
}

static void growing_in_place_leaves_nothing_behind(struct kunit *test)
{
	static const enum vmm_op steps[] = { VMM_OP_CREATE, VMM_OP_MAP,
					     VMM_OP_SET_ACCESS };
	struct opening *t = test->priv;

	space_open(t->s, 16, 16);
	KUNIT_ASSERT_EQ(test, space_map(t->s, 2, 2), 0);
	for (u32 i = 0; i < ARRAY_SIZE(steps); i++) {
		vmm_fault_arm(&t->f, steps[i], 1, 1, -EIO);
		KUNIT_EXPECT_EQ(test, vmm_extend(t->v, 2, 3, 2), -EIO);
		EXPECT_ERROR_HAS(t->s, vmm_op_name(steps[i]));
		EXPECT_VALID(t->s);
		KUNIT_EXPECT_EQ(test, t->s->cnt.created, 4 * MIB);
		KUNIT_EXPECT_NULL(test, vmm_handle_at(t->v, 2));
	}
	KUNIT_EXPECT_EQ(test, vmm_extend(t->v, 2, 3, 2), 0);
	KUNIT_EXPECT_EQ(test, t->s->cnt.handles, 3);
	EXPECT_VALID(t->s);
}

static void the_peak_is_the_most_there_was(struct kunit *test)
{
	struct opening *t = test->priv;

	space_open(t->s, 8, 16);
	space_unmap(t->s, space_map(t->s, 5, 5), VMM_RELEASE);
	space_map(t->s, 3, 3);
	KUNIT_EXPECT_EQ(test, t->s->cnt.peak_created, 10 * MIB);
	space_map(t->s, 3, 3);
	KUNIT_EXPECT_EQ(test, t->s->cnt.peak_created, 12 * MIB);
}

/* ---- Questions ----------------------------------------------------------- */

/* All that is in use, but what is held, in the order of numbers. */
static void what_is_in_use_can_be_walked(struct kunit *test)
{
	static const struct {
		u32 chunk, nr;
	} in_use[] = { { 0, 1 }, { 1, 1 }, { 2, 3 }, { 8, 1 } };
	struct opening *t = test->priv;
	u32 chunk = 0, nr = 0, held, i, guarded;

	space_open(t->s, 32, 16);
	KUNIT_EXPECT_FALSE(test, vmm_next_in_use(t->v, &chunk, &nr));
	KUNIT_ASSERT_EQ(test, space_map(t->s, 2, 1), 0);
	KUNIT_ASSERT_EQ(test, space_map(t->s, 3, 3), 2);
	KUNIT_ASSERT_EQ(test, space_map(t->s, 2, 2), 5);
	KUNIT_ASSERT_EQ(test, space_map(t->s, 1, 1), 7);
	KUNIT_ASSERT_EQ(test, space_map(t->s, 1, 1), 8);
	KUNIT_ASSERT_EQ(test, vmm_hold(t->v, 4, &held), 0);
	KUNIT_ASSERT_EQ(test, vmm_map_held(t->v, held, 2, 2), 0);
	space_unmap(t->s, 5, VMM_KEEP_MAPPED);
	space_unmap(t->s, 7, VMM_RELEASE);
	chunk = 0;
	for (i = 0; i < ARRAY_SIZE(in_use); i++, chunk += nr) {
		KUNIT_ASSERT_TRUE(test, vmm_next_in_use(t->v, &chunk, &nr));
		KUNIT_EXPECT_EQ(test, chunk, in_use[i].chunk);
		KUNIT_EXPECT_EQ(test, nr, in_use[i].nr);
	}
	KUNIT_EXPECT_FALSE(test, vmm_next_in_use(t->v, &chunk, &nr));
	/* From the midst of a handle on comes the next. */
	chunk = 3;
	KUNIT_EXPECT_TRUE(test, vmm_next_in_use(t->v, &chunk, &nr));
	KUNIT_EXPECT_EQ(test, chunk, 8);
	/* Walls are nobody's; the next reservation comes after this one. */
	KUNIT_ASSERT_EQ(test, vmm_map_guarded(t->v, 14, &guarded), 0);
	KUNIT_EXPECT_EQ(test, t->v->nr_res, 2);
	chunk = 9;
	KUNIT_EXPECT_TRUE(test, vmm_next_in_use(t->v, &chunk, &nr));
	KUNIT_EXPECT_EQ(test, chunk, guarded);
	KUNIT_EXPECT_EQ(test, nr, 14);
	chunk += nr;
	KUNIT_EXPECT_FALSE(test, vmm_next_in_use(t->v, &chunk, &nr));
}

static void backends_may_have_more_to_say(struct kunit *test)
{
	struct opening *t = test->priv;

	space_open(t->s, 8, 16);
	KUNIT_EXPECT_EQ(test, vmm_health(t->v), 0);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(t->v, 0, true), 0);
	t->f.table.health = tell_health;
	t->f.table.trim = count_trims;
	answer.health_err = -EOWNERDEAD;
	KUNIT_EXPECT_EQ(test, vmm_health(t->v), -EOWNERDEAD);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(t->v, 0, false), 0);
	KUNIT_EXPECT_EQ(test, answer.trims, 0);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(t->v, 0, true), 0);
	KUNIT_EXPECT_EQ(test, answer.trims, 1);
	/* Of a device that is gone no more is said. */
	space_map(t->s, 1, 1);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, vmm_unmap(t->v, 0, VMM_RELEASE), -EIO);
	KUNIT_EXPECT_EQ(test, kunit_report_count(test, REPORT_LOST), 0);
}

static const struct kunit_case opening_cases[] = {
	KUNIT_CASE(granularities_are_powers_of_two),
	KUNIT_CASE(chunks_are_two_megabytes_or_more),
	KUNIT_CASE(limits_are_parts_of_the_device),
	KUNIT_CASE(devices_may_not_tell_their_memory),
	KUNIT_CASE(nothing_stays_reserved),
	KUNIT_CASE(descriptors_need_host_memory),
	KUNIT_CASE(descriptors_are_used_again),
	KUNIT_CASE(new_handles_know_nothing),
	KUNIT_CASE(lost_before_it_was_mapped),
	KUNIT_CASE(unmapping_may_fail_however),
	KUNIT_CASE(spare_handles_that_serve_stay),
	KUNIT_CASE(growing_in_place_leaves_nothing_behind),
	KUNIT_CASE(the_peak_is_the_most_there_was),
	KUNIT_CASE(what_is_in_use_can_be_walked),
	KUNIT_CASE(backends_may_have_more_to_say),
	{ 0 }
};

static const struct kunit_suite opening_suite = {
	.name = "vmm_open",
	.init = opening_init,
	.exit = opening_exit,
	.cases = opening_cases,
};
kunit_test_suite(opening_suite);
