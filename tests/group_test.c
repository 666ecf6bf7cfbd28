// SPDX-License-Identifier: BSD-2-Clause
/*
 * group_test.c - what group.h promises: where blocks lie, and what is refused.
 */
#include <stdio.h>

#include "tests/group_space.h"
#include "tests/random.h"

/* ---- Where blocks lie --------------------------------------------------- */

/* 400 bytes, then 200: the second begins at 512, and all ends at 712. */
static void next_block_begins_at_the_next_boundary(struct kunit *test)
{
	static const size_t sizes[] = { 400, 200 };
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	char *ptrs[2];

	g = must_group(test, sd, sizes, 2, 0, (void **)ptrs);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_group_base(g), ptrs[0]);
	KUNIT_EXPECT_PTR_EQ(test, ptrs[1], ptrs[0] + 512);
	KUNIT_EXPECT_EQ(test, slabdev_group_size(g), 712);
	KUNIT_EXPECT_EQ(test, slabdev_group_count(g), 2);
	KUNIT_EXPECT_EQ(test, slabdev_group_stride(g), 512);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live, 712);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live_objects, 1);
	KUNIT_EXPECT_EQ(test, figures(test, sd).groups, 1);
	EXPECT_GROUP_FREED(test, g);
	KUNIT_EXPECT_EQ(test, figures(test, sd).groups, 0);
}

/* From offset 300 a request begins at 512; up to 255 bytes are skipped. */
static void at_most_255_bytes_are_skipped(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	size_t sizes[2] = { 0, 1 };
	char *ptrs[2];

	for (sizes[0] = 1; sizes[0] <= 1024; sizes[0]++) {
		g = must_group(test, sd, sizes, 2, 0, (void **)ptrs);
		KUNIT_EXPECT_EQ(test, ptrs[1] - ptrs[0],
				(ptrdiff_t)align_up(sizes[0], 256));
		KUNIT_EXPECT_LE(test, slabdev_group_size(g), sizes[0] + 256);
		EXPECT_GROUP_FREED(test, g);
	}
}

static const size_t aligns[] = {
	1, 2, 8, 16, 64, 128, 256, 512, 4096, 65536, MIB, 4 * MIB,
};

static void describe_align(const size_t *align, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "align %zu", *align);
}
KUNIT_ARRAY_PARAM(align, aligns, describe_align);

/* Sizes around the alignment: the offsets are those of the definition. */
static void every_block_has_the_alignment(struct kunit *test)
{
	size_t align = *(const size_t *)test->param_value;
	const size_t sizes[] = { 1, align - 1, align, align + 1, 3, 2 * align,
				 1, 7 };
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	void *ptrs[ARRAY_SIZE(sizes)];
	size_t end = 0;
	u32 i;

	g = must_group(test, sd, sizes, ARRAY_SIZE(sizes), align, ptrs);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (!sizes[i])
			continue;
		end = align_up(end, align);
		KUNIT_EXPECT_EQ(test, offset_in(g, ptrs[i]), end);
		KUNIT_EXPECT_EQ(test, (uintptr_t)ptrs[i] % align, 0);
		end += sizes[i];
	}
	KUNIT_EXPECT_EQ(test, slabdev_group_size(g), end);
	/* Like any object, whatever its blocks want. */
	KUNIT_EXPECT_EQ(test, (uintptr_t)slabdev_group_base(g) % SLABDEV_ALIGN,
			0);
	EXPECT_GROUP_FREED(test, g);
}

static void each_block_has_its_own_alignment(struct kunit *test)
{
	static const size_t sizes[] = { 1, 100, 4096, 16, 5 };
	static const size_t own[] = { 16, 64, 4096, 8, 0 };
	static const size_t want[] = { 0, 64, 4096, 8192, 8704 };
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	void *ptrs[5];
	size_t offsets[5], i;

	attr.aligns = own;
	attr.offsets = offsets;
	attr.align = 512;
	g = must_group_ex(test, sd, sizes, 5, ptrs, &attr);
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, offsets[i], want[i]);
		KUNIT_EXPECT_EQ(test, offset_in(g, ptrs[i]), want[i]);
	}
	KUNIT_EXPECT_EQ(test, slabdev_group_size(g), 8709);
	KUNIT_EXPECT_EQ(test, (uintptr_t)slabdev_group_base(g) % 4096, 0);
	KUNIT_EXPECT_EQ(test, slabdev_group_stride(g), 0);
	EXPECT_GROUP_FREED(test, g);
}

/* The request may want more for the base than the blocks, or less. */
static void request_raises_the_alignment(struct kunit *test)
{
	static const size_t sizes[] = { 100, 100 };
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	void *ptrs[2];

	attr.req = &req;
	attr.align = 8192;
	for (req.align = 256; req.align <= MIB; req.align *= 64) {
		g = must_group_ex(test, sd, sizes, 2, ptrs, &attr);
		KUNIT_EXPECT_EQ(test, (uintptr_t)ptrs[0] %
				max(req.align, attr.align), 0);
		KUNIT_EXPECT_EQ(test, offset_in(g, ptrs[1]), 8192);
		EXPECT_GROUP_FREED(test, g);
	}
}

/* At the beginning, in the middle, and at the end. */
static void empty_blocks_take_no_room(struct kunit *test)
{
	static const size_t sizes[] = { 0, 0, 300, 0, 10, 0, 0, 0, 0 };
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	void *ptrs[9];
	size_t offsets[9], i;

	attr.offsets = offsets;
	g = must_group_ex(test, sd, sizes, 9, ptrs, &attr);
	for (i = 0; i < 9; i++) {
		if (!sizes[i])
			KUNIT_EXPECT_NULL(test, ptrs[i]);
		else
			KUNIT_EXPECT_EQ(test, offset_in(g, ptrs[i]),
					offsets[i]);
		KUNIT_EXPECT_EQ(test, offsets[i], i == 4 ? 512 : 0);
	}
	KUNIT_EXPECT_EQ(test, slabdev_group_size(g), 522);
	KUNIT_EXPECT_EQ(test, slabdev_group_count(g), 9);
	KUNIT_EXPECT_EQ(test, slabdev_group_stride(g), 0);
	EXPECT_GROUP_FREED(test, g);
}

/* Every place among the four that are looked at together, and in the tail. */
static void one_empty_block_among_many(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	size_t sizes[23], i, hole;
	void *ptrs[23];

	for (hole = 0; hole < 23; hole++) {
		for (i = 0; i < 23; i++)
			sizes[i] = i == hole ? 0 : 256;
		g = must_group(test, sd, sizes, 23, 0, ptrs);
		for (i = 0; i < 23; i++)
			KUNIT_EXPECT_PTR_EQ(test, ptrs[i], i == hole ? NULL :
					    (char *)slabdev_group_base(g) +
					    256 * (i - (i > hole)));
		KUNIT_EXPECT_EQ(test, slabdev_group_size(g), 22 * 256);
		EXPECT_GROUP_FREED(test, g);
	}
}

static void one_block_is_a_group(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	size_t size = 1000;
	void *p;

	g = must_group(test, sd, &size, 1, 0, &p);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_group_base(g), p);
	KUNIT_EXPECT_EQ(test, slabdev_group_size(g), 1000);
	KUNIT_EXPECT_EQ(test, slabdev_group_count(g), 1);
	KUNIT_EXPECT_EQ(test, slabdev_group_stride(g), 1024);
	EXPECT_GROUP_FREED(test, g);
}

static void expect_packed(struct kunit *test, const struct slabdev_group *g,
			  const size_t *sizes, size_t n, size_t align,
			  void *const *ptrs)
{
	size_t end = 0, i;

	for (i = 0; i < n; i++) {
		end = align_up(end, align);
		if (offset_in(g, ptrs[i]) != end)
			break;
		end += sizes[i];
	}
	KUNIT_EXPECT_EQ(test, i, n);
	KUNIT_EXPECT_EQ(test, slabdev_group_size(g), end);
}

/* With addresses and without; the library keeps nothing of a block: a million
 * take no more of its memory than one. */
static void a_million_blocks(struct kunit *test)
{
	const size_t n = 1000000;
	size_t *sizes = kunit_kmalloc(test, n * sizeof(*sizes)), i, all;
	void **ptrs = kunit_kmalloc(test, n * sizeof(*ptrs));
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	u64 host, state = 5;

	for (i = 0; i < n; i++)
		sizes[i] = 1 + random_below(&state, 300);
	g = must_group(test, sd, sizes, n, 16, NULL);
	all = slabdev_group_size(g);
	KUNIT_EXPECT_EQ(test, slabdev_group_count(g), n);
	EXPECT_GROUP_FREED(test, g);
	g = must_group(test, sd, &all, 1, 16, NULL);
	host = stats_of(test, sd).host_bytes;
	EXPECT_GROUP_FREED(test, g);
	g = must_group(test, sd, sizes, n, 16, ptrs);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).host_bytes, host);
	KUNIT_EXPECT_EQ(test, slabdev_group_size(g), all);
	expect_packed(test, g, sizes, n, 16, ptrs);
	EXPECT_GROUP_FREED(test, g);
}

/* ---- Strides ------------------------------------------------------------ */

struct shape {
	const char *what;
	size_t sizes[8];
	size_t align;
	size_t stride;		/* 0: there is none */
	const char *block;	/* that breaks it */
};

static const struct shape shapes[] = {
	{ "equal", { 256, 256, 256, 256, 256, 256, 256, 256 }, 0, 256, "" },
	{ "equal, odd", { 100, 100, 100, 100, 100, 100, 100, 100 }, 0, 256,
	  "" },
	{ "equal, packed", { 24, 24, 24, 24, 24, 24, 24, 24 }, 8, 24, "" },
	{ "rounded equal", { 257, 512, 300, 400, 511, 258, 512, 260 }, 0, 512,
	  "" },
	{ "longer last", { 1, 2, 3, 4, 5, 6, 7, 5000 }, 0, 256, "" },
	{ "shorter last", { 600, 600, 600, 600, 600, 600, 600, 1 }, 0, 768,
	  "" },
	{ "last but one", { 1, 2, 3, 4, 5, 6, 5000, 7 }, 0, 0, "block 7" },
	{ "first", { 300, 2, 3, 4, 5, 6, 7, 8 }, 0, 0, "block 2" },
	{ "second", { 3, 257, 3, 4, 5, 6, 7, 8 }, 0, 0, "block 2" },
	{ "empty first", { 0, 1, 1, 1, 1, 1, 1, 1 }, 0, 0, "block 0" },
	{ "empty last", { 1, 1, 1, 1, 1, 1, 1, 0 }, 0, 0, "block 7" },
	{ "empty middle", { 1, 1, 1, 0, 1, 1, 1, 1 }, 0, 0, "block 3" },
	{ "only the last", { 0, 0, 0, 0, 0, 0, 0, 9 }, 0, 0, "block 0" },
};

static void describe_shape(const struct shape *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", s->what);
}
KUNIT_ARRAY_PARAM(shape, shapes, describe_shape);

/* The stride is what lies between all neighbours, or what was asked for is
 * refused and names the block. */
static void strided_or_refused(struct kunit *test)
{
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	const struct shape *s = test->param_value;
	struct slabdev_group *g, *none = NULL;
	struct slabdev *sd = test->priv;
	struct slabdev_stats before;
	void *ptrs[8];
	u32 i;

	attr.align = s->align;
	g = must_group_ex(test, sd, s->sizes, 8, ptrs, &attr);
	KUNIT_EXPECT_EQ(test, slabdev_group_stride(g), s->stride);
	for (i = 1; i < 8 && s->stride; i++)
		KUNIT_EXPECT_EQ(test, (char *)ptrs[i] - (char *)ptrs[i - 1],
				(ptrdiff_t)s->stride);
	EXPECT_GROUP_FREED(test, g);

	attr.flags = SLABDEV_GROUP_STRIDED;
	before = figures(test, sd);
	if (s->stride) {
		g = must_group_ex(test, sd, s->sizes, 8, ptrs, &attr);
		EXPECT_GROUP_FREED(test, g);
		return;
	}
	KUNIT_EXPECT_EQ(test, slabdev_group_alloc_ex(&none, sd, s->sizes, 8,
						     NULL, &attr), -EDOM);
	EXPECT_ERROR_HAS(test, s->block);
	KUNIT_EXPECT_NULL(test, none);
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
}

/* Own alignments can make a stride, or spoil one. */
static void own_alignments_count_for_the_stride(struct kunit *test)
{
	static const size_t sizes[] = { 10, 10, 10, 10 };
	static const struct {
		size_t n, aligns[4], stride;
	} want[] = {
		{ 4, { 64, 32, 64, 32 }, 32 },
		{ 4, { 32, 64, 32, 32 }, 0 },
		{ 4, { 8, 32, 64, 8 }, 0 },
		{ 2, { 8, 1024, 0, 0 }, 1024 },
		{ 1, { 64, 0, 0, 0 }, 64 },
	};
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		attr.aligns = want[i].aligns;
		g = must_group_ex(test, sd, sizes, want[i].n, NULL, &attr);
		KUNIT_EXPECT_EQ_MSG(test, slabdev_group_stride(g),
				    want[i].stride, "case %u", i);
		EXPECT_GROUP_FREED(test, g);
	}
}

/* ---- What is refused ---------------------------------------------------- */

struct wrong {
	const char *what;
	size_t sizes[6];
	size_t n;
	size_t align;
	size_t aligns[6];
	u32 flags, reserved, req_flags;
	size_t req_align;
	int err;
	const char *text;	/* in the error */
};

#define BIG ((size_t)1 << 62)

static const struct wrong wrongs[] = {
	{ "no blocks", { 1 }, 0, .err = -EINVAL, .text = "n is 0" },
	{ "minus one block", { 1 }, SIZE_MAX, .err = -EINVAL,
	  .text = "n is 18446744073709551615" },
	{ "too many blocks", { 1 }, SLABDEV_GROUP_MAX + 1, .err = -EINVAL,
	  .text = "from 1 to 1073741824" },
	{ "only empty blocks", { 0, 0, 0 }, 3, .err = -EINVAL,
	  .text = "all 3 blocks have 0 bytes" },
	{ "alignment", { 1 }, 1, 24, .err = -EINVAL, .text = "align is 24" },
	{ "large alignment", { 1 }, 1, 2 * GIB, .err = -EINVAL,
	  .text = "align is 2147483648" },
	{ "own alignment", { 1, 1, 1 }, 3, .aligns = { 8, 8, 24 },
	  .err = -EINVAL, .text = "attr.aligns[2] is 24" },
	{ "own large alignment", { 1, 1, 1 }, 3,
	  .aligns = { 8, 2 * GIB, 24 }, .err = -EINVAL,
	  .text = "attr.aligns[1] is 2147483648" },
	{ "alignment of an empty block", { 1, 0, 1 }, 3,
	  .aligns = { 8, 7, 8 }, .err = -EINVAL,
	  .text = "attr.aligns[1] is 7" },
	{ "flag", { 1 }, 1, .flags = 0x80, .err = -EINVAL,
	  .text = "attr.flags 0x80" },
	{ "reserved", { 1 }, 1, .reserved = 1, .err = -EINVAL,
	  .text = "attr.reserved 0x1" },
	{ "flag of the request", { 1 }, 1, .req_flags = 0x8000,
	  .err = -EINVAL, .text = "req.flags 0x8000" },
	{ "alignment of the request", { 1 }, 1, .req_align = 3,
	  .err = -EINVAL, .text = "req.align 3" },
	{ "both alignments", { 1 }, 1, 4096, .req_align = 3, .err = -EINVAL,
	  .text = "req.align 3" },
	{ "minus one byte", { SIZE_MAX }, 1, .err = -EOVERFLOW,
	  .text = "sizes[0] is 18446744073709551615" },
	{ "minus one byte later", { 8, 8, 8, 8, 8, SIZE_MAX }, 6,
	  .err = -EOVERFLOW, .text = "sizes[5] is 18446744073709551615" },
	{ "no room for rounding", { SIZE_MAX - 254, 8 }, 2,
	  .err = -EOVERFLOW, .text = "sizes[1] is 8" },
	{ "equal sizes", { BIG, BIG, BIG, BIG, BIG, BIG }, 6,
	  .err = -EOVERFLOW, .text = "sizes[3] is" },
	{ "different sizes", { BIG, BIG - 1, BIG - 2, BIG, BIG, BIG }, 6,
	  .err = -EOVERFLOW, .text = "sizes[3] is" },
	{ "a small one first", { 1, 2 * BIG, 2 * BIG, 3, 4, 5 }, 6,
	  .err = -EOVERFLOW, .text = "sizes[2] is" },
	{ "wrapping to little", { 2 * BIG, 2 * BIG, 1, 1, 1, 1 }, 6,
	  .err = -EOVERFLOW, .text = "sizes[1] is" },
	{ "own alignment of a gap", { SIZE_MAX - 100, 1 }, 2,
	  .aligns = { 1, 4096 }, .err = -EOVERFLOW, .text = "sizes[1] is 1" },
};

static void describe_wrong(const struct wrong *w, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", w->what);
}
KUNIT_ARRAY_PARAM(wrong, wrongs, describe_wrong);

/* An error that names what was wrong, and nothing has changed anywhere; what
 * cannot be counted is a failed allocation. */
static void wrong_arguments_change_nothing(struct kunit *test)
{
	struct slabdev_group *g = (void *)test, *was = g;
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	const struct wrong *w = test->param_value;
	struct slabdev *sd = test->priv;
	void *ptrs[6] = { test, test, test, test, test, test };
	size_t offsets[6] = { 7, 7, 7, 7, 7, 7 }, i = 1;
	struct slabdev_stats before;

	/* The first one takes host memory, which stays. */
	EXPECT_GROUP_FREED(test, must_group(test, sd, &i, 1, 0, NULL));
	before = figures(test, sd);
	attr.align = w->align;
	attr.aligns = w->aligns[0] ? w->aligns : NULL;
	attr.flags = w->flags;
	attr.reserved = w->reserved;
	attr.offsets = offsets;
	attr.req = &req;
	req.flags = w->req_flags;
	req.align = w->req_align;
	KUNIT_EXPECT_EQ(test, slabdev_group_alloc_ex(&g, sd, w->sizes, w->n,
						     ptrs, &attr), w->err);
	EXPECT_ERROR_HAS(test, w->text);
	KUNIT_EXPECT_PTR_EQ(test, g, was);
	for (i = 0; i < 6; i++) {
		KUNIT_EXPECT_PTR_EQ(test, ptrs[i], test);
		KUNIT_EXPECT_EQ(test, offsets[i], 7);
	}
	EXPECT_ONLY_FAILURES(test, sd, before, w->err == -EOVERFLOW);
}

/* So many that no single one is beyond reach: n x 2^47, of one size, and of
 * sizes that differ. */
static void many_that_are_too_much_together(struct kunit *test)
{
	const size_t n = 1 << 18;
	size_t *sizes = kunit_kmalloc(test, n * sizeof(*sizes)), i;
	struct slabdev *sd = test->priv;
	struct slabdev_stats before = figures(test, sd);
	struct slabdev_group *g = NULL;

	for (i = 0; i < n; i++)
		sizes[i] = (size_t)1 << 47;
	KUNIT_EXPECT_EQ(test, slabdev_group_alloc(&g, sd, sizes, n, 0, NULL),
			-EOVERFLOW);
	EXPECT_ERROR_HAS(test, "sizes[131071]");
	for (i = 0; i < n; i += 3)
		sizes[i] = (size_t)1 << 46;
	KUNIT_EXPECT_EQ(test, slabdev_group_alloc(&g, sd, sizes, n, 0, NULL),
			-EOVERFLOW);
	KUNIT_EXPECT_NULL(test, g);
	EXPECT_ONLY_FAILURES(test, sd, before, 2);
}

static void nulls_are_named(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_stats before = figures(test, sd);
	struct slabdev_group *g = NULL;
	size_t size = 5;

	KUNIT_EXPECT_EQ(test, slabdev_group_alloc(NULL, sd, &size, 1, 0, NULL),
			-EINVAL);
	EXPECT_ERROR_HAS(test, "group is NULL");
	KUNIT_EXPECT_EQ(test, slabdev_group_alloc(&g, sd, NULL, 1, 0, NULL),
			-EINVAL);
	EXPECT_ERROR_HAS(test, "sizes is NULL");
	KUNIT_EXPECT_EQ(test, slabdev_group_alloc(&g, NULL, &size, 1, 0, NULL),
			-EINVAL);
	EXPECT_ERROR_HAS(test, "slabdev_group_alloc");
	KUNIT_EXPECT_EQ(test, slabdev_group_alloc_ex(&g, NULL, &size, 1, NULL,
						     NULL), -EINVAL);
	EXPECT_ERROR_HAS(test, "slabdev_group_alloc_ex");
	KUNIT_EXPECT_EQ(test, slabdev_group_free(NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_group_free_async(NULL, NULL), 0);
	KUNIT_EXPECT_NULL(test, g);
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
}

/* What a newer header might ask for is not passed over. */
static void unknown_tail_is_refused(struct kunit *test)
{
	struct {
		struct slabdev_group_attr attr;
		u64 tail;
	} longer = { SLABDEV_GROUP_ATTR_INIT, 0 };
	struct slabdev *sd = test->priv;
	struct slabdev_group *g = NULL;
	size_t size = 5;

	longer.attr.size = sizeof(longer);
	g = must_group_ex(test, sd, &size, 1, NULL, &longer.attr);
	EXPECT_GROUP_FREED(test, g);
	g = NULL;
	longer.tail = 1;
	KUNIT_EXPECT_EQ(test, slabdev_group_alloc_ex(&g, sd, &size, 1, NULL,
						     &longer.attr), -E2BIG);
	longer.attr.size = 0;
	KUNIT_EXPECT_EQ(test, slabdev_group_alloc_ex(&g, sd, &size, 1, NULL,
						     &longer.attr), -EINVAL);
	KUNIT_EXPECT_NULL(test, g);
}

/* Without a report, if the request says so; the next group fits. */
static void more_than_the_space_has(struct kunit *test)
{
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_group *g = NULL;
	size_t sizes[] = { GIB / 2, GIB / 2, 1 };
	void *ptrs[] = { test, test, test };

	attr.req = &req;
	req.flags = SLABDEV_REQ_NO_REPORT;
	KUNIT_EXPECT_EQ(test, slabdev_group_alloc_ex(&g, sd, sizes, 3, ptrs,
						     &attr), -EDQUOT);
	KUNIT_EXPECT_PTR_EQ(test, ptrs[0], test);
	KUNIT_EXPECT_NULL(test, g);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_EQ(test, slabdev_group_alloc(&g, sd, sizes, 3, 0, NULL),
			-EDQUOT);
	KUNIT_EXPECT_EQ(test, figures(test, sd).groups, 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live_objects, 0);
	g = must_group(test, sd, sizes + 1, 2, 0, ptrs);
	EXPECT_GROUP_FREED(test, g);
}

static void no_grow_takes_what_is_mapped(struct kunit *test)
{
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_group *g = NULL;
	size_t sizes[] = { 5 * MIB, 5 * MIB };
	u64 calls;

	attr.req = &req;
	req.flags = SLABDEV_REQ_NO_GROW | SLABDEV_REQ_NO_REPORT;
	KUNIT_EXPECT_EQ(test, slabdev_group_alloc_ex(&g, sd, sizes, 2, NULL,
						     &attr), -ENOMEM);
	g = must_group(test, sd, sizes, 2, 0, NULL);
	EXPECT_GROUP_FREED(test, g);
	calls = calls_of(test, sd);
	g = must_group_ex(test, sd, sizes, 2, NULL, &attr);
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
	EXPECT_GROUP_FREED(test, g);
}

static const struct kunit_case group_cases[] = {
	KUNIT_CASE(next_block_begins_at_the_next_boundary),
	KUNIT_CASE(at_most_255_bytes_are_skipped),
	KUNIT_CASE_PARAM(every_block_has_the_alignment, align_gen_params),
	KUNIT_CASE(each_block_has_its_own_alignment),
	KUNIT_CASE(request_raises_the_alignment),
	KUNIT_CASE(empty_blocks_take_no_room),
	KUNIT_CASE(one_empty_block_among_many),
	KUNIT_CASE(one_block_is_a_group),
	KUNIT_CASE(a_million_blocks),
	KUNIT_CASE_PARAM(strided_or_refused, shape_gen_params),
	KUNIT_CASE(own_alignments_count_for_the_stride),
	KUNIT_CASE_PARAM(wrong_arguments_change_nothing, wrong_gen_params),
	KUNIT_CASE(many_that_are_too_much_together),
	KUNIT_CASE(nulls_are_named),
	KUNIT_CASE(unknown_tail_is_refused),
	KUNIT_CASE(more_than_the_space_has),
	KUNIT_CASE(no_grow_takes_what_is_mapped),
	{}
};

static const struct kunit_suite group_suite = {
	.name = "group",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = group_cases,
	.any_space = true,
};
kunit_test_suite(group_suite);
