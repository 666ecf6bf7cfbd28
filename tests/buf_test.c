// SPDX-License-Identifier: BSD-2-Clause
/*
 * buf_test.c - buffers: who owns the memory, views of it, and what is told of
 * every token that is not one any more. Streams are in buf_streams.c, threads
 * in buf_threads.c.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "slab/token.h"
#include "tests/buf_space.h"

#define EXPECT_REPORT_HAS(test, text) \
	KUNIT_EXPECT_TRUE_MSG(test, strstr(kunit_report_text(test), text), \
			      "no '%s' in: %s", text, kunit_report_text(test))

/* ---- Owners ------------------------------------------------------------- */

/* The textbook's trace: 1 -> 2 -> 1 -> 0. */
static void traced_one_two_one_none(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf = must_make(test, sd, 400), *copy;
	void *p = slabdev_buf_ptr(buf);

	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 1);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).buffers, 1);
	copy = slabdev_buf_get(buf);
	KUNIT_EXPECT_PTR_EQ(test, copy, buf);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 2);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(copy), 1);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 1);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_buf_ptr(buf), p);
	KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, p), 512);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 0);
	KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, p), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).buffers, 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live_objects, 0);
}

static const size_t sizes[] = {
	1, 256, 300, 4096, MIB, MIB + 1, 3 * MIB, 70 * MIB,
};
KUNIT_ARRAY_PARAM(size, sizes, NULL);

static void any_size_can_be_shared(struct kunit *test)
{
	size_t size = *(const size_t *)test->param_value;
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf = must_make(test, sd, size);

	KUNIT_EXPECT_EQ(test, slabdev_buf_size(buf), size);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_buf_space(buf), sd);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live, size);
	expect_sound(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	expect_empty(test, sd);
}

static void request_is_honoured(struct kunit *test)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf = NULL;

	req.align = 64 * KIB;
	KUNIT_ASSERT_EQ(test, slabdev_buf_alloc(&buf, sd, 1000, &req), 0);
	KUNIT_EXPECT_EQ(test, (uintptr_t)slabdev_buf_ptr(buf) % (64 * KIB), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	req.align = 3;
	buf = NULL;
	KUNIT_EXPECT_EQ(test, slabdev_buf_alloc(&buf, sd, 1000, &req), -EINVAL);
	EXPECT_ERROR_HAS(test, "req.align 3");
	KUNIT_EXPECT_NULL(test, buf);
}

static void numbers_are_never_given_twice(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf, *view;
	u64 last = 0;
	u32 i;

	for (i = 0; i < 100; i++) {
		buf = must_make(test, sd, 256);
		view = must_view(test, buf, 0, 1);
		KUNIT_EXPECT_GT(test, slabdev_buf_id(buf), last);
		KUNIT_EXPECT_GT(test, slabdev_buf_id(view),
				slabdev_buf_id(buf));
		last = slabdev_buf_id(view);
		KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
		KUNIT_EXPECT_EQ(test, slabdev_buf_put(view), 0);
	}
}

/* ---- Views -------------------------------------------------------------- */

/* The first ten elements of a hundred: they keep all of it. */
static void ten_elements_of_a_hundred(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf = must_make(test, sd, 100 * sizeof(double));
	struct slabdev_buf *ten = must_view(test, buf, 0, 10 * sizeof(double));
	void *p = slabdev_buf_ptr(buf);

	KUNIT_EXPECT_PTR_EQ(test, slabdev_buf_ptr(ten), p);
	KUNIT_EXPECT_EQ(test, slabdev_buf_size(ten), 80);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(ten), 1);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 1);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).buffers, 1);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live, 800);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).buffers, 1);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_buf_ptr(ten), p);
	KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, p), 1024);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), -EALREADY);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live, 800);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(ten), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live, 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).buffers, 0);
}

/* Offsets of a view of a view count from that view; it holds the root. */
static void views_of_views(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf = must_make(test, sd, 10000);
	struct slabdev_buf *a = must_view(test, buf, 1000, 5000);
	struct slabdev_buf *b = must_view(test, a, 100, 4900);
	struct slabdev_buf *c = must_view(test, b, 4899, 1), *none = NULL;
	char *p = slabdev_buf_ptr(buf);

	KUNIT_EXPECT_PTR_EQ(test, slabdev_buf_ptr(c), (void *)(p + 5999));
	KUNIT_EXPECT_EQ(test, slabdev_buf_view(&none, b, 4899, 2), -EINVAL);
	EXPECT_ERROR_HAS(test, "2 bytes from byte 4899 end beyond the 4900");
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(b), 0);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_buf_ptr(c), (void *)(p + 5999));
	KUNIT_EXPECT_PTR_EQ(test, slabdev_buf_get(c), c);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(c), 1);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live, 10000);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(c), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live, 0);
	KUNIT_EXPECT_NULL(test, none);
}

static void parts_beyond_the_end(struct kunit *test)
{
	static const size_t bad[][2] = {
		{ 0, 0 }, { 10, 0 }, { 0, 101 }, { 100, 1 }, { 101, 1 },
		{ 1, 100 }, { SIZE_MAX, 1 }, { 1, SIZE_MAX },
		{ SIZE_MAX, SIZE_MAX }, { 50, (size_t)-1 }, { (size_t)-1, 2 },
	};
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf = must_make(test, sd, 100), *view = NULL;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ(test, slabdev_buf_view(&view, buf, bad[i][0],
						       bad[i][1]), -EINVAL);
		KUNIT_EXPECT_NULL(test, view);
		KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 1);
	}
	view = must_view(test, buf, 99, 1);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(view), 0);
	view = must_view(test, buf, 0, 100);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(view), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
}

/* ---- Tokens that are none ---------------------------------------------- */

static void expect_refused(struct kunit *test, struct slabdev_buf *buf, int err)
{
	enum report_kind kind = err == -EALREADY ? REPORT_DOUBLE_FREE :
						   REPORT_INVALID_POINTER;
	struct slabdev_buf *view = NULL;

	KUNIT_EXPECT_ERRNO(test, slabdev_buf_get(buf), -err);
	KUNIT_EXPECT_ERRNO(test, slabdev_buf_ptr(buf), -err);
	errno = 0;
	KUNIT_EXPECT_EQ(test, slabdev_buf_size(buf), 0);
	KUNIT_EXPECT_EQ(test, errno, -err);
	KUNIT_EXPECT_ERRNO(test, slabdev_buf_space(buf), -err);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_id(buf), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_view(&view, buf, 0, 1), err);
	KUNIT_EXPECT_NULL(test, view);
	if (!buf)
		return;
	kunit_expect_report(test, kind);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), err);
	kunit_expect_report(test, kind);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(buf, NULL), err);
	EXPECT_REPORT_HAS(test, "nothing was changed");
}

static void stale_tokens_are_refused(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_buf *old = must_make(test, sd, 256), *buf, *view;
	struct slabdev_stats before;
	void *p = slabdev_buf_ptr(old);

	KUNIT_EXPECT_EQ(test, slabdev_buf_put(old), 0);
	expect_refused(test, old, -EALREADY);
	/* The entry and the memory are another buffer's now. */
	buf = must_make(test, sd, 256);
	KUNIT_EXPECT_EQ(test, token_index(buf), token_index(old));
	if (on_host())
		KUNIT_EXPECT_PTR_EQ(test, slabdev_buf_ptr(buf), p);
	KUNIT_EXPECT_PTR_NE(test, buf, old);
	before = figures(test, sd);
	expect_refused(test, old, -EALREADY);
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 1);
	view = must_view(test, buf, 1, 1);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(view), 0);
	expect_refused(test, view, -EALREADY);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
}

static void garbage_is_refused(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf = must_make(test, sd, 256);
	uintptr_t h = (uintptr_t)buf;
	uintptr_t bad[] = {
		1, 0xdeadbeef, h + ((uintptr_t)1 << 32),
		h ^ ((uintptr_t)3 << 24), h | 0xffffff,
		(uintptr_t)slabdev_buf_ptr(buf), (uintptr_t)&h, UINTPTR_MAX,
	};
	u32 i;

	expect_refused(test, NULL, -EINVAL);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		expect_refused(test, (struct slabdev_buf *)bad[i], -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
}

static void bad_arguments(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf = must_make(test, sd, 1);
	struct slabdev_stats before;

	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	before = figures(test, sd);
	buf = NULL;
	KUNIT_EXPECT_EQ(test, slabdev_buf_alloc(NULL, sd, 10, NULL), -EINVAL);
	EXPECT_ERROR_HAS(test, "buf is NULL");
	KUNIT_EXPECT_EQ(test, slabdev_buf_alloc(&buf, NULL, 10, NULL), -EINVAL);
	EXPECT_ERROR_HAS(test, "the space is NULL");
	KUNIT_EXPECT_EQ(test, slabdev_buf_alloc(&buf, sd, 0, NULL), -EINVAL);
	EXPECT_ERROR_HAS(test, "size is 0");
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_alloc(&buf, sd, (size_t)-4096, NULL),
			-EOVERFLOW);
	KUNIT_EXPECT_EQ(test, slabdev_buf_alloc(&buf, sd, SIZE_MAX, NULL),
			-EOVERFLOW);
	EXPECT_ONLY_FAILURES(test, sd, before, 2);
	KUNIT_EXPECT_NULL(test, buf);
	buf = must_make(test, sd, 1);
	KUNIT_EXPECT_EQ(test, slabdev_buf_view(NULL, buf, 0, 1), -EINVAL);
	EXPECT_ERROR_HAS(test, "view is NULL");
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
}

/* ---- The memory's own address ------------------------------------------- */

static void address_is_refused(struct kunit *test)
{
	static const size_t object[] = { 256, 3000, 2 * MIB };
	struct slabdev *sd = test->priv;
	struct slabdev_stats before;
	struct slabdev_buf *buf;
	char *p, text[600];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(object); i++) {
		buf = must_make(test, sd, object[i]);
		p = slabdev_buf_ptr(buf);
		before = figures(test, sd);
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EINVAL);
		EXPECT_ERROR_HAS(test, "belongs to buffer");
		EXPECT_ERROR_HAS(test, "slabdev_buf_put() gives it back");
		EXPECT_REPORT_HAS(test, "Object belongs to a buffer");
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, p, object[i]),
				-EINVAL);
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_EQ(test, slabdev_free_async(sd, p, NULL), -EINVAL);
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_EQ(test, slabdev_free_async(sd, p,
				SLABDEV_STREAM_PER_THREAD), -EINVAL);
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p + 100), -EINVAL);
		EXPECT_ERROR_HAS(test, "belongs to buffer");
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, p, object[i] + 1),
				   EINVAL);
		EXPECT_ERROR_HAS(test, "slabdev_buf_put()");
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, p, 0), EINVAL);
		EXPECT_ONLY_FAILURES(test, sd, before, 0);
		KUNIT_EXPECT_EQ(test, slabdev_explain(p, text, sizeof(text)),
				0);
		KUNIT_EXPECT_TRUE_MSG(test, strstr(text, "owner: buffer"), "%s",
				      text);
		KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	}
}

static void caches_refuse_it_too(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf = must_make(test, sd, 1000);
	struct slabdev_cache *cache = NULL;
	void *p[2] = { slabdev_buf_ptr(buf), NULL };
	struct slabdev_stats before;

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, sd, "other", 1000,
						   NULL), 0);
	p[1] = slabdev_cache_alloc(cache);
	before = figures(test, sd);
	kunit_expect_report(test, REPORT_WRONG_CACHE);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p[0]), -EINVAL);
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
	kunit_expect_report(test, REPORT_WRONG_CACHE);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(cache, 2, p), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 1);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

/* ---- The end of the space ----------------------------------------------- */

static void close_lists_what_is_owned(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 64 * MIB), *again;
	struct slabdev_buf *a = must_make(test, sd, 1000);
	struct slabdev_buf *b = must_make(test, sd, 2 * MIB), *view, *c;
	char text[100];

	KUNIT_EXPECT_NOT_NULL(test, slabdev_buf_get(a));
	view = must_view(test, b, 0, 77);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(b), 0);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EBUSY);
	snprintf(text, sizeof(text), "of buffer %p (number %llu, 1000 bytes, "
		 "2 owners, 0 views)", (void *)a,
		 (unsigned long long)slabdev_buf_id(a));
	EXPECT_REPORT_HAS(test, text);
	EXPECT_REPORT_HAS(test, "2097152 bytes, 0 owners, 1 view)");
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE), 0);
	expect_refused(test, a, -EALREADY);
	expect_refused(test, b, -EALREADY);
	expect_refused(test, view, -EALREADY);
	again = open_space(test, 64 * MIB);
	c = must_make(test, again, 1000);
	expect_refused(test, a, -EALREADY);
	expect_refused(test, b, -EALREADY);
	expect_refused(test, view, -EALREADY);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(c), 0);
	close_space(test, again);
}

/* Only the buffers of the space that is closed. */
static void other_spaces_keep_theirs(struct kunit *test)
{
	struct slabdev *sd = test->priv, *other = open_space(test, 64 * MIB);
	struct slabdev_buf *mine = must_make(test, sd, 1000);
	struct slabdev_buf *theirs = must_make(test, other, 1000);

	KUNIT_EXPECT_EQ(test, slabdev_close(other, SLABDEV_CLOSE_FORCE), 0);
	expect_refused(test, theirs, -EALREADY);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(mine), 1);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(mine), 0);
}

/* ---- Exports ------------------------------------------------------------ */

static void exported_memory_stays_owned(struct kunit *test)
{
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_buf *buf, *view;
	struct slabdev *sd;
	void *p;

	host_only(test, "what can be exported depends on the memory");
	attr.limit = 64 * MIB;
	attr.handle_type = SLABDEV_HANDLE_FD;
	sd = open_space_attr(test, &attr);
	buf = must_make(test, sd, 4096);
	p = slabdev_buf_ptr(buf);
	KUNIT_ASSERT_EQ(test, slabdev_export(sd, p, &share), 0);
	KUNIT_EXPECT_NOT_NULL(test, slabdev_buf_get(buf));
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 1);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), -EBUSY);
	EXPECT_ERROR_HAS(test, "slabdev_export_end()");
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 1);
	view = must_view(test, buf, 10, 10);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(view), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(view), 1);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_buf_ptr(view),
			    (void *)((char *)p + 10));
	KUNIT_EXPECT_EQ(test, slabdev_export_end(sd, p, &share), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(view), 0);
	close_space(test, sd);
}

/* ---- Fork --------------------------------------------------------------- */

static void use_in_child(struct kunit *test, struct slabdev *sd,
			 struct slabdev_buf *buf, struct slabdev_buf *view)
{
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 1);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, slabdev_buf_ptr(buf)), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live_objects, 1);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(view), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live_objects, 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
}

static void refused_in_child(struct kunit *test, struct slabdev *sd,
			     struct slabdev_buf *buf, struct slabdev_buf *view)
{
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), -EOWNERDEAD);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 1);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
	expect_refused(test, buf, -EALREADY);
	expect_refused(test, view, -EALREADY);
}

static void child_has_its_own(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	struct slabdev_buf *buf = must_make(test, sd, 1000);
	struct slabdev_buf *view = must_view(test, buf, 0, 10);
	int status = -1;
	pid_t pid = fork();

	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		alarm(60);
		if (on_host())
			use_in_child(test, sd, buf, view);
		else
			refused_in_child(test, sd, buf, view);
		_exit(0);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(view), 0);
	close_space(test, sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(traced_one_two_one_none),
	KUNIT_CASE_PARAM(any_size_can_be_shared, size_gen_params),
	KUNIT_CASE(request_is_honoured),
	KUNIT_CASE(numbers_are_never_given_twice),
	KUNIT_CASE(ten_elements_of_a_hundred),
	KUNIT_CASE(views_of_views),
	KUNIT_CASE(parts_beyond_the_end),
	KUNIT_CASE(stale_tokens_are_refused),
	KUNIT_CASE(garbage_is_refused),
	KUNIT_CASE(bad_arguments),
	KUNIT_CASE(address_is_refused),
	KUNIT_CASE(caches_refuse_it_too),
	KUNIT_CASE(close_lists_what_is_owned),
	KUNIT_CASE(other_spaces_keep_theirs),
	KUNIT_CASE(exported_memory_stays_owned),
	KUNIT_CASE(all_owners_are_waited_for),
	KUNIT_CASE(views_are_waited_for),
	KUNIT_CASE(too_many_streams),
	KUNIT_CASE(wrong_stream_changes_nothing),
	KUNIT_CASE(bound_stream_and_another),
	KUNIT_CASE(many_threads_own_it),
	KUNIT_CASE_ISOLATED(of_two_puts_one_frees),
	KUNIT_CASE_ISOLATED(wrong_free_beside_the_last_put),
	KUNIT_CASE_ISOLATED(child_has_its_own),
	{ 0 }
};

static const struct kunit_suite buf_suite = {
	.name = "buf",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(buf_suite);
