// SPDX-License-Identifier: BSD-2-Clause
/*
 * ledger_test.c - books that follow the memory.
 *
 * The worked ledgers of a textbook's device chapter, to the byte; the ways in
 * which its books went wrong are in ledger_traps.c. Each case runs by two
 * routes: with the calls and the statistics of a space, and with those of a
 * manager, which must agree.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/crew.h"
#include "tests/ledger_books.h"
#include "tests/random.h"

/* What test_spec() is for a manager. */
static void name_pair(struct books *b)
{
	static const char *const prefixes[] = {
		[SLABDEV_MEMORY_DEVICE] = "cuda:%d",
		[SLABDEV_MEMORY_PINNED] = "cuda-host:%d",
		[SLABDEV_MEMORY_MANAGED] = "cuda-managed:%d",
	};

	b->kind = SLABDEV_MEMORY_HOST;
	b->device = SLABDEV_NO_DEVICE;
	for (u32 k = SLABDEV_MEMORY_DEVICE; k < ARRAY_SIZE(prefixes); k++)
		if (sscanf(test_spec(), prefixes[k], &b->device) == 1)
			b->kind = k;
}

static int ledger_init(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct books *b = kunit_kzalloc(test, sizeof(*b));

	attr.limit = GIB;
	b->test = test;
	name_pair(b);
	test->priv = b;
	KUNIT_ASSERT_EQ(test, slabdev_manager_create(&b->m, NULL), 0);
	KUNIT_ASSERT_EQ_MSG(test, slabdev_manager_open(b->m, b->kind, b->device,
						       &attr, &b->sd), 0,
			    "%s", slabdev_last_error());
	if (test->param_value)
		b->by_space = *(const bool *)test->param_value;
	return 0;
}

static void ledger_exit(struct kunit *test)
{
	struct books *b = test->priv;

	if (!b || !b->m)
		return;
	if (b->sd)
		KUNIT_EXPECT_EQ(test, expect_sound(test, b->sd).live_objects,
				0);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_manager_destroy(b->m, 0), 0, "%s",
			    slabdev_last_error());
}

static const bool routes[] = { true, false };

static void describe_route(const bool *by_space, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s",
		 *by_space ? "space" : "manager");
}
KUNIT_ARRAY_PARAM(route, routes, describe_route)

/* ---- Worked ledgers ----------------------------------------------------- */

static void take_and_give(struct books *b, u32 n, size_t bytes)
{
	for (u32 i = 0; i < n; i++)
		must_give(b, take(b, bytes));
}

/*
 * 1,000 blocks of 64 bytes, 500 of 4,096, 100 of 1 MiB, each freed at once; 10
 * of (i + 1) * 1024, the even ones freed; 5 of (i + 1) * 512, kept.
 */
static void benchmark_of_1615_allocations(struct kunit *test)
{
	struct books *b = test->priv;
	struct slabdev_ledger l;
	double efficiency = 0;
	void *p[10], *q[5];

	take_and_give(b, 1000, 64);
	take_and_give(b, 500, 4096);
	take_and_give(b, 100, MIB);
	for (u32 i = 0; i < 10; i++)
		p[i] = take(b, (i + 1) * 1024);
	for (u32 i = 0; i < 10; i += 2)
		must_give(b, p[i]);
	for (u32 i = 0; i < 5; i++)
		q[i] = take(b, (i + 1) * 512);
	l = books_of(b);
	KUNIT_EXPECT_EQ(test, l.allocs, 1615);
	KUNIT_EXPECT_EQ(test, l.alloc_bytes, 107033600);
	KUNIT_EXPECT_EQ(test, l.free_bytes, 106995200);
	KUNIT_EXPECT_EQ(test, l.current, 38400);
	KUNIT_EXPECT_EQ(test, l.active, 10);
	KUNIT_EXPECT_EQ(test, l.failed, 0);
	KUNIT_EXPECT_EQ(test, slabdev_ledger_efficiency(&l, &efficiency), 0);
	if (!b->by_space) {
		KUNIT_EXPECT_EQ(test, l.peak, MIB);
		KUNIT_EXPECT_EQ(test, efficiency, 38400.0 / MIB);
	}
	for (u32 i = 1; i < 10; i += 2)
		must_give(b, p[i]);
	for (u32 i = 0; i < 5; i++)
		must_give(b, q[i]);
	l = books_of(b);
	KUNIT_EXPECT_EQ(test, l.current + l.active, 0);
	KUNIT_EXPECT_EQ(test, l.free_bytes, 107033600);
}

static void hundred_blocks_average_64_bytes(struct kunit *test)
{
	struct books *b = test->priv;
	struct slabdev_ledger l;
	double average = 0;
	void *p[100];

	for (u32 i = 0; i < 100; i++)
		p[i] = take(b, 64);
	l = books_of(b);
	KUNIT_EXPECT_EQ(test, l.current, 6400);
	KUNIT_EXPECT_EQ(test, l.active, 100);
	KUNIT_EXPECT_EQ(test, slabdev_ledger_average(&l, &average), 0);
	KUNIT_EXPECT_EQ(test, average, 64.0);
	for (u32 i = 0; i < 100; i++)
		must_give(b, p[i]);
}

/*
 * 1,000 floats are 4,000 bytes, and 500 doubles are; with 4,096 bytes beside
 * them, 8,096 in 2 blocks here, 4,000 in 1 there, 12,096 in 3. Here and there
 * are two managers; cuda_manager has host and device in one.
 */
static void tensors_of_12096_bytes(struct kunit *test)
{
	struct books *b = test->priv, there = *b;
	void *floats = take(b, 1000 * sizeof(float)), *block = take(b, 4096);
	struct slabdev_ledger here, l;
	void *doubles;

	KUNIT_ASSERT_EQ(test, slabdev_manager_create(&there.m, NULL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_manager_space(there.m, there.kind,
						    there.device, &there.sd),
			0);
	doubles = take(&there, 500 * sizeof(double));
	here = books_of(b);
	KUNIT_EXPECT_EQ(test, here.current, 8096);
	KUNIT_EXPECT_EQ(test, here.active, 2);
	l = books_of(&there);
	KUNIT_EXPECT_EQ(test, l.current, 4000);
	KUNIT_EXPECT_EQ(test, l.active, 1);
	KUNIT_EXPECT_EQ(test, here.current + l.current, 12096);
	must_give(b, floats);
	must_give(b, block);
	must_give(&there, doubles);
	l = books_of(b);
	KUNIT_EXPECT_EQ(test, l.current + l.active, 0);
	l = books_of(&there);
	KUNIT_EXPECT_EQ(test, l.current + l.active, 0);
	KUNIT_EXPECT_EQ(test, slabdev_manager_destroy(there.m, 0), 0);
}

/* Elements times bytes, where the product is no size. */
static void element_counts_are_multiplied_with_care(struct kunit *test)
{
	struct books *b = test->priv;
	struct slabdev_ledger before;
	void *p;

	p = slabdev_alloc_array(b->sd, 1000, sizeof(float));
	KUNIT_EXPECT_EQ(test, books_of(b).current, 4000);
	EXPECT_FREED(test, b->sd, p);
	p = slabdev_alloc_array(b->sd, 500, sizeof(double));
	KUNIT_EXPECT_EQ(test, books_of(b).current, 4000);
	EXPECT_FREED(test, b->sd, p);
	before = books_of(b);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_array(b->sd, SIZE_MAX / 4 + 1,
						     sizeof(float)), EOVERFLOW);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_array(b->sd, (size_t)1 << 62, 8),
			   EOVERFLOW);
	expect_only_failures(b, &before, 2);
}

/* ---- Peak and quotients ------------------------------------------------- */

/* 0/0 is no full use. */
static void efficiency_is_no_data_at_first(struct kunit *test)
{
	double efficiency = 7, average = 7, calls = 7, bytes = 7;
	struct books *b = test->priv;
	struct slabdev_ledger l = books_of(b);

	KUNIT_EXPECT_EQ(test, slabdev_ledger_efficiency(&l, &efficiency),
			-ENODATA);
	KUNIT_EXPECT_EQ(test, slabdev_ledger_average(&l, &average), -ENODATA);
	KUNIT_EXPECT_EQ(test, slabdev_ledger_hit_rate(&l, &calls, &bytes),
			-ENODATA);
	KUNIT_EXPECT_EQ(test, efficiency + average + calls + bytes, 28.0);
	/* Nor does a request that failed make one. */
	KUNIT_EXPECT_ERRNO(test, try_take(b, SIZE_MAX, 0), EOVERFLOW);
	l = books_of(b);
	KUNIT_EXPECT_EQ(test, slabdev_ledger_efficiency(&l, &efficiency),
			-ENODATA);
}

static double efficiency_of(struct books *b)
{
	struct slabdev_ledger l = books_of(b);
	double efficiency = -1;

	KUNIT_EXPECT_EQ(b->test, slabdev_ledger_efficiency(&l, &efficiency), 0);
	return efficiency;
}

static void efficiency_is_what_is_live_of_the_peak(struct kunit *test)
{
	struct books *b = test->priv;
	void *p[4];

	for (u32 i = 0; i < 4; i++)
		p[i] = take(b, 1000);
	KUNIT_EXPECT_EQ(test, efficiency_of(b), 1.0);
	must_give(b, p[0]);
	KUNIT_EXPECT_EQ(test, efficiency_of(b), 0.75);
	must_give(b, p[1]);
	must_give(b, p[2]);
	KUNIT_EXPECT_EQ(test, efficiency_of(b), 0.25);
	must_give(b, p[3]);
	KUNIT_EXPECT_EQ(test, efficiency_of(b), 0.0);
}

static void quotients_check_their_arguments(struct kunit *test)
{
	struct slabdev_ledger l = { .allocs = 1 };
	double to = 0;

	KUNIT_EXPECT_EQ(test, slabdev_ledger_efficiency(NULL, &to), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_ledger_efficiency(&l, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_ledger_average(NULL, &to), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_ledger_average(&l, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_ledger_hit_rate(NULL, &to, &to), -EINVAL);
	/* Allocated and freed behind the manager's back: no peak was seen. */
	KUNIT_EXPECT_EQ(test, slabdev_ledger_efficiency(&l, &to), -ENODATA);
}

/* Steps whose live bytes are known: the peak is the highest, exactly. */
static void peak_is_the_high_water(struct kunit *test)
{
	struct books *b = test->priv;
	u64 seed = random_seed(test), live = 0, peak = 0;
	size_t size[32] = { 0 };
	void *p[32] = { NULL };

	for (u32 step = 0; step < 5000; step++) {
		u32 i = random_below(&seed, 32);

		if (p[i]) {
			must_give(b, p[i]);
			live -= size[i];
			p[i] = NULL;
		} else {
			size[i] = random_size(&seed, 2 * MIB);
			p[i] = take(b, size[i]);
			live += size[i];
			peak = max(peak, live);
		}
		if (step % 50 == 0)
			KUNIT_ASSERT_EQ(test, ledger_of(b).peak, peak);
	}
	for (u32 i = 0; i < 32; i++)
		must_give(b, p[i]);
	KUNIT_EXPECT_EQ(test, books_of(b).peak, peak);
}

/* What the program does with the space itself is seen when the books are. */
static void peak_of_mixed_calls_stays_within_bounds(struct kunit *test)
{
	struct books *b = test->priv;
	void *p = must_alloc(test, b->sd, 3000), *q;

	KUNIT_EXPECT_EQ(test, books_of(b).peak, 3000);
	must_give(b, p);
	for (u32 i = 0; i < 100; i++) {
		q = take(b, MIB);
		EXPECT_FREED(test, b->sd, q);
	}
	/* At most what was ever out of the slabs, not the sum. */
	KUNIT_EXPECT_EQ(test, books_of(b).peak,
			stats_of(test, b->sd).peak_live);
	KUNIT_EXPECT_LE(test, books_of(b).peak, 2 * MIB);
}

#define CREW 4u
#define EACH 200u

struct hand {
	struct books *b;
	u32 number;
	void *p[EACH];
};

static size_t size_of_hand(const struct hand *h, u32 i)
{
	return 1 + (h->number * EACH + i) * 7;
}

static void take_all(void *arg)
{
	struct hand *h = arg;

	for (u32 i = 0; i < EACH; i++)
		h->p[i] = take(h->b, size_of_hand(h, i));
}

static void give_all(void *arg)
{
	struct hand *h = arg;

	for (u32 i = 0; i < EACH; i++)
		must_give(h->b, h->p[i]);
}

/* All at once, thrice; others free what one has taken. */
static void peak_is_exact_with_threads(struct kunit *test)
{
	struct hand *hands = kunit_kzalloc(test, CREW * sizeof(*hands));
	struct crew *crew = crew_new(test, CREW);
	struct books *b = test->priv;
	struct slabdev_ledger l;
	u64 sum = 0;

	for (u32 n = 0; n < CREW; n++) {
		hands[n].b = b;
		hands[n].number = n;
		for (u32 i = 0; i < EACH; i++)
			sum += size_of_hand(&hands[n], i);
	}
	for (u32 round = 1; round <= 3; round++) {
		crew_all(crew, take_all, hands, sizeof(*hands));
		KUNIT_EXPECT_EQ(test, books_of(b).current, sum);
		for (u32 n = 0; n < CREW; n++)
			crew_start(crew, n, give_all, &hands[(n + 1) % CREW]);
		for (u32 n = 0; n < CREW; n++)
			crew_wait(crew, n);
		l = books_of(b);
		KUNIT_EXPECT_EQ(test, l.current, 0);
		KUNIT_EXPECT_EQ(test, l.allocs, round * CREW * EACH);
		KUNIT_EXPECT_EQ(test, l.peak, sum);
	}
	crew_dismiss(crew);
}

/* ---- Reuse -------------------------------------------------------------- */

static void hit_rate_is_by_calls_and_by_bytes(struct kunit *test)
{
	struct books *b = test->priv;
	double calls = 0, bytes = 0;
	struct slabdev_ledger l;

	must_give(b, take(b, 5 * MIB));
	for (u32 i = 0; i < 3; i++)
		must_give(b, take(b, 1024));
	l = books_of(b);
	/* A slab was to be made for the first of them. */
	KUNIT_EXPECT_EQ(test, l.reused, 2);
	KUNIT_EXPECT_EQ(test, l.reused_bytes, 2048);
	KUNIT_EXPECT_EQ(test, slabdev_ledger_hit_rate(&l, &calls, &bytes), 0);
	KUNIT_EXPECT_EQ(test, calls, 0.5);
	KUNIT_EXPECT_EQ(test, bytes, 2048.0 / (double)(5 * MIB + 3072));
	KUNIT_EXPECT_EQ(test, slabdev_ledger_hit_rate(&l, NULL, NULL), 0);
}

/*
 * 256 floats, taken and given back thrice: 1,024 bytes made, 2,048 used again,
 * so the rate is 2048/3072 = 0.667; and it goes to 1.
 */
static void three_steps_hit_two_thirds(struct kunit *test)
{
	struct books *b = test->priv;
	double calls = 0, bytes = 0;
	struct slabdev_ledger l;

	take_and_give(b, 3, 256 * sizeof(float));
	l = books_of(b);
	KUNIT_EXPECT_EQ(test, l.alloc_bytes, 3072);
	KUNIT_EXPECT_EQ(test, l.alloc_bytes - l.reused_bytes, 1024);
	KUNIT_EXPECT_EQ(test, l.reused_bytes, 2048);
	KUNIT_ASSERT_EQ(test, slabdev_ledger_hit_rate(&l, &calls, &bytes), 0);
	KUNIT_EXPECT_EQ(test, calls, 2.0 / 3.0);
	KUNIT_EXPECT_EQ(test, bytes, 2048.0 / 3072.0);
	take_and_give(b, 997, 256 * sizeof(float));
	l = books_of(b);
	KUNIT_ASSERT_EQ(test, slabdev_ledger_hit_rate(&l, &calls, &bytes), 0);
	KUNIT_EXPECT_EQ(test, calls, 0.999);
	KUNIT_EXPECT_EQ(test, bytes, 0.999);
}

static const struct kunit_case ledger_cases[] = {
	KUNIT_CASE_PARAM(benchmark_of_1615_allocations, route_gen_params),
	KUNIT_CASE_PARAM(hundred_blocks_average_64_bytes, route_gen_params),
	KUNIT_CASE_PARAM(tensors_of_12096_bytes, route_gen_params),
	KUNIT_CASE(element_counts_are_multiplied_with_care),
	KUNIT_CASE_PARAM(efficiency_is_no_data_at_first, route_gen_params),
	KUNIT_CASE(efficiency_is_what_is_live_of_the_peak),
	KUNIT_CASE(quotients_check_their_arguments),
	KUNIT_CASE(peak_is_the_high_water),
	KUNIT_CASE(peak_of_mixed_calls_stays_within_bounds),
	KUNIT_CASE(peak_is_exact_with_threads),
	KUNIT_CASE_PARAM(sizes_from_1_to_64_work, route_gen_params),
	KUNIT_CASE_PARAM(failed_requests_change_only_the_failures,
			 route_gen_params),
	KUNIT_CASE(zero_bytes_are_refused),
	KUNIT_CASE_PARAM(second_free_never_moves_the_books, route_gen_params),
	KUNIT_CASE_PARAM(alignment_is_honoured_or_refused, route_gen_params),
	KUNIT_CASE_PARAM(copy_of_a_token_has_the_same_books, route_gen_params),
	KUNIT_CASE_PARAM(hit_rate_is_by_calls_and_by_bytes, route_gen_params),
	KUNIT_CASE_PARAM(three_steps_hit_two_thirds, route_gen_params),
	{}
};

static const struct kunit_suite ledger_suite = {
	.name = "ledger",
	.init = ledger_init,
	.exit = ledger_exit,
	.cases = ledger_cases,
	.any_space = true,
};
kunit_test_suite(ledger_suite);
