// SPDX-License-Identifier: BSD-2-Clause
/*
 * guard_test.c - where guarded objects lie, which are, and that all adds up.
 *
 * guard_fault_test.c has the faults themselves.
 */
#include "slab/alloc.h"
#include "slab/guard_zone.h"
#include "slab/pool.h"
#include "slab/space.h"
#include "tests/guard_space.h"
#include "vmm/fault.h"

#define LIMIT (256 * MIB)

static int guard_init(struct kunit *test)
{
	test->priv = guard_open(test, LIMIT, 1);
	return 0;
}

static void guard_exit(struct kunit *test)
{
	if (test->priv)
		close_space(test, test->priv);
}

/* ---- Where they lie ------------------------------------------------------ */

static const u64 sizes[] = {
	1, 100, 255, 256, 257, 4000, 4096, 16 * KIB - 1, 16 * KIB,
	16 * KIB + 1, 100000, MIB, MIB + 1, 2 * MIB - 256, 2 * MIB,
	2 * MIB + 1, 3 * MIB, 9 * MIB + 300, 70 * MIB,
};

static void describe_size(const u64 *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%llu",
		 (unsigned long long)*size);
}
KUNIT_ARRAY_PARAM(size, sizes, describe_size);

static void objects_end_at_a_wall(struct kunit *test)
{
	u64 size = *(const u64 *)test->param_value;
	struct slabdev *sd = test->priv;
	char *p = must_alloc(test, sd, size);

	expect_guarded(test, p, size, GRANULE);
	memset(p, 0x5a, size);
	KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, p), size);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).live, size);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_FALSE(test, is_mapped(test, p));
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded, 1);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).live, 0);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).bytes, 0);
	expect_empty(test, sd);
}

static void alignments_are_kept(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	u64 align;
	char *p;

	for (align = 1; align <= 16 * KIB; align *= 2) {
		p = slabdev_alloc_aligned(sd, 1000, align);
		KUNIT_ASSERT_NOT_NULL(test, p);
		expect_guarded(test, p, 1000, max(align, GRANULE));
		EXPECT_FREED(test, sd, p);
	}
	/* The slack would be longer than a slice. */
	p = slabdev_alloc_aligned(sd, 1000, 32 * KIB);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_EXPECT_TRUE(test, is_mapped(test, p + 32 * KIB));
	EXPECT_FREED(test, sd, p);
}

#define LEFT_ALONE 64u

static void addresses_are_left_alone(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p[LEFT_ALONE];
	u32 i, k;

	for (i = 0; i < LEFT_ALONE; i++) {
		p[i] = must_alloc(test, sd, 100);
		for (k = 0; k < i; k++)
			KUNIT_EXPECT_PTR_NE(test, p[i], p[k]);
		EXPECT_FREED(test, sd, p[i]);
	}
	for (i = 0; i < LEFT_ALONE; i++)
		KUNIT_EXPECT_FALSE(test, is_mapped(test, p[i]));
	expect_sound(test, sd);
}

/* In the end addresses are used again: there are not so many. */
static void addresses_come_back(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	u64 reserved = stats_of(test, sd).reserved;
	void *p;
	u32 i;

	for (i = 0; i < 3000; i++) {
		p = must_alloc(test, sd, 1 + i % 5000);
		EXPECT_FREED(test, sd, p);
	}
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).reserved, reserved);
	expect_sound(test, sd);
}

/* Holes are opened for an object that has no other place. */
static void holes_make_way(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;
	void *p;
	u32 i;

	host_only(test, "the layout is known");
	attr.limit = 64 * MIB;
	attr.reserve = 128 * MIB;
	attr.flags = SLABDEV_OPEN_NO_SHEAVES;
	sd = open_space_attr(test, &attr);
	guard_sizes(sd, 1, 0, UINT64_MAX);
	for (i = 0; i < 20; i++)
		EXPECT_FREED(test, sd, must_alloc(test, sd, 100));
	KUNIT_EXPECT_NE(test, sd->vmm.nr_holes, 0);
	guard_sizes(sd, 0, 0, 0);
	p = must_alloc(test, sd, 62 * MIB);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

/* What may be in use yet is as idle as other memory: nothing faults, and its
 * addresses need no walls. */
static void kept_mapped_it_is_idle(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	static const u32 slices[] = { 1, 32 * 3 };
	u32 i, slice;
	void *p;

	for (i = 0; i < ARRAY_SIZE(slices); i++) {
		KUNIT_ASSERT_EQ(test, pool_alloc_guarded(sd, slices[i], &slice),
				0);
		KUNIT_EXPECT_EQ(test, sd->vmm.nr_walls, 2);
		pool_free_guarded(sd, slice, VMM_KEEP_MAPPED);
		p = to_ptr(space_addr(sd, slice_offset(slice)));
		KUNIT_EXPECT_TRUE(test, is_mapped(test, p));
		KUNIT_EXPECT_EQ(test, sd->vmm.nr_walls, 0);
		KUNIT_EXPECT_EQ(test, sd->vmm.nr_holes, 0);
		KUNIT_EXPECT_GE(test, stats_of(test, sd).retained,
				slice_offset(slices[i]));
		expect_sound(test, sd);
	}
	EXPECT_FREED(test, sd, must_alloc(test, sd, 100));
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_FALSE(test, is_mapped(test, p));
	expect_sound(test, sd);
}

/* ---- Zones --------------------------------------------------------------- */

static void the_slack_is_looked_at(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	char *p = must_alloc(test, sd, 100);

	KUNIT_EXPECT_EQ(test, (u8)p[100], GUARD_SLACK_BYTE);
	p[100] = 0x41;
	p[107] = 0x42;
	kunit_expect_report(test, REPORT_RED_ZONE);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_REPORT_HAS(test, "BUG slabdev test: alloc-256: Right "
				"Redzone overwritten");
	KUNIT_EXPECT_REPORT_HAS(test, "First byte 0x41 instead of 0xcc");
	KUNIT_EXPECT_REPORT_HAS(test, "1 byte behind the end of the object");
	KUNIT_EXPECT_REPORT_HAS(test, "size=100, guarded, freed");
	KUNIT_EXPECT_REPORT_HAS(test, "of alloc-256 size=100");
	KUNIT_EXPECT_REPORT_HAS(test, "Allocated by thread");
	KUNIT_EXPECT_REPORT_HAS(test, "Freed by thread");
	/* The last byte of all. */
	p = must_alloc(test, sd, 257);
	p[511] = 0;
	kunit_expect_report(test, REPORT_RED_ZONE);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_REPORT_HAS(test, "255 bytes behind the end");
}

static void the_lead_is_looked_at(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	char *p = must_alloc(test, sd, 5000);

	KUNIT_EXPECT_EQ(test, (u8)p[-1], GUARD_LEAD_BYTE);
	p[-1] = 0;
	kunit_expect_report(test, REPORT_RED_ZONE);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_REPORT_HAS(test, "Left Redzone overwritten");
	KUNIT_EXPECT_REPORT_HAS(test, "1 byte before the start of the object");
	p = must_alloc(test, sd, 5000);
	p[-256] = 0;
	kunit_expect_report(test, REPORT_RED_ZONE);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_REPORT_HAS(test, "256 bytes before the start of");
	/* As many as there are. */
	p = must_alloc(test, sd, 2 * MIB - 256);
	p[-256] = 0;
	kunit_expect_report(test, REPORT_RED_ZONE);
	EXPECT_FREED(test, sd, p);
}

/* ---- Which --------------------------------------------------------------- */

static void sizes_choose(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p[4];
	u32 i;

	guard_sizes(sd, 1, 1000, 2000);
	p[0] = must_alloc(test, sd, 999);
	p[1] = must_alloc(test, sd, 1000);
	p[2] = must_alloc(test, sd, 2000);
	p[3] = must_alloc(test, sd, 2001);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded, 2);
	expect_guarded(test, p[1], 1000, GRANULE);
	expect_guarded(test, p[2], 2000, GRANULE);
	expect_sound(test, sd);
	for (i = 0; i < 4; i++)
		EXPECT_FREED(test, sd, p[i]);
}

static void one_of_so_many(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p[100];
	u32 i;

	guard_sizes(sd, 10, 0, UINT64_MAX);
	for (i = 0; i < 100; i++)
		p[i] = must_alloc(test, sd, 1 + 1000 * i);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded, 10);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).live, 10);
	expect_sound(test, sd);
	for (i = 0; i < 100; i++)
		EXPECT_FREED(test, sd, p[i]);
	expect_empty(test, sd);
}

/* What guards cannot have is an ordinary object: half of the limit is theirs,
 * and no more. */
static void half_of_the_limit(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	u32 i, n = LIMIT / CHUNK;
	void **p = kunit_kzalloc(test, n * sizeof(*p));
	struct slabdev_guard_stats st;

	for (i = 0; i < n; i++)
		p[i] = must_alloc(test, sd, 4096);
	st = guard_stats(test, sd);
	KUNIT_EXPECT_EQ(test, st.guarded, n / 2);
	KUNIT_EXPECT_EQ(test, st.live, n / 2);
	KUNIT_EXPECT_EQ(test, st.refused, n / 2);
	KUNIT_EXPECT_EQ(test, st.bytes, LIMIT / 2);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).failed, 0);
	/* Too large for ever. */
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).refused, n / 2);
	for (i = 0; i < n; i++)
		EXPECT_FREED(test, sd, p[i]);
	p[0] = must_alloc(test, sd, 4096);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded, n / 2 + 1);
	EXPECT_FREED(test, sd, p[0]);
}

static void comm_memory_is_not_guarded(struct kunit *test)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev *sd = test->priv;
	void *p;

	req.flags = SLABDEV_REQ_COMM;
	p = slabdev_alloc_ex(sd, 5000, &req);
	KUNIT_ASSERT_NOT_NULL(test, p);
	EXPECT_FREED(test, sd, p);
	req.flags = SLABDEV_REQ_NO_GROW;
	p = slabdev_alloc_ex(sd, 5000, &req);
	KUNIT_EXPECT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded, 0);
}

/* ---- The calls ----------------------------------------------------------- */

static void realloc_moves(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	char *p = must_alloc(test, sd, 1000), *q;

	memset(p, 0x17, 1000);
	q = slabdev_realloc(sd, p, 1000);
	KUNIT_EXPECT_PTR_EQ(test, q, p);
	q = slabdev_realloc(sd, p, 900);
	KUNIT_ASSERT_NOT_NULL(test, q);
	expect_guarded(test, q, 900, GRANULE);
	KUNIT_EXPECT_FALSE(test, is_mapped(test, p));
	KUNIT_EXPECT_TRUE(test, mem_is(sd, q, 900, 0x17));
	p = slabdev_realloc(sd, q, 5 * MIB);
	KUNIT_ASSERT_NOT_NULL(test, p);
	expect_guarded(test, p, 5 * MIB, GRANULE);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, p, 900, 0x17));
	EXPECT_FREED(test, sd, p);
	p = slabdev_zalloc(sd, 3000);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, p, 3000, 0));
	EXPECT_FREED(test, sd, p);
}

static void wrong_frees_are_refused(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	char *p = must_alloc(test, sd, 1000);

	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p + 256), -EINVAL);
	KUNIT_EXPECT_REPORT_HAS(test, "256 bytes inside a live object of "
				"large");
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p - 256), -EINVAL);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p + 1024), -EINVAL);
	EXPECT_FREED(test, sd, p);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EALREADY);
	KUNIT_EXPECT_REPORT_HAS(test, "was an object of large");
	expect_sound(test, sd);
}

static int count_constructed(void *base, size_t stride, size_t n,
			     slabdev_stream_t stream, void *arg)
{
	u32 *nr = arg;

	(void)stream;
	memset(base, 0x33, n * stride);
	return *nr < 2 ? (++*nr, 0) : -ENOMEM;
}

static struct slabdev_cache *make_cache(struct kunit *test, struct slabdev *sd,
					size_t size, u32 *constructed)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *cache = NULL;

	if (constructed) {
		args.ctor = count_constructed;
		args.ctor_arg = constructed;
	}
	KUNIT_ASSERT_EQ_MSG(test, slabdev_cache_create(&cache, sd, "things",
						       size, &args), 0, "%s",
			    slabdev_last_error());
	return cache;
}

static void objects_of_caches(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *a = make_cache(test, sd, 5000, NULL), *b = NULL;
	void *p = slabdev_cache_alloc(a), *q;

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&b, sd, "others", 16, NULL),
			0);
	q = slabdev_cache_alloc(b);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_NOT_NULL(test, q);
	expect_guarded(test, p, 5000, GRANULE);
	expect_guarded(test, q, 16, GRANULE);
	expect_sound(test, sd);
	kunit_expect_report(test, REPORT_WRONG_CACHE);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(b, p), -EINVAL);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(a), -EBUSY);
	KUNIT_EXPECT_REPORT_HAS(test, "size=5000 things");
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(a, p), 0);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(a, p), -EALREADY);
	EXPECT_FREED(test, sd, q);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(b), 0);
}

/* One object at a time; an ordinary one where the constructor refuses, unless
 * it refuses that, too. */
static void constructors_run(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	u32 constructed = 0;
	struct slabdev_cache *cache = make_cache(test, sd, 1000, &constructed);
	void *p[2];

	p[0] = slabdev_cache_alloc(cache);
	p[1] = slabdev_cache_alloc(cache);
	KUNIT_ASSERT_NOT_NULL(test, p[0]);
	KUNIT_ASSERT_NOT_NULL(test, p[1]);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, p[1], 1000, 0x33));
	KUNIT_EXPECT_NULL(test, slabdev_cache_alloc(cache));
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded, 2);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).refused, 1);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).live, 2);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p[0]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p[1]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

static void write_byte(void *p)
{
	*(char *)p = 1;
}

/* Not unmapped before the queue is done with it. */
static void work_is_waited_for(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	slabdev_stream_t queue = NULL;
	char *p = must_alloc(test, sd, 256);

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&queue,
						   SLABDEV_QUEUE_MANUAL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(sd, p, queue), 0);
	/* Nothing was in the queue. */
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	expect_sound(test, sd);
	p = slabdev_alloc_async(sd, 256, queue);
	KUNIT_ASSERT_NOT_NULL(test, p);
	expect_guarded(test, p, 256, GRANULE);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(queue, write_byte, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(sd, p, queue), 0);
	KUNIT_EXPECT_TRUE(test, is_mapped(test, p));
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	KUNIT_EXPECT_TRUE(test, is_mapped(test, p));
	KUNIT_EXPECT_NE(test, expect_sound(test, sd).pending, 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(queue), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	KUNIT_EXPECT_FALSE(test, is_mapped(test, p));
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(queue), 0);
}

/* ---- Spaces -------------------------------------------------------------- */

static void a_closed_space_is_forgotten(struct kunit *test)
{
	struct slabdev *sd = guard_open(test, LIMIT, 1);
	struct guard_record r;
	void *p, *q;

	p = must_alloc(test, sd, 100);
	q = must_alloc(test, sd, 100);
	KUNIT_EXPECT_TRUE(test, guard_record_find((u64)(uintptr_t)p, &r));
	KUNIT_EXPECT_EQ(test, r.object, (u64)(uintptr_t)p);
	EXPECT_FREED(test, sd, q);
	KUNIT_EXPECT_TRUE(test, guard_record_find((u64)(uintptr_t)q, &r));
	KUNIT_EXPECT_EQ(test, r.state, GUARD_UNMAPPED);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE), 0);
	KUNIT_EXPECT_FALSE(test, guard_record_find((u64)(uintptr_t)p, &r));
	KUNIT_EXPECT_FALSE(test, guard_record_find((u64)(uintptr_t)q, &r));
}

/* Records end before the memory does: what comes then is not guarded. */
static void records_run_out(struct kunit *test)
{
	struct slabdev *sd = guard_open(test, 32 * GIB, 1);
	void **p = kunit_kzalloc(test, (GUARD_RECORDS + 10) * sizeof(*p));
	u32 i;

	for (i = 0; i < GUARD_RECORDS + 10; i++)
		p[i] = must_alloc(test, sd, 256);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded, GUARD_RECORDS);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).refused, 10);
	for (i = 0; i < GUARD_RECORDS + 10; i++)
		EXPECT_FREED(test, sd, p[i]);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 256));
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded,
			GUARD_RECORDS + 1);
	close_space(test, sd);
}

/* ---- Failures ------------------------------------------------------------ */

/* Lost memory is told of; nothing else goes wrong. */
static void only_lost(int level, int kind, const char *text, void *arg)
{
	(void)level;
	if (kind >= 0 && kind != REPORT_LOST)
		KUNIT_FAIL(arg, "%s", text);
}

static void come_and_go(struct kunit *test, struct slabdev *sd)
{
	static const size_t size[] = { 100, 5000, 3 * MIB, 200, 5000 };
	void *p[ARRAY_SIZE(size)];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		p[i] = must_alloc(test, sd, size[i]);
		memset(p[i], 0x21, size[i]);
	}
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
	for (i = 0; i < ARRAY_SIZE(size); i++)
		EXPECT_FREED(test, sd, p[i]);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
}

/* False: no call failed any more. */
static bool fail_call(struct kunit *test, struct vmm_fault *f, u64 n, int err)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;
	u64 fails;

	attr.limit = LIMIT;
	attr.flags = SLABDEV_OPEN_NO_SHEAVES;
	KUNIT_ASSERT_EQ(test, space_open_on(&sd, &attr, &f->table, f), 0);
	guard_sizes(sd, 1, 0, UINT64_MAX);
	vmm_fault_arm_any(f, n, 1, 1, err);
	come_and_go(test, sd);
	fails = stats_of(test, sd).backend_fails;
	vmm_fault_arm_any(f, 0, 0, 0, 0);
	come_and_go(test, sd);
	expect_empty(test, sd);
	close_space(test, sd);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(f));
	return fails;
}

static void any_call_may_fail(struct kunit *test)
{
	const struct vmm_ops *ops;
	struct vmm_fault f;
	void *dev;
	u64 n;

	KUNIT_ASSERT_EQ(test, vmm_backend_find(test_spec(), NULL, &ops, &dev),
			0);
	vmm_fault_init(&f, ops, dev);
	log_set_sink(only_lost, test);
	for (n = 1; fail_call(test, &f, n, -ENOMEM); n++)
		KUNIT_ASSERT_LT(test, n, 1000);
	KUNIT_EXPECT_GT(test, n, 20);
	for (n = 1; fail_call(test, &f, n, -EIO); n++)
		KUNIT_ASSERT_LT(test, n, 1000);
	vmm_fault_fini(&f);
	vmm_backend_put(ops, dev);
}

static const struct kunit_case guard_cases[] = {
	KUNIT_CASE_PARAM(objects_end_at_a_wall, size_gen_params),
	KUNIT_CASE(alignments_are_kept),
	KUNIT_CASE(addresses_are_left_alone),
	KUNIT_CASE(addresses_come_back),
	KUNIT_CASE(holes_make_way),
	KUNIT_CASE(kept_mapped_it_is_idle),
	KUNIT_CASE(the_slack_is_looked_at),
	KUNIT_CASE(the_lead_is_looked_at),
	KUNIT_CASE(sizes_choose),
	KUNIT_CASE(one_of_so_many),
	KUNIT_CASE(half_of_the_limit),
	KUNIT_CASE(comm_memory_is_not_guarded),
	KUNIT_CASE(realloc_moves),
	KUNIT_CASE(wrong_frees_are_refused),
	KUNIT_CASE(objects_of_caches),
	KUNIT_CASE(constructors_run),
	KUNIT_CASE(work_is_waited_for),
	KUNIT_CASE(a_closed_space_is_forgotten),
	KUNIT_CASE(records_run_out),
	KUNIT_CASE_ISOLATED(any_call_may_fail),
	{ 0 },
};

static const struct kunit_suite guard_suite = {
	.name = "guard",
	.init = guard_init,
	.exit = guard_exit,
	.cases = guard_cases,
};
kunit_test_suite(guard_suite);
