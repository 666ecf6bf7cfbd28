// SPDX-License-Identifier: BSD-2-Clause
/*
 * class_test.c - slabs of a class when something comes in between: an object
 * that is there twice, a constructor that frees, questions while a slab is
 * being made, memory that is refused or that another thread holds, a class that
 * leaves at this moment.
 *
 * What only another thread could do at the wrong moment is done by hand, or by
 * a constructor, which runs in the middle of an operation and without locks.
 */
#include <string.h>

#include "core/bitmap.h"
#include "core/os.h"
#include "slab/barn.h"
#include "slab/class.h"
#include "slab/heap.h"
#include "slab/tiny.h"
#include "tests/crew.h"
#include "tests/open_space.h"

static struct slabdev_cache *
new_cache(struct kunit *test, struct slabdev *sd, const char *name, size_t size,
	  const struct slabdev_cache_args *args)
{
	struct slabdev_cache *cache = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_cache_create(&cache, sd, name, size,
						       args), 0, "%s",
			    slabdev_last_error());
	return cache;
}

static void *get(struct kunit *test, struct slabdev_cache *cache)
{
	void *p = slabdev_cache_alloc(cache);

	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	return p;
}

static void put(struct kunit *test, struct slabdev_cache *cache, void *p)
{
	KUNIT_EXPECT_EQ_MSG(test, slabdev_cache_free(cache, p), 0, "%s",
			    slabdev_last_error());
}

static u64 nr_slabs(struct slabdev_cache *cache)
{
	return cache_class(cache)->rec->slabs;
}

/* ---- Twice ------------------------------------------------------------ */

/*
 * It stays where it is, and the others go back. Planted: a bit that says that
 * an object in the thread's sheaf is in its slab.
 */
static void object_in_two_places_is_left_alone(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = new_cache(test, sd, "cache", 2000, NULL);
	struct class *c = cache_class(cache);
	void *p = get(test, cache), *q = get(test, cache);
	slot_t slot = (slot_t)(space_offset(sd, p) >> c->shift);
	struct slab *s = slab_of(c, slot);
	u32 i = slot_index(c, s, slot);

	put(test, cache, p);
	bitmap_set(slab_bits(s), i);
	kunit_expect_report(test, REPORT_CORRUPT);
	KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(cache), 0);
	KUNIT_EXPECT_REPORT_HAS(test, "is in its slab and in a sheaf");
	KUNIT_EXPECT_REPORT_HAS(test, "of cache: left where it is");
	KUNIT_EXPECT_EQ(test, s->nr_free, s->nr - 2);
	bitmap_clear(slab_bits(s), i);
	shared_add(&sd->rec->out_bytes, c->stride);
	class_put(c, &slot, 1, DOMAIN_COMPLETE);
	KUNIT_EXPECT_EQ(test, s->nr_free, s->nr - 1);
	put(test, cache, q);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

/* ---- Constructors ----------------------------------------------------- */

struct built {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache, *other;
	void *drop;		/* freed by the constructor */
	bool asks;
};

static void ask(struct built *b)
{
	struct slabdev_stats st;
	char text[200];

	KUNIT_EXPECT_EQ(b->test, slabdev_stats(b->sd, &st, sizeof(st)), 0);
	KUNIT_EXPECT_EQ(b->test, slabdev_validate(b->sd), 0);
	kunit_expect_report(b->test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(b->test, slabdev_cache_destroy(b->other), -EBUSY);
	KUNIT_EXPECT_REPORT_HAS(b->test, "1 objects are live");
	kunit_expect_report(b->test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(b->test, slabdev_close(b->sd, 0), -EBUSY);
	KUNIT_EXPECT_EQ(b->test, slabdev_explain(b->other, text, sizeof(text)),
			-ENOENT);
}

static int build(void *base, size_t stride, size_t count,
		 slabdev_stream_t stream, void *arg)
{
	struct built *b = arg;
	char text[200];

	(void)stride;
	(void)count;
	(void)stream;
	if (b->drop)
		put(b->test, b->cache, b->drop);
	b->drop = NULL;
	if (b->asks) {
		KUNIT_EXPECT_EQ(b->test, slabdev_explain(base, text,
							 sizeof(text)), 1);
		ask(b);
	}
	b->asks = false;
	return 0;
}

static struct slabdev_cache *built_cache(struct built *b, size_t size)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;

	args.ctor = build;
	args.ctor_arg = b;
	return new_cache(b->test, b->sd, "built", size, &args);
}

/* The free object serves the allocation; the new slab is one too many. */
static void slab_that_is_not_needed_goes_at_once(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct built b = { .test = test, .sd = test->priv };
	void *p[4];
	u32 i;

	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(b.sd, &policy), 0);
	b.cache = built_cache(&b, 4096);
	KUNIT_ASSERT_EQ(test, cache_class(b.cache)->nr, ARRAY_SIZE(p));
	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = get(test, b.cache);
	b.drop = p[0];
	KUNIT_EXPECT_PTR_EQ(test, get(test, b.cache), p[0]);
	KUNIT_EXPECT_NULL(test, b.drop);
	KUNIT_EXPECT_EQ(test, nr_slabs(b.cache), 1);
	KUNIT_EXPECT_EQ(test, expect_sound(test, b.sd).cached, 0);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		put(test, b.cache, p[i]);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(b.cache), 0);
}

/* The slices of the slab that is being made are in use, and nobody's yet. */
static void questions_while_a_slab_is_made(struct kunit *test)
{
	struct built b = { .test = test, .sd = test->priv, .asks = true };
	void *p, *q;

	b.other = new_cache(test, b.sd, "other", 3000, NULL);
	q = get(test, b.other);
	b.cache = built_cache(&b, 5000);
	p = get(test, b.cache);
	KUNIT_EXPECT_FALSE(test, b.asks);
	put(test, b.cache, p);
	put(test, b.other, q);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(b.cache), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(b.other), 0);
}

/* ---- Slabs that cannot be had ----------------------------------------- */

static int no_reserve(size_t size, void **addr)
{
	(void)size;
	(void)addr;
	return -ENOMEM;
}

static void expect_refused(struct kunit *test, struct slabdev_cache *cache,
			   const char *words)
{
	struct slabdev *sd = cache_class(cache)->sd;
	struct slabdev_stats before = figures(test, sd);

	KUNIT_EXPECT_ERRNO(test, slabdev_cache_alloc(cache), ENOMEM);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(slabdev_last_error(), words),
				  "%s", slabdev_last_error());
	EXPECT_ONLY_FAILURES(test, sd, before, 1);
	expect_sound(test, sd);
}

/* The slices go back where they came from. */
static void no_memory_for_the_bits_of_tiny_objects(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = new_cache(test, sd, "tiny", 64, NULL);

	EXPECT_FREED(test, sd, must_alloc(test, sd, 3 * MIB));
	kunit_activate_static_stub(test, os_reserve, no_reserve);
	expect_refused(test, cache, "bitmaps of a slab");
	kunit_deactivate_static_stub(test, os_reserve);
	put(test, cache, get(test, cache));
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

/*
 * Slots of the smallest objects reach 64 GiB. Here they count single bytes,
 * which ends at 4 GiB, and those are taken.
 */
static void address_beyond_what_a_slot_can_say(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 16 * GIB);
	struct slabdev_cache *cache = new_cache(test, sd, "tiny", 64, NULL);
	struct class *c = cache_class(cache);
	u8 shift = c->shift;
	void *p;

	p = slabdev_alloc(sd, 4 * GIB);
	if (!p)
		kunit_skip(test, "no 4 GiB here: %s", slabdev_last_error());
	put(test, cache, get(test, cache));
	KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(cache), 0);
	c->shift = 0;
	expect_refused(test, cache, "beyond what objects of 64 bytes");
	c->shift = shift;
	put(test, cache, get(test, cache));
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

/* ---- Objects of others ------------------------------------------------ */

#define ALL (CHUNK / 1024)

struct taker {
	struct kunit *test;
	struct slabdev *sd;
	void *p[ALL];
	u32 first;		/* which of them: every second from there */
};

static void take_half(void *arg)
{
	struct taker *t = arg;

	for (u32 i = t->first; i < ALL; i += 2)
		t->p[i] = must_alloc(t->test, t->sd, 1024);
}

static void free_half(void *arg)
{
	struct taker *t = arg;

	for (u32 i = t->first; i < ALL; i += 2)
		EXPECT_FREED(t->test, t->sd, t->p[i]);
}

/* Taken back, they do not make a slab free: each has a live object, too. */
static void objects_of_an_idle_thread_serve(struct kunit *test)
{
	struct slabdev *sd = case_space(test, CHUNK);
	struct taker t = { .test = test, .sd = sd };
	struct crew *crew = crew_new(test, 1);

	for (t.first = 0; t.first < 2; t.first++)
		crew_do(crew, 0, take_half, &t);
	t.first = 1;
	crew_do(crew, 0, free_half, &t);
	take_half(&t);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).live, CHUNK);
	for (t.first = 0; t.first < 2; t.first++)
		free_half(&t);
	expect_empty(test, sd);
}

/* ---- Sheaves that the barn has no room for ---------------------------- */

#define EMPTIES 16u

/* They go back to host memory, and come from there again, the last one first:
 * by a trade, by a drop, and when the barn is emptied. */
static void sheaves_are_not_lost(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct class *c = sd->class[layout_class(1024)];
	struct sheaf *s[EMPTIES + 3], *full, *traded, *dropped;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(s); i++)
		s[i] = sheaf_new(c);
	full = s[EMPTIES];
	traded = s[EMPTIES + 1];
	dropped = s[EMPTIES + 2];
	for (i = 0; i < EMPTIES; i++)
		sheaf_drop(c, s[i]);
	KUNIT_EXPECT_TRUE(test, barn_put_full(c, full));
	KUNIT_EXPECT_PTR_EQ(test, barn_take_full(c, traded, false), full);
	sheaf_drop(c, dropped);
	KUNIT_EXPECT_EQ(test, c->nr_empty, EMPTIES);
	KUNIT_EXPECT_TRUE(test, barn_put_full(c, full));
	barn_flush(c);
	for (i = 0; i < EMPTIES; i++)
		KUNIT_EXPECT_PTR_EQ(test, sheaf_new(c), s[i]);
	KUNIT_EXPECT_PTR_EQ(test, sheaf_new(c), full);
	KUNIT_EXPECT_PTR_EQ(test, sheaf_new(c), dropped);
	KUNIT_EXPECT_PTR_EQ(test, sheaf_new(c), traded);
}

/* ---- A class that leaves ---------------------------------------------- */

/*
 * A free of an object that is not there can come while its cache leaves the
 * table. White-box: as it is just after.
 */
static void stray_free_while_a_cache_leaves(struct kunit *test)
{
	static const size_t sizes[] = { 64, 2000 };
	struct slabdev *sd = test->priv;

	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct slabdev_cache *cache = new_cache(test, sd, "cache",
							sizes[i], NULL);
		struct class *c = cache_class(cache);
		void *p = get(test, cache), *q = get(test, cache);

		put(test, cache, p);
		WRITE_ONCE(sd->class[c->id], NULL);
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EINVAL);
		KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, q), 0);
		WRITE_ONCE(sd->class[c->id], c);
		put(test, cache, q);
		KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	}
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(object_in_two_places_is_left_alone),
	KUNIT_CASE(slab_that_is_not_needed_goes_at_once),
	KUNIT_CASE(questions_while_a_slab_is_made),
	KUNIT_CASE(no_memory_for_the_bits_of_tiny_objects),
	KUNIT_CASE(address_beyond_what_a_slot_can_say),
	KUNIT_CASE(objects_of_an_idle_thread_serve),
	KUNIT_CASE(sheaves_are_not_lost),
	KUNIT_CASE(stray_free_while_a_cache_leaves),
	{ 0 }
};

static const struct kunit_suite class_suite = {
	.name = "class",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = cases,
};
kunit_test_suite(class_suite);
