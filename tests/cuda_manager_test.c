// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_manager_test.c - managers on a machine with two devices.
 *
 * "Device memory of device 0" was host memory once, because one test asked for
 * either. Here the driver is asked what the memory is that each pair of kind
 * and device has given.
 */
#include <errno.h>
#include <stdio.h>

#include "core/log.h"
#include "tests/cuda_space.h"

#define NO_DEVICE SLABDEV_NO_DEVICE

struct pair {
	u32 kind;
	int device;
	const char *spec;
};

static const struct pair all_pairs[] = {
	{ SLABDEV_MEMORY_HOST, NO_DEVICE, "host" },
	{ SLABDEV_MEMORY_DEVICE, 0, "cuda:0" },
	{ SLABDEV_MEMORY_DEVICE, 1, "cuda:1" },
	{ SLABDEV_MEMORY_PINNED, 0, "cuda-host:0" },
	{ SLABDEV_MEMORY_PINNED, 1, "cuda-host:1" },
	{ SLABDEV_MEMORY_MANAGED, 0, "cuda-managed:0" },
	{ SLABDEV_MEMORY_MANAGED, 1, "cuda-managed:1" },
};
#define NR_PAIRS ((int)ARRAY_SIZE(all_pairs))

static struct slabdev_manager *begin(struct kunit *test, const char *profile)
{
	struct slabdev_manager *m = NULL;

	cuda_model(test, profile);
	cu.model_reset();
	KUNIT_ASSERT_EQ(test, slabdev_manager_create(&m, NULL), 0);
	return m;
}

static void end(struct kunit *test, struct slabdev_manager *m)
{
	struct model_leaks leaks;

	KUNIT_EXPECT_EQ_MSG(test, slabdev_manager_destroy(m, 0), 0, "%s",
			    slabdev_last_error());
	EXPECT_NO_VIOLATION(test);
	KUNIT_EXPECT_EQ(test, cu.model_leaks(&leaks), 0);
	KUNIT_EXPECT_EQ(test, leaks.contexts, 0);
}

static void *take(struct kunit *test, struct slabdev_manager *m,
		  const struct pair *p, size_t bytes)
{
	void *at = slabdev_manager_alloc(m, p->kind, p->device, bytes, 0);

	KUNIT_ASSERT_NOT_NULL_MSG(test, at, "%s: %s", p->spec,
				  slabdev_last_error());
	return at;
}

static void give(struct kunit *test, struct slabdev_manager *m, void *p)
{
	KUNIT_EXPECT_EQ_MSG(test, slabdev_manager_free(m, p), 0, "%s",
			    slabdev_last_error());
}

static struct slabdev_ledger ledger_of(struct kunit *test,
				       struct slabdev_manager *m,
				       const struct pair *p)
{
	struct slabdev_ledger l = { .spaces = 77 };

	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger(m, p->kind, p->device, &l,
						     sizeof(l)), 0);
	KUNIT_EXPECT_STREQ(test, l.spec, p->spec);
	KUNIT_EXPECT_EQ(test, l.kind, p->kind);
	KUNIT_EXPECT_EQ(test, l.device, p->device);
	return l;
}

static struct slabdev_ledger total_of(struct kunit *test,
				      struct slabdev_manager *m)
{
	struct slabdev_ledger l = { .spaces = 77 };

	KUNIT_EXPECT_EQ(test, slabdev_manager_total(m, &l, sizeof(l)), 0);
	return l;
}

/* ---- Pairs -------------------------------------------------------------- */

/* What the driver says of memory that the pair has given. */
static void expect_memory(struct kunit *test, const struct pair *pair, void *p)
{
	bool device = pair->kind != SLABDEV_MEMORY_PINNED;
	bool managed = pair->kind == SLABDEV_MEMORY_MANAGED;
	unsigned int type = 0, is_managed = 7;
	int ordinal = -1;

	MUST(test, cuPointerGetAttribute(&type,
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device_ptr(p)));
	MUST(test, cuPointerGetAttribute(&is_managed,
		CU_POINTER_ATTRIBUTE_IS_MANAGED, device_ptr(p)));
	MUST(test, cuPointerGetAttribute(&ordinal,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device_ptr(p)));
	KUNIT_EXPECT_EQ_MSG(test, type, device ? CU_MEMORYTYPE_DEVICE :
			    CU_MEMORYTYPE_HOST, "%s", pair->spec);
	KUNIT_EXPECT_EQ_MSG(test, !!is_managed, managed, "%s", pair->spec);
	KUNIT_EXPECT_EQ_MSG(test, ordinal, pair->device, "%s", pair->spec);
}

/* Memory of the host is none that the driver knows. */
static void expect_host_memory(struct kunit *test, void *p)
{
	unsigned int type;

	MUST(test, cuInit(0));
	KUNIT_EXPECT_EQ(test, cu.cuPointerGetAttribute(&type,
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device_ptr(p)),
		CUDA_ERROR_INVALID_VALUE);
	memset(p, 1, 3 * MIB);
}

static void every_pair_is_served_as_it_was_asked_for(struct kunit *test)
{
	struct slabdev_manager *m = begin(test, "two");
	struct slabdev_ledger l;
	void *p[NR_PAIRS];

	for (int i = 0; i < NR_PAIRS; i++) {
		const struct pair *pair = &all_pairs[i];

		KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), i);
		p[i] = take(test, m, pair, 3 * MIB);
		if (pair->kind == SLABDEV_MEMORY_HOST)
			expect_host_memory(test, p[i]);
		else
			expect_memory(test, pair, p[i]);
		KUNIT_EXPECT_EQ(test, ledger_of(test, m, pair).current,
				3 * MIB);
		KUNIT_EXPECT_EQ(test, slabdev_manager_ledger_at(m, i, &l,
								sizeof(l)), 0);
		KUNIT_EXPECT_STREQ(test, l.spec, pair->spec);
	}
	KUNIT_EXPECT_EQ(test, total_of(test, m).spaces, NR_PAIRS);
	KUNIT_EXPECT_EQ(test, total_of(test, m).current, NR_PAIRS * 3 * MIB);
	/* Each free finds its space by the address. */
	for (int i = 0; i < NR_PAIRS; i++) {
		give(test, m, p[i]);
		KUNIT_EXPECT_EQ(test, ledger_of(test, m, &all_pairs[i]).current,
				0);
	}
	KUNIT_EXPECT_EQ(test, total_of(test, m).peak, NR_PAIRS * 3 * MIB);
	end(test, m);
}

/* What both can touch was named, but not supported. */
static void shared_memory_is_for_both_sides(struct kunit *test)
{
	static const struct pair shared[] = {
		{ SLABDEV_MEMORY_PINNED, 0, "cuda-host:0" },
		{ SLABDEV_MEMORY_MANAGED, 0, "cuda-managed:0" },
	};
	struct bench *b;
	struct slabdev_manager *m;

	cuda_model(test, "two");
	b = bench_open(test);
	KUNIT_ASSERT_NOT_NULL(test, b->ctx);
	KUNIT_ASSERT_EQ(test, slabdev_manager_create(&m, NULL), 0);
	for (u32 i = 0; i < ARRAY_SIZE(shared); i++) {
		unsigned char *p = take(test, m, &shared[i], 1000);

		memset(p, 0x5a, 1000);
		KUNIT_EXPECT_EQ(test, cuda_byte(test, p + 999), 0x5a);
		cuda_submit_fill(test, p, 1000, 0xa5, NULL);
		MUST(test, cuCtxSynchronize());
		KUNIT_EXPECT_EQ(test, p[999], 0xa5);
		give(test, m, p);
	}
	KUNIT_EXPECT_EQ(test, slabdev_manager_destroy(m, 0), 0);
	bench_close(test);
}

static const struct pair no_pairs[] = {
	{ SLABDEV_MEMORY_DEVICE, 2, "there are 2 CUDA devices" },
	{ SLABDEV_MEMORY_PINNED, 2, "there are 2 CUDA devices" },
	{ SLABDEV_MEMORY_MANAGED, 31, "there are 2 CUDA devices" },
	{ SLABDEV_MEMORY_DEVICE, 9999, "there are 2 CUDA devices" },
	{ SLABDEV_MEMORY_DEVICE, 10000, "there is no such device" },
};

/* Refused with the reason, and nothing is opened or counted instead. */
static void unknown_devices_are_refused(struct kunit *test)
{
	struct slabdev_manager *m = begin(test, "two");
	struct slabdev *sd = NULL;

	for (u32 i = 0; i < ARRAY_SIZE(no_pairs); i++) {
		const struct pair *p = &no_pairs[i];

		KUNIT_EXPECT_EQ(test, slabdev_manager_space(m, p->kind,
							    p->device, &sd),
				-ENODEV);
		EXPECT_LAST_ERROR_HAS(test, p->spec);
		KUNIT_EXPECT_ERRNO(test, slabdev_manager_alloc(m, p->kind,
			p->device, 10, 0), ENODEV);
		KUNIT_EXPECT_EQ(test, total_of(test, m).failed, i + 1);
	}
	KUNIT_EXPECT_NULL(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), 0);
	end(test, m);
}

/* What was discovered can be opened, and what cannot says why, as there. */
static void discovery_and_manager_agree(struct kunit *test)
{
	struct slabdev_manager *m = begin(test, "two");
	struct slabdev_device_info info;
	struct slabdev *sd;

	KUNIT_ASSERT_EQ(test, slabdev_device_count(), 3);
	for (int i = 1; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, slabdev_device_get(i, &info,
							 sizeof(info)), 0);
		KUNIT_EXPECT_EQ(test, info.usable, 1);
		KUNIT_EXPECT_EQ(test, slabdev_manager_space(m,
			SLABDEV_MEMORY_DEVICE, i - 1, &sd), 0);
		KUNIT_EXPECT_STREQ(test, sd->spec, info.spec);
		KUNIT_EXPECT_LE(test, stats_of(test, sd).limit,
				info.memory_total);
	}
	end(test, m);
}

static void no_device_is_refused_as_discovery_says(struct kunit *test)
{
	struct slabdev_manager *m = begin(test, "nodevice");
	struct slabdev_device_info info;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_device_get(1, &info, sizeof(info)), 0);
	KUNIT_EXPECT_EQ(test, info.usable, 0);
	KUNIT_EXPECT_ERRNO(test, slabdev_manager_alloc(m, SLABDEV_MEMORY_DEVICE,
						       0, 10, 0), ENODEV);
	EXPECT_LAST_ERROR_HAS(test, info.reason);
	/* The host is there all the same. */
	p = take(test, m, &all_pairs[0], 10);
	give(test, m, p);
	KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), 1);
	end(test, m);
}

/* ---- Books -------------------------------------------------------------- */

/* Host 8,096 bytes in 2 blocks (4,000 + 4,096), device 4,000 in 1. */
static void tensors_of_12096_bytes(struct kunit *test)
{
	struct slabdev_manager *m = begin(test, "two");
	const struct pair *host = &all_pairs[0], *device = &all_pairs[1];
	void *floats = take(test, m, host, 1000 * sizeof(float));
	void *block = take(test, m, host, 4096);
	void *doubles = take(test, m, device, 500 * sizeof(double));
	struct slabdev_ledger l = ledger_of(test, m, host);

	KUNIT_EXPECT_EQ(test, l.current, 8096);
	KUNIT_EXPECT_EQ(test, l.active, 2);
	l = ledger_of(test, m, device);
	KUNIT_EXPECT_EQ(test, l.current, 4000);
	KUNIT_EXPECT_EQ(test, l.active, 1);
	l = total_of(test, m);
	KUNIT_EXPECT_EQ(test, l.current, 12096);
	KUNIT_EXPECT_EQ(test, l.active, 3);
	give(test, m, floats);
	give(test, m, block);
	give(test, m, doubles);
	l = total_of(test, m);
	KUNIT_EXPECT_EQ(test, l.current, 0);
	KUNIT_EXPECT_EQ(test, l.active, 0);
	KUNIT_EXPECT_EQ(test, l.peak, 12096);
	KUNIT_EXPECT_EQ(test, l.frees, 3);
	end(test, m);
}

/* The peak of both together is not the sum of the peaks. */
static void peak_of_a_total_is_that_of_the_sum(struct kunit *test)
{
	struct slabdev_manager *m = begin(test, "two");
	const struct pair *a = &all_pairs[1], *b = &all_pairs[2];

	give(test, m, take(test, m, a, 5000));
	give(test, m, take(test, m, b, 7000));
	KUNIT_EXPECT_EQ(test, ledger_of(test, m, a).peak, 5000);
	KUNIT_EXPECT_EQ(test, ledger_of(test, m, b).peak, 7000);
	KUNIT_EXPECT_EQ(test, total_of(test, m).peak, 7000);
	end(test, m);
}

/* Devices of 139.8 and of 22 GiB: what one serves the other has no room for,
 * and nobody else does it in its place. */
static void each_device_has_memory_of_its_own(struct kunit *test)
{
	struct slabdev_manager *m = begin(test, "unequal");
	const struct pair *large = &all_pairs[1], *small = &all_pairs[2];
	u64 before = 0, after = 0, total = 0;
	struct slabdev *sd;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_manager_space(m, large->kind,
						    large->device, &sd), 0);
	KUNIT_EXPECT_EQ(test, slabdev_meminfo(sd, NULL, &total), 0);
	KUNIT_EXPECT_EQ(test, total, 71578 * (2 * MIB));
	KUNIT_ASSERT_EQ(test, slabdev_manager_space(m, small->kind,
						    small->device, &sd), 0);
	KUNIT_EXPECT_EQ(test, slabdev_meminfo(sd, &before, &total), 0);
	KUNIT_EXPECT_EQ(test, total, 22 * GIB);
	p = take(test, m, large, 30 * GIB);
	KUNIT_EXPECT_EQ(test, slabdev_meminfo(sd, &after, NULL), 0);
	KUNIT_EXPECT_EQ(test, after, before);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_ERRNO(test, slabdev_manager_alloc(m, small->kind,
		small->device, 30 * GIB, 0), EDQUOT);
	KUNIT_EXPECT_EQ(test, ledger_of(test, m, small).failed, 1);
	KUNIT_EXPECT_EQ(test, ledger_of(test, m, large).failed, 0);
	give(test, m, p);
	end(test, m);
}

/* ---- The end ------------------------------------------------------------ */

static void open_all(struct kunit *test, struct slabdev_manager *m,
		     struct slabdev **sd)
{
	for (int i = 0; i < NR_PAIRS; i++)
		KUNIT_ASSERT_EQ(test, slabdev_manager_space(m,
			all_pairs[i].kind, all_pairs[i].device, &sd[i]), 0);
}

/* What is live on the last of them keeps all of them open. */
static void destroy_closes_all_or_none(struct kunit *test)
{
	struct slabdev_manager *m = begin(test, "two");
	struct slabdev *before[NR_PAIRS], *after[NR_PAIRS];
	void *p;

	open_all(test, m, before);
	p = take(test, m, &all_pairs[NR_PAIRS - 1], 100);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_manager_destroy(m, 0), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), NR_PAIRS);
	open_all(test, m, after);
	KUNIT_EXPECT_MEMEQ(test, before, after, sizeof(before));
	give(test, m, p);
	end(test, m);
}

/* Whatever the reason: what a captured stream is done with cannot be told. */
static void capture_keeps_all_of_them_open(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_graph *graph = NULL;
	struct slabdev_manager *m;
	struct slabdev *sd;
	CUstream stream;
	CUgraph made;

	cuda_model(test, "two");
	bench_open(test);
	MUST(test, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	KUNIT_ASSERT_EQ(test, slabdev_manager_create(&m, NULL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_manager_space(m, SLABDEV_MEMORY_HOST,
						    NO_DEVICE, &sd), 0);
	attr.stream = stream;
	KUNIT_ASSERT_EQ(test, slabdev_manager_open(m, SLABDEV_MEMORY_DEVICE, 0,
						   &attr, &sd), 0);
	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(sd, stream, &graph), 0);
	MUST(test, cuStreamBeginCapture(stream,
					CU_STREAM_CAPTURE_MODE_RELAXED));
	KUNIT_EXPECT_EQ(test, slabdev_manager_destroy(m, 0), -EBUSY);
	EXPECT_LAST_ERROR_HAS(test, "captured");
	KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), 2);
	give(test, m, take(test, m, &all_pairs[0], 100));
	MUST(test, cuStreamEndCapture(stream, &made));
	MUST(test, cuGraphDestroy(made));
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(graph), 0);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(graph), 0);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_manager_destroy(m, 0), 0, "%s",
			    slabdev_last_error());
	MUST(test, cuStreamDestroy(stream));
	bench_close(test);
}

/* ---- Failures ----------------------------------------------------------- */

/* False when the work makes fewer than @n calls of the driver. */
static bool run_with_failure(struct kunit *test, u64 n)
{
	struct slabdev_manager *m = NULL;
	const struct pair *pair = &all_pairs[2];
	bool failed;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_manager_create(&m, NULL), 0);
	cu.model_fail("*", n, CUDA_ERROR_OUT_OF_MEMORY, 0);
	p = slabdev_manager_alloc(m, pair->kind, pair->device, 100, 0);
	cu.model_fail("*", 0, 0, 0);
	failed = !p;
	if (!p) {
		KUNIT_EXPECT_STRNEQ(test, slabdev_last_error(), "");
		KUNIT_EXPECT_EQ(test, total_of(test, m).failed, 1);
		p = take(test, m, pair, 100);
	}
	KUNIT_EXPECT_EQ(test, ledger_of(test, m, pair).allocs, 1);
	give(test, m, p);
	KUNIT_EXPECT_EQ(test, slabdev_manager_destroy(m, 0), 0);
	return failed;
}

/* Whichever call fails below the first use of a pair: the next use works. */
static void driver_may_fail_at_the_first_use(struct kunit *test)
{
	struct slabdev_manager *m = begin(test, "two");
	u64 n, failures = 0;

	/* Some calls may fail without the use failing. */
	for (n = 1; n <= 60; n++)
		failures += run_with_failure(test, n);
	KUNIT_EXPECT_GT(test, failures, 3);
	end(test, m);
}

static struct slabdev_manager *parents;
static void *parents_object;

static void use_in_child(struct kunit *test)
{
	const struct pair *pair = &all_pairs[1];
	struct slabdev_ledger l;
	void *p;

	KUNIT_EXPECT_ERRNO(test, slabdev_manager_alloc(parents, pair->kind,
		pair->device, 100, 0), EOWNERDEAD);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(parents, parents_object),
			-EOWNERDEAD);
	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger(parents, pair->kind,
		pair->device, &l, sizeof(l)), -EOWNERDEAD);
	p = take(test, parents, &all_pairs[0], 100);
	give(test, parents, p);
	KUNIT_EXPECT_EQ(test, slabdev_manager_destroy(parents, 0), 0);
}

/* The host's space is the child's own, the device's is dead there. */
static void fork_leaves_what_can_be_copied(struct kunit *test)
{
	parents = begin(test, "two");
	give(test, parents, take(test, parents, &all_pairs[0], 100));
	parents_object = take(test, parents, &all_pairs[1], 100);
	KUNIT_EXPECT_EQ(test, in_fork(test, use_in_child), 0);
	KUNIT_EXPECT_EQ(test, total_of(test, parents).current, 100);
	give(test, parents, parents_object);
	end(test, parents);
}

static const struct kunit_case manager_cases[] = {
	KUNIT_CASE_ISOLATED(every_pair_is_served_as_it_was_asked_for),
	KUNIT_CASE_ISOLATED(shared_memory_is_for_both_sides),
	KUNIT_CASE_ISOLATED(unknown_devices_are_refused),
	KUNIT_CASE_ISOLATED(discovery_and_manager_agree),
	KUNIT_CASE_ISOLATED(no_device_is_refused_as_discovery_says),
	KUNIT_CASE_ISOLATED(tensors_of_12096_bytes),
	KUNIT_CASE_ISOLATED(peak_of_a_total_is_that_of_the_sum),
	KUNIT_CASE_ISOLATED(each_device_has_memory_of_its_own),
	KUNIT_CASE_ISOLATED(destroy_closes_all_or_none),
	KUNIT_CASE_ISOLATED(capture_keeps_all_of_them_open),
	KUNIT_CASE_ISOLATED(driver_may_fail_at_the_first_use),
	KUNIT_CASE_ISOLATED(fork_leaves_what_can_be_copied),
	{}
};

static const struct kunit_suite cuda_manager_suite = {
	.name = "cuda_manager",
	.cases = manager_cases,
};
kunit_test_suite(cuda_manager_suite);
