// SPDX-License-Identifier: BSD-2-Clause
/*
 * same_layout_test.c - the same calls give the same offsets in every process
 *
 * Two processes (tests/twin.c) make the same random calls, of every kind that
 * the promise of rank.h is about, and print where everything lies; a list of
 * what is different around the second must not show. The random numbers that
 * decide the calls are the same; those that decide the disturbance are not.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/kunit/spawn.h"
#include "tests/open_space.h"
#include "tests/random.h"
#include "tests/sanitizers.h"

#define STEPS "1500"
#define LONG_STEPS "30000"
#define EXIT_REFUSED 3
#define EXIT_NO_FILTER 77

/* A program that is not alone, and its environment. */
#define NOISY "SLABDEV_LIMIT=64M", "SLABDEV_RANKS=4", "SLABDEV_RESERVE=128M", \
	"SLABDEV_SHEAF=64K", "SLABDEV_POLICY=trim:0", "SLABDEV_STATS=0", \
	"SLABDEV_BACKING=pool", "SLABDEV_ASSERT_STEADY=1", \
	"SOMETHING_LONG=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

struct twins {
	const char *spec;
	const char *attributes;
	const char *disturbance;
};

static const struct twins twins[] = {
	{ "host", "", "jbs" },
	{ "host", "n", "js" },
	{ "host", "n", "jq" },
	{ "host", "f", "js" },
	{ "cuda:0", "", "jsh" },
	{ "cuda:0", "f", "jsh" },
	{ "cuda:0", "n", "jsh" },
	{ "cuda:0", "m", "jsh" },
	{ "cuda-host:0", "", "jsh" },
	{ "cuda-managed:0", "", "jsh" },
};

static void describe_twins(const struct twins *t, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %s, %s", t->spec,
		 t->attributes, t->disturbance);
}
KUNIT_ARRAY_PARAM(twins, twins, describe_twins);

static void run_twin(struct kunit *test, struct kunit_process *p,
		     const struct twins *t, u64 seed, const char *steps,
		     bool disturbed)
{
	char number[24], model[4200] = "SLABDEV_MODEL_PROFILE=h200";
	const char *const quiet[] = {
		"env", model, kunit_built_path(test, "tests/twin"), t->spec,
		number, steps, t->attributes, "", NULL,
	};
	const char *const noisy[] = {
		"env", model, NOISY, kunit_built_path(test, "tests/twin"),
		t->spec, number, steps, t->attributes, t->disturbance, NULL,
	};

	if (strcmp(t->spec, "host"))
		snprintf(model, sizeof(model), "SLABDEV_LIBCUDA=%s",
			 kunit_built_path(test, "tests/model/libcuda.so.1"));
	snprintf(number, sizeof(number), "%llu", (unsigned long long)seed);
	kunit_run_program(test, p, disturbed ? noisy : quiet);
}

/* The first line in which they differ, or NULL. */
static const char *difference(const char *a, const char *b)
{
	const char *line = a;

	for (; *a && *a == *b; a++, b++)
		if (*a == '\n')
			line = a + 1;
	return *a == *b ? NULL : line;
}

static u32 count_lines(const char *text)
{
	u32 n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void compare(struct kunit *test, const struct twins *t,
		    const char *steps)
{
	struct kunit_process one, other;
	u64 seed = random_seed(test);
	const char *where;

	run_twin(test, &one, t, seed, steps, false);
	run_twin(test, &other, t, seed, steps, true);
	if (other.exit_code == EXIT_NO_FILTER)
		kunit_skip(test, "no filter of system calls here");
	KUNIT_ASSERT_EQ_MSG(test, one.exit_code, 0, "%s%s", one.out, one.err);
	KUNIT_ASSERT_EQ_MSG(test, other.exit_code, 0, "%s%s", other.out,
			    other.err);
	where = difference(one.out, other.out);
	KUNIT_EXPECT_NULL_MSG(test, where, "from line %u of %u on: %.40s",
			      where ? count_lines(one.out) - count_lines(where)
				    : 0, count_lines(one.out), where);
	/* It was a program worth the name. */
	KUNIT_EXPECT_GT(test, count_lines(one.out), (u32)atoi(steps));
}

static void need(struct kunit *test, const struct twins *t)
{
	if (strcmp(t->spec, "host") && !IS_ENABLED(CONFIG_DRIVER_MODEL))
		kunit_skip(test, "the model of the driver was not built");
	if (IS_SANITIZED && strchr(t->disturbance, 'q'))
		kunit_skip(test, "a sanitizer needs membarrier");
}

static void twins_have_the_same_offsets(struct kunit *test)
{
	need(test, test->param_value);
	compare(test, test->param_value, STEPS);
}

static void twins_have_them_for_long(struct kunit *test)
{
	need(test, test->param_value);
	compare(test, test->param_value, LONG_STEPS);
}

/* Another kind of process would have another layout: it says so. */
static void without_sheaves_it_is_refused(struct kunit *test)
{
	static const struct twins alone = { "host", "", "" };
	static const char *const why[] = { "SLABDEV_MEMBARRIER=0",
					   "SLABDEV_DEBUG=H" };
	struct kunit_process p;

	for (size_t i = 0; i < ARRAY_SIZE(why); i++) {
		const char *const argv[] = {
			"env", why[i], kunit_built_path(test, "tests/twin"),
			alone.spec, "1", "10", "", "", NULL,
		};

		if (i && !IS_ENABLED(CONFIG_SLAB_HAZARD))
			continue;
		kunit_run_program(test, &p, argv);
		KUNIT_EXPECT_EQ_MSG(test, p.exit_code, EXIT_REFUSED, "%s%s",
				    p.out, p.err);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out,
				"SLABDEV_OPEN_NO_SHEAVES in all processes"),
				"%s", p.out);
	}
}

/* ---- Attributes --------------------------------------------------------- */

static struct slabdev_attr attr_of(u64 limit)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.flags = SLABDEV_OPEN_SAME_LAYOUT;
	attr.limit = limit;
	attr.reserve = 8 * limit;
	return attr;
}

static void refuse(struct kunit *test, const struct slabdev_attr *attr,
		   const char *word)
{
	struct slabdev *sd = NULL;

	KUNIT_EXPECT_EQ(test, slabdev_open(&sd, "host", attr), -EINVAL);
	KUNIT_EXPECT_NULL(test, sd);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(slabdev_last_error(), word),
				  "%s", slabdev_last_error());
}

static void what_asks_the_machine_is_refused(struct kunit *test)
{
	struct slabdev_attr attr = attr_of(64 * MIB);

	attr.limit = 0;
	refuse(test, &attr, "attr.limit");
	attr.limit_permille = 500;
	refuse(test, &attr, "attr.limit");
	attr = attr_of(64 * MIB);
	attr.reserve = 0;
	refuse(test, &attr, "attr.reserve");
	attr = attr_of(64 * MIB);
	attr.ranks = 2;
	refuse(test, &attr, "attr.ranks");
	attr = attr_of(64 * MIB);
	attr.handle_type = SLABDEV_HANDLE_AUTO;
	refuse(test, &attr, "attr.handle_type");
	attr = attr_of(64 * MIB);
	attr.ordering = SLABDEV_ORDER_HOST;
	refuse(test, &attr, "attr.ordering");
}

/* No halving: as long as it was asked for, or not at all. */
static void addresses_that_are_not_there(struct kunit *test)
{
	struct slabdev_attr attr = attr_of(64 * MIB);
	struct slabdev *sd = NULL;

	attr.reserve = 2 * TIB;
	refuse(test, &attr, "1 TiB");
	attr.reserve = 64 * MIB;
	KUNIT_ASSERT_EQ(test, slabdev_open(&sd, "host", &attr), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).reserved, 64 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
}

static struct slabdev *open_same(struct kunit *test, u64 limit, u64 reserve)
{
	struct slabdev_attr attr = attr_of(limit);
	struct slabdev *sd = NULL;

	attr.reserve = reserve;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_open(&sd, "host", &attr), 0, "%s",
			    slabdev_last_error());
	return sd;
}

/* Where other spaces reserve once more. */
static void one_reservation_is_all(struct kunit *test)
{
	struct slabdev *sd = open_same(test, 64 * MIB, 32 * MIB);
	void *p = must_alloc(test, sd, 20 * MIB);

	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_NULL(test, slabdev_alloc(sd, 20 * MIB));
	KUNIT_EXPECT_EQ(test, errno, ENOMEM);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(slabdev_last_error(),
					       "attr.reserve"), "%s",
				  slabdev_last_error());
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).reserved, 32 * MIB);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

static void alignments_go_by_offset(struct kunit *test)
{
	struct slabdev *sd = open_same(test, 64 * MIB, 512 * MIB);
	void *p = slabdev_alloc_aligned(sd, 100, 2 * MIB);

	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, (uintptr_t)p % (2 * MIB), 0);
	KUNIT_EXPECT_NULL(test, slabdev_alloc_aligned(sd, 100, 4 * MIB));
	KUNIT_EXPECT_EQ(test, errno, EINVAL);
	KUNIT_EXPECT_NOT_NULL(test, strstr(slabdev_last_error(),
					   "alignment of 4194304"));
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

/* ---- Offsets ------------------------------------------------------------ */

static void offsets_and_addresses(struct kunit *test)
{
	struct slabdev *sd = open_same(test, 64 * MIB, 512 * MIB);
	char *base = slabdev_base(sd), *p = must_alloc(test, sd, 5000);
	u64 offset = slabdev_offset(sd, p);

	KUNIT_EXPECT_EQ(test, (uintptr_t)base % (2 * MIB), 0);
	KUNIT_EXPECT_PTR_EQ(test, base + offset, p);
	KUNIT_EXPECT_EQ(test, slabdev_offset(sd, p + 17), offset + 17);
	KUNIT_EXPECT_EQ(test, slabdev_offset(sd, base + 512 * MIB - 1),
			512 * MIB - 1);
	errno = 0;
	KUNIT_EXPECT_EQ(test, slabdev_offset(sd, base + 512 * MIB), UINT64_MAX);
	KUNIT_EXPECT_EQ(test, errno, EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_offset(sd, base - 1), UINT64_MAX);
	KUNIT_EXPECT_EQ(test, slabdev_offset(sd, &p), UINT64_MAX);
	KUNIT_EXPECT_EQ(test, slabdev_offset(sd, NULL), UINT64_MAX);
	errno = 0;
	KUNIT_EXPECT_EQ(test, slabdev_offset(NULL, p), UINT64_MAX);
	KUNIT_EXPECT_EQ(test, errno, EINVAL);
	KUNIT_EXPECT_NULL(test, slabdev_base(NULL));
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(twins_have_the_same_offsets, twins_gen_params),
	KUNIT_CASE_PARAM(twins_have_them_for_long, twins_gen_params,
			 .is_long = true),
	KUNIT_CASE(without_sheaves_it_is_refused),
	KUNIT_CASE(what_asks_the_machine_is_refused),
	KUNIT_CASE(addresses_that_are_not_there),
	KUNIT_CASE(one_reservation_is_all),
	KUNIT_CASE(alignments_go_by_offset),
	KUNIT_CASE(offsets_and_addresses),
	{ 0 }
};

static const struct kunit_suite same_layout_suite = {
	.name = "same_layout",
	.cases = cases,
};
kunit_test_suite(same_layout_suite);
