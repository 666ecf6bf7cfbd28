// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_order_test.c - what a free without a stream says, on the driver model.
 *
 * With host order memory is for the CPU too: it is handed out when the work
 * that was in the bound stream at the free is done, and not before. With
 * stream order it is handed out at once.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/stream_space.h"

#define LIMIT (64 * MIB)

static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

static const size_t sizes[] = { 1, 256, 5000, 300000, 3 * MIB };

static const struct cuda_kind_param *kind_of(struct kunit *test)
{
	const struct cuda_kind_param *kind = test->param_value;

	return kind ?: CUDA_KIND_VMM;
}

/* Is what was just freed, with work in flight, handed out again? */
static bool is_reused(struct stream_space *s, size_t size)
{
	void *p = must_alloc(s->test, s->sd, size), *q[3];
	bool reused = false;

	cuda_submit_fill(s->test, p, size, 0x11, s->bound);
	EXPECT_FREED(s->test, s->sd, p);
	for (u32 i = 0; i < ARRAY_SIZE(q); i++) {
		q[i] = must_alloc(s->test, s->sd, size);
		reused = reused || q[i] == p;
	}
	for (u32 i = 0; i < ARRAY_SIZE(q); i++)
		EXPECT_FREED(s->test, s->sd, q[i]);
	return reused;
}

static void look(struct kunit *test, u32 ordering, bool host_order)
{
	const struct cuda_kind_param *kind = kind_of(test);
	struct stream_space s;

	stream_space_open(&s, test, kind, LIMIT, ordering);
	hold(&s, s.bound);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		KUNIT_EXPECT_EQ_MSG(test, is_reused(&s, sizes[i]), !host_order,
				    "%zu bytes", sizes[i]);
	(void)sums(&s);
	let_go(&s, s.bound);
	stream_space_close(&s);
}

static void default_order(struct kunit *test)
{
	look(test, SLABDEV_ORDER_DEFAULT, kind_is_for_the_cpu(kind_of(test)));
}

static void stream_order(struct kunit *test)
{
	look(test, SLABDEV_ORDER_STREAM, false);
}

static void host_order(struct kunit *test)
{
	look(test, SLABDEV_ORDER_HOST, true);
}

/* The CPU writes to what it gets, while old work is still to come. */
static void the_cpu_may_write_at_once(struct kunit *test)
{
	const struct cuda_kind_param *kind = kind_of(test);
	struct stream_space s;
	unsigned char *p[30];

	if (!kind_is_for_the_cpu(kind))
		kunit_skip(test, "the CPU cannot touch it");
	stream_space_open(&s, test, kind, LIMIT, SLABDEV_ORDER_DEFAULT);
	hold(&s, s.bound);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = must_alloc(test, s.sd, 5000);
		cuda_submit_fill(test, p[i], 5000, 0x11, s.bound);
	}
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		EXPECT_FREED(test, s.sd, p[i]);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = must_alloc(test, s.sd, 5000);
		memset(p[i], 0x77, 5000);
	}
	let_go(&s, s.bound);
	run_through(&s, s.bound);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++) {
		KUNIT_EXPECT_EQ(test, p[i][0], 0x77);
		KUNIT_EXPECT_EQ(test, p[i][4999], 0x77);
		EXPECT_FREED(test, s.sd, p[i]);
	}
	stream_space_close(&s);
}

/* Done is done: then the same memory serves again, without growth. */
static void what_is_done_is_used_again(struct kunit *test)
{
	struct stream_space s;
	u64 mapped;

	stream_space_open(&s, test, kind_of(test), LIMIT, SLABDEV_ORDER_HOST);
	for (u32 i = 0; i < 50; i++) {
		void *p = must_alloc(test, s.sd, 3 * MIB);

		cuda_submit_fill(test, p, 3 * MIB, 1, s.bound);
		EXPECT_FREED(test, s.sd, p);
		run_through(&s, s.bound);
		KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	}
	mapped = sums(&s).mapped;
	KUNIT_EXPECT_LE(test, mapped, 16 * MIB);
	stream_space_close(&s);
}

/* A free on a stream is told of by that stream alone, in both orders. */
static void frees_on_other_streams(struct kunit *test)
{
	struct stream_space s;
	void *p, *q;

	stream_space_open(&s, test, kind_of(test), LIMIT, SLABDEV_ORDER_HOST);
	attach(&s, s.lane[0]);
	hold(&s, s.bound);
	p = get_on(&s, 5000, s.lane[0]);
	give_on(&s, p, s.lane[0]);
	q = get_on(&s, 5000, s.lane[0]);
	KUNIT_EXPECT_PTR_EQ(test, q, p);
	give_on(&s, q, s.lane[0]);
	let_go(&s, s.bound);
	detach(&s, s.lane[0]);
	stream_space_close(&s);
}

/* ---- What the bound stream still works on ------------------------------- */

static void set_policy(struct stream_space *s, u32 mode)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = mode;
	KUNIT_ASSERT_EQ(s->test, slabdev_set_policy(s->sd, &policy), 0);
}

/* A whole chunk that the bound stream, which is held, will write to. */
static void leave_work(struct stream_space *s)
{
	void *p = must_alloc(s->test, s->sd, 2 * MIB);

	cuda_submit_fill(s->test, p, 2 * MIB, 0x33, s->bound);
	EXPECT_FREED(s->test, s->sd, p);
}

/* An object of another stream, which it is done with before the bound one runs:
 * the bytes stay. */
static void expect_apart(struct stream_space *s, void *p, size_t size)
{
	KUNIT_ASSERT_NOT_NULL_MSG(s->test, p, "%s", slabdev_last_error());
	cuda_submit_fill(s->test, p, size, 0x11, s->lane[0]);
	run_through(s, s->lane[0]);
	let_go(s, s->bound);
	run_through(s, s->bound);
	KUNIT_EXPECT_EQ_MSG(s->test, cuda_byte(s->test, p), 0x11, "%zu bytes",
			    size);
	give_on(s, p, s->lane[0]);
}

/* The mapping was idle, and serves the bound stream again, but for a rest. */
static void rest_of_a_mapping(struct kunit *test)
{
	struct stream_space s;
	void *p;

	stream_space_open(&s, test, NULL, LIMIT, SLABDEV_ORDER_STREAM);
	set_policy(&s, SLABDEV_TRIM);
	hold(&s, s.bound);
	leave_work(&s);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	KUNIT_EXPECT_EQ(test, sums(&s).mapped, 2 * MIB);
	p = must_alloc(test, s.sd, MIB + 1);
	KUNIT_EXPECT_EQ(test, sums(&s).mapped, 2 * MIB);
	expect_apart(&s, slabdev_alloc_async(s.sd, 3 * MIB / 4, s.lane[0]),
		     3 * MIB / 4);
	EXPECT_FREED(test, s.sd, p);
	stream_space_close(&s);
}

/* The slab is new, its memory is not. */
static void slab_of_old_memory(struct kunit *test)
{
	static const size_t slab_sizes[] = { 40, 256, 3000, 20000 };
	struct slabdev_cache *cache;
	struct stream_space s;
	u32 i;

	stream_space_open(&s, test, NULL, LIMIT, SLABDEV_ORDER_STREAM);
	set_policy(&s, SLABDEV_TRIM);
	for (i = 0; i < ARRAY_SIZE(slab_sizes); i++) {
		hold(&s, s.bound);
		leave_work(&s);
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, s.sd, "new",
				slab_sizes[i], NULL), 0);
		KUNIT_ASSERT_EQ(test, slabdev_cache_prefill(cache, 1), 0);
		KUNIT_EXPECT_EQ(test, sums(&s).mapped, 2 * MIB);
		expect_apart(&s, slabdev_cache_alloc_async(cache, s.lane[0]),
			     slab_sizes[i]);
		KUNIT_EXPECT_EQ(test, slabdev_trim(s.sd, 0), 0);
		KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	}
	stream_space_close(&s);
}

/* A stream may be made to wait, the CPU that gets memory cannot be. */
static void the_cpu_is_no_stream(struct kunit *test)
{
	const struct cuda_kind_param *kind = kind_of(test);
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct stream_space s;
	void *p[40];
	u32 n, k;

	stream_space_open(&s, test, kind, LIMIT, SLABDEV_ORDER_HOST);
	policy.flags = SLABDEV_POLICY_STREAM_WAITS;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(s.sd, &policy), 0);
	cu.model_holds_yield(1);
	hold(&s, s.bound);
	req.flags = SLABDEV_REQ_NO_REPORT;
	for (n = 0; n < ARRAY_SIZE(p); n++) {
		p[n] = slabdev_alloc_ex(s.sd, MIB, &req);
		KUNIT_ASSERT_NOT_NULL(test, p[n]);
		cuda_submit_fill(test, p[n], MIB, 0x33, s.bound);
	}
	for (k = 0; k < n; k++)
		EXPECT_FREED(test, s.sd, p[k]);
	for (k = 0; k < n; k++) {
		p[k] = slabdev_alloc_ex(s.sd, MIB, &req);
		KUNIT_ASSERT_NOT_NULL(test, p[k]);
		cuda_submit_fill(test, p[k], MIB, 0x22, s.lane[0]);
		cu.model_run();
	}
	KUNIT_EXPECT_EQ(test, sums(&s).stream_waits, 0);
	let_go(&s, s.bound);
	run_through(&s, s.bound);
	for (k = 0; k < n; k++) {
		KUNIT_EXPECT_EQ(test, cuda_byte(test, p[k]), 0x22);
		EXPECT_FREED(test, s.sd, p[k]);
	}
	cu.model_holds_yield(0);
	stream_space_close(&s);
}

static void unknown_order_is_refused(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd = NULL;

	attr.ordering = SLABDEV_ORDER_HOST + 1;
	KUNIT_EXPECT_EQ(test, slabdev_open(&sd, "cuda:0", &attr), -EINVAL);
	EXPECT_LAST_ERROR_HAS(test, "ordering");
	KUNIT_EXPECT_NULL(test, sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(default_order, kind_gen_params),
	KUNIT_CASE_PARAM(stream_order, kind_gen_params),
	KUNIT_CASE_PARAM(host_order, kind_gen_params),
	KUNIT_CASE_PARAM(the_cpu_may_write_at_once, kind_gen_params),
	KUNIT_CASE_PARAM(what_is_done_is_used_again, kind_gen_params),
	KUNIT_CASE_PARAM(frees_on_other_streams, kind_gen_params),
	KUNIT_CASE(rest_of_a_mapping),
	KUNIT_CASE(slab_of_old_memory),
	KUNIT_CASE_PARAM(the_cpu_is_no_stream, kind_gen_params),
	KUNIT_CASE(unknown_order_is_refused),
	{ 0 }
};

static const struct kunit_suite cuda_order_suite = {
	.name = "cuda_order",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cases,
};
kunit_test_suite(cuda_order_suite);
