// SPDX-License-Identifier: BSD-2-Clause
/*
 * group_random_test.c - groups of random shape beside a trivial reference.
 *
 * The reference takes block after block and rounds by division. The numbers of
 * blocks are small and around multiples of what is looked at together; sizes
 * are equal, equal at first, mixed, with holes, or of any power of two. Some
 * groups live at once: each has a byte of its own in all of its blocks, which
 * is there when it is freed.
 */
#include "tests/group_space.h"
#include "tests/random.h"

#define MAX_BLOCKS 200u
#define LIVE 12u
#define ROUNDS 3000u
#define LIMIT (64 * MIB)

struct plan {
	size_t n, align;
	size_t sizes[MAX_BLOCKS];
	size_t aligns[MAX_BLOCKS];
	bool own_aligns;
	/* By the reference. */
	size_t offset[MAX_BLOCKS];
	size_t bytes, stride;
};

struct live {
	struct slabdev_group *g;
	struct plan plan;
	void *ptrs[MAX_BLOCKS];
	int byte;
};

/* ---- Plans -------------------------------------------------------------- */

static size_t any_size(u64 *state)
{
	return (size_t)1 << random_below(state, 12);
}

static void draw_sizes(struct plan *p, u64 *state)
{
	size_t same = 1 + random_below(state, 3000);
	u32 kind = random_below(state, 6), i;

	for (i = 0; i < p->n; i++) {
		p->sizes[i] = same;
		if (kind == 1 || (kind == 2 && i > p->n / 2))
			p->sizes[i] = 1 + random_below(state, 3000);
		else if (kind == 3)
			p->sizes[i] = random_below(state, 4) ?
				      random_below(state, 600) : 0;
		else if (kind == 4)
			p->sizes[i] = any_size(state);
		else if (kind == 5)
			p->sizes[i] = same - random_below(state,
							  (u32)min(same, 9u));
	}
	/* At least one has bytes. */
	i = random_below(state, (u32)p->n);
	p->sizes[i] += !p->sizes[i];
}

static void draw_plan(struct plan *p, u64 *state)
{
	u32 i;

	p->n = 1 + random_below(state, random_below(state, 2) ? 12 :
								MAX_BLOCKS);
	p->align = random_below(state, 3) ? 256 :
		   (size_t)1 << random_below(state, 13);
	p->own_aligns = !random_below(state, 4);
	for (i = 0; i < p->n; i++)
		p->aligns[i] = random_below(state, 3) ?
			       (size_t)1 << random_below(state, 13) : 0;
	draw_sizes(p, state);
}

/* ---- The reference ------------------------------------------------------ */

static size_t align_of(const struct plan *p, u32 i)
{
	return p->own_aligns && p->aligns[i] ? p->aligns[i] : p->align;
}

static size_t round_to(size_t x, size_t align)
{
	return (x + align - 1) / align * align;
}

static size_t stride_of(const struct plan *p)
{
	size_t stride = 0;
	u32 i;

	for (i = 0; i < p->n; i++)
		if (!p->sizes[i])
			return 0;
	if (p->n == 1)
		return round_to(p->sizes[0], align_of(p, 0));
	for (i = 1; i < p->n; i++) {
		if (i > 1 && p->offset[i] - p->offset[i - 1] != stride)
			return 0;
		stride = p->offset[i] - p->offset[i - 1];
	}
	return stride;
}

static void make_reference(struct plan *p)
{
	u32 i;

	p->bytes = 0;
	for (i = 0; i < p->n; i++) {
		p->offset[i] = 0;
		if (!p->sizes[i])
			continue;
		p->offset[i] = round_to(p->bytes, align_of(p, i));
		p->bytes = p->offset[i] + p->sizes[i];
	}
	p->stride = stride_of(p);
}

/* ---- Groups ------------------------------------------------------------- */

static void expect_as_planned(struct kunit *test, const struct live *l,
			      const size_t *offsets)
{
	char *base = slabdev_group_base(l->g);
	const struct plan *p = &l->plan;
	u32 i;

	KUNIT_EXPECT_EQ(test, slabdev_group_count(l->g), p->n);
	KUNIT_EXPECT_EQ(test, slabdev_group_size(l->g), p->bytes);
	KUNIT_EXPECT_EQ(test, slabdev_group_stride(l->g), p->stride);
	for (i = 0; i < p->n; i++) {
		KUNIT_EXPECT_EQ(test, offsets[i], p->offset[i]);
		KUNIT_EXPECT_PTR_EQ(test, l->ptrs[i], p->sizes[i] ?
				    base + p->offset[i] : NULL);
		KUNIT_EXPECT_EQ(test, (uintptr_t)l->ptrs[i] % align_of(p, i),
				0);
	}
}

/* Some with a stride asked for, which then there must be. */
static void begin_life(struct kunit *test, struct slabdev *sd, struct live *l,
		       u64 *state)
{
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	size_t offsets[MAX_BLOCKS];
	struct plan *p = &l->plan;
	int err;
	u32 i;

	draw_plan(p, state);
	make_reference(p);
	attr.align = p->align;
	attr.aligns = p->own_aligns ? p->aligns : NULL;
	attr.offsets = offsets;
	attr.flags = random_below(state, 4) ? 0 : SLABDEV_GROUP_STRIDED;
	err = slabdev_group_alloc_ex(&l->g, sd, p->sizes, p->n, l->ptrs, &attr);
	if (attr.flags && !p->stride) {
		KUNIT_EXPECT_EQ(test, err, -EDOM);
		return;
	}
	KUNIT_ASSERT_EQ_MSG(test, err, 0, "%s", slabdev_last_error());
	expect_as_planned(test, l, offsets);
	l->byte = 1 + (int)random_below(state, 255);
	for (i = 0; i < p->n; i++)
		if (p->sizes[i])
			mem_fill(sd, l->ptrs[i], p->sizes[i], l->byte);
}

static void end_life(struct kunit *test, struct slabdev *sd, struct live *l)
{
	u32 i;

	for (i = 0; i < l->plan.n; i++)
		if (l->plan.sizes[i])
			KUNIT_EXPECT_TRUE(test, mem_is(sd, l->ptrs[i],
						       l->plan.sizes[i],
						       l->byte));
	EXPECT_GROUP_FREED(test, l->g);
	l->g = NULL;
}

static void groups_are_as_planned(struct kunit *test)
{
	struct live *live = kunit_kzalloc(test, LIVE * sizeof(*live)), *l;
	struct slabdev *sd = open_space(test, LIMIT);
	u32 rounds = mem_is_cheap() ? ROUNDS : ROUNDS / 30, round, i;
	u64 state = random_seed(test);

	for (round = 0; round < rounds; round++) {
		l = &live[random_below(&state, LIVE)];
		if (l->g)
			end_life(test, sd, l);
		else
			begin_life(test, sd, l, &state);
		if (round % 500 == 0)
			expect_sound(test, sd);
	}
	for (i = 0; i < LIVE; i++)
		if (live[i].g)
			end_life(test, sd, &live[i]);
	KUNIT_EXPECT_EQ(test, figures(test, sd).groups, 0);
	close_space(test, sd);
}

static const struct kunit_case group_random_cases[] = {
	KUNIT_CASE(groups_are_as_planned),
	{}
};

static const struct kunit_suite group_random_suite = {
	.name = "group_random",
	.cases = group_random_cases,
	.any_space = true,
};
kunit_test_suite(group_random_suite);
