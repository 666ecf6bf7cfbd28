// SPDX-License-Identifier: BSD-2-Clause
/*
 * idle_test.c - which piece of unused memory is taken, and which given back:
 * vmm/idle.c from within, against a list that is searched from end to end.
 */
#include <errno.h>

#include "tests/random.h"
#include "tests/vmm_space.h"
#include "vmm/internal.h"

#define PIECES_MAX 24u

/* What lies idle, the least recently used first. */
struct pieces {
	struct space *s;
	u32 nr;
	u32 first[PIECES_MAX];
	u32 length[PIECES_MAX];
	u32 nr_spare;
};

static int idle_test_init(struct kunit *test)
{
	test->priv = space_new(test);
	return 0;
}

static void idle_test_exit(struct kunit *test)
{
	if (test->priv)
		space_end(test->priv);
}

/* ---- Expectations ----------------------------------------------------- */

static void forget_piece(struct pieces *p, u32 i)
{
	p->nr--;
	memmove(p->first + i, p->first + i + 1, (p->nr - i) * sizeof(u32));
	memmove(p->length + i, p->length + i + 1, (p->nr - i) * sizeof(u32));
}

/* Of those of several chunks: the smallest that covers @chunks, else the
 * largest; PIECES_MAX: there is none. */
static u32 best_long(const struct pieces *p, u64 chunks)
{
	u32 best = PIECES_MAX;

	for (u32 i = 0; i < p->nr; i++) {
		u32 n = p->length[i], m = best < p->nr ? p->length[best] : 0;

		if (n == 1)
			continue;
		if (best == PIECES_MAX || (m < chunks ? n > m :
					   n >= chunks && n < m))
			best = i;
	}
	return best;
}

static u32 any_single(const struct pieces *p)
{
	for (u32 i = 0; i < p->nr; i++)
		if (p->length[i] == 1)
			return i;
	return PIECES_MAX;
}

/* Chunks that are given back; 0: there is nothing. */
static u32 expected_give(const struct pieces *p, u64 chunks, u64 keep_spare,
			 u32 *which)
{
	u32 single = any_single(p);

	*which = best_long(p, chunks);
	if (*which != PIECES_MAX && chunks > 1)
		return p->length[*which];
	if (p->nr_spare > keep_spare || single != PIECES_MAX) {
		*which = single;
		return 1;
	}
	return *which == PIECES_MAX ? 0 : p->length[*which];
}

/* ---- Cases ------------------------------------------------------------ */

static void lay_idle(struct pieces *p, struct space *s, u64 *random)
{
	static const u32 lengths[] = { 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15,
				       16, 17, 31, 40 };
	u32 first[PIECES_MAX], length[PIECES_MAX], left;

	*p = (struct pieces){ .s = s };
	left = 1 + random_below(random, PIECES_MAX - 1);
	for (u32 i = 0; i < left; i++) {
		length[i] = lengths[random_below(random, ARRAY_SIZE(lengths))];
		first[i] = space_map(s, length[i], length[i]);
	}
	while (left) {
		u32 i = random_below(random, left);

		if (length[i] == 1 && random_below(random, 2)) {
			space_unmap(s, first[i], VMM_KEEP_HANDLE);
			p->nr_spare++;
		} else {
			space_unmap(s, first[i], VMM_KEEP_MAPPED);
			p->first[p->nr] = first[i];
			p->length[p->nr++] = length[i];
		}
		first[i] = first[--left];
		length[i] = length[left];
	}
}

/* It is not mapped any more. */
static void expect_gone(struct pieces *p, u32 i)
{
	/* Which one of a single chunk is the range's choice. */
	if (p->length[i] == 1)
		for (i = 0; i < p->nr; i++)
			if (!*vmm_chunk(&p->s->v, p->first[i]))
				break;
	KUNIT_ASSERT_LT(p->s->test, i, p->nr);
	KUNIT_EXPECT_NULL(p->s->test, *vmm_chunk(&p->s->v, p->first[i]));
	forget_piece(p, i);
}

static void give_one(struct pieces *p, u64 chunks, u64 keep_spare)
{
	struct space *s = p->s;
	u64 created = s->cnt.created;
	u32 which, length = expected_give(p, chunks, keep_spare, &which);
	bool given, spare = length == 1 && p->nr_spare > keep_spare;
	int err = 0;

	vmm_enter(&s->v);
	KUNIT_EXPECT_EQ(s->test, vmm_fence_try(&s->v), 0);
	given = vmm_idle_give(&s->v, chunks, keep_spare, &err);
	KUNIT_EXPECT_EQ(s->test, vmm_leave(&s->v, err), 0);
	KUNIT_EXPECT_EQ(s->test, given, length > 0);
	KUNIT_EXPECT_EQ(s->test, created - s->cnt.created,
			length * VMM_MIN_CHUNK);
	if (spare)
		p->nr_spare--;
	else if (length)
		expect_gone(p, which);
	KUNIT_EXPECT_EQ(s->test, s->cnt.spare_handles, p->nr_spare);
	EXPECT_VALID(s);
}

static void best_piece_is_given_back(struct kunit *test)
{
	struct space *s = test->priv;
	u64 random = random_seed(test);
	struct pieces p;

	space_open(s, 1000, 0);
	for (u32 round = 0; round < 200; round++) {
		lay_idle(&p, s, &random);
		while (p.nr || p.nr_spare)
			give_one(&p, 1 + random_below(&random, 44),
				 p.nr ? random_below(&random, 3) : 0);
		give_one(&p, 1, 0);
		give_one(&p, 2, 0);
		KUNIT_ASSERT_EQ(test, s->cnt.created, 0);
		KUNIT_ASSERT_EQ(test, s->cnt.idle, 0);
	}
}

static bool give_all(struct space *s, u64 keep_spare)
{
	bool any;

	vmm_enter(&s->v);
	KUNIT_EXPECT_EQ(s->test, vmm_fence_try(&s->v), 0);
	any = vmm_idle_give_all(&s->v, keep_spare);
	KUNIT_EXPECT_EQ(s->test, vmm_leave(&s->v, 0), 0);
	EXPECT_VALID(s);
	return any;
}

static void all_but_some_spare_handles_are_given_back(struct kunit *test)
{
	struct space *s = test->priv;

	space_open(s, 100, 0);
	KUNIT_EXPECT_FALSE(test, give_all(s, 0));
	space_unmap(s, space_map(s, 5, 5), VMM_KEEP_MAPPED);
	KUNIT_EXPECT_TRUE(test, give_all(s, 0));
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
	space_unmap_singles(s, space_map(s, 5, 1), 3, VMM_KEEP_HANDLE);
	KUNIT_EXPECT_FALSE(test, give_all(s, 3));
	KUNIT_EXPECT_TRUE(test, give_all(s, 2));
	KUNIT_EXPECT_EQ(test, s->cnt.spare_handles, 2);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 4 * VMM_MIN_CHUNK);
	KUNIT_EXPECT_FALSE(test, give_all(s, 2));
}

/* Idle chunks become spare handles, as many as are asked for and no more. */
static void spare_handles_are_gathered(struct kunit *test)
{
	struct space *s = test->priv;

	space_open(s, 100, 0);
	space_unmap_singles(s, space_map(s, 4, 1), 4, VMM_KEEP_MAPPED);
	space_unmap(s, space_map(s, 6, 6), VMM_KEEP_MAPPED);
	for (u32 want = 0; want <= 5; want++) {
		vmm_enter(&s->v);
		KUNIT_EXPECT_EQ(test, vmm_fence_try(&s->v), 0);
		vmm_spare_gather(&s->v, want);
		KUNIT_EXPECT_EQ(test, vmm_leave(&s->v, 0), 0);
		KUNIT_EXPECT_EQ(test, s->cnt.spare_handles, min(want, 4u));
		KUNIT_EXPECT_EQ(test, s->cnt.created, 10 * VMM_MIN_CHUNK);
		KUNIT_EXPECT_EQ(test, s->cnt.idle, 10 * VMM_MIN_CHUNK);
		EXPECT_VALID(s);
	}
}

/* A mapping of several chunks serves its own length only. */
static void taken_as_they_are(struct kunit *test)
{
	struct space *s = test->priv;
	u32 nine, twelve, first = 0;

	space_open(s, 100, 0);
	nine = space_map(s, 9, 9);
	twelve = space_map(s, 12, 12);
	space_unmap(s, nine, VMM_KEEP_MAPPED);
	space_unmap(s, twelve, VMM_KEEP_MAPPED);
	vmm_enter(&s->v);
	KUNIT_EXPECT_FALSE(test,
			   vmm_idle_take(&s->v, 10, 10, false, &first));
	KUNIT_EXPECT_FALSE(test,
			   vmm_idle_take(&s->v, 12, 6, false, &first));
	KUNIT_EXPECT_FALSE(test, vmm_idle_take(&s->v, 1, 1, false, &first));
	KUNIT_EXPECT_TRUE(test,
			  vmm_idle_take(&s->v, 9, 9, false, &first));
	KUNIT_EXPECT_EQ(test, vmm_leave(&s->v, 0), 0);
	KUNIT_EXPECT_EQ(test, first, nine);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 12 * VMM_MIN_CHUNK);
	EXPECT_VALID(s);
	space_unmap(s, nine, VMM_RELEASE);
}

static const struct kunit_case idle_cases[] = {
	KUNIT_CASE(best_piece_is_given_back),
	KUNIT_CASE(all_but_some_spare_handles_are_given_back),
	KUNIT_CASE(spare_handles_are_gathered),
	KUNIT_CASE(taken_as_they_are),
	{ 0 }
};

static const struct kunit_suite idle_suite = {
	.name = "idle",
	.init = idle_test_init,
	.exit = idle_test_exit,
	.cases = idle_cases,
};
kunit_test_suite(idle_suite);
