// SPDX-License-Identifier: BSD-2-Clause
/*
 * mapping_test.c - the mapping callbacks are told of each piece of comm memory:
 * once when it is mapped and once before it is unmapped, whatever happens in
 * between.
 */
#include <unistd.h>

#include "core/log.h"
#include "slab/pending.h"
#include "tests/comm_objects.h"
#include "tests/crew.h"
#include "tests/random.h"

#define LIMIT (256 * MIB)

/* Where the order is the host's, a free waits for the device first. */
static void let_pass(struct kunit *test, struct slabdev *sd)
{
	if (!sd->host_order)
		return;
	KUNIT_EXPECT_EQ(test, vmm_quiesce(&sd->vmm), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	pending_poll(sd);
}

#define BOOK_MAX 256u

/* What was told: each piece is mapped once before it is unmapped once. */
struct book {
	struct kunit *test;
	struct {
		void *p;
		size_t bytes;
	} piece[BOOK_MAX];
	u32 nr, mapped, unmapped;
	u32 inside;
	u32 refuse;		/* the n-th call from here on; 0: none */
	void *(*also)(struct slabdev *sd, size_t size);
	int also_errno;
};

static int note_mapped(struct slabdev *sd, void *p, size_t bytes, void *arg)
{
	struct book *b = arg;

	KUNIT_EXPECT_EQ(b->test, b->inside++, 0);
	KUNIT_EXPECT_TRUE(b->test, is_address_of(sd, p));
	if (b->also) {
		errno = 0;
		KUNIT_EXPECT_NULL(b->test, b->also(sd, 7 * MIB));
		b->also_errno = errno;
	}
	if (b->refuse && !--b->refuse) {
		b->inside--;
		return -ENOSPC;
	}
	for (u32 i = 0; i < b->nr; i++)
		KUNIT_EXPECT_PTR_NE(b->test, b->piece[i].p, p);
	KUNIT_ASSERT_LT(b->test, b->nr, BOOK_MAX);
	b->piece[b->nr].p = p;
	b->piece[b->nr++].bytes = bytes;
	b->mapped++;
	/* It can be used. */
	mem_fill(sd, p, 256, 0x5a);
	b->inside--;
	return 0;
}

static void note_unmapped(struct slabdev *sd, void *p, size_t bytes, void *arg)
{
	struct book *b = arg;
	u32 i;

	KUNIT_EXPECT_EQ(b->test, b->inside++, 0);
	for (i = 0; i < b->nr && b->piece[i].p != p; i++)
		;
	KUNIT_ASSERT_LT(b->test, i, b->nr);
	KUNIT_EXPECT_EQ(b->test, b->piece[i].bytes, bytes);
	b->piece[i] = b->piece[--b->nr];
	b->unmapped++;
	/* It can be used yet. */
	mem_fill(sd, p, 256, 0xa5);
	b->inside--;
}

static void begin_book(struct book *b, struct kunit *test, struct slabdev *sd)
{
	*b = (struct book){ .test = test };
	KUNIT_ASSERT_EQ_MSG(test, slabdev_set_mapping_callbacks(sd, note_mapped,
			    note_unmapped, b), 0, "%s", slabdev_last_error());
}

static void end_book(struct book *b, struct slabdev *sd)
{
	KUNIT_EXPECT_EQ(b->test, slabdev_set_mapping_callbacks(sd, NULL, NULL,
							       NULL), 0);
	KUNIT_EXPECT_EQ(b->test, b->nr, 0);
	KUNIT_EXPECT_EQ(b->test, b->mapped, b->unmapped);
}

static void told_of_what_comes_and_goes(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = comm_cache(test, sd, "halo", MIB);
	struct book b;
	void *p, *q, *r;

	begin_book(&b, test, sd);
	p = must_get(test, cache);
	KUNIT_EXPECT_EQ(test, b.mapped, 1);
	KUNIT_EXPECT_PTR_EQ(test, b.piece[0].p, p);
	KUNIT_EXPECT_EQ(test, b.piece[0].bytes, slabdev_usable_size(sd, p));
	q = must_comm(test, sd, 3 * MIB);
	KUNIT_EXPECT_EQ(test, b.mapped, 2);
	KUNIT_EXPECT_PTR_EQ(test, b.piece[1].p, q);
	/* Of other memory nobody is told. */
	r = must_alloc(test, sd, 3 * MIB);
	KUNIT_EXPECT_EQ(test, b.mapped, 2);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	let_pass(test, sd);
	KUNIT_EXPECT_PTR_EQ(test, must_get(test, cache), p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, b.mapped, 2);
	KUNIT_EXPECT_EQ(test, b.unmapped, 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	KUNIT_EXPECT_EQ(test, b.unmapped, 1);
	EXPECT_FREED(test, sd, q);
	EXPECT_FREED(test, sd, r);
	end_book(&b, sd);
	KUNIT_EXPECT_EQ(test, b.mapped, 2);
	expect_sound(test, sd);
}

static void told_of_what_was_there(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_comm(test, sd, MIB), *q = must_comm(test, sd, 9 * MIB);
	struct book b;

	EXPECT_FREED(test, sd, q);
	begin_book(&b, test, sd);
	KUNIT_EXPECT_EQ(test, b.mapped, 2);
	KUNIT_EXPECT_TRUE(test, b.piece[0].p < b.piece[1].p);
	KUNIT_EXPECT_EQ(test, slabdev_set_mapping_callbacks(sd, note_mapped,
			note_unmapped, &b), -EBUSY);
	end_book(&b, sd);
	begin_book(&b, test, sd);
	KUNIT_EXPECT_EQ(test, b.mapped, 2);
	EXPECT_FREED(test, sd, p);
	end_book(&b, sd);
	end_book(&b, sd);
	KUNIT_EXPECT_EQ(test, slabdev_set_mapping_callbacks(sd, note_mapped,
			NULL, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_set_mapping_callbacks(sd, NULL,
			note_unmapped, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_set_mapping_callbacks(NULL, note_mapped,
			note_unmapped, &b), -EINVAL);
}

/* What cannot be registered is not handed out, and nothing of it stays. */
static void refused_memory_goes_back(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = comm_cache(test, sd, "halo", MIB);
	struct slabdev_stats before;
	struct book b;
	void *p;

	begin_book(&b, test, sd);
	p = must_get(test, cache);
	before = figures(test, sd);
	b.refuse = 1;
	KUNIT_EXPECT_NULL(test, slabdev_cache_alloc(cache));
	KUNIT_EXPECT_EQ(test, errno, ENOSPC);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "callback"));
	b.refuse = 2;
	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(cache, 3), -ENOSPC);
	KUNIT_EXPECT_EQ(test, b.unmapped, 1);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).mapped, before.mapped);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	KUNIT_EXPECT_EQ(test, b.unmapped, 2);
	end_book(&b, sd);
	expect_empty(test, sd);
}

static void refused_at_the_beginning(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct book b = { .test = test, .refuse = 3 };
	void *p[4];

	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = must_comm(test, sd, MIB);
	KUNIT_EXPECT_EQ(test, slabdev_set_mapping_callbacks(sd, note_mapped,
			note_unmapped, &b), -ENOSPC);
	KUNIT_EXPECT_EQ(test, b.mapped, 2);
	KUNIT_EXPECT_EQ(test, b.unmapped, 2);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		EXPECT_FREED(test, sd, p[i]);
	/* None is set. */
	begin_book(&b, test, sd);
	end_book(&b, sd);
}

/* The end of a space is told, of what is live too. */
static void told_when_the_space_closes(struct kunit *test)
{
	struct slabdev *sd = open_space(test, LIMIT);
	struct book b;
	void *p;

	begin_book(&b, test, sd);
	p = must_comm(test, sd, MIB);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EBUSY);
	KUNIT_EXPECT_EQ(test, b.unmapped, 0);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, b.unmapped, 1);

	sd = open_space(test, LIMIT);
	begin_book(&b, test, sd);
	must_comm(test, sd, MIB);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE), 0);
	KUNIT_EXPECT_EQ(test, b.unmapped, 1);
}

/* A callback that needs what it is called for would wait for itself. */
static void callback_may_not_map(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct book b;
	void *p;

	begin_book(&b, test, sd);
	b.also = comm_alloc;
	p = must_comm(test, sd, MIB);
	KUNIT_EXPECT_EQ(test, b.also_errno, EDEADLK);
	KUNIT_EXPECT_EQ(test, b.mapped, 1);
	b.also = NULL;
	EXPECT_FREED(test, sd, p);
	end_book(&b, sd);
}

static int set_inside(struct slabdev *sd, void *p, size_t bytes, void *arg)
{
	(void)p;
	(void)bytes;
	*(int *)arg = slabdev_set_mapping_callbacks(sd, NULL, NULL, NULL);
	if (slabdev_validate(sd))
		return -EUCLEAN;
	/* Other memory is none of its concern. */
	return slabdev_free(sd, slabdev_alloc(sd, 100));
}

static void ignore(struct slabdev *sd, void *p, size_t bytes, void *arg)
{
	(void)sd;
	(void)p;
	(void)bytes;
	(void)arg;
}

static void callback_may_use_the_library(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	int err = 0;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_set_mapping_callbacks(sd, set_inside,
			ignore, &err), 0);
	p = must_comm(test, sd, MIB);
	KUNIT_EXPECT_EQ(test, err, -EDEADLK);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_set_mapping_callbacks(sd, NULL, NULL,
							    NULL), 0);
}

/* ---- Threads ---------------------------------------------------------- */

#define NR_THREADS 4u
#define ROUNDS 60u

struct worker {
	struct kunit *test;
	struct slabdev *sd;
	u32 number;
	u64 seed;
};

static void come_and_go(void *arg)
{
	struct worker *w = arg;
	struct slabdev_cache *cache;
	char name[16];
	void *p[3];
	u32 i, k;

	snprintf(name, sizeof(name), "of-%u", w->number);
	for (i = 0; i < ROUNDS; i++) {
		cache = comm_cache(w->test, w->sd, name,
				   1 + random_below(&w->seed, 4 * MIB));
		for (k = 0; k < ARRAY_SIZE(p); k++)
			p[k] = must_get(w->test, cache);
		for (k = 0; k < ARRAY_SIZE(p); k++)
			KUNIT_EXPECT_EQ(w->test,
					slabdev_cache_free(cache, p[k]), 0);
		KUNIT_EXPECT_EQ(w->test, slabdev_cache_destroy(cache), 0);
	}
}

/* Callbacks are set and ended while others map and unmap. */
static void each_is_told_once(struct kunit *test)
{
	struct slabdev *sd = case_space(test, LIMIT);
	struct crew *crew = crew_new(test, NR_THREADS);
	struct worker w[NR_THREADS];
	u64 seed = random_seed(test);
	struct book b;
	u32 i;

	for (i = 0; i < NR_THREADS; i++) {
		w[i] = (struct worker){ test, sd, i, seed + i };
		crew_start(crew, i, come_and_go, &w[i]);
	}
	for (i = 0; i < ROUNDS; i++) {
		begin_book(&b, test, sd);
		if (i % 2)
			usleep(200);
		end_book(&b, sd);
	}
	begin_book(&b, test, sd);
	for (i = 0; i < NR_THREADS; i++)
		crew_wait(crew, i);
	KUNIT_EXPECT_EQ(test, b.nr, 0);
	end_book(&b, sd);
	crew_dismiss(crew);
	expect_empty(test, sd);
}

static struct kunit_case mapping_cases[] = {
	KUNIT_CASE(told_of_what_comes_and_goes),
	KUNIT_CASE(told_of_what_was_there),
	KUNIT_CASE(refused_memory_goes_back),
	KUNIT_CASE(refused_at_the_beginning),
	KUNIT_CASE(told_when_the_space_closes),
	KUNIT_CASE(callback_may_not_map),
	KUNIT_CASE(callback_may_use_the_library),
	KUNIT_CASE(each_is_told_once),
	{}
};

static const struct kunit_suite mapping_suite = {
	.name = "mapping",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = mapping_cases,
	.any_space = true,
};
kunit_test_suite(mapping_suite);
