// SPDX-License-Identifier: BSD-2-Clause
/*
 * fault_attr_test.c - when something is made to fail: each attribute alone, all
 * of them beside the kernel's should_fail_ex(), which is written down here once
 * more, and the text that sets them.
 */
#include <stdio.h>

#include "core/fault_attr.h"
#include "tests/random.h"

/* ---- The text --------------------------------------------------------- */

struct good_param {
	const char *value;
	struct fault_setup wanted;
};

static const struct good_param good_params[] = {
	{ "1,10,0,-1", { .attr = { .interval = 1, .probability = 10,
				   .times = -1 } } },
	{ "100,0,4096,7", { .attr = { .interval = 100, .space = 4096,
				      .times = 7 } } },
	{ "1,100,2M,1,nth=3", { .attr = { .interval = 1, .probability = 100,
					  .space = 2 * MIB, .times = 1,
					  .nth = 3 } } },
	{ "probability=100", { .attr = { .probability = 100, .interval = 1,
					 .times = -1 } } },
	{ "nth=18446744073709551615", { .attr = { .interval = 1, .times = -1,
						  .nth = UINT64_MAX } } },
	{ "interval=5,times=0,space=1K,seed=9",
	  { .attr = { .interval = 5, .space = 1024, .seed = 9 } } },
	{ "nth=1,cache=tensor-*,cache-filter=1",
	  { .attr = { .interval = 1, .times = -1, .nth = 1 },
	    .marked_only = true, .cache = "tensor-*" } },
	{ "cache=*,cache-filter=0,times=-1",
	  { .attr = { .interval = 1, .times = -1 }, .cache = "*" } },
};

static void describe_good(const struct good_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", p->value);
}
KUNIT_ARRAY_PARAM(good, good_params, describe_good)

static void value_is_read(struct kunit *test)
{
	const struct good_param *good = test->param_value;
	struct fault_setup f = FAULT_SETUP_INIT;

	KUNIT_ASSERT_TRUE(test, fault_parse(&f, good->value));
	KUNIT_EXPECT_EQ(test, f.attr.interval, good->wanted.attr.interval);
	KUNIT_EXPECT_EQ(test, f.attr.probability,
			good->wanted.attr.probability);
	KUNIT_EXPECT_EQ(test, f.attr.times, good->wanted.attr.times);
	KUNIT_EXPECT_EQ(test, f.attr.space, good->wanted.attr.space);
	KUNIT_EXPECT_EQ(test, f.attr.nth, good->wanted.attr.nth);
	KUNIT_EXPECT_EQ(test, f.attr.seed, good->wanted.attr.seed);
	KUNIT_EXPECT_EQ(test, f.marked_only, good->wanted.marked_only);
	KUNIT_EXPECT_STREQ(test, f.cache, good->wanted.cache);
}

static const char *const bad_values[] = {
	"", ",", "1", "1,10", "1,10,0", "1,10,0,-1,1", "1,10,0,-1,", "x",
	"1,101,0,-1", "1,10,0,-2", "-1,10,0,-1", "1,10,x,-1", "1,10,,-1",
	"1K,10,0,-1", "nth", "nth=", "nth=-1", "nth=1K", "nth=x", "nth=1 ",
	"nth=18446744073709551616", "probability=101", "probability=10%",
	"verbose=3", "times=-2", "times=9223372036854775808", "space=-1",
	"cache=", "cache=a*b", "cache-filter=2", "Nth=1", "n=1", "=1",
	"nth=1,1,10,0,-1", "1,nth=1,10,0,-1", "nth=1;times=1",
	("cache=01234567890123456789012345678901234567890123456789"
	 "01234567890123"),
	("cache-filter=00000000000000000000000000000000000000000000000000000000"
	 "000000000000000000000000000000000000000000000000000000000000000001"),
};

static void describe_bad(const char *const *value, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "'%.60s'", *value);
}
KUNIT_ARRAY_PARAM(bad, bad_values, describe_bad)

static void value_is_refused(struct kunit *test)
{
	const char *const *value = test->param_value;
	struct fault_setup f = FAULT_SETUP_INIT;

	KUNIT_EXPECT_FALSE(test, fault_parse(&f, *value));
}

static void names_and_beginnings_match(struct kunit *test)
{
	struct fault_setup f = FAULT_SETUP_INIT;

	KUNIT_EXPECT_TRUE(test, fault_is_for(&f, "any"));
	strcpy(f.cache, "ab*");
	KUNIT_EXPECT_TRUE(test, fault_is_for(&f, "ab"));
	KUNIT_EXPECT_TRUE(test, fault_is_for(&f, "abc"));
	KUNIT_EXPECT_FALSE(test, fault_is_for(&f, "a"));
	KUNIT_EXPECT_FALSE(test, fault_is_for(&f, "Abc"));
	strcpy(f.cache, "ab");
	KUNIT_EXPECT_TRUE(test, fault_is_for(&f, "ab"));
	KUNIT_EXPECT_FALSE(test, fault_is_for(&f, "abc"));
}

/* ---- Attributes ------------------------------------------------------- */

/* The pattern of @n calls for @size bytes: a bit for each that failed. */
static u64 pattern(struct fault_attr *a, u32 n, u64 size)
{
	u64 bits = 0;
	u32 i;

	for (i = 0; i < n; i++)
		bits |= (u64)fault_should_fail(a, size) << i;
	return bits;
}

static void each_attribute_alone(struct kunit *test)
{
	struct fault_attr none = FAULT_ATTR_INIT, a = none;

	KUNIT_EXPECT_FALSE(test, fault_is_on(&a));
	KUNIT_EXPECT_EQ(test, pattern(&a, 64, 1), 0);
	a.probability = 100;
	KUNIT_EXPECT_TRUE(test, fault_is_on(&a));
	KUNIT_EXPECT_EQ(test, pattern(&a, 8, 1), 0xff);
	a.interval = 3;
	KUNIT_EXPECT_EQ(test, pattern(&a, 9, 1), 0x124);
	a.times = 2;
	KUNIT_EXPECT_EQ(test, pattern(&a, 12, 1), 0x024);
	KUNIT_EXPECT_EQ(test, a.times, 0);
	KUNIT_EXPECT_FALSE(test, fault_is_on(&a));
	a = (struct fault_attr){ .probability = 100, .times = -1,
				 .space = 1000 };
	/* The kernel lets pass while more is left than is asked for. */
	KUNIT_EXPECT_EQ(test, pattern(&a, 6, 300), 0x38);
	KUNIT_EXPECT_EQ(test, a.space, 100);
	KUNIT_EXPECT_EQ(test, pattern(&a, 3, 99), 0x6);
	a = none;
	a.nth = 5;
	KUNIT_EXPECT_TRUE(test, fault_is_on(&a));
	KUNIT_EXPECT_EQ(test, pattern(&a, 64, 1), 0x10);
	KUNIT_EXPECT_EQ(test, a.nth, 0);
	KUNIT_EXPECT_EQ(test, a.asked, 64);
	KUNIT_EXPECT_EQ(test, a.fired, 1);
}

/* The kernel's, with the same chance. */
static bool reference(struct fault_attr *a, u64 size, bool unlucky)
{
	if (a->nth) {
		if (--a->nth)
			return false;
		goto fail;
	}
	if (a->probability == 0)
		return false;
	if (a->times == 0)
		return false;
	if (a->space > size) {
		a->space -= size;
		return false;
	}
	if (a->interval > 1) {
		a->counted++;
		if (a->counted % a->interval)
			return false;
	}
	if (!unlucky)
		return false;
fail:
	if (a->times != -1 && a->times)
		a->times--;
	return true;
}

static void attributes_are_the_kernels(struct kunit *test)
{
	u64 seed = random_seed(test), size;
	struct fault_attr a, b;
	u32 round, i;
	bool fails;

	for (round = 0; round < 2000; round++) {
		a = (struct fault_attr){
			.probability = 100 * random_below(&seed, 2),
			.interval = random_below(&seed, 5),
			.times = (s64)random_below(&seed, 6) - 1,
			.space = random_below(&seed, 2) *
				 random_below(&seed, 5000),
			.nth = random_below(&seed, 2) *
			       random_below(&seed, 20),
		};
		b = a;
		for (i = 0; i < 40; i++) {
			size = random_below(&seed, 1000);
			fails = fault_should_fail(&a, size);
			KUNIT_ASSERT_EQ(test, fails,
					reference(&b, size, true));
			KUNIT_ASSERT_EQ(test, a.times, b.times);
			KUNIT_ASSERT_EQ(test, a.space, b.space);
			KUNIT_ASSERT_EQ(test, a.nth, b.nth);
		}
	}
}

/* As often as was said, the same for a seed, and another for another. */
static void chance_is_fair_and_can_be_repeated(struct kunit *test)
{
	struct fault_attr a = FAULT_ATTR_INIT, b, c;
	u32 i;

	a.probability = 30;
	b = c = a;
	c.seed = 1;
	KUNIT_EXPECT_EQ(test, pattern(&a, 64, 1), pattern(&b, 64, 1));
	KUNIT_EXPECT_NE(test, pattern(&a, 64, 1), pattern(&c, 64, 1));
	for (i = 0; i < 100000; i++)
		fault_should_fail(&a, 1);
	/* Sixty times the standard deviation; and always the same number. */
	KUNIT_EXPECT_GT(test, a.fired * 100 / a.asked, 27);
	KUNIT_EXPECT_LT(test, a.fired * 100 / a.asked, 33);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(value_is_read, good_gen_params),
	KUNIT_CASE_PARAM(value_is_refused, bad_gen_params),
	KUNIT_CASE(names_and_beginnings_match),
	KUNIT_CASE(each_attribute_alone),
	KUNIT_CASE(attributes_are_the_kernels),
	KUNIT_CASE(chance_is_fair_and_can_be_repeated),
	{ 0 }
};

static const struct kunit_suite fault_attr_suite = {
	.name = "fault_attr",
	.cases = cases,
};
kunit_test_suite(fault_attr_suite);
