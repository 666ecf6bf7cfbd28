// SPDX-License-Identifier: BSD-2-Clause
/*
 * bad_input_test.c - every argument of buffers, groups, arenas and blocks that
 * makes no sense: zero, negative as a size, products and sums that overflow,
 * misaligned, NULL, of another space, another's, and what is there no more.
 *
 * bad_manager_test.c has managers, ledgers and plans. What is no stream is
 * known on the host alone: of a GPU's the driver trusts the pointer.
 */
#include "tests/bad_input.h"

#define MINUS(n) ((size_t)0 - (n))
#define GARBAGE ((void *)&garbage)

/* The address of something that the library does not know. */
static long garbage;

/* ---- Buffers ------------------------------------------------------------ */

static void bad_requests(struct kunit *test, struct slabdev *sd)
{
	struct slabdev_buf *b = untouched();
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct {
		struct slabdev_req known;
		u64 unknown;
	} longer = { SLABDEV_REQ_INIT, 1 };

	req.align = 3;
	REFUSED(test, -EINVAL, "align", slabdev_buf_alloc(&b, sd, 100, &req));
	req.align = 2 * GIB;
	REFUSED(test, -EINVAL, "align", slabdev_buf_alloc(&b, sd, 100, &req));
	req.align = MINUS(256);
	REFUSED(test, -EINVAL, "align", slabdev_buf_alloc(&b, sd, 100, &req));
	req = (struct slabdev_req)SLABDEV_REQ_INIT;
	req.flags = 1u << 31;
	REFUSED(test, -EINVAL, "flags", slabdev_buf_alloc(&b, sd, 100, &req));
	req = (struct slabdev_req)SLABDEV_REQ_INIT;
	req.size = 0;
	REFUSED(test, -EINVAL, "size", slabdev_buf_alloc(&b, sd, 100, &req));
	longer.known.size = sizeof(longer);
	REFUSED(test, -E2BIG, "req", slabdev_buf_alloc(&b, sd, 100,
						       &longer.known));
	req = (struct slabdev_req)SLABDEV_REQ_INIT;
	req.stream = GARBAGE;
	if (on_host())
		REFUSED(test, -EINVAL, "stream",
			slabdev_buf_alloc(&b, sd, 100, &req));
	KUNIT_EXPECT_PTR_EQ(test, b, untouched());
}

static void bad_views(struct kunit *test, struct slabdev_buf *buf)
{
	struct slabdev_buf *v = untouched();

	REFUSED(test, -EINVAL, "view", slabdev_buf_view(NULL, buf, 0, 1));
	REFUSED(test, -EINVAL, "NULL", slabdev_buf_view(&v, NULL, 0, 1));
	REFUSED(test, -EINVAL, "size", slabdev_buf_view(&v, buf, 0, 0));
	REFUSED(test, -EINVAL, "1000", slabdev_buf_view(&v, buf, 0, 1001));
	REFUSED(test, -EINVAL, "1000", slabdev_buf_view(&v, buf, 1000, 1));
	REFUSED(test, -EINVAL, "1000", slabdev_buf_view(&v, buf, 1, MINUS(1)));
	REFUSED(test, -EINVAL, "1000", slabdev_buf_view(&v, buf, MINUS(1), 2));
	KUNIT_EXPECT_PTR_EQ(test, v, untouched());
}

/* What is no buffer, or none any more. */
static void bad_buffer(struct kunit *test, struct slabdev_buf *buf, int err,
		       enum report_kind kind)
{
	struct slabdev_buf *v = untouched();

	REFUSED(test, err, "slabdev_buf_get", SET_ERRNO(slabdev_buf_get(buf)));
	REPORTED(test, kind, err, "slabdev_buf_put", slabdev_buf_put(buf));
	REPORTED(test, kind, err, "slabdev_buf_put_async",
		 slabdev_buf_put_async(buf, SLABDEV_STREAM_LEGACY));
	REFUSED(test, err, "slabdev_buf_view",
		slabdev_buf_view(&v, buf, 0, 1));
	REFUSED(test, err, "slabdev_buf_ptr", SET_ERRNO(slabdev_buf_ptr(buf)));
	REFUSED(test, err, "slabdev_buf_size",
		SET_ERRNO(slabdev_buf_size(buf)));
	REFUSED(test, err, "slabdev_buf_space",
		SET_ERRNO(slabdev_buf_space(buf)));
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_id(buf), 0);
	KUNIT_EXPECT_PTR_EQ(test, v, untouched());
}

static void bad_buffers(struct kunit *test)
{
	struct slabdev *sd = test->priv, *other = open_space(test, GIB);
	struct slabdev_buf *b = untouched(), *old;
	struct slabdev_group *group;
	const size_t size = 1000;

	REFUSED(test, -EINVAL, "buf", slabdev_buf_alloc(NULL, sd, 100, NULL));
	REFUSED(test, -EINVAL, "space is NULL",
		slabdev_buf_alloc(&b, NULL, 100, NULL));
	REFUSED(test, -EINVAL, "size", slabdev_buf_alloc(&b, sd, 0, NULL));
	REFUSED(test, -EOVERFLOW, "bytes",
		slabdev_buf_alloc(&b, sd, MINUS(1), NULL));
	REFUSED(test, -EOVERFLOW, "bytes",
		slabdev_buf_alloc(&b, sd, MINUS(4096), NULL));
	KUNIT_EXPECT_PTR_EQ(test, b, untouched());
	bad_requests(test, sd);
	KUNIT_ASSERT_EQ(test, slabdev_buf_alloc(&b, sd, size, NULL), 0);
	bad_views(test, b);
	if (on_host())
		REFUSED(test, -EINVAL, "stream",
			slabdev_buf_put_async(b, GARBAGE));
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(b), 1);
	/* Its memory is nobody else's to free. */
	REPORTED(test, REPORT_INVALID_POINTER, -EINVAL, "buffer",
		 slabdev_free(sd, slabdev_buf_ptr(b)));
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(b), 0);
	bad_buffer(test, b, -EALREADY, REPORT_DOUBLE_FREE);
	bad_buffer(test, GARBAGE, -EINVAL, REPORT_INVALID_POINTER);
	KUNIT_ASSERT_EQ(test, slabdev_group_alloc(&group, sd, &size, 1, 0,
						  NULL), 0);
	bad_buffer(test, (struct slabdev_buf *)(void *)group, -EINVAL,
		   REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_group_free(group), 0);
	/* After close. */
	KUNIT_ASSERT_EQ(test, slabdev_buf_alloc(&old, other, 100, NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(other, SLABDEV_CLOSE_FORCE), 0);
	bad_buffer(test, old, -EALREADY, REPORT_DOUBLE_FREE);
}

/* ---- Groups ------------------------------------------------------------- */

static void bad_shapes(struct kunit *test, struct slabdev *sd)
{
	const size_t sizes[] = { 100, 200 }, none[] = { 0, 0 };
	const size_t minus[] = { 100, MINUS(1) };
	const size_t sum[] = { SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 1 };
	struct slabdev_group *g = untouched();
	void *p[2] = { untouched(), untouched() };

	REFUSED(test, -EINVAL, "group",
		slabdev_group_alloc(NULL, sd, sizes, 2, 0, p));
	REFUSED(test, -EINVAL, "space is NULL",
		slabdev_group_alloc(&g, NULL, sizes, 2, 0, p));
	REFUSED(test, -EINVAL, "sizes",
		slabdev_group_alloc(&g, sd, NULL, 2, 0, p));
	REFUSED(test, -EINVAL, "n", slabdev_group_alloc(&g, sd, sizes, 0, 0,
							p));
	REFUSED(test, -EINVAL, "n ", slabdev_group_alloc(&g, sd, sizes,
						SLABDEV_GROUP_MAX + 1, 0, p));
	REFUSED(test, -EINVAL, "n ", slabdev_group_alloc(&g, sd, sizes,
							 MINUS(1), 0, p));
	REFUSED(test, -EINVAL, "align",
		slabdev_group_alloc(&g, sd, sizes, 2, 3, p));
	REFUSED(test, -EINVAL, "align",
		slabdev_group_alloc(&g, sd, sizes, 2, 2 * GIB, p));
	REFUSED(test, -EINVAL, "0 bytes",
		slabdev_group_alloc(&g, sd, none, 2, 0, p));
	REFUSED(test, -EOVERFLOW, "1", slabdev_group_alloc(&g, sd, minus, 2, 0,
							   p));
	REFUSED(test, -EOVERFLOW, "1", slabdev_group_alloc(&g, sd, sum, 2, 0,
							   p));
	KUNIT_EXPECT_PTR_EQ(test, g, untouched());
	KUNIT_EXPECT_PTR_EQ(test, p[0], untouched());
	KUNIT_EXPECT_PTR_EQ(test, p[1], untouched());
}

static void bad_group_attrs(struct kunit *test, struct slabdev *sd)
{
	const size_t sizes[] = { 100, 700, 100 }, aligns[] = { 256, 0, 12 };
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct {
		struct slabdev_group_attr known;
		u64 unknown;
	} longer = { SLABDEV_GROUP_ATTR_INIT, 1 };
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev_group *g = untouched();

#define MAKE(a) slabdev_group_alloc_ex(&g, sd, sizes, 3, NULL, a)
	attr.aligns = aligns;
	REFUSED(test, -EINVAL, "aligns[2]", MAKE(&attr));
	attr.aligns = NULL;
	attr.align = 100;
	REFUSED(test, -EINVAL, "align", MAKE(&attr));
	attr.align = 0;
	attr.flags = SLABDEV_GROUP_STRIDED;
	REFUSED(test, -EDOM, "STRIDED", MAKE(&attr));
	attr.flags = 0x80;
	REFUSED(test, -EINVAL, "flags", MAKE(&attr));
	attr.flags = 0;
	attr.reserved = 1;
	REFUSED(test, -EINVAL, "reserved", MAKE(&attr));
	attr.reserved = 0;
	attr.size = 0;
	REFUSED(test, -EINVAL, "size", MAKE(&attr));
	attr.size = sizeof(attr);
	req.flags = 1u << 31;
	attr.req = &req;
	REFUSED(test, -EINVAL, "flags", MAKE(&attr));
	longer.known.size = sizeof(longer);
	REFUSED(test, -E2BIG, "attr", MAKE(&longer.known));
#undef MAKE
	KUNIT_EXPECT_PTR_EQ(test, g, untouched());
}

static void bad_group(struct kunit *test, struct slabdev_group *group, int err,
		      enum report_kind kind)
{
	REFUSED(test, err, "slabdev_group_base",
		SET_ERRNO(slabdev_group_base(group)));
	REFUSED(test, err, "slabdev_group_size",
		SET_ERRNO(slabdev_group_size(group)));
	REFUSED(test, err, "slabdev_group_count",
		SET_ERRNO(slabdev_group_count(group)));
	REFUSED(test, err, "slabdev_group_stride",
		SET_ERRNO(slabdev_group_stride(group)));
	REPORTED(test, kind, err, "slabdev_group_free",
		 slabdev_group_free(group));
	REPORTED(test, kind, err, "slabdev_group_free_async",
		 slabdev_group_free_async(group, SLABDEV_STREAM_LEGACY));
}

static void bad_groups(struct kunit *test)
{
	const size_t sizes[] = { 100, 200 };
	struct slabdev *sd = test->priv;
	struct slabdev_group *group;

	bad_shapes(test, sd);
	bad_group_attrs(test, sd);
	KUNIT_ASSERT_EQ(test, slabdev_group_alloc(&group, sd, sizes, 2, 0,
						  NULL), 0);
	if (on_host())
		REFUSED(test, -EINVAL, "stream",
			slabdev_group_free_async(group, GARBAGE));
	REPORTED(test, REPORT_INVALID_POINTER, -EINVAL, "group",
		 slabdev_free(sd, slabdev_group_base(group)));
	KUNIT_EXPECT_EQ(test, slabdev_group_free(group), 0);
	bad_group(test, group, -EALREADY, REPORT_DOUBLE_FREE);
	bad_group(test, GARBAGE, -EINVAL, REPORT_INVALID_POINTER);
}

/* ---- Arenas ------------------------------------------------------------- */

static void bad_arena_attrs(struct kunit *test, struct slabdev *sd)
{
	static const struct slabdev_arena_attr def = SLABDEV_ARENA_ATTR_INIT;
	struct slabdev_arena_attr attr = def;
	struct {
		struct slabdev_arena_attr known;
		u64 unknown;
	} longer = { SLABDEV_ARENA_ATTR_INIT, 1 };
	struct slabdev_arena *a = untouched();
	char name[65];

#define MAKE(at) slabdev_arena_create(&a, sd, at)
	attr.align = 3;
	REFUSED(test, -EINVAL, "align", MAKE(&attr));
	attr.align = 2 * GIB;
	REFUSED(test, -EINVAL, "align", MAKE(&attr));
	attr = def;
	attr.max_bytes = MIB;
	attr.first_bytes = MIB + 1;
	REFUSED(test, -EINVAL, "first_bytes", MAKE(&attr));
	attr = def;
	attr.flags = 1;
	REFUSED(test, -EINVAL, "flags", MAKE(&attr));
	attr = def;
	attr.reserved = 1;
	REFUSED(test, -EINVAL, "reserved", MAKE(&attr));
	attr = def;
	attr.size = 0;
	REFUSED(test, -EINVAL, "size", MAKE(&attr));
	attr = def;
	attr.name = "a\nb";
	REFUSED(test, -EINVAL, "name", MAKE(&attr));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	attr.name = name;
	REFUSED(test, -EINVAL, "name", MAKE(&attr));
	attr = def;
	attr.stream = GARBAGE;
	if (on_host())
		REFUSED(test, -EINVAL, "stream", MAKE(&attr));
	longer.known.size = sizeof(longer);
	REFUSED(test, -E2BIG, "attr", MAKE(&longer.known));
#undef MAKE
	REFUSED(test, -EINVAL, "arena", slabdev_arena_create(NULL, sd, NULL));
	REFUSED(test, -EINVAL, "space is NULL",
		slabdev_arena_create(&a, NULL, NULL));
	KUNIT_EXPECT_PTR_EQ(test, a, untouched());
}

static void bad_arena_calls(struct kunit *test, struct slabdev_arena *a)
{
	struct slabdev_arena_mark none = SLABDEV_ARENA_MARK_INIT;
	struct slabdev_arena_stats st, before, now;

	KUNIT_ASSERT_EQ(test, slabdev_arena_stats(a, &before, sizeof(before)),
			0);
	REFUSED(test, -EOVERFLOW, "18446744073709551615 bytes",
		SET_ERRNO(slabdev_arena_alloc(a, MINUS(1))));
	REFUSED(test, -ENOSPC, "max_bytes 4096",
		SET_ERRNO(slabdev_arena_alloc(a, 4097)));
	REFUSED(test, -EINVAL, "align",
		SET_ERRNO(slabdev_arena_alloc_aligned(a, 100, 3)));
	REFUSED(test, -EINVAL, "align",
		SET_ERRNO(slabdev_arena_alloc_aligned(a, 100, MINUS(256))));
	REFUSED(test, -EINVAL, "mark", slabdev_arena_mark(a, NULL));
	REFUSED(test, -EINVAL, "mark", slabdev_arena_rewind(a, NULL));
	REFUSED(test, -EINVAL, "mark", slabdev_arena_rewind(a, &none));
	REFUSED(test, -EINVAL, "mark", slabdev_arena_unmark(a, NULL));
	REFUSED(test, -EINVAL, "mark", slabdev_arena_unmark(a, &none));
	if (on_host())
		REFUSED(test, -EINVAL, "stream",
			slabdev_arena_use(a, GARBAGE));
	REFUSED(test, -EINVAL, "st", slabdev_arena_stats(a, NULL, sizeof(st)));
	REFUSED(test, -EINVAL, "size", slabdev_arena_stats(a, &st, 0));
	KUNIT_ASSERT_EQ(test, slabdev_arena_stats(a, &now, sizeof(now)), 0);
	KUNIT_EXPECT_EQ(test, now.failed, before.failed + 4);
	now.failed = before.failed;
	KUNIT_EXPECT_MEMEQ(test, &now, &before, sizeof(now));
}

static void bad_arena(struct kunit *test, struct slabdev_arena *a, int err,
		      enum report_kind kind)
{
	struct slabdev_arena_mark mark = SLABDEV_ARENA_MARK_INIT;
	struct slabdev_arena_stats st;

	REFUSED(test, err, "slabdev_arena_alloc",
		SET_ERRNO(slabdev_arena_alloc(a, 1)));
	REFUSED(test, err, "slabdev_arena_alloc_aligned",
		SET_ERRNO(slabdev_arena_alloc_aligned(a, 1, 1)));
	REFUSED(test, err, "slabdev_arena_mark", slabdev_arena_mark(a, &mark));
	REFUSED(test, err, "slabdev_arena_rewind",
		slabdev_arena_rewind(a, &mark));
	REFUSED(test, err, "slabdev_arena_unmark",
		slabdev_arena_unmark(a, &mark));
	REFUSED(test, err, "slabdev_arena_reset", slabdev_arena_reset(a));
	REFUSED(test, err, "slabdev_arena_use",
		slabdev_arena_use(a, SLABDEV_STREAM_LEGACY));
	REFUSED(test, err, "slabdev_arena_stats",
		slabdev_arena_stats(a, &st, sizeof(st)));
	/* NULL is fine there. */
	if (a)
		REPORTED(test, kind, err, "slabdev_arena_destroy",
			 slabdev_arena_destroy(a));
}

static void bad_arenas(struct kunit *test)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_arena *a;
	void *p;

	bad_arena_attrs(test, sd);
	attr.max_bytes = 4096;
	KUNIT_ASSERT_EQ(test, slabdev_arena_create(&a, sd, &attr), 0);
	p = slabdev_arena_alloc(a, 100);
	KUNIT_ASSERT_NOT_NULL(test, p);
	bad_arena_calls(test, a);
	REPORTED(test, REPORT_INVALID_POINTER, -EINVAL, "arena",
		 slabdev_free(sd, p));
	KUNIT_EXPECT_EQ(test, slabdev_arena_destroy(a), 0);
	bad_arena(test, a, -EALREADY, REPORT_DOUBLE_FREE);
	bad_arena(test, GARBAGE, -EINVAL, REPORT_INVALID_POINTER);
	bad_arena(test, NULL, -EINVAL, REPORT_INVALID_POINTER);
}

/* ---- Blocks ------------------------------------------------------------- */

static void bad_block_gets(struct kunit *test, struct slabdev *sd, char *p)
{
	struct slabdev_block b = SLABDEV_BLOCK_INIT;

	REFUSED(test, -EINVAL, "space is NULL", slabdev_block_get(NULL, p, &b));
	REFUSED(test, -EINVAL, "(nil)", slabdev_block_get(sd, NULL, &b));
	REFUSED(test, -EINVAL, "block", slabdev_block_get(sd, p, NULL));
	REFUSED(test, -EINVAL, "slabdev_block_get",
		slabdev_block_get(sd, p + 8, &b));
	REFUSED(test, -EINVAL, "slabdev_block_get",
		slabdev_block_get(sd, p + 256, &b));
	REFUSED(test, -EINVAL, "slabdev_block_get",
		slabdev_block_get(sd, GARBAGE, &b));
	KUNIT_EXPECT_EQ(test, b.id, 0);
	b.size = 0;
	REFUSED(test, -EINVAL, "size", slabdev_block_get(sd, p, &b));
}

static void bad_block(struct kunit *test, struct slabdev *sd,
		      const struct slabdev_block *b, const char *words)
{
	REFUSED(test, -EINVAL, words, slabdev_block_check(sd, b));
	REFUSED(test, -EINVAL, words, slabdev_block_free(sd, b));
}

static void bad_blocks(struct kunit *test)
{
	struct slabdev *sd = test->priv, *other = open_space(test, GIB);
	struct slabdev_block b = SLABDEV_BLOCK_INIT, never = b;
	char *p = must_alloc(test, sd, 1000);

	bad_block_gets(test, sd, p);
	REFUSED(test, -EINVAL, "slabdev_block_get",
		slabdev_block_get(other, p, &b));
	KUNIT_ASSERT_EQ(test, slabdev_block_get(sd, p, &b), 0);
	bad_block(test, NULL, &b, "space is NULL");
	bad_block(test, sd, NULL, "block");
	bad_block(test, sd, &never, "block");
	bad_block(test, other, &b, "space");
	KUNIT_EXPECT_EQ(test, slabdev_block_check(sd, &b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_block_free(sd, &b), 0);
	REFUSED(test, -ESTALE, "freed", slabdev_block_check(sd, &b));
	REPORTED(test, REPORT_DOUBLE_FREE, -EALREADY, "slabdev_block_free",
		 slabdev_block_free(sd, &b));
	close_space(test, other);
}

/* The figures have this thread in them from the start. */
static int bad_input_init(struct kunit *test)
{
	int err = open_space_init(test);

	EXPECT_FREED(test, test->priv, must_alloc(test, test->priv, 1000));
	return err;
}

static const struct kunit_case bad_input_cases[] = {
	KUNIT_CASE(bad_buffers),
	KUNIT_CASE(bad_groups),
	KUNIT_CASE(bad_arenas),
	KUNIT_CASE(bad_blocks),
	{ 0 }
};

static const struct kunit_suite bad_input_suite = {
	.name = "bad_input",
	.init = bad_input_init,
	.exit = open_space_exit,
	.cases = bad_input_cases,
	.any_space = true,
};
kunit_test_suite(bad_input_suite);
