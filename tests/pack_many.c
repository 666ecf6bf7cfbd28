// SPDX-License-Identifier: BSD-2-Clause
/*
 * pack_many.c - plans for many blocks: what they take, blocks that are
 * made to take long, and that each run makes the same plan.
 */
#include <pthread.h>

#include "slab/pack_holes.h"
#include "tests/pack_plan.h"
#include "tests/sanitizers.h"

/* ---- Many ---------------------------------------------------------------- */

/* Some hundred at once: too many pairs for anything but sweeps. */
static void expect_many(struct kunit *test, u32 n)
{
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;
	block *b = kunit_kzalloc(test, n * sizeof(*b));
	u64 seed = random_seed(test), total, checked, bound;
	u32 i;

	for (i = 0; i < n; i++) {
		b[i].bytes = 256 * random_size(&seed, 4096);
		b[i].lower = i;
		b[i].upper = i + (s64)random_size(&seed, 2048);
	}
	attr.effort = 100000000;
	KUNIT_ASSERT_EQ(test, slabdev_pack(b, n, &attr, &total), 0);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_pack_check(b, n, &checked), 0,
			    "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(test, checked, total);
	KUNIT_ASSERT_EQ(test, slabdev_pack_bound(b, n, &bound), 0);
	kunit_info(test, "%llu bytes for a bound of %llu",
		   (unsigned long long)total, (unsigned long long)bound);
	KUNIT_EXPECT_GE(test, total, bound);
	KUNIT_EXPECT_LE(test, total, 2 * bound);
}

void many_blocks(struct kunit *test)
{
	expect_many(test, 50000);
}

void a_million_blocks_long(struct kunit *test)
{
	expect_many(test, IS_SANITIZED ? 200000 : 1000000);
}

/* All at once: as many pairs as there can be, and nothing to search. */
void all_at_once(struct kunit *test)
{
	const u32 n = 20000;
	block *b = kunit_kzalloc(test, n * sizeof(*b));
	u64 total, sum = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		b[i] = (block){ .bytes = 256 * (1 + i % 7), .upper = 1 + i };
		sum += b[i].bytes;
	}
	KUNIT_ASSERT_EQ(test, slabdev_pack(b, n, NULL, &total), 0);
	KUNIT_EXPECT_EQ(test, total, sum);
	KUNIT_EXPECT_EQ(test, slabdev_pack_check(b, n, NULL), 0);
}

/* Too many blocks for the search, few enough for lists. */
void lists_alone(struct kunit *test)
{
	const u32 n = 5000;
	block *b = kunit_kzalloc(test, n * sizeof(*b));
	u64 seed = random_seed(test), total, better;
	u32 i;

	for (i = 0; i < n; i++) {
		b[i].bytes = 256 * random_size(&seed, 4096);
		b[i].lower = i;
		b[i].upper = i + (s64)random_size(&seed, 64);
	}
	total = pack(test, b, n, 1);
	better = pack(test, b, n, 10000000);
	KUNIT_EXPECT_LE(test, better, total);
}

/* ---- Made on purpose ----------------------------------------------------- */

#define MISSES (HOLES_ROUNDS * HOLES_MISSES)

/*
 * Holes by the thousand that are long enough, none of them at a multiple of the
 * alignment, and as many blocks that each look for one. Were all holes tried,
 * this would take half a minute; those that are count as steps.
 */
void misaligned_holes_are_not_all_tried(struct kunit *test)
{
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;
	const u32 n = 50000;
	block *b = kunit_kzalloc(test, 2 * n * sizeof(*b));
	u64 total, checked, steps;
	u32 i;

	for (i = 0; i < n; i++) {
		b[i] = (block){ .bytes = 5000, .align = 1,
				.upper = i % 2 ? 1 : 2 * n };
		b[n + i] = (block){ .bytes = 4000, .align = 1 << 30,
				    .lower = i + 2, .upper = i + 3 };
	}
	attr.effort = 1;
	attr.steps = &steps;
	KUNIT_ASSERT_EQ(test, slabdev_pack(b, 2 * n, &attr, &total), 0);
	/* Four sweeps, of 33 looks for each block without a miss. */
	KUNIT_EXPECT_GT(test, steps, 4 * 33 * 2 * n);
	KUNIT_EXPECT_LE(test, steps, 4 * (33 + MISSES) * 2 * n);
	KUNIT_EXPECT_EQ(test, slabdev_pack_check(b, 2 * n, &checked), 0);
	KUNIT_EXPECT_EQ(test, checked, total);
}

/* A byte at each multiple of 1024 but one: that is found before or behind the
 * last miss that there may be. */
void holes_behind_misses_are_found(struct kunit *test)
{
	enum { N = HOLES_MISSES + 8 };
	struct hole of[N + 1];
	struct holes h;
	u32 i, free, before;

	for (free = 0; free <= N; free++) {
		holes_init(&h, of, N);
		for (i = 0; i < N; i++)
			if (i != free)
				holes_add(&h, i, 1024 * i, 1);
		KUNIT_EXPECT_EQ(test, holes_find(&h, 100, 1023), 1024 * free);
		before = free ? free - 1 : 0;
		KUNIT_EXPECT_EQ(test, h.misses,
				before < HOLES_MISSES ? before : MISSES);
		KUNIT_EXPECT_EQ(test, holes_find(&h, 100, 0), free ? 1 : 0);
	}
}

static int by_number(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

struct checker {
	block *b;
	u32 n;
	int err;
};

static void *check_in_thread(void *arg)
{
	struct checker *me = arg;

	me->err = slabdev_pack_check(me->b, me->n, NULL);
	return NULL;
}

/*
 * Offsets in the order of the priorities that the blocks had elsewhere. Were
 * they the same again, the treap would be a chain, and what goes down on it
 * would not have the stack.
 */
void a_plan_cannot_make_a_chain(struct kunit *test)
{
	const u32 n = 40000;
	struct hole *of = kunit_kzalloc(test, (n + 1) * sizeof(*of));
	struct checker c = { kunit_kzalloc(test, n * sizeof(*c.b)), n, -1 };
	u64 *order = kunit_kzalloc(test, n * sizeof(*order));
	struct holes h;
	pthread_attr_t attr;
	pthread_t t;
	u32 i;

	holes_init(&h, of, n);
	for (i = 0; i < n; i++) {
		holes_add(&h, i, 256ull * i, 256);
		order[i] = (u64)of[i].priority << 32 | i;
		c.b[i] = (block){ .bytes = 256, .lower = i, .upper = n };
	}
	qsort(order, n, sizeof(*order), by_number);
	for (i = 0; i < n; i++)
		c.b[(u32)order[i]].offset = 256ull * i;
	pthread_attr_init(&attr);
	KUNIT_ASSERT_EQ(test, pthread_attr_setstacksize(&attr, 256 * KIB), 0);
	KUNIT_ASSERT_EQ(test, pthread_create(&t, &attr, check_in_thread, &c),
			0);
	pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
	KUNIT_EXPECT_EQ(test, c.err, 0);
}

/* ---- The same everywhere ------------------------------------------------- */

struct packer {
	pthread_t thread;
	block b[200];
	int err;
};

static void *pack_in_thread(void *arg)
{
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;
	struct packer *me = arg;
	u64 total;

	attr.effort = 3000000;
	me->err = slabdev_pack(me->b, 200, &attr, &total);
	return NULL;
}

void threads_make_the_same_plan(struct kunit *test)
{
	struct packer *p = kunit_kzalloc(test, 4 * sizeof(*p));
	u64 seed = random_seed(test);
	u32 i;

	fill_random(p[0].b, 200, &seed, 100);
	for (i = 1; i < 4; i++)
		memcpy(p[i].b, p[0].b, sizeof(p[0].b));
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, pthread_create(&p[i].thread, NULL,
						     pack_in_thread, &p[i]), 0);
	for (i = 0; i < 4; i++)
		pthread_join(p[i].thread, NULL);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, p[i].err, 0);
		KUNIT_EXPECT_MEMEQ(test, p[i].b, p[0].b, sizeof(p[0].b));
	}
}

/* A plan of 60 blocks that is known: another one would be a plan that depends
 * on the compiler or the machine. */
void the_plan_is_the_same_on_each_machine(struct kunit *test)
{
	u64 state = 1, mix = 14695981039346656037u;
	block b[60];
	u32 i;

	fill_random(b, 60, &state, 60);
	pack(test, b, 60, 2000000);
	for (i = 0; i < 60; i++)
		mix = (mix ^ b[i].offset) * 1099511628211u;
	KUNIT_EXPECT_EQ(test, mix, 0xe9e875745d1a94e4);
}
