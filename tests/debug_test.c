// SPDX-License-Identifier: BSD-2-Clause
/*
 * debug_test.c - red zones, poison and quarantine find what they promise.
 *
 * Each case is a program with one mistake, and looks for the one report of it:
 * its kind, which object, which bytes, and when it was found. The spaces have
 * F, Z, P, U and Q, and caches those that a case says.
 */
#include "slab/quarantine.h"
#include "tests/damage.h"

static int letters_init(const struct kunit_suite *suite)
{
	(void)suite;
	if (IS_ENABLED(CONFIG_SLAB_DEBUG))
		debug_letters_are("FZPUQ");
	return 0;
}

/* ---- Zones ------------------------------------------------------------ */

/* Programs that write all that is theirs, and nothing else. */
static void own_bytes_are_the_owners(struct kunit *test)
{
	struct victims v;
	void *p[3];
	u32 i, round;

	victims_open(&v, test);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < ARRAY_SIZE(p); i++) {
			p[i] = victim_get(&v);
			mem_fill(v.sd, p[i], v.victim->size, 0x11 + (int)i);
		}
		expect_sound(test, v.sd);
		KUNIT_EXPECT_TRUE(test, !has_zone_behind(&v, p[0]) ||
				  slabdev_usable_size(v.sd, p[0]) ==
				  v.victim->size);
		for (i = 0; i < ARRAY_SIZE(p); i++) {
			KUNIT_EXPECT_TRUE(test, mem_is(v.sd, p[i],
						       v.victim->size,
						       0x11 + (int)i));
			KUNIT_EXPECT_EQ(test, victim_free(&v, p[i]), 0);
		}
		expect_sound(test, v.sd);
	}
	victims_close(&v);
}

/* Of the victims with a zone, one that was written at @offset is found. */
static void expect_found_at_free(struct victims *v, void *p, s64 offset)
{
	const struct class *c = victim_class(v, p);

	smear(v->sd, p, offset, 1);
	EXPECT_TOLD(v->test, REPORT_RED_ZONE,
		    KUNIT_EXPECT_EQ(v->test, victim_free(v, p), 0));
	expect_told(v->test, "Object 0x%llx of ", (unsigned long long)
		    (uintptr_t)p);
	expect_told(v->test, "size=%zu, free", v->victim->size);
	expect_told(v->test, "First byte 0x5a instead of 0x");
	expect_told(v->test, "found when the object was freed; %s",
		    c ? "it is not handed out any more" :
			"its memory is used again");
	if (c)
		expect_kept(v, p);
}

static void byte_behind_the_end(struct kunit *test)
{
	struct victims v;
	void *p;

	victims_open(&v, test);
	p = victim_get(&v);
	if (has_zone_behind(&v, p))
		expect_found_at_free(&v, p, (s64)v.victim->size);
	else
		KUNIT_EXPECT_EQ(test, victim_free(&v, p), 0);
	victims_close(&v);
}

static void last_byte_of_the_zone(struct kunit *test)
{
	struct victims v;
	void *p;

	victims_open(&v, test);
	p = victim_get(&v);
	if (has_zone_behind(&v, p))
		expect_found_at_free(&v, p, (s64)victim_stride(&v, p) - 1);
	else
		KUNIT_EXPECT_EQ(test, victim_free(&v, p), 0);
	victims_close(&v);
}

/* The first object of a slab has the lead before it. */
static void byte_before_the_first(struct kunit *test)
{
	struct victims v;
	void *p;

	victims_open(&v, test);
	p = victim_get(&v);
	if (has_zone_before(&v, p))
		expect_found_at_free(&v, p, -1);
	else
		KUNIT_EXPECT_EQ(test, victim_free(&v, p), 0);
	victims_close(&v);
}

/* What a report says of a byte behind, and of one before. */
static void words_about_zones(struct kunit *test)
{
	struct slabdev *sd = debug_space(test);
	struct slabdev_cache *cache;
	void *p[2];

	need_debug(test);
	cache = lettered_cache(test, sd, 1000, SLABDEV_CACHE_RED_ZONE |
			       SLABDEV_CACHE_CONSISTENCY_CHECKS);
	get_neighbours(test, cache, p);
	smear(sd, p[1], 1000, 2);
	EXPECT_TOLD(test, REPORT_RED_ZONE, slabdev_cache_free(cache, p[1]));
	expect_told(test, "BUG slabdev test: lettered: Right Redzone "
		    "overwritten\n");
	expect_told(test, "0x%llx-0x%llx @offset=",
		    (unsigned long long)(uintptr_t)p[1] + 1000,
		    (unsigned long long)(uintptr_t)p[1] + 1001);
	expect_told(test, "First byte 0x5a instead of 0xcc\n");
	expect_told(test, "1 byte behind the end of the object\n");
	expect_told(test, "Object 0x%llx of lettered size=1000, free\n",
		    (unsigned long long)(uintptr_t)p[1]);
	expect_told(test, ": 5a 5a cc cc cc cc cc cc");
	smear(sd, p[0], -3, 2);
	EXPECT_TOLD(test, REPORT_RED_ZONE, slabdev_cache_free(cache, p[0]));
	expect_told(test, "BUG slabdev test: lettered: Left Redzone "
		    "overwritten\n");
	expect_told(test, "First byte 0x5a instead of 0xbb\n");
	expect_told(test, "2 bytes before the start of the object\n");
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	close_space(test, sd);
}

/* The zone between two is seen from both sides, and told of once, with the
 * other one. */
static void zone_between_two(struct kunit *test)
{
	struct slabdev *sd = debug_space(test);
	struct slabdev_cache *cache;
	u32 first;
	void *p[2];

	need_debug(test);
	for (first = 0; first < 2; first++) {
		cache = lettered_cache(test, sd, 490, SLABDEV_CACHE_RED_ZONE |
				       SLABDEV_CACHE_CONSISTENCY_CHECKS |
				       SLABDEV_CACHE_STORE_USER);
		get_neighbours(test, cache, p);
		smear(sd, p[1], -1, 1);
		EXPECT_TOLD(test, REPORT_RED_ZONE,
			    slabdev_cache_free(cache, p[first]));
		expect_told(test, first ? "1 byte before the start of" :
					  "22 bytes behind the end of");
		expect_told(test, "or by the one %s it, Object 0x%llx size=490",
			    first ? "before" : "behind",
			    (unsigned long long)(uintptr_t)p[!first]);
		expect_told(test, "Allocated by ");
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p[!first]), 0);
		KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	}
	close_space(test, sd);
}

/* A walk tells of a live object, which stays its owner's. */
static void live_object_is_left_alone(struct kunit *test)
{
	struct slabdev *sd = debug_space(test);
	void *p, *q[100];
	u32 i;

	need_debug(test);
	p = must_alloc(test, sd, 1000);
	mem_fill(sd, p, 1000, 0x22);
	smear(sd, p, 1000, 1);
	EXPECT_TOLD(test, REPORT_RED_ZONE, expect_damaged(test, sd, 1));
	expect_told(test, "size=1000, live");
	expect_told(test, "found by a walk; nothing was changed");
	KUNIT_EXPECT_TRUE(test, mem_is(sd, p, 1000, 0x22));
	EXPECT_TOLD(test, REPORT_RED_ZONE, expect_damaged(test, sd, 1));
	/* It was told of; now it is bad, and that is all. */
	EXPECT_FREED(test, sd, p);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_PTR_NE(test, q[i] = must_alloc(test, sd, 1000), p);
	for (i = 0; i < 100; i++)
		EXPECT_FREED(test, sd, q[i]);
	close_space(test, sd);
}

/* ---- Sizes that change ------------------------------------------------ */

/* Within the class the zone moves with the size. */
static void resize_moves_the_zone(struct kunit *test)
{
	static const size_t sizes[] = { 900, 1000, 901, 1008, 950 };
	struct slabdev *sd = debug_space(test);
	void *p;
	u32 i;

	need_debug(test);
	p = must_alloc(test, sd, sizes[0]);
	for (i = 1; i < ARRAY_SIZE(sizes); i++) {
		KUNIT_EXPECT_PTR_EQ(test, slabdev_realloc(sd, p, sizes[i]), p);
		mem_fill(sd, p, sizes[i], 0x10 + (int)i);
		expect_sound(test, sd);
	}
	smear(sd, p, 999, 1);
	EXPECT_TOLD(test, REPORT_RED_ZONE, EXPECT_FREED(test, sd, p));
	expect_told(test, "50 bytes behind the end of the object");
	expect_told(test, "size=950, free");
	close_space(test, sd);
}

static void resize_of_large_objects(struct kunit *test)
{
	static const size_t sizes[] = { 3 * MIB, 3 * MIB + 1000,
					3 * MIB - 8 + 16, 3 * MIB + 1 };
	struct slabdev *sd = debug_space(test);
	void *p;
	u32 i;

	need_debug(test);
	p = must_alloc(test, sd, sizes[0]);
	for (i = 1; i < ARRAY_SIZE(sizes); i++) {
		KUNIT_EXPECT_PTR_EQ(test, slabdev_realloc(sd, p, sizes[i]), p);
		mem_fill(sd, p, sizes[i], 0x10 + (int)i);
		expect_sound(test, sd);
	}
	smear(sd, p, 3 * MIB + 900, 1);
	EXPECT_TOLD(test, REPORT_RED_ZONE, EXPECT_FREED(test, sd, p));
	expect_told(test, "900 bytes behind the end of the object");
	close_space(test, sd);
}

/* Others have its address: to get the size that it has it need not move. */
static void the_same_size_stays(struct kunit *test)
{
	static const size_t sizes[] = { 1000, 3 * MIB };
	struct slabdev *sd = debug_space(test);
	slabdev_stream_t q;
	void *p;
	u32 i;

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, 0), 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		p = must_alloc(test, sd, sizes[i]);
		KUNIT_EXPECT_EQ(test, slabdev_use(sd, p, q), 0);
		KUNIT_EXPECT_PTR_EQ(test, slabdev_realloc(sd, p, sizes[i]), p);
		mem_fill(sd, p, sizes[i], 0x10);
		expect_sound(test, sd);
		EXPECT_FREED(test, sd, p);
	}
	close_space(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
}

/* What is written behind an object is seen before its zone moves over it. */
static void resize_looks_first(struct kunit *test)
{
	static const struct { size_t size, to; } p[] = {
		{ 900, 1000 }, { 1000, 900 }, { 300, 496 },
	};
	struct slabdev *sd = debug_space(test);
	void *q;
	u32 i;

	need_debug(test);
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		q = must_alloc(test, sd, p[i].size);
		smear(sd, q, (s64)p[i].size + 2, 1);
		EXPECT_TOLD(test, REPORT_RED_ZONE,
			    KUNIT_EXPECT_PTR_EQ(test, slabdev_realloc(sd, q,
								      p[i].to),
						q));
		expect_told(test, "3 bytes behind the end of the object");
		EXPECT_FREED(test, sd, q);
	}
	close_space(test, sd);
}

/* What was told of is news again when the zone was filled anew. */
static void new_zone_is_news(struct kunit *test)
{
	struct slabdev *sd = debug_space(test);
	void *p;

	need_debug(test);
	p = must_alloc(test, sd, 900);
	smear(sd, p, 900, 1);
	EXPECT_TOLD(test, REPORT_RED_ZONE, expect_damaged(test, sd, 1));
	KUNIT_EXPECT_PTR_EQ(test, slabdev_realloc(sd, p, 1000), p);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_realloc(sd, p, 900), p);
	expect_sound(test, sd);
	smear(sd, p, 900, 1);
	EXPECT_TOLD(test, REPORT_RED_ZONE, EXPECT_FREED(test, sd, p));
	close_space(test, sd);
}

/* From class to class, and among large ones: what is copied is the object. */
static void objects_that_move(struct kunit *test)
{
	static const size_t sizes[] = { 1, 240, 241, 5000, 100, MIB - 16, MIB,
					MIB + 1, 5 * MIB, 3000, 256 };
	struct slabdev *sd = debug_space(test);
	void *p = NULL, *q;
	size_t had = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		q = slabdev_realloc(sd, p, sizes[i]);
		KUNIT_ASSERT_NOT_NULL(test, q);
		KUNIT_EXPECT_TRUE(test, mem_is(sd, q, min(had, sizes[i]),
					       0x40 + (int)i));
		p = q;
		had = sizes[i];
		mem_fill(sd, p, had, 0x41 + (int)i);
	}
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

/* ---- Poison ----------------------------------------------------------- */

static void write_after_free(struct kunit *test, s64 offset)
{
	const struct class *c;
	struct victims v;
	bool poison;
	void *p;

	victims_open(&v, test);
	p = victim_get(&v);
	c = victim_class(&v, p);
	poison = has_poison_in(&v, p);
	mem_fill(v.sd, p, v.victim->size, 0x33);
	KUNIT_EXPECT_EQ(test, victim_free(&v, p), 0);
	if (poison) {
		if (offset < 0)
			offset += (s64)v.victim->size;
		smear(v.sd, p, offset, 1);
		kunit_expect_report(test, REPORT_POISON);
		KUNIT_EXPECT_EQ(test, slabdev_validate(v.sd), -EUCLEAN);
		expect_told(test, ": Poison overwritten");
		/* A large object has no byte of its own at the end. */
		expect_told(test, "First byte 0x5a instead of 0x%x",
			    c && offset == (s64)v.victim->size - 1 ?
			    POISON_END : POISON_BYTE);
		expect_told(test, "%lld byte%s into the object, which is free",
			    (long long)offset, offset == 1 ? "" : "s");
		expect_told(test, "Object 0x%llx of ", (unsigned long long)
			    (uintptr_t)p);
		if (c)
			expect_kept(&v, p);
	}
	victims_close(&v);
}

static void first_byte_after_free(struct kunit *test)
{
	write_after_free(test, 0);
}

static void last_byte_after_free(struct kunit *test)
{
	write_after_free(test, -1);
}

static const struct kunit_case debug_cases[] = {
	KUNIT_CASE_PARAM(own_bytes_are_the_owners, victim_gen_params),
	KUNIT_CASE_PARAM(byte_behind_the_end, victim_gen_params),
	KUNIT_CASE_PARAM(last_byte_of_the_zone, victim_gen_params),
	KUNIT_CASE_PARAM(byte_before_the_first, victim_gen_params),
	KUNIT_CASE(words_about_zones),
	KUNIT_CASE(zone_between_two),
	KUNIT_CASE(live_object_is_left_alone),
	KUNIT_CASE(resize_moves_the_zone),
	KUNIT_CASE(resize_of_large_objects),
	KUNIT_CASE(the_same_size_stays),
	KUNIT_CASE(resize_looks_first),
	KUNIT_CASE(new_zone_is_news),
	KUNIT_CASE(objects_that_move),
	KUNIT_CASE_PARAM(first_byte_after_free, victim_gen_params),
	KUNIT_CASE_PARAM(last_byte_after_free, victim_gen_params),
	{}
};

static const struct kunit_suite debug_suite = {
	.name = "debug",
	.suite_init = letters_init,
	.cases = debug_cases,
	.any_space = true,
};
kunit_test_suite(debug_suite);
