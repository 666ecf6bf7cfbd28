// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_capture_test.c - captures of streams, declared and not, on the model.
 *
 * The model counts as a violation each call that a capture forbids, and spoils
 * the capture, as a driver does. Launches are in cuda_graph_test.c; a replay
 * here is the work of the graph, put into the stream by hand on the addresses
 * that were captured. Several graphs, and what is not declared, are in
 * cuda_capture_other.c.
 */
#include <errno.h>
#include <stdio.h>

#include "core/log.h"
#include "tests/cuda_capture.h"

static const CUstreamCaptureMode modes[] = {
	CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
	CU_STREAM_CAPTURE_MODE_RELAXED,
};

static void describe_mode(const CUstreamCaptureMode *mode, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "mode %d", (int)*mode);
}
KUNIT_ARRAY_PARAM(mode, modes, describe_mode);

/* ---- Declared -------------------------------------------------------- */

static void graph_keeps_what_it_freed(struct kunit *test)
{
	struct capture c;
	void *p[ARRAY_SIZE(sizes)];

	capture_open(&c, test);
	declare(&c);
	begin(&c);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		p[i] = get_on(&c.s, sizes[i], c.stream);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		give_on(&c.s, p[i], c.stream);
	KUNIT_EXPECT_GE(test, sums(&c.s).held, 3 * MIB);
	KUNIT_EXPECT_EQ(test, sums(&c.s).held, sums(&c.s).pending);
	KUNIT_EXPECT_EQ(test, sums(&c.s).graphs, 1);
	end(&c);
	declare_end(&c);
	expect_apart(&c, p, ARRAY_SIZE(p));
	KUNIT_EXPECT_EQ(test, slabdev_trim(c.s.sd, 0), 0);
	expect_apart(&c, p, ARRAY_SIZE(p));
	release_graph(&c);
	KUNIT_EXPECT_EQ(test, sums(&c.s).held, 0);
	KUNIT_EXPECT_EQ(test, sums(&c.s).graphs, 0);
	stream_space_close(&c.s);
}

static void capture_uses_again_what_it_freed(struct kunit *test)
{
	struct capture c;
	void *p;

	capture_open(&c, test);
	attach(&c.s, c.stream);
	declare(&c);
	begin(&c);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		p = get_on(&c.s, sizes[i], c.stream);
		give_on(&c.s, p, c.stream);
		KUNIT_EXPECT_PTR_EQ(test, get_on(&c.s, sizes[i], c.stream), p);
		give_on(&c.s, p, c.stream);
	}
	end(&c);
	declare_end(&c);
	release_graph(&c);
	detach(&c.s, c.stream);
	stream_space_close(&c.s);
}

/* Objects from before that the capture only frees, or uses. */
static void objects_from_before(struct kunit *test)
{
	struct capture c;
	void *freed, *used;

	capture_open(&c, test);
	freed = get_on(&c.s, 5000, c.stream);
	used = get_on(&c.s, 5000, c.s.lane[1]);
	declare(&c);
	begin(&c);
	give_on(&c.s, freed, c.stream);
	KUNIT_EXPECT_EQ(test, slabdev_use(c.s.sd, used, c.stream), 0);
	end(&c);
	declare_end(&c);
	EXPECT_FREED(test, c.s.sd, used);
	MUST(test, cuCtxSynchronize());
	KUNIT_EXPECT_EQ(test, slabdev_poll(c.s.sd), 0);
	KUNIT_EXPECT_GE(test, sums(&c.s).held, 10000);
	expect_apart(&c, (void *[]){ freed, used }, 2);
	release_graph(&c);
	stream_space_close(&c.s);
}

/* What was freed on the stream before it was captured is not the graph's. */
static void what_was_freed_before_is_not_held(struct kunit *test)
{
	struct capture c;
	void *p;

	capture_open(&c, test);
	attach(&c.s, c.stream);
	p = get_on(&c.s, 5000, c.stream);
	give_on(&c.s, p, c.stream);
	declare(&c);
	begin(&c);
	KUNIT_EXPECT_EQ(test, sums(&c.s).held, 0);
	end(&c);
	declare_end(&c);
	release_graph(&c);
	detach(&c.s, c.stream);
	stream_space_close(&c.s);
}

/* The graph runs again and again; others allocate, write and free. */
static void replays_share_no_byte(struct kunit *test)
{
	struct capture c;
	void *p, *live, *q;

	capture_open(&c, test);
	declare(&c);
	begin(&c);
	live = get_on(&c.s, 5000, c.stream);
	p = get_on(&c.s, 5000, c.stream);
	give_on(&c.s, p, c.stream);
	end(&c);
	declare_end(&c);
	for (u32 i = 0; i < 200; i++) {
		q = get_on(&c.s, 5000, c.s.lane[1]);
		cuda_submit_fill(test, p, 5000, 0xee, c.stream);
		cuda_submit_fill(test, live, 5000, 0xdd, c.stream);
		KUNIT_EXPECT_EQ(test, cuda_byte(test, q), 0x11);
		KUNIT_EXPECT_EQ(test, cuda_byte(test, p), 0xee);
		KUNIT_EXPECT_EQ(test, cuda_byte(test, live), 0xdd);
		give_on(&c.s, q, c.s.lane[1]);
	}
	release_graph(&c);
	EXPECT_FREED(test, c.s.sd, live);
	stream_space_close(&c.s);
}

/* What is live at the release is like any other object. */
static void release_while_live(struct kunit *test)
{
	struct capture c;
	void *p[ARRAY_SIZE(sizes)];

	capture_open(&c, test);
	declare(&c);
	begin(&c);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		p[i] = get_on(&c.s, sizes[i], c.stream);
	end(&c);
	declare_end(&c);
	release_graph(&c);
	KUNIT_EXPECT_EQ(test, sums(&c.s).live_objects, ARRAY_SIZE(sizes));
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		if (i & 1)
			EXPECT_FREED(test, c.s.sd, p[i]);
		else
			give_on(&c.s, p[i], c.stream);
	KUNIT_EXPECT_EQ(test, sums(&c.s).held, 0);
	stream_space_close(&c.s);
}

/* Freed on another stream, or by a plain free, when the capture is over. */
static void freed_elsewhere_it_stays_the_graphs(struct kunit *test)
{
	struct capture c;
	void *p[3];

	capture_open(&c, test);
	declare(&c);
	begin(&c);
	for (u32 i = 0; i < 3; i++)
		p[i] = get_on(&c.s, 5000, c.stream);
	end(&c);
	declare_end(&c);
	EXPECT_FREED(test, c.s.sd, p[0]);
	give_on(&c.s, p[1], c.s.lane[1]);
	give_on(&c.s, p[2], c.stream);
	MUST(test, cuCtxSynchronize());
	KUNIT_EXPECT_EQ(test, slabdev_poll(c.s.sd), 0);
	KUNIT_EXPECT_GE(test, sums(&c.s).held, 15000);
	expect_apart(&c, p, 3);
	release_graph(&c);
	stream_space_close(&c.s);
}

/* In each mode: memory is mapped, and nothing forbidden is asked for. */
static void grows_in_a_capture(struct kunit *test)
{
	struct capture c;
	void *p[20];

	capture_open(&c, test);
	attach(&c.s, c.s.lane[1]);
	declare(&c);
	begin(&c);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = get_on(&c.s, 2 * MIB, c.stream);
		give_on(&c.s, get_on(&c.s, 5000, c.s.lane[1]), c.s.lane[1]);
		EXPECT_FREED(test, c.s.sd, must_alloc(test, c.s.sd, 5000));
	}
	KUNIT_EXPECT_EQ(test, slabdev_poll(c.s.sd), 0);
	end(&c);
	declare_end(&c);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		give_on(&c.s, p[i], c.stream);
	release_graph(&c);
	detach(&c.s, c.s.lane[1]);
	stream_space_close(&c.s);
}

/* At the limit it fails rather than wait. */
static void nothing_is_waited_for(struct kunit *test)
{
	struct capture c;
	void *p;

	capture_open(&c, test);
	hold(&c.s, c.s.lane[1]);
	give_on(&c.s, get_on(&c.s, 80 * MIB, c.s.lane[1]), c.s.lane[1]);
	declare(&c);
	begin(&c);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	p = slabdev_alloc_async(c.s.sd, 80 * MIB, c.stream);
	KUNIT_EXPECT_NULL(test, p);
	end(&c);
	declare_end(&c);
	let_go(&c.s, c.s.lane[1]);
	p = get_on(&c.s, 80 * MIB, c.stream);
	give_on(&c.s, p, c.stream);
	release_graph(&c);
	stream_space_close(&c.s);
}

/* What is mapped and idle, but too long to be of use, is not unmapped. */
static void nothing_is_unmapped(struct kunit *test)
{
	struct capture c;

	capture_open(&c, test);
	EXPECT_FREED(test, c.s.sd, must_alloc(test, c.s.sd, 90 * MIB));
	MUST(test, cuCtxSynchronize());
	declare(&c);
	begin(&c);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_NULL(test, slabdev_alloc_async(c.s.sd, 20 * MIB,
						    c.stream));
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_NULL(test, slabdev_alloc_async(c.s.sd, 8 * MIB,
						    c.stream));
	end(&c);
	declare_end(&c);
	give_on(&c.s, get_on(&c.s, 20 * MIB, c.stream), c.stream);
	release_graph(&c);
	stream_space_close(&c.s);
}

static bool overlap(const char *p, size_t p_size, const char *q, size_t q_size)
{
	return p < q + q_size && q < p + p_size;
}

/* A launch waits for nothing that the bound stream does. */
static void memory_of_a_capture_is_complete(struct kunit *test)
{
	void *p[ARRAY_SIZE(sizes)], *q;
	struct capture c;

	capture_open(&c, test);
	hold(&c.s, c.s.bound);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		p[i] = must_alloc(test, c.s.sd, sizes[i]);
		cuda_submit_fill(test, p[i], sizes[i], 1, c.s.bound);
	}
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		EXPECT_FREED(test, c.s.sd, p[i]);
	declare(&c);
	begin(&c);
	for (u32 i = 0; i < 32; i++) {
		q = get_on(&c.s, sizes[i % 4], c.stream);
		for (u32 k = 0; k < ARRAY_SIZE(sizes); k++)
			KUNIT_EXPECT_FALSE(test, overlap(q, sizes[i % 4], p[k],
							 sizes[k]));
	}
	end(&c);
	declare_end(&c);
	KUNIT_ASSERT_EQ(test, slabdev_graph_release(c.graph), 0);
	let_go(&c.s, c.s.bound);
	KUNIT_EXPECT_EQ(test, slabdev_close(c.s.sd, SLABDEV_CLOSE_FORCE), 0);
	stream_space_end(&c.s);
}

/* Slabs that were constructed. */
static u32 nr_made;

static int fill_new(void *base, size_t stride, size_t n,
		    slabdev_stream_t stream, void *arg)
{
	struct kunit *test = arg;

	MUST(test, cuMemsetD8Async(device_ptr(base), 7, stride * n, stream));
	nr_made++;
	return 0;
}

/* New objects whose constructor has not run are not for a capture. */
static void constructors_are_not_waited_for(struct kunit *test)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *cache;
	struct capture c;
	void *p;

	capture_open(&c, test);
	args.ctor = fill_new;
	args.ctor_arg = test;
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, c.s.sd, "new",
						   5000, &args), 0);
	hold(&c.s, c.s.bound);
	declare(&c);
	begin(&c);
	nr_made = 0;
	KUNIT_EXPECT_NULL(test, slabdev_cache_alloc_async(cache, c.stream));
	KUNIT_EXPECT_EQ(test, errno, EBUSY);
	KUNIT_EXPECT_NULL(test, slabdev_cache_alloc_async(cache, c.stream));
	KUNIT_EXPECT_EQ(test, nr_made, 0);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "prefill"));
	KUNIT_EXPECT_EQ(test, forbidden_calls(), c.calls);
	end(&c);
	declare_end(&c);
	let_go(&c.s, c.s.bound);
	p = slabdev_cache_alloc_async(cache, c.stream);
	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_async(cache, p, c.stream), 0);
	release_graph(&c);
	MUST(test, cuCtxSynchronize());
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	stream_space_close(&c.s);
}

static void *try_in_capture(struct capture *c, struct slabdev_cache *cache)
{
	void *p;

	declare(c);
	begin(c);
	p = slabdev_cache_alloc_async(cache, c->stream);
	if (p)
		KUNIT_EXPECT_EQ(c->s.test, slabdev_cache_free_async(cache, p,
								    c->stream),
				0);
	KUNIT_EXPECT_EQ(c->s.test, forbidden_calls(), c->calls);
	end(c);
	declare_end(c);
	release_graph(c);
	return p;
}

/* Those that were made before, and are done, are. The beginning of a capture
 * looks for a millisecond, the model's threads may need longer. */
static void prefilled_objects_are_for_captures(struct kunit *test)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *cache;
	struct capture c;
	u32 tries = 0;

	capture_open(&c, test);
	args.ctor = fill_new;
	args.ctor_arg = test;
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, c.s.sd, "made",
						   5000, &args), 0);
	KUNIT_ASSERT_EQ(test, slabdev_cache_prefill(cache, 3), 0);
	run_through(&c.s, c.s.bound);
	while (!try_in_capture(&c, cache) && tries < 1000)
		tries++;
	KUNIT_EXPECT_LT_MSG(test, tries, 1000, "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	stream_space_close(&c.s);
}

/* The bound stream may be captured, too: plain calls are the graph's then. */
static void bound_stream(struct kunit *test)
{
	struct capture c;
	void *p, *q;

	capture_open(&c, test);
	c.stream = c.s.bound;
	declare(&c);
	begin(&c);
	p = must_alloc(test, c.s.sd, 5000);
	cuda_submit_fill(test, p, 5000, 1, c.stream);
	EXPECT_FREED(test, c.s.sd, p);
	q = must_alloc(test, c.s.sd, 5000);
	KUNIT_EXPECT_PTR_EQ(test, q, p);
	EXPECT_FREED(test, c.s.sd, q);
	KUNIT_EXPECT_GT(test, sums(&c.s).held, 0);
	end(&c);
	declare_end(&c);
	expect_apart(&c, &p, 1);
	release_graph(&c);
	stream_space_close(&c.s);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(graph_keeps_what_it_freed, mode_gen_params),
	KUNIT_CASE_PARAM(capture_uses_again_what_it_freed, mode_gen_params),
	KUNIT_CASE(objects_from_before),
	KUNIT_CASE(what_was_freed_before_is_not_held),
	KUNIT_CASE(replays_share_no_byte),
	KUNIT_CASE(release_while_live),
	KUNIT_CASE(freed_elsewhere_it_stays_the_graphs),
	KUNIT_CASE_PARAM(grows_in_a_capture, mode_gen_params),
	KUNIT_CASE_PARAM(nothing_is_waited_for, mode_gen_params),
	KUNIT_CASE_PARAM(nothing_is_unmapped, mode_gen_params),
	KUNIT_CASE_PARAM(memory_of_a_capture_is_complete, mode_gen_params),
	KUNIT_CASE(constructors_are_not_waited_for),
	KUNIT_CASE(prefilled_objects_are_for_captures),
	KUNIT_CASE_PARAM(bound_stream, mode_gen_params),
	KUNIT_CASE(two_captures_at_once),
	KUNIT_CASE(used_by_two_graphs),
	KUNIT_CASE(refusals),
	KUNIT_CASE(detach_in_a_capture),
	KUNIT_CASE(close_with_a_graph),
	KUNIT_CASE_PARAM(undeclared_is_noticed_and_held, mode_gen_params),
	KUNIT_CASE(others_go_on),
	{ 0 }
};

static const struct kunit_suite cuda_capture_suite = {
	.name = "cuda_capture",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cases,
};
kunit_test_suite(cuda_capture_suite);
