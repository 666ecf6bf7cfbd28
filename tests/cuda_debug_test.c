// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_debug_test.c - red zones, poison and quarantine in the order of streams,
 * on the model of the driver.
 *
 * What is found of which object is tested on any space by the suites debug and
 * debug_late. Here kernels do the writing, in streams that are held back: what
 * they do to memory that is theirs is no mistake, however late they do it, and
 * what they do to other memory is found, on each kind of memory.
 */
#include "slab/stamp.h"
#include "tests/damage.h"
#include "tests/launches.h"

#define LIMIT GIB
#define LETTERS "FZPUQ"

static const size_t sizes[] = { 1, 240, 256, 5000, 300000, 3 * MIB };

static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

static void begin(struct stream_space *s, struct kunit *test,
		  const char *letters)
{
	need_debug(test);
	debug_letters_are(letters);
	stream_space_open(s, test, test->param_value, LIMIT,
			  SLABDEV_ORDER_STREAM);
}

/* All that was freed has come back and was looked at. */
static void settle_all(struct stream_space *s)
{
	MUST(s->test, cuCtxSynchronize());
	KUNIT_EXPECT_EQ(s->test, slabdev_poll(s->sd), 0);
}

/* ---- Correct programs ------------------------------------------------- */

/* Work on what was freed. (What runs in the bound stream is waited for, as
 * memory is read behind it.) */
static void late_work_is_no_mistake(struct kunit *test)
{
	struct stream_space s;
	CUstream stream;
	void *p;
	u32 i;

	begin(&s, test, LETTERS);
	attach(&s, s.lane[0]);
	for (i = 0; i < 3 * ARRAY_SIZE(sizes); i++) {
		stream = i % 3 ? s.lane[i % 3 - 1] : s.bound;
		p = get_on(&s, sizes[i / 3], stream);
		if (i % 3)
			hold(&s, stream);
		cuda_submit_fill(test, p, sizes[i / 3], 0x33, stream);
		give_on(&s, p, stream);
		expect_sound(test, s.sd);
		if (i % 3)
			let_go(&s, stream);
	}
	run_through(&s, s.lane[0]);
	detach(&s, s.lane[0]);
	settle_all(&s);
	stream_space_close(&s);
}

/* Freed on one stream, while another one that it was told of works on it. */
static void used_on_another_stream(struct kunit *test)
{
	struct stream_space s;
	void *p, *q;
	u32 i;

	begin(&s, test, LETTERS);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		p = get_on(&s, sizes[i], s.lane[0]);
		run_through(&s, s.lane[0]);
		KUNIT_EXPECT_EQ(test, slabdev_use(s.sd, p, s.lane[1]), 0);
		hold(&s, s.lane[1]);
		cuda_submit_fill(test, p, sizes[i], 0x44, s.lane[1]);
		give_on(&s, p, s.lane[0]);
		q = must_alloc(test, s.sd, sizes[i]);
		KUNIT_EXPECT_PTR_NE(test, q, p);
		EXPECT_FREED(test, s.sd, q);
		let_go(&s, s.lane[1]);
		run_through(&s, s.lane[1]);
	}
	settle_all(&s);
	stream_space_close(&s);
}

static void pass_some(struct launches *l)
{
	void *p[ARRAY_SIZE(sizes)];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		p[i] = must_alloc(l->s.test, l->s.sd, sizes[i]);
		cuda_submit_fill(l->s.test, p[i], sizes[i], 0x77, l->s.bound);
	}
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		EXPECT_FREED(l->s.test, l->s.sd, p[i]);
}

/* What a capture has allocated and freed is its graph's. */
static void graphs_own_what_they_have(struct kunit *test)
{
	struct launches l;
	struct replay g;
	void *p[ARRAY_SIZE(sizes)];
	u32 i;

	need_debug(test);
	debug_letters_are(LETTERS);
	launches_open(&l, test, test->param_value, LIMIT);
	replay_begin(&g, &l, l.s.lane[0], CU_STREAM_CAPTURE_MODE_RELAXED,
		     true);
	for (i = 0; i < ARRAY_SIZE(sizes) - 2; i++)
		p[i] = replay_get(&g, sizes[i + 2]);
	for (i = 0; i < ARRAY_SIZE(sizes) - 2; i++)
		replay_give(&g, p[i]);
	replay_end(&g);
	for (i = 0; i < 20; i++) {
		replay_launch(&g, i % 2 ? l.s.lane[1] : l.s.lane[0]);
		pass_some(&l);
	}
	MUST(test, cuCtxSynchronize());
	expect_no_stranger(test);
	replay_release(&g);
	launches_close(&l);
}

/* ---- Mistakes --------------------------------------------------------- */

/* What was found bad stays mapped until the space is closed. */
static void end(struct stream_space *s)
{
	settle_all(s);
	cuda_close(s->test, s->sd);
	stream_space_end(s);
}

/* What is allocated in a capture has the zone that was there before: it is
 * looked at when the graph has gone, and when it was freed behind that. */
static void zones_in_a_graph(struct kunit *test)
{
	struct slabdev_graph *graph;
	struct stream_space s;
	u32 freed_within;
	void *p;

	begin(&s, test, "FZ");
	for (freed_within = 0; freed_within < 2; freed_within++) {
		/* Memory that a capture may have: the work on it is done. */
		EXPECT_FREED(test, s.sd, must_alloc(test, s.sd, 230));
		settle_all(&s);
		MUST(test, cuCtxSynchronize());
		KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
		KUNIT_ASSERT_EQ(test, slabdev_capture_begin(s.sd, s.lane[0],
							    &graph), 0);
		p = slabdev_alloc_async(s.sd, 100, s.lane[0]);
		KUNIT_ASSERT_NOT_NULL(test, p);
		if (freed_within)
			KUNIT_EXPECT_EQ(test, slabdev_free_async(s.sd, p,
						s.lane[0]), 0);
		KUNIT_EXPECT_EQ(test, slabdev_capture_end(graph), 0);
		mem_fill(s.sd, p, 100, 0x11);
		mem_fill(s.sd, (char *)p + 245, 1, 0x5a);
		EXPECT_TOLD(test, REPORT_RED_ZONE, {
			KUNIT_EXPECT_EQ(test, slabdev_graph_release(graph), 0);
			if (!freed_within)
				EXPECT_FREED(test, s.sd, p);
			settle_all(&s);
		});
		expect_told(test, "Object 0x%llx of ",
			    (unsigned long long)(uintptr_t)p);
		expect_told(test, "First byte 0x5a instead of 0xcc");
		expect_told(test, "found when the object was freed");
	}
	end(&s);
}

/* A kernel writes one byte too many, in order; seen when the free is done. */
static void kernel_writes_behind(struct kunit *test)
{
	struct stream_space s;
	void *p;
	u32 i;

	begin(&s, test, LETTERS);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		p = get_on(&s, sizes[i], s.lane[0]);
		hold(&s, s.lane[0]);
		cuda_submit_fill(test, p, sizes[i] + 1, 0x5a, s.lane[0]);
		give_on(&s, p, s.lane[0]);
		let_go(&s, s.lane[0]);
		EXPECT_TOLD(test, REPORT_RED_ZONE, settle_all(&s));
		expect_told(test, "Right Redzone overwritten");
		expect_told(test, "First byte 0x5a instead of 0xcc");
		expect_told(test, "1 byte behind the end of the object");
		expect_told(test, "Object 0x%llx of ",
			    (unsigned long long)(uintptr_t)p);
		expect_told(test, "size=%zu, free", sizes[i]);
	}
	end(&s);
}

/* A kernel that nothing orders before the free comes late. */
static void kernel_writes_after_the_free(struct kunit *test)
{
	struct stream_space s;
	void *p;
	u32 i;

	begin(&s, test, LETTERS);
	for (i = 0; i + 1 < ARRAY_SIZE(sizes); i++) {
		p = get_on(&s, sizes[i], s.lane[0]);
		run_through(&s, s.lane[0]);
		hold(&s, s.lane[1]);
		cuda_submit_fill(test, p, 1, 0x5a, s.lane[1]);
		give_on(&s, p, s.lane[0]);
		run_through(&s, s.lane[0]);
		KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
		let_go(&s, s.lane[1]);
		run_through(&s, s.lane[1]);
		EXPECT_TOLD(test, REPORT_POISON, expect_damaged(test, s.sd,
								1));
		expect_told(test, "0 bytes into the object, which is free");
		expect_told(test, "Object 0x%llx of ",
			    (unsigned long long)(uintptr_t)p);
	}
	end(&s);
}

/* Without F frees are looked at together, the last ones when asked. */
static void frees_are_looked_at_together(struct kunit *test)
{
	struct stream_space s;
	void *p[40];
	u32 i;

	begin(&s, test, "ZP");
	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = must_alloc(test, s.sd, 1000);
	mem_fill(s.sd, (char *)p[0] + 1000, 1, 0x5a);
	for (i = 0; i < 10; i++)
		EXPECT_FREED(test, s.sd, p[i]);
	if (!s.sd->ops->synchronous)
		KUNIT_EXPECT_EQ(test, kunit_report_count(test,
							 REPORT_RED_ZONE), 0);
	kunit_expect_report(test, REPORT_RED_ZONE);
	for (; i < ARRAY_SIZE(p); i++)
		EXPECT_FREED(test, s.sd, p[i]);
	expect_told(test, "Object 0x%llx of ",
		    (unsigned long long)(uintptr_t)p[0]);
	p[0] = must_alloc(test, s.sd, 1000);
	mem_fill(s.sd, (char *)p[0] + 1001, 1, 0x5a);
	EXPECT_FREED(test, s.sd, p[0]);
	EXPECT_TOLD(test, REPORT_RED_ZONE,
		    KUNIT_EXPECT_EQ(test, slabdev_validate(s.sd), -EUCLEAN));
	end(&s);
}

/* A write between the free and the look at it is seen as well. */
static void written_before_the_look(struct kunit *test)
{
	struct stream_space s;
	void *p;

	begin(&s, test, "P");
	p = must_alloc(test, s.sd, 1000);
	EXPECT_FREED(test, s.sd, p);
	mem_fill(s.sd, (char *)p + 10, 1, 0x5a);
	EXPECT_TOLD(test, REPORT_POISON,
		    KUNIT_EXPECT_EQ(test, slabdev_validate(s.sd), -EUCLEAN));
	end(&s);
}

/* ---- The driver fails ------------------------------------------------- */

/* What host order hands out is anybody's at once, so that poison that is being
 * filled yet would be written over what its next owner has done. */
static void host_order_waits_for_poison(struct kunit *test)
{
	struct stream_space s;
	stamp_t stamp;
	void *p;

	need_debug(test);
	debug_letters_are("P");
	stream_space_open(&s, test, NULL, LIMIT, SLABDEV_ORDER_HOST);
	stamp = stamp_now(&s.sd->vmm);
	p = must_alloc(test, s.sd, 5000);
	KUNIT_EXPECT_TRUE(test, stamp_is_quiet(stamp, &s.sd->vmm));
	hold(&s, s.lane[0]);
	cuda_submit_fill(test, p, 5000, 0x11, s.lane[0]);
	give_on(&s, p, s.lane[0]);
	stamp = stamp_now(&s.sd->vmm);
	let_go(&s, s.lane[0]);
	settle_all(&s);
	KUNIT_EXPECT_TRUE(test, stamp_is_quiet(stamp, &s.sd->vmm));
	stream_space_close(&s);
}

static const char *const calls[] = {
	"cuMemsetD8Async", "cuMemsetD2D8Async", "cuMemsetD32Async",
	"cuMemcpyDtoHAsync_v2", "cuMemcpy2DAsync_v2", "cuStreamSynchronize",
};

static void describe_call(const char *const *call, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", *call);
}
KUNIT_ARRAY_PARAM(call, calls, describe_call);

static void work(struct stream_space *s)
{
	void *p[3 * ARRAY_SIZE(sizes)];
	CUstream stream;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p); i++) {
		stream = i % 3 ? s->lane[i % 3 - 1] : s->bound;
		p[i] = slabdev_alloc_async(s->sd, sizes[i / 3], stream);
	}
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		stream = i % 3 ? s->lane[i % 3 - 1] : s->bound;
		KUNIT_EXPECT_EQ(s->test, slabdev_free_async(s->sd, p[i],
							    stream), 0);
	}
}

/* No report but of a lack of memory, whatever does not work. */
static void check_report(int level, int kind, const char *text, void *arg)
{
	(void)level;
	if (kind >= 0 && kind != REPORT_LOST && kind != REPORT_OUT_OF_MEMORY)
		KUNIT_FAIL((struct kunit *)arg, "%s", text);
}

static void a_call_fails_once(struct kunit *test)
{
	const char *name = *(const char *const *)test->param_value;
	struct stream_space s;
	u32 n;

	test->param_value = NULL;
	log_set_sink(check_report, test);
	for (n = 1; n <= 20; n++) {
		begin(&s, test, LETTERS);
		KUNIT_ASSERT_EQ(test, cu.model_fail(name, n,
				CUDA_ERROR_OUT_OF_MEMORY, 0), 0);
		work(&s);
		(void)slabdev_poll(s.sd);
		(void)slabdev_validate(s.sd);
		KUNIT_ASSERT_EQ(test, cu.model_fail(name, 0, 0, 0), 0);
		MUST(test, cuCtxSynchronize());
		work(&s);
		stream_space_close(&s);
	}
}

static const struct kunit_case cuda_debug_cases[] = {
	KUNIT_CASE_PARAM(late_work_is_no_mistake, kind_gen_params),
	KUNIT_CASE_PARAM(used_on_another_stream, kind_gen_params),
	KUNIT_CASE_PARAM(graphs_own_what_they_have, kind_gen_params),
	KUNIT_CASE_PARAM(zones_in_a_graph, kind_gen_params),
	KUNIT_CASE_PARAM(kernel_writes_behind, kind_gen_params),
	KUNIT_CASE_PARAM(kernel_writes_after_the_free, kind_gen_params),
	KUNIT_CASE_PARAM(frees_are_looked_at_together, kind_gen_params),
	KUNIT_CASE_PARAM(written_before_the_look, kind_gen_params),
	KUNIT_CASE(host_order_waits_for_poison),
	KUNIT_CASE_PARAM(a_call_fails_once, call_gen_params),
	{}
};

static const struct kunit_suite cuda_debug_suite = {
	.name = "cuda_debug",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cuda_debug_cases,
};
kunit_test_suite(cuda_debug_suite);
