// SPDX-License-Identifier: BSD-2-Clause
/*
 * list_test.c - intrusive lists, read forwards and backwards after each step.
 */
#include "core/list.h"
#include "tests/kunit/kunit.h"

struct item {
	char name;
	struct list link;
};

#define NR_ITEMS 5

struct fixture {
	struct list head;
	struct list other;
	struct item item[NR_ITEMS];	/* named 'a', 'b', ... */
};

static int list_case_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f));
	int i;

	list_init(&f->head);
	list_init(&f->other);
	for (i = 0; i < NR_ITEMS; i++) {
		f->item[i].name = (char)('a' + i);
		list_init(&f->item[i].link);
	}
	test->priv = f;
	return 0;
}

/* The names in @head are those of @wanted, in both directions. */
static void expect_list(struct kunit *test, const struct list *head,
			const char *wanted)
{
	char forwards[NR_ITEMS + 1] = "", backwards[NR_ITEMS + 1] = "";
	size_t len = strlen(wanted), n = 0;
	const struct list *l;
	struct item *it;

	list_for_each_entry(it, head, link) {
		KUNIT_ASSERT_LT(test, n, NR_ITEMS);
		forwards[n++] = it->name;
	}
	for (l = head->prev; l != head && n; l = l->prev)
		backwards[--n] = list_entry(l, struct item, link)->name;
	KUNIT_EXPECT_STREQ(test, forwards, wanted);
	KUNIT_EXPECT_MEMEQ(test, backwards, wanted, len);
	KUNIT_EXPECT_EQ(test, list_empty(head), len == 0);
}

static void add_to_both_ends(struct kunit *test)
{
	struct fixture *f = test->priv;

	expect_list(test, &f->head, "");
	list_add(&f->item[0].link, &f->head);
	expect_list(test, &f->head, "a");
	list_add(&f->item[1].link, &f->head);
	expect_list(test, &f->head, "ba");
	list_add_tail(&f->item[2].link, &f->head);
	expect_list(test, &f->head, "bac");
	KUNIT_EXPECT_PTR_EQ(test, list_first_entry(&f->head, struct item, link),
			    &f->item[1]);
}

static void remove_knows_and_is_idempotent(struct kunit *test)
{
	struct fixture *f = test->priv;
	int i;

	for (i = 0; i < 3; i++)
		list_add_tail(&f->item[i].link, &f->head);
	KUNIT_EXPECT_TRUE(test, list_is_linked(&f->item[1].link));
	list_del(&f->item[1].link);
	KUNIT_EXPECT_FALSE(test, list_is_linked(&f->item[1].link));
	expect_list(test, &f->head, "ac");
	list_del(&f->item[1].link);
	expect_list(test, &f->head, "ac");
	list_del(&f->item[0].link);
	list_del(&f->item[2].link);
	expect_list(test, &f->head, "");
}

static void move_within_and_between(struct kunit *test)
{
	struct fixture *f = test->priv;
	int i;

	for (i = 0; i < 3; i++)
		list_add_tail(&f->item[i].link, &f->head);
	list_move(&f->item[2].link, &f->head);
	expect_list(test, &f->head, "cab");
	list_move(&f->item[2].link, &f->head);
	expect_list(test, &f->head, "cab");
	list_move(&f->item[0].link, &f->other);
	expect_list(test, &f->head, "cb");
	expect_list(test, &f->other, "a");
}

static void splice_keeps_the_order(struct kunit *test)
{
	struct fixture *f = test->priv;

	list_splice_tail(&f->other, &f->head);
	expect_list(test, &f->head, "");
	list_add_tail(&f->item[0].link, &f->other);
	list_add_tail(&f->item[1].link, &f->other);
	list_splice_tail(&f->other, &f->head);
	expect_list(test, &f->head, "ab");
	expect_list(test, &f->other, "");
	list_add_tail(&f->item[2].link, &f->other);
	list_splice_tail(&f->other, &f->head);
	expect_list(test, &f->head, "abc");
	list_splice_tail(&f->other, &f->head);
	expect_list(test, &f->head, "abc");
}

static void safe_walk_survives_removal(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct item *it;
	int i, seen = 0;

	for (i = 0; i < NR_ITEMS; i++)
		list_add_tail(&f->item[i].link, &f->head);
	list_for_each_entry_safe(it, &f->head, link) {
		seen++;
		if (it->name != 'c')
			list_move(&it->link, &f->other);
	}
	KUNIT_EXPECT_EQ(test, seen, NR_ITEMS);
	expect_list(test, &f->head, "c");
	expect_list(test, &f->other, "edba");
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(add_to_both_ends),
	KUNIT_CASE(remove_knows_and_is_idempotent),
	KUNIT_CASE(move_within_and_between),
	KUNIT_CASE(splice_keeps_the_order),
	KUNIT_CASE(safe_walk_survives_removal),
	{ 0 }
};

static const struct kunit_suite list_suite = {
	.name = "list",
	.init = list_case_init,
	.cases = cases,
};
kunit_test_suite(list_suite);
