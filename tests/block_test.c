// SPDX-License-Identifier: BSD-2-Clause
/*
 * block_test.c - blocks: a copy says what was, the space says what is.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "tests/open_space.h"

static struct slabdev_block must_describe(struct kunit *test,
					  struct slabdev *sd, void *p)
{
	struct slabdev_block block = SLABDEV_BLOCK_INIT;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_block_get(sd, p, &block), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_NE(test, block.id, 0);
	KUNIT_EXPECT_PTR_EQ(test, block.ptr, p);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &block), 0);
	return block;
}

#define EXPECT_ERROR_HAS(test, text) \
	KUNIT_EXPECT_TRUE_MSG(test, strstr(slabdev_last_error(), text), \
			      "no '%s' in: %s", text, slabdev_last_error())

static const size_t sizes[] = { 1, 63, 64, 256, 1000, MIB, 3 * MIB, 70 * MIB };
KUNIT_ARRAY_PARAM(size, sizes, NULL);

static int device_of_spec(void)
{
	return on_host() ? -1 : atoi(strchr(test_spec(), ':') + 1);
}

/* What the name of the space says, not what the library makes of it. */
static u32 kind_of_spec(void)
{
	return on_host() ? SLABDEV_BLOCK_HOST :
	       !strncmp(test_spec(), "cuda:", 5) ? SLABDEV_BLOCK_DEVICE :
	       !strncmp(test_spec(), "cuda-host:", 10) ? SLABDEV_BLOCK_PINNED :
							 SLABDEV_BLOCK_MANAGED;
}

static void describes_any_object(struct kunit *test)
{
	size_t size = *(const size_t *)test->param_value;
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, size);
	struct slabdev_block block = must_describe(test, sd, p);

	KUNIT_EXPECT_EQ(test, block.bytes, size);
	KUNIT_EXPECT_EQ(test, block.usable, slabdev_usable_size(sd, p));
	KUNIT_EXPECT_GE(test, block.align, 256);
	KUNIT_EXPECT_EQ(test, (uintptr_t)p % block.align, 0);
	KUNIT_EXPECT_EQ(test, block.kind, kind_of_spec());
	KUNIT_EXPECT_EQ(test, block.device, device_of_spec());
	expect_sound(test, sd);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &block), -ESTALE);
	expect_empty(test, sd);
}

/* The textbook's block goes on to say that it is valid. */
static void copies_are_stale_after_the_free(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 1000), *again;
	struct slabdev_block block = must_describe(test, sd, p), copy = block;
	struct slabdev_block other;

	KUNIT_EXPECT_EQ(test, must_describe(test, sd, p).id, block.id);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &copy), -ESTALE);
	EXPECT_ERROR_HAS(test, "was freed");
	/* Another object at the same address. */
	again = must_alloc(test, sd, 1000);
	if (on_host())
		KUNIT_EXPECT_PTR_EQ(test, again, p);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &copy), -ESTALE);
	other = must_describe(test, sd, again);
	KUNIT_EXPECT_NE(test, other.id, block.id);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &copy), -ESTALE);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &other), 0);
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &other), 0);
}

/* Of frees by copies one frees, and the books follow the memory. */
static void two_copies_one_free(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_block block, copy;
	struct slabdev_stats before;
	size_t i;
	void *p;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		p = must_alloc(test, sd, sizes[i]);
		block = copy = must_describe(test, sd, p);
		KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &copy), 0);
		before = figures(test, sd);
		KUNIT_EXPECT_EQ(test, before.live_objects, 0);
		KUNIT_EXPECT_EQ(test, before.live, 0);
		kunit_expect_report(test, REPORT_DOUBLE_FREE);
		KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &block),
				-EALREADY);
		kunit_expect_report(test, REPORT_DOUBLE_FREE);
		KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &copy), -EALREADY);
		EXPECT_ONLY_FAILURES(test, sd, before, 0);
	}
}

/* A block's free does not hit who has the memory now. */
static void next_owner_is_not_hit(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 1000), *next;
	struct slabdev_block block = must_describe(test, sd, p);

	EXPECT_FREED(test, sd, p);
	next = must_alloc(test, sd, 1000);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &block), -EALREADY);
	KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, next), 1024);
	EXPECT_FREED(test, sd, next);
}

static void every_free_ends_it(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *tiny = NULL, *cache = NULL;
	struct slabdev_block block[6];
	void *p[6];
	u32 i;

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&tiny, sd, "tiny", 24,
						   NULL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, sd, "cache", 500,
						   NULL), 0);
	for (i = 0; i < 6; i++) {
		p[i] = i < 2 ? slabdev_cache_alloc(tiny) :
		       i < 4 ? slabdev_cache_alloc(cache) :
			       slabdev_alloc(sd, 4096);
		KUNIT_ASSERT_NOT_NULL(test, p[i]);
		block[i] = must_describe(test, sd, p[i]);
	}
	KUNIT_EXPECT_EQ(test, block[0].bytes, 24);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(tiny, p[0]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &block[1]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(cache, 1, &p[2]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &block[3]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, p[4], 4096), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(sd, p[5],
						 SLABDEV_STREAM_PER_THREAD), 0);
	for (i = 0; i < 6; i++)
		KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &block[i]),
				-ESTALE);
	expect_sound(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(tiny), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

static void realloc_in_place_keeps_the_number(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 1000), *moved;
	struct slabdev_block block = must_describe(test, sd, p);

	KUNIT_EXPECT_PTR_EQ(test, slabdev_realloc(sd, p, 1010), p);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &block), 0);
	moved = slabdev_realloc(sd, p, 5000);
	KUNIT_EXPECT_NOT_NULL(test, moved);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &block), -ESTALE);
	EXPECT_FREED(test, sd, moved);
}

static void owned_ones_are_not_freed(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf = NULL;
	struct slabdev_block block;

	KUNIT_ASSERT_EQ(test, slabdev_buf_alloc(&buf, sd, 300, NULL), 0);
	block = must_describe(test, sd, slabdev_buf_ptr(buf));
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &block), -EINVAL);
	EXPECT_ERROR_HAS(test, "slabdev_buf_put()");
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &block), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &block), -ESTALE);
}

static void exported_ones_are_not_freed(struct kunit *test)
{
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_block block;
	struct slabdev *sd;
	void *p;

	host_only(test, "what can be exported depends on the memory");
	attr.limit = 64 * MIB;
	attr.handle_type = SLABDEV_HANDLE_FD;
	sd = open_space_attr(test, &attr);
	p = must_alloc(test, sd, 4096);
	block = must_describe(test, sd, p);
	KUNIT_ASSERT_EQ(test, slabdev_export(sd, p, &share), 0);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &block), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_export_end(sd, p, &share), 0);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &block), 0);
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &block), 0);
	close_space(test, sd);
}

/* ---- What is no block --------------------------------------------------- */

static void bad_arguments(struct kunit *test)
{
	struct slabdev_block none = SLABDEV_BLOCK_INIT, block, bad;
	struct slabdev *sd = test->priv;
	char *p = must_alloc(test, sd, 1000);
	struct slabdev_stats before;

	block = must_describe(test, sd, p);
	before = figures(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_block_get(NULL, p, &none), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_block_get(sd, p, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_block_get(sd, NULL, &none), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_block_get(sd, p + 1, &none), -EINVAL);
	EXPECT_ERROR_HAS(test, "no live object");
	KUNIT_EXPECT_EQ(test, slabdev_block_get(sd, &none, &none), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &none), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &none), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(NULL, &block), -EINVAL);
	bad = block;
	bad.size = 0;
	KUNIT_EXPECT_EQ(test, slabdev_block_get(sd, p, &bad), -EINVAL);
	EXPECT_ERROR_HAS(test, "SLABDEV_BLOCK_INIT");
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &bad), -EINVAL);
	bad = block;
	bad.id += 1000000;
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &bad), -EINVAL);
	bad = block;
	bad.ptr = p + 1;
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &bad), -ESTALE);
	bad.ptr = &bad;
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &bad), -ESTALE);
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &block), 0);
	EXPECT_FREED(test, sd, p);
}

/* A program of a later version, whose structure is longer. */
struct later {
	struct slabdev_block block;
	u64 added;
};

static void blocks_of_another_version(struct kunit *test)
{
	struct later l = { .block = SLABDEV_BLOCK_INIT };
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 1000);

	l.block.size = sizeof(l);
	KUNIT_EXPECT_EQ(test, slabdev_block_get(sd, p, &l.block), 0);
	KUNIT_EXPECT_EQ(test, l.block.size, sizeof(l));
	KUNIT_EXPECT_EQ(test, l.block.bytes, 1000);
	KUNIT_EXPECT_EQ(test, l.added, 0);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &l.block), 0);
	/* What nobody here knows cannot be done. */
	l.added = 1;
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &l.block), -E2BIG);
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &l.block), -E2BIG);
	KUNIT_EXPECT_EQ(test, slabdev_block_get(sd, p, &l.block), -E2BIG);
	l.added = 0;
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &l.block), 0);
}

static void other_spaces_do_not_know_it(struct kunit *test)
{
	struct slabdev *sd = test->priv, *other = open_space(test, 64 * MIB);
	void *p = must_alloc(test, other, 1000), *q;
	struct slabdev_block block = must_describe(test, other, p), mine;

	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &block), -EINVAL);
	EXPECT_ERROR_HAS(test, "another space");
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &block), -EINVAL);
	EXPECT_FREED(test, other, p);
	close_space(test, other);
	/* The same memory and place in the tables, perhaps. */
	other = open_space(test, 64 * MIB);
	q = must_alloc(test, other, 1000);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(other, &block), -EINVAL);
	mine = must_describe(test, other, q);
	KUNIT_EXPECT_NE(test, mine.id, block.id);
	KUNIT_EXPECT_NE(test, mine.space, block.space);
	EXPECT_FREED(test, other, q);
	close_space(test, other);
}

static void comm_objects(struct kunit *test)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_block block;
	void *p;

	if (has_regions(sd))
		kunit_skip(test, "no comm memory");
	req.flags = SLABDEV_REQ_COMM;
	p = slabdev_alloc_ex(sd, 5000, &req);
	KUNIT_ASSERT_NOT_NULL(test, p);
	block = must_describe(test, sd, p);
	KUNIT_EXPECT_EQ(test, block.bytes, 5000);
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &block), 0);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &block), -ESTALE);
}

/* ---- Threads, and a fork ------------------------------------------------ */

#define ROUNDS 300u

struct racing {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_block block;
	u32 arrived;		/* atomic */
	u32 won;		/* atomic */
};

static void swallow(int level, int kind, const char *text, void *arg)
{
	(void)level;
	(void)kind;
	(void)text;
	(void)arg;
}

static void *free_copy(void *arg)
{
	struct racing *r = arg;
	struct slabdev_block copy = r->block;
	int err;

	__atomic_fetch_add(&r->arrived, 1, __ATOMIC_ACQ_REL);
	while (load_acquire(&r->arrived) % 2)
		os_yield();
	err = slabdev_block_free(r->sd, &copy);
	if (!err)
		__atomic_fetch_add(&r->won, 1, __ATOMIC_RELAXED);
	else
		KUNIT_EXPECT_EQ(r->test, err, -EALREADY);
	return NULL;
}

static void two_threads_one_free(struct kunit *test)
{
	struct racing r = { .test = test, .sd = test->priv };
	pthread_t other;
	u32 i;

	log_set_sink(swallow, NULL);
	for (i = 0; i < ROUNDS; i++) {
		r.block = must_describe(test, r.sd,
					must_alloc(test, r.sd, 700));
		r.arrived = 0;
		KUNIT_ASSERT_EQ(test, pthread_create(&other, NULL, free_copy,
						     &r), 0);
		free_copy(&r);
		pthread_join(other, NULL);
		KUNIT_EXPECT_EQ(test, r.won, i + 1);
	}
	log_set_sink(NULL, NULL);
}

static void ask_in_child(struct kunit *test, struct slabdev *sd,
			 const struct slabdev_block *block)
{
	if (!on_host()) {
		KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, block),
				-EOWNERDEAD);
		return;
	}
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, block), 0);
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, block), 0);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, block), -ESTALE);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
}

static void child_has_its_own(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	void *p = must_alloc(test, sd, 1000);
	struct slabdev_block block = must_describe(test, sd, p);
	int status = -1;
	pid_t pid = fork();

	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		alarm(60);
		ask_in_child(test, sd, &block);
		_exit(0);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &block), 0);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

/* The table of notes grows with them, a bucket at a time. */
static void many_blocks(struct kunit *test)
{
	enum { N = 20000 };
	struct slabdev *sd = test->priv;
	struct slabdev_block *block;
	u32 i;

	block = kunit_kzalloc(test, N * sizeof(*block));
	for (i = 0; i < N; i++) {
		block[i] = (struct slabdev_block)SLABDEV_BLOCK_INIT;
		if (slabdev_block_get(sd, must_alloc(test, sd, 256), &block[i]))
			KUNIT_FAIL(test, "%s", slabdev_last_error());
	}
	KUNIT_EXPECT_EQ(test, sd->notes.nr, N);
	KUNIT_EXPECT_GE(test, sd->notes.nr_buckets, N);
	for (i = 0; i < N; i += 2)
		if (slabdev_block_free(sd, &block[i]))
			KUNIT_FAIL(test, "%s", slabdev_last_error());
	for (i = 0; i < N; i++)
		if (slabdev_block_check(sd, &block[i]) !=
		    (i % 2 ? 0 : -ESTALE))
			KUNIT_FAIL(test, "block %u", i);
	for (i = 1; i < N; i += 2)
		if (slabdev_block_free(sd, &block[i]))
			KUNIT_FAIL(test, "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(test, sd->notes.nr, 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(describes_any_object, size_gen_params),
	KUNIT_CASE(copies_are_stale_after_the_free),
	KUNIT_CASE(two_copies_one_free),
	KUNIT_CASE(next_owner_is_not_hit),
	KUNIT_CASE(every_free_ends_it),
	KUNIT_CASE(realloc_in_place_keeps_the_number),
	KUNIT_CASE(owned_ones_are_not_freed),
	KUNIT_CASE(exported_ones_are_not_freed),
	KUNIT_CASE(bad_arguments),
	KUNIT_CASE(blocks_of_another_version),
	KUNIT_CASE(other_spaces_do_not_know_it),
	KUNIT_CASE(comm_objects),
	KUNIT_CASE_ISOLATED(two_threads_one_free),
	KUNIT_CASE_ISOLATED(child_has_its_own),
	KUNIT_CASE(many_blocks),
	{ 0 }
};

static const struct kunit_suite block_suite = {
	.name = "block",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(block_suite);
