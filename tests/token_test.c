// SPDX-License-Identifier: BSD-2-Clause
/*
 * token_test.c - tokens: which one is live is told for ever, whatever has
 * been made since, and whoever asks.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/slab.h"
#include "slab/token.h"
#include "tests/kunit/kunit.h"

struct thing {
	struct token h;
	u64 value;
};

#define MOST 1000u

static struct token_table *new_table(struct kunit *test, u32 max)
{
	struct token_table *t = kunit_kzalloc(test, sizeof(*t));

	*t = (struct token_table)TOKEN_TABLE_INIT(TOKEN_GROUP, "thing",
						    sizeof(struct thing), max);
	return t;
}

static void end_table(struct token_table *t)
{
	resv_fini(&t->entries);
	lock_fini(&t->lock);
}

static void *must_make(struct kunit *test, struct token_table *t,
		       struct slabdev *sd)
{
	int err = -1;
	struct thing *thing = token_new(t, sd, &err);

	KUNIT_ASSERT_NOT_NULL_MSG(test, thing, "%s", error_get());
	KUNIT_EXPECT_EQ(test, err, 0);
	return token_name(t, &thing->h);
}

static void must_end(struct kunit *test, struct token_table *t,
		     const void *token)
{
	int err;
	struct thing *thing = token_find(t, token, "end", &err);

	KUNIT_ASSERT_NOT_NULL(test, thing);
	KUNIT_EXPECT_EQ(test, token_put(t, token, "end"), 0);
	KUNIT_EXPECT_PTR_EQ(test, token_name(t, &thing->h), token);
	token_free(t, &thing->h);
}

static void expect_none(struct kunit *test, struct token_table *t,
			const void *token, int want)
{
	int err = 0;

	KUNIT_EXPECT_NULL(test, token_find(t, token, "ask", &err));
	KUNIT_EXPECT_EQ(test, err, want);
	KUNIT_EXPECT_NULL(test, token_peek(t, token));
	KUNIT_EXPECT_EQ(test, token_owners_of(t, token), 0);
	KUNIT_EXPECT_EQ(test, token_get(t, token, 10, "ask"), want);
	KUNIT_EXPECT_EQ(test, token_put(t, token, "ask"), want);
	KUNIT_EXPECT_STRNEQ(test, error_get(), "");
}

static void owners_are_counted(struct kunit *test)
{
	struct token_table *t = new_table(test, MOST);
	void *h = must_make(test, t, NULL);

	KUNIT_EXPECT_EQ(test, token_owners_of(t, h), 1);
	KUNIT_EXPECT_EQ(test, token_get(t, h, 3, "get"), 2);
	KUNIT_EXPECT_EQ(test, token_get(t, h, 3, "get"), 3);
	KUNIT_EXPECT_EQ(test, token_get(t, h, 3, "get"), -EOVERFLOW);
	KUNIT_EXPECT_EQ(test, token_put(t, h, "put"), 2);
	KUNIT_EXPECT_EQ(test, token_put(t, h, "put"), 1);
	must_end(test, t, h);
	expect_none(test, t, h, -EALREADY);
	end_table(t);
}

static void stale_ones_stay_stale(struct kunit *test)
{
	struct token_table *t = new_table(test, MOST);
	void *old[50];
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(old); i++) {
		old[i] = must_make(test, t, NULL);
		KUNIT_EXPECT_EQ(test, token_index(old[i]), 0);
		must_end(test, t, old[i]);
		for (j = 0; j <= i; j++)
			expect_none(test, t, old[j], -EALREADY);
	}
	KUNIT_EXPECT_EQ(test, t->end, 1);
	KUNIT_EXPECT_EQ(test, t->nr, 0);
	end_table(t);
}

static void what_never_was_one(struct kunit *test)
{
	struct token_table *t = new_table(test, MOST);
	uintptr_t h;

	expect_none(test, t, NULL, -EINVAL);
	expect_none(test, t, (void *)(uintptr_t)0x102000000, -EINVAL);
	h = (uintptr_t)must_make(test, t, NULL);
	expect_none(test, t, (void *)(h + 1), -EINVAL);
	expect_none(test, t, (void *)(h ^ 1u << 24), -EINVAL);
	expect_none(test, t, (void *)(h + ((uintptr_t)1 << 32)), -EINVAL);
	expect_none(test, t, (void *)(h & 0xffffffff), -EINVAL);
	expect_none(test, t, (void *)UINTPTR_MAX, -EINVAL);
	expect_none(test, t, (void *)t, -EINVAL);
	KUNIT_EXPECT_EQ(test, token_owners_of(t, (void *)h), 1);
	end_table(t);
}

/* An entry whose numbers are used up is not used again: its last token is
 * stale like the others. */
static void numbers_are_used_up(struct kunit *test)
{
	struct token_table *t = new_table(test, MOST);
	void *h = must_make(test, t, NULL), *last, *next;
	struct thing *thing = token_peek(t, h);

	must_end(test, t, h);
	thing->h.word = (u64)UINT32_MAX << 32;
	last = must_make(test, t, NULL);
	KUNIT_EXPECT_EQ(test, token_index(last), 0);
	must_end(test, t, last);
	KUNIT_EXPECT_EQ(test, thing->h.word, 0);
	next = must_make(test, t, NULL);
	KUNIT_EXPECT_EQ(test, token_index(next), 1);
	expect_none(test, t, last, -EALREADY);
	expect_none(test, t, h, -EALREADY);
	end_table(t);
}

static void use_that_goes_on(struct kunit *test)
{
	struct token_table *t = new_table(test, MOST);
	void *h = must_make(test, t, NULL);
	struct thing *thing = token_peek(t, h);

	KUNIT_EXPECT_EQ(test, token_put(t, h, "put"), 0);
	expect_none(test, t, h, -EALREADY);
	token_revive(&thing->h);
	KUNIT_EXPECT_EQ(test, token_owners_of(t, h), 1);
	must_end(test, t, h);
	end_table(t);
}

static void table_has_an_end(struct kunit *test)
{
	struct token_table *t = new_table(test, MOST);
	void *h[MOST];
	u32 i, round;
	int err;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < MOST; i++)
			h[i] = must_make(test, t, NULL);
		KUNIT_EXPECT_NULL(test, token_new(t, NULL, &err));
		KUNIT_EXPECT_EQ(test, err, -ENOSPC);
		KUNIT_EXPECT_STREQ(test, error_get(), "1000 things are there "
				   "already: no more can be told apart");
		for (i = 0; i < MOST; i++)
			must_end(test, t, h[i]);
	}
	end_table(t);
}

/* ---- Spaces ------------------------------------------------------------- */

static void end_of_a_space(struct kunit *test)
{
	struct token_table *t = new_table(test, MOST);
	struct slabdev *a = kunit_kzalloc(test, sizeof(*a));
	struct slabdev *b = kunit_kzalloc(test, sizeof(*b));
	void *of_a[10], *of_b[10], *next;
	u32 i;

	a->id = 1;
	b->id = SPACE_MAX - 1;

	for (i = 0; i < 10; i++) {
		of_a[i] = must_make(test, t, a);
		of_b[i] = must_make(test, t, b);
	}
	must_end(test, t, of_a[9]);
	KUNIT_EXPECT_EQ(test, token_count(t, a), 9);
	token_end_space(t, a);
	KUNIT_EXPECT_EQ(test, token_count(t, a), 0);
	KUNIT_EXPECT_EQ(test, token_count(t, b), 10);
	for (i = 0; i < 10; i++) {
		expect_none(test, t, of_a[i], -EALREADY);
		KUNIT_EXPECT_EQ(test, token_owners_of(t, of_b[i]), 1);
	}
	KUNIT_EXPECT_EQ(test, t->nr, 10);
	for (i = 0; i < 10; i++) {
		next = must_make(test, t, b);
		KUNIT_EXPECT_LT(test, token_index(next), 20);
		expect_none(test, t, of_a[i], -EALREADY);
	}
	end_table(t);
}

/* ---- Host memory -------------------------------------------------------- */

static u64 largest;

/* Addresses are scarce. */
static int reserve_up_to(size_t size, void **addr)
{
	void *p;

	if (size > largest)
		return -ENOMEM;
	p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		 MAP_NORESERVE, -1, 0);
	*addr = p;
	return p == MAP_FAILED ? -ENOMEM : 0;
}

static int no_commit(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return -ENOMEM;
}

static void fewer_when_addresses_are_scarce(struct kunit *test)
{
	struct token_table *t = new_table(test, TOKEN_MAX);
	u32 n = 0;
	int err;

	/* The thread's room for texts. */
	error_set(-EINVAL, "nothing yet");
	kunit_activate_static_stub(test, os_reserve, reserve_up_to);
	largest = 0;
	KUNIT_EXPECT_NULL(test, token_new(t, NULL, &err));
	KUNIT_EXPECT_EQ(test, err, -ENOMEM);
	KUNIT_EXPECT_STREQ(test, error_get(), "no host memory for a thing");
	largest = MIB;
	while (token_new(t, NULL, &err))
		n++;
	KUNIT_EXPECT_EQ(test, err, -ENOSPC);
	KUNIT_EXPECT_GT(test, n, MIB / 2 / sizeof(struct thing) - 1);
	end_table(t);
}

static void nothing_changes_without_memory(struct kunit *test)
{
	struct token_table *t = new_table(test, MOST);
	void *h;
	int err;

	kunit_activate_static_stub(test, os_commit, no_commit);
	KUNIT_EXPECT_NULL(test, token_new(t, NULL, &err));
	KUNIT_EXPECT_EQ(test, err, -ENOMEM);
	KUNIT_EXPECT_EQ(test, t->nr, 0);
	KUNIT_EXPECT_EQ(test, t->end, 0);
	kunit_deactivate_static_stub(test, os_commit);
	h = must_make(test, t, NULL);
	must_end(test, t, h);
	end_table(t);
}

/* ---- Threads ------------------------------------------------------------ */

#define ROUNDS 20000u

struct racing {
	struct kunit *test;
	struct token_table *t;
	void *shared;		/* atomic: of whichever use it was */
	u32 over;		/* atomic */
};

/* Whatever it finds, it leaves as it was. */
static void *ask_stale(void *arg)
{
	struct racing *r = arg;
	void *h;
	s64 n;

	while (!load_acquire(&r->over)) {
		h = load_acquire(&r->shared);
		n = token_get(r->t, h, 100, "get");
		if (n > 0 && !token_put(r->t, h, "put"))
			token_free(r->t, token_entry(r->t, token_index(h)));
		else if (n != -EALREADY && n < 0)
			KUNIT_FAIL(r->test, "%lld", (long long)n);
	}
	return NULL;
}

static void others_ask_meanwhile(struct kunit *test)
{
	struct racing r = { .test = test, .t = new_table(test, MOST) };
	pthread_t other;
	u32 i;

	r.shared = must_make(test, r.t, NULL);
	KUNIT_ASSERT_EQ(test, pthread_create(&other, NULL, ask_stale, &r), 0);
	for (i = 0; i < ROUNDS; i++) {
		void *h = r.shared;

		if (!token_put(r.t, h, "put"))
			token_free(r.t, token_entry(r.t, token_index(h)));
		store_release(&r.shared, must_make(test, r.t, NULL));
	}
	store_release(&r.over, 1u);
	pthread_join(other, NULL);
	KUNIT_EXPECT_EQ(test, r.t->nr, 1);
	must_end(test, r.t, r.shared);
	KUNIT_EXPECT_LE(test, r.t->end, 3);
	end_table(r.t);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(owners_are_counted),
	KUNIT_CASE(stale_ones_stay_stale),
	KUNIT_CASE(what_never_was_one),
	KUNIT_CASE(numbers_are_used_up),
	KUNIT_CASE(use_that_goes_on),
	KUNIT_CASE(table_has_an_end),
	KUNIT_CASE(end_of_a_space),
	KUNIT_CASE_ISOLATED(fewer_when_addresses_are_scarce),
	KUNIT_CASE_ISOLATED(nothing_changes_without_memory),
	KUNIT_CASE(others_ask_meanwhile),
	{ 0 }
};

static const struct kunit_suite token_suite = {
	.name = "token",
	.cases = cases,
};
kunit_test_suite(token_suite);
