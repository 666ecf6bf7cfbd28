// SPDX-License-Identifier: BSD-2-Clause
/*
 * owner_test.c - owners and numbers of objects (slab/own.h, slab/note.h) where
 * it is not easy: with letters, and without host memory.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "core/log.h"
#include "core/os.h"
#include "tests/open_space.h"

static struct slabdev *open_with_letters(struct kunit *test,
					 const char *letters)
{
	if (!IS_ENABLED(CONFIG_SLAB_DEBUG))
		kunit_skip(test, "no letters in this build");
	setenv("SLABDEV_DEBUG", letters, 1);
	return open_space(test, 512 * MIB);
}

#define EXPECT_REPORT_HAS(test, text) \
	KUNIT_EXPECT_TRUE_MSG(test, strstr(kunit_report_text(test), text), \
			      "no '%s' in: %s", text, kunit_report_text(test))

/* ---- Letters ------------------------------------------------------------ */

static void poisoned_by_the_last_drop(struct kunit *test)
{
	struct slabdev_buf *buf = NULL, *view = NULL;
	struct slabdev *sd = open_with_letters(test, "FZPU");
	unsigned char *p;

	KUNIT_ASSERT_EQ(test, slabdev_buf_alloc(&buf, sd, 1000, NULL), 0);
	p = slabdev_buf_ptr(buf);
	mem_fill(sd, p, 1000, 7);
	KUNIT_ASSERT_EQ(test, slabdev_buf_view(&view, buf, 500, 100), 0);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EINVAL);
	EXPECT_REPORT_HAS(test, "belongs to buffer");
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, p, 100), EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, p, 1000, 7));
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(view), 0);
	settle(test, sd);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, p, 900, 0x6b));
	close_space(test, sd);
}

static const char *const letters[] = { "FZPU", "Q", "G", "H" };
KUNIT_ARRAY_PARAM(letter, letters, NULL);

static const size_t sizes[] = { 1, 63, 64, 256, 1000, MIB, 3 * MIB };

/* Whatever is made of the objects, an owner's are refused, and a number ends
 * with its object. */
static void every_letter(struct kunit *test)
{
	const char *const *debug = test->param_value;
	struct slabdev *sd = open_with_letters(test, *debug);
	struct slabdev_block block;
	struct slabdev_buf *buf;
	size_t i;
	void *p;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		buf = NULL;
		block = (struct slabdev_block)SLABDEV_BLOCK_INIT;
		KUNIT_ASSERT_EQ(test, slabdev_buf_alloc(&buf, sd, sizes[i],
							NULL), 0);
		p = slabdev_buf_ptr(buf);
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EINVAL);
		KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
		p = must_alloc(test, sd, sizes[i]);
		KUNIT_ASSERT_EQ(test, slabdev_block_get(sd, p, &block), 0);
		KUNIT_EXPECT_EQ(test, block.bytes, sizes[i]);
		KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &block), 0);
		KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &block), -ESTALE);
		kunit_expect_report(test, REPORT_DOUBLE_FREE);
		KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &block),
				-EALREADY);
		expect_sound(test, sd);
	}
	close_space(test, sd);
}

/* ---- Host memory -------------------------------------------------------- */

static u64 calls, failing_call;

static bool fails(void)
{
	return ++calls == failing_call;
}

static int reserve_or_not(size_t size, void **addr)
{
	void *p;

	if (fails())
		return -ENOMEM;
	p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		 MAP_NORESERVE, -1, 0);
	*addr = p;
	return p == MAP_FAILED ? -ENOMEM : 0;
}

static int commit_or_not(void *addr, size_t size)
{
	if (fails() || mprotect(addr, size, PROT_READ | PROT_WRITE))
		return -ENOMEM;
	return 0;
}

static void nothing(void *arg)
{
	(void)arg;
}

/* 0 or -ENOMEM, and then nothing has changed. */
static bool worked(struct kunit *test, int err)
{
	if (err) {
		KUNIT_EXPECT_EQ(test, err, -ENOMEM);
		KUNIT_EXPECT_STRNEQ(test, slabdev_last_error(), "");
	}
	return !err;
}

/* A put that fails is tried again: its owner is one yet. */
static void put_on(struct kunit *test, struct slabdev_buf *buf,
		   slabdev_stream_t q)
{
	unsigned int owners = slabdev_buf_refs(buf);
	int left = slabdev_buf_put_async(buf, q);

	if (left >= 0) {
		KUNIT_EXPECT_EQ(test, left, owners - 1);
		return;
	}
	KUNIT_EXPECT_EQ(test, left, -ENOMEM);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), owners);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(buf, q), owners - 1);
}

static void use_buffer(struct kunit *test, struct slabdev *sd,
		       slabdev_stream_t q)
{
	struct slabdev_buf *buf = NULL, *view = NULL;

	if (!worked(test, slabdev_buf_alloc(&buf, sd, 1000, NULL))) {
		KUNIT_EXPECT_NULL(test, buf);
		KUNIT_EXPECT_EQ(test, stats_of(test, sd).buffers, 0);
		return;
	}
	if (worked(test, slabdev_buf_view(&view, buf, 1, 10)))
		put_on(test, view, q);
	else
		KUNIT_EXPECT_NULL(test, view);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 1);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
}

static void use_block(struct kunit *test, struct slabdev *sd)
{
	struct slabdev_block block = SLABDEV_BLOCK_INIT;
	void *p = slabdev_alloc(sd, 1000);

	if (!p)
		return;
	if (worked(test, slabdev_block_get(sd, p, &block)))
		KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &block), 0);
	else
		EXPECT_FREED(test, sd, p);
}

/* False when fewer calls are made than @n. */
static bool fails_at(struct kunit *test, slabdev_stream_t q, u64 n)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	bool reached;

	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(q, nothing, NULL), 0);
	calls = 0;
	failing_call = n;
	use_buffer(test, sd, q);
	use_block(test, sd);
	reached = calls >= n;
	failing_call = 0;
	expect_sound(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(q), 0);
	close_space(test, sd);
	return reached;
}

static void each_host_call_may_fail(struct kunit *test)
{
	slabdev_stream_t q = NULL;
	u64 n;

	host_only(test, "queues");
	kunit_activate_static_stub(test, os_reserve, reserve_or_not);
	kunit_activate_static_stub(test, os_commit, commit_or_not);
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, SLABDEV_QUEUE_MANUAL),
			0);
	for (n = 1; fails_at(test, q, n); n++)
		KUNIT_ASSERT_LT(test, n, 200);
	KUNIT_EXPECT_GT(test, n, 5);
	kunit_info(test, "%llu calls", (unsigned long long)n - 1);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(poisoned_by_the_last_drop),
	KUNIT_CASE_PARAM(every_letter, letter_gen_params, .isolated = true),
	KUNIT_CASE_ISOLATED(each_host_call_may_fail),
	{ 0 }
};

static const struct kunit_suite owner_suite = {
	.name = "owner",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(owner_suite);
