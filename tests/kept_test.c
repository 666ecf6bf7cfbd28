// SPDX-License-Identifier: BSD-2-Clause
/*
 * kept_test.c - empty slabs stay with their class, and are no loss to others.
 *
 * Under SLABDEV_RETAIN a class keeps every slab whose objects have come back;
 * what they hold is there for anybody as soon as free slices run out, before
 * the space maps more. Slabs of a prefill that nobody used yet are not meant.
 */
#include "slab/slab.h"
#include "tests/open_space.h"
#include "tests/random.h"

#define OBJECTS 64u
#define SIZE (256 * KIB)

/* Objects of 256 KiB, one a slab: what sheaves and barns do not hold. */
static void fill(struct kunit *test, struct slabdev *sd, void **p, u64 size,
		 u32 n)
{
	for (u32 i = 0; i < n; i++)
		p[i] = must_alloc(test, sd, size);
}

static void empty(struct kunit *test, struct slabdev *sd, void **p, u32 n)
{
	for (u32 i = 0; i < n; i++)
		EXPECT_FREED(test, sd, p[i]);
}

/* Slabs of all classes: that were made since open, and that are empty. */
static u64 slabs_made(const struct slabdev *sd)
{
	u64 n = 0;

	for (u32 id = 1; id <= NR_GENERAL; id++)
		n += sd->class[id]->rec->slab_allocs;
	return n;
}

static u64 slabs_kept(const struct slabdev *sd)
{
	u64 n = 0;

	for (u32 id = 1; id <= NR_GENERAL; id++)
		n += sd->class[id]->rec->empty;
	return n;
}

static void set_policy(struct kunit *test, struct slabdev *sd, u32 mode)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = mode;
	policy.keep_bytes = GIB;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(sd, &policy), 0);
}

/* The second time no slab is made, and the backend is not asked. */
static void a_class_finds_its_slabs_again(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p[OBJECTS];
	u64 made, calls;

	fill(test, sd, p, SIZE, OBJECTS);
	empty(test, sd, p, OBJECTS);
	made = slabs_made(sd);
	calls = calls_of(test, sd);
	KUNIT_EXPECT_GT(test, slabs_kept(sd), OBJECTS / 2);
	fill(test, sd, p, SIZE, OBJECTS);
	KUNIT_EXPECT_EQ(test, slabs_made(sd), made);
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
	empty(test, sd, p, OBJECTS);
}

/* Another class, a large object, or a huge one at the limit takes them. */
static void others_have_them_before_more_is_mapped(struct kunit *test)
{
	static const u64 sizes[] = { 4 * KIB, 48 * KIB, SIZE / 2, 2 * MIB };
	struct slabdev *sd = test->priv;
	void *p[OBJECTS], **q = kunit_kzalloc(test, 4096 * sizeof(*q));
	u64 mapped;
	u32 i, n;

	fill(test, sd, p, SIZE, OBJECTS);
	mapped = figures(test, sd).mapped;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		empty(test, sd, p, OBJECTS);
		n = (u32)(OBJECTS * SIZE * 3 / 4 / sizes[i]);
		fill(test, sd, q, sizes[i], n);
		/* What sheaves and barns hold is missing. */
		KUNIT_EXPECT_LE_MSG(test, figures(test, sd).mapped,
				    mapped + CHUNK,
				    "objects of %llu bytes",
				    (unsigned long long)sizes[i]);
		empty(test, sd, q, n);
		fill(test, sd, p, SIZE, OBJECTS);
	}
	empty(test, sd, p, OBJECTS);
}

static void huge_object_at_the_limit(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 80 * MIB);
	void *p[OBJECTS], *huge;

	need_merging(test, sd);
	fill(test, sd, p, MIB, OBJECTS);
	empty(test, sd, p, OBJECTS);
	KUNIT_EXPECT_GT(test, slabs_kept(sd), 0);
	huge = must_alloc(test, sd, 70 * MIB);
	EXPECT_FREED(test, sd, huge);
	expect_sound(test, sd);
}

/* 100 MiB are mapped and free, in slabs of their own: no call is needed. */
static void huge_object_finds_them(struct kunit *test)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev *sd = test->priv;
	void *p[128], *huge;
	u64 calls;

	need_merging(test, sd);
	fill(test, sd, p, MIB, ARRAY_SIZE(p));
	calls = calls_of(test, sd);
	empty(test, sd, p, ARRAY_SIZE(p));
	req.flags = SLABDEV_REQ_NO_GROW;
	huge = slabdev_alloc_ex(sd, 100 * MIB, &req);
	KUNIT_EXPECT_NOT_NULL(test, huge);
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
	EXPECT_FREED(test, sd, huge);
}

static void prime_counts_them(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p[OBJECTS];
	u64 mapped;

	fill(test, sd, p, SIZE, OBJECTS);
	mapped = figures(test, sd).mapped;
	empty(test, sd, p, OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_prime(sd, mapped / 2), 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).mapped, mapped);
}

/* Trim keeps one a class, so that vacant chunks show; aggressive none. */
static void other_policies_keep_less(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p[OBJECTS];

	fill(test, sd, p, SIZE, OBJECTS);
	empty(test, sd, p, OBJECTS);
	set_policy(test, sd, SLABDEV_TRIM);
	KUNIT_EXPECT_EQ(test, slabs_kept(sd), 0);
	fill(test, sd, p, SIZE, OBJECTS);
	empty(test, sd, p, OBJECTS);
	KUNIT_EXPECT_EQ(test, slabs_kept(sd), 1);
	set_policy(test, sd, SLABDEV_AGGRESSIVE);
	fill(test, sd, p, SIZE, OBJECTS);
	empty(test, sd, p, OBJECTS);
	KUNIT_EXPECT_EQ(test, slabs_kept(sd), 0);
	settle(test, sd);
	KUNIT_EXPECT_EQ(test, figures(test, sd).mapped, 0);
}

/* Nobody who finds no free slices takes what a prefill set aside. */
static void prefill_is_not_meant(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = NULL;
	void *p[OBJECTS], *q[OBJECTS];
	u64 made;
	u32 i;

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, sd, "set-aside",
						   SIZE, NULL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_cache_prefill(cache, OBJECTS), 0);
	made = ((struct class *)cache)->rec->slab_allocs;
	fill(test, sd, p, SIZE, OBJECTS);
	empty(test, sd, p, OBJECTS);
	fill(test, sd, p, SIZE / 2, OBJECTS);
	for (i = 0; i < OBJECTS; i++)
		q[i] = slabdev_cache_alloc(cache);
	KUNIT_EXPECT_EQ(test, ((struct class *)cache)->rec->slab_allocs, made);
	empty(test, sd, q, OBJECTS);
	empty(test, sd, p, OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

/* Objects of 12 KiB until there is no memory for one more. */
static u32 fill_up(struct slabdev *sd, void **p, u32 n)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	u32 i;

	req.flags = SLABDEV_REQ_NO_REPORT;
	for (i = 0; i < n; i++) {
		p[i] = slabdev_alloc_ex(sd, 12 * KIB, &req);
		if (!p[i])
			break;
	}
	return i;
}

/*
 * What was tried on the way to an object is no failure of the call. All that is
 * free lies in the thread's sheaf of another class, so that mapping more is
 * tried, and refused, before taking back succeeds.
 */
static void success_leaves_the_text_alone(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 4 * MIB);
	void *p[OBJECTS * 8], *q[100];
	u32 i, n = fill_up(sd, p, ARRAY_SIZE(p));
	char text[256];

	KUNIT_ASSERT_LT(test, n, ARRAY_SIZE(p));
	KUNIT_EXPECT_EQ(test, slabdev_trim(NULL, 0), -EINVAL);
	snprintf(text, sizeof(text), "%s", slabdev_last_error());
	empty(test, sd, p, 8);
	for (i = 0; i < ARRAY_SIZE(q); i++) {
		q[i] = must_alloc(test, sd, 375);
		KUNIT_EXPECT_STREQ(test, slabdev_last_error(), text);
	}
	empty(test, sd, q, ARRAY_SIZE(q));
	empty(test, sd, p + 8, n - 8);
}

/* Objects of many slabs in one flush, in every order of slabs. */
static void flushes_of_mixed_slabs(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	u64 random = random_seed(test);
	u32 n = 4096, i, j, round;
	void **p = kunit_kzalloc(test, n * sizeof(*p)), *t;

	for (round = 0; round < 4; round++) {
		fill(test, sd, p, 256 << round, n);
		for (i = n - 1; i; i--) {
			j = random_below(&random, i + 1);
			t = p[i];
			p[i] = p[j];
			p[j] = t;
		}
		empty(test, sd, p, n / 2);
		expect_sound(test, sd);
		empty(test, sd, p + n / 2, n / 2);
		expect_sound(test, sd);
	}
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(a_class_finds_its_slabs_again),
	KUNIT_CASE(others_have_them_before_more_is_mapped),
	KUNIT_CASE(huge_object_at_the_limit),
	KUNIT_CASE(huge_object_finds_them),
	KUNIT_CASE(prime_counts_them),
	KUNIT_CASE(other_policies_keep_less),
	KUNIT_CASE(prefill_is_not_meant),
	KUNIT_CASE(success_leaves_the_text_alone),
	KUNIT_CASE(flushes_of_mixed_slabs),
	{ 0 }
};

static const struct kunit_suite kept_suite = {
	.name = "kept",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(kept_suite);
