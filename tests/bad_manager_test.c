// SPDX-License-Identifier: BSD-2-Clause
/*
 * bad_manager_test.c - every argument of managers, ledgers and plans that makes
 * no sense, as bad_input_test.c.
 *
 * The memory is the host's, which every build has; cuda_manager_test.c has the
 * pairs of devices. What must not change is a ledger.
 */
#include "tests/bad_input.h"

#define MINUS(n) ((size_t)0 - (n))
#define GARBAGE ((void *)&garbage)
#define HOST SLABDEV_MEMORY_HOST, SLABDEV_NO_DEVICE

static long garbage;

/* ---- Managers ----------------------------------------------------------- */

static struct slabdev_ledger books_of(struct kunit *test,
				      struct slabdev_manager *m)
{
	struct slabdev_ledger l = { .spaces = 99 };

	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger(m, HOST, &l, sizeof(l)),
			0);
	return l;
}

static void bad_creations(struct kunit *test)
{
	static const struct slabdev_manager_attr def =
		SLABDEV_MANAGER_ATTR_INIT;
	struct slabdev_manager_attr attr = def;
	struct {
		struct slabdev_manager_attr known;
		u64 unknown;
	} longer = { SLABDEV_MANAGER_ATTR_INIT, 1 };
	struct slabdev_manager *m = untouched();
	char name[300];

	REFUSED(test, -EINVAL, "manager", slabdev_manager_create(NULL, NULL));
	attr.size = 0;
	REFUSED(test, -EINVAL, "size", slabdev_manager_create(&m, &attr));
	attr = def;
	attr.name = "";
	REFUSED(test, -EINVAL, "name", slabdev_manager_create(&m, &attr));
	attr.name = "a\tb";
	REFUSED(test, -EINVAL, "name", slabdev_manager_create(&m, &attr));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	attr.name = name;
	REFUSED(test, -EINVAL, "name", slabdev_manager_create(&m, &attr));
	longer.known.size = sizeof(longer);
	REFUSED(test, -E2BIG, "attr", slabdev_manager_create(&m,
							     &longer.known));
	KUNIT_EXPECT_PTR_EQ(test, m, untouched());
}

static void bad_pairs(struct kunit *test, struct slabdev_manager *m)
{
	static const struct {
		u32 kind;
		int device;
		const char *words;
	} pairs[] = {
		{ 0, 0, "kind 0" }, { 5, 0, "kind 5" },
		{ 0xffffffff, 0, "kind 4294967295" },
		{ SLABDEV_MEMORY_HOST, 0, "device 0" },
		{ SLABDEV_MEMORY_HOST, -2, "device -2" },
		{ SLABDEV_MEMORY_DEVICE, -1, "device -1" },
		{ SLABDEV_MEMORY_PINNED, -1, "device -1" },
		{ SLABDEV_MEMORY_MANAGED, -7, "device -7" },
	};
	struct slabdev *sd = untouched();
	struct slabdev_ledger l;

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		u32 kind = pairs[i].kind;
		int device = pairs[i].device;
		const char *words = pairs[i].words;

		REFUSED(test, -EINVAL, words,
			slabdev_manager_space(m, kind, device, &sd));
		REFUSED(test, -EINVAL, words,
			slabdev_manager_open(m, kind, device, NULL, &sd));
		REFUSED(test, -EINVAL, words, SET_ERRNO(
			slabdev_manager_alloc(m, kind, device, 100, 0)));
		REFUSED(test, -EINVAL, words,
			slabdev_manager_ledger(m, kind, device, &l,
					       sizeof(l)));
	}
	KUNIT_EXPECT_PTR_EQ(test, sd, untouched());
}

static void bad_requests(struct kunit *test, struct slabdev_manager *m)
{
	struct slabdev_ledger before = books_of(test, m), now;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd = untouched();
	char *p = slabdev_manager_space_of(m, &garbage) ? NULL : untouched();

	REFUSED(test, -EINVAL, "bytes",
		SET_ERRNO(slabdev_manager_alloc(m, HOST, 0, 0)));
	REFUSED(test, -EOVERFLOW, "bytes",
		SET_ERRNO(slabdev_manager_alloc(m, HOST, MINUS(1), 0)));
	REFUSED(test, -EOVERFLOW, "bytes",
		SET_ERRNO(slabdev_manager_alloc(m, HOST, MINUS(4096), 0)));
	REFUSED(test, -EINVAL, "align",
		SET_ERRNO(slabdev_manager_alloc(m, HOST, 100, 3)));
	REFUSED(test, -EINVAL, "align",
		SET_ERRNO(slabdev_manager_alloc(m, HOST, 100, 2 * GIB)));
	REFUSED(test, -EINVAL, "align",
		SET_ERRNO(slabdev_manager_alloc(m, HOST, 100, MINUS(256))));
	REFUSED(test, -EINVAL, "sd", slabdev_manager_space(m, HOST, NULL));
	REFUSED(test, -EEXIST, "host",
		slabdev_manager_open(m, HOST, &attr, &sd));
	REPORTED(test, REPORT_INVALID_POINTER, -EINVAL, "slabdev_manager_free",
		 slabdev_manager_free(m, GARBAGE));
	REFUSED(test, -ENOENT, "no address",
		SET_ERRNO(slabdev_manager_space_of(m, GARBAGE)));
	KUNIT_EXPECT_PTR_EQ(test, sd, untouched());
	KUNIT_EXPECT_PTR_EQ(test, p, untouched());
	now = books_of(test, m);
	KUNIT_EXPECT_EQ(test, now.failed, before.failed + 6);
	now.failed = before.failed;
	KUNIT_EXPECT_MEMEQ(test, &now, &before, sizeof(now));
}

static void bad_frees(struct kunit *test, struct slabdev_manager *m)
{
	char *p = slabdev_manager_alloc(m, HOST, 1000, 0);
	struct slabdev_ledger before = books_of(test, m), now;

	KUNIT_ASSERT_NOT_NULL(test, p);
	REPORTED(test, REPORT_INVALID_POINTER, -EINVAL, "inside",
		 slabdev_manager_free(m, p + 256));
	REPORTED(test, REPORT_INVALID_POINTER, -EINVAL, "inside",
		 slabdev_manager_free(m, p + 1));
	now = books_of(test, m);
	KUNIT_EXPECT_MEMEQ(test, &now, &before, sizeof(now));
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, p), 0);
	before = books_of(test, m);
	REPORTED(test, REPORT_DOUBLE_FREE, -EALREADY, "free",
		 slabdev_manager_free(m, p));
	now = books_of(test, m);
	KUNIT_EXPECT_MEMEQ(test, &now, &before, sizeof(now));
}

static void bad_ledgers(struct kunit *test, struct slabdev_manager *m)
{
	struct slabdev_ledger l = { .allocs = 0 };
	double x = 7;

	REFUSED(test, -EINVAL, "ledger",
		slabdev_manager_ledger(m, HOST, NULL, sizeof(l)));
	REFUSED(test, -EINVAL, "size", slabdev_manager_ledger(m, HOST, &l, 0));
	REFUSED(test, -EINVAL, "ledger",
		slabdev_manager_total(m, NULL, sizeof(l)));
	REFUSED(test, -EINVAL, "size", slabdev_manager_total(m, &l, 0));
	REFUSED(test, -EINVAL, "ledger",
		slabdev_manager_ledger_at(m, 0, NULL, sizeof(l)));
	REFUSED(test, -ENOENT, "-1",
		slabdev_manager_ledger_at(m, -1, &l, sizeof(l)));
	REFUSED(test, -ENOENT, "1",
		slabdev_manager_ledger_at(m, 1, &l, sizeof(l)));
	REFUSED(test, -EINVAL, "out", slabdev_manager_report(m, NULL));
	REFUSED(test, -EINVAL, "ledger", slabdev_ledger_efficiency(NULL, &x));
	REFUSED(test, -EINVAL, "efficiency",
		slabdev_ledger_efficiency(&l, NULL));
	REFUSED(test, -ENODATA, "alloc", slabdev_ledger_efficiency(&l, &x));
	REFUSED(test, -EINVAL, "ledger", slabdev_ledger_average(NULL, &x));
	REFUSED(test, -EINVAL, "result is NULL",
		slabdev_ledger_average(&l, NULL));
	REFUSED(test, -EINVAL, "ledger",
		slabdev_ledger_hit_rate(NULL, &x, &x));
	REFUSED(test, -ENODATA, "alloc", slabdev_ledger_hit_rate(&l, &x, &x));
	KUNIT_EXPECT_TRUE(test, x > 6.9 && x < 7.1);
}

/* What is no manager, or none any more. */
static void bad_manager(struct kunit *test, struct slabdev_manager *m, int err)
{
	struct slabdev *sd = untouched();
	struct slabdev_ledger l;

	REFUSED(test, err, "slabdev_manager_space",
		slabdev_manager_space(m, HOST, &sd));
	REFUSED(test, err, "slabdev_manager_open",
		slabdev_manager_open(m, HOST, NULL, &sd));
	REFUSED(test, err, "slabdev_manager_alloc",
		SET_ERRNO(slabdev_manager_alloc(m, HOST, 100, 0)));
	REFUSED(test, err, "slabdev_manager_space_of",
		SET_ERRNO(slabdev_manager_space_of(m, GARBAGE)));
	REFUSED(test, err, "slabdev_manager_ledger",
		slabdev_manager_ledger(m, HOST, &l, sizeof(l)));
	REFUSED(test, err, "slabdev_manager_count", slabdev_manager_count(m));
	REFUSED(test, err, "slabdev_manager_ledger_at",
		slabdev_manager_ledger_at(m, 0, &l, sizeof(l)));
	REFUSED(test, err, "slabdev_manager_total",
		slabdev_manager_total(m, &l, sizeof(l)));
	REFUSED(test, err, "slabdev_manager_report",
		slabdev_manager_report(m, stdout));
	KUNIT_EXPECT_PTR_EQ(test, sd, untouched());
}

static void bad_managers(struct kunit *test)
{
	struct slabdev_manager *m;
	struct slabdev_ledger l;
	struct slabdev *sd;

	bad_creations(test);
	KUNIT_ASSERT_EQ(test, slabdev_manager_create(&m, NULL), 0);
	REFUSED(test, -ENOENT, "not opened",
		slabdev_manager_ledger(m, HOST, &l, sizeof(l)));
	KUNIT_ASSERT_EQ(test, slabdev_manager_space(m, HOST, &sd), 0);
	bad_pairs(test, m);
	bad_requests(test, m);
	bad_frees(test, m);
	bad_ledgers(test, m);
	REFUSED(test, -EINVAL, "flags", slabdev_manager_destroy(m, 0x80));
	KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), 1);
	KUNIT_EXPECT_EQ(test, slabdev_manager_destroy(m, 0), 0);
	bad_manager(test, m, -EALREADY);
	REFUSED(test, -EALREADY, "slabdev_manager_destroy",
		slabdev_manager_destroy(m, 0));
	bad_manager(test, GARBAGE, -EINVAL);
	bad_manager(test, NULL, -EINVAL);
}

/* ---- Plans -------------------------------------------------------------- */

static const struct slabdev_pack_block good[] = {
	{ .bytes = 100, .lower = 0, .upper = 2, .offset = 77 },
	{ .bytes = 200, .lower = 1, .upper = 3, .offset = 77 },
};

/* One of the blocks makes no sense: all three calls say which. */
static void bad_plan(struct kunit *test, const struct slabdev_pack_block *bad,
		     int err, const char *words)
{
	struct slabdev_pack_block b[2] = { good[0], *bad };
	u64 total = 7;

	REFUSED(test, err, words, slabdev_pack(b, 2, NULL, &total));
	KUNIT_EXPECT_EQ(test, b[0].offset, 77);
	REFUSED(test, err, words, slabdev_pack_bound(b, 2, &total));
	b[0].offset = 0;
	b[1].offset = 256;
	REFUSED(test, err, words, slabdev_pack_check(b, 2, &total));
	KUNIT_EXPECT_EQ(test, total, 7);
}

static void bad_plan_blocks(struct kunit *test)
{
	struct slabdev_pack_block b = good[1];

	b.bytes = 0;
	bad_plan(test, &b, -EINVAL, "blocks[1]");
	b = good[1];
	b.align = 3;
	bad_plan(test, &b, -EINVAL, "blocks[1]");
	b = good[1];
	b.upper = b.lower;
	bad_plan(test, &b, -EINVAL, "blocks[1]");
	b.upper = INT64_MIN;
	bad_plan(test, &b, -EINVAL, "blocks[1]");
}

static void bad_plan_checks(struct kunit *test)
{
	struct slabdev_pack_block b[2] = { good[0], good[1] };
	u64 total = 7;

	b[0].offset = 0;
	b[1].offset = 0;
	REFUSED(test, -EINVAL, "blocks[", slabdev_pack_check(b, 2, &total));
	b[1].offset = 100;
	REFUSED(test, -EINVAL, "blocks[1]", slabdev_pack_check(b, 2, &total));
	b[1].offset = ~(u64)255;
	b[1].bytes = 512;
	REFUSED(test, -EOVERFLOW, "blocks[1]",
		slabdev_pack_check(b, 2, &total));
	KUNIT_EXPECT_EQ(test, total, 7);
}

static void bad_plans(struct kunit *test)
{
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;
	struct {
		struct slabdev_pack_attr known;
		u64 unknown;
	} longer = { SLABDEV_PACK_ATTR_INIT, 1 };
	struct slabdev_pack_block b[2] = { good[0], good[1] };
	u64 total = 7;

	bad_plan_blocks(test);
	bad_plan_checks(test);
	REFUSED(test, -EINVAL, "blocks", slabdev_pack(NULL, 2, NULL, &total));
	REFUSED(test, -EOVERFLOW, "blocks",
		slabdev_pack(b, SLABDEV_PACK_MAX + 1, NULL, &total));
	REFUSED(test, -EOVERFLOW, "blocks",
		slabdev_pack(b, MINUS(1), NULL, &total));
	REFUSED(test, -EINVAL, "blocks", slabdev_pack_bound(NULL, 2, &total));
	REFUSED(test, -EINVAL, "bound", slabdev_pack_bound(b, 2, NULL));
	REFUSED(test, -EINVAL, "blocks", slabdev_pack_check(NULL, 2, &total));
	attr.flags = 1;
	REFUSED(test, -EINVAL, "flags", slabdev_pack(b, 2, &attr, &total));
	attr.flags = 0;
	attr.size = 0;
	REFUSED(test, -EINVAL, "size", slabdev_pack(b, 2, &attr, &total));
	longer.known.size = sizeof(longer);
	REFUSED(test, -E2BIG, "attr", slabdev_pack(b, 2, &longer.known,
						   &total));
	b[0].bytes = b[1].bytes = (u64)1 << 63;
	REFUSED(test, -EOVERFLOW, "blocks", slabdev_pack(b, 2, NULL, &total));
	KUNIT_EXPECT_EQ(test, b[1].offset, 77);
	KUNIT_EXPECT_EQ(test, total, 7);
}

static int bad_manager_init(struct kunit *test)
{
	int err = open_space_init(test);

	EXPECT_FREED(test, test->priv, must_alloc(test, test->priv, 1000));
	return err;
}

static const struct kunit_case bad_manager_cases[] = {
	KUNIT_CASE(bad_managers),
	KUNIT_CASE(bad_plans),
	{ 0 }
};

static const struct kunit_suite bad_manager_suite = {
	.name = "bad_manager",
	.init = bad_manager_init,
	.exit = open_space_exit,
	.cases = bad_manager_cases,
	.any_space = true,
};
kunit_test_suite(bad_manager_suite);
