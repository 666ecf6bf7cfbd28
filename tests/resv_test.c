// SPDX-License-Identifier: BSD-2-Clause
/*
 * resv_test.c - arrays that grow in place: bounds, steps, and failure.
 */
#include <errno.h>

#include "core/os.h"
#include "core/resv.h"
#include "tests/kunit/kunit.h"

static int refuse(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return -ENOMEM;
}

static int refuse_reserve(size_t size, void **addr)
{
	(void)size;
	(void)addr;
	return -ENOMEM;
}

static void fini(void *arg)
{
	resv_fini(arg);
}

static struct resv *make(struct kunit *test, u64 max_bytes, u64 step)
{
	struct resv *r = kunit_kzalloc(test, sizeof(*r));

	KUNIT_ASSERT_EQ(test, resv_init(r, max_bytes, step), 0);
	kunit_add_action(test, fini, r);
	return r;
}

static bool all_zero(const char *p, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (p[i])
			return false;
	return true;
}

static void grows_in_steps_without_moving(struct kunit *test)
{
	u64 page = os_page_size();
	struct resv *r = make(test, 10 * page, 4 * page);
	char *base = r->base;

	KUNIT_EXPECT_EQ(test, r->committed, 0);
	KUNIT_EXPECT_EQ(test, resv_grow(r, 0), 0);
	KUNIT_EXPECT_EQ(test, r->committed, 0);
	KUNIT_EXPECT_EQ(test, resv_grow(r, 1), 0);
	KUNIT_EXPECT_EQ(test, r->committed, 4 * page);
	KUNIT_EXPECT_TRUE(test, all_zero(r->base, r->committed));
	memset(r->base, 0x5a, r->committed);

	KUNIT_EXPECT_EQ(test, resv_grow(r, 4 * page), 0);
	KUNIT_EXPECT_EQ(test, r->committed, 4 * page);
	KUNIT_EXPECT_EQ(test, resv_grow(r, 4 * page + 1), 0);
	KUNIT_EXPECT_EQ(test, r->committed, 8 * page);
	KUNIT_EXPECT_PTR_EQ(test, r->base, base);
	KUNIT_EXPECT_EQ(test, r->base[0], 0x5a);
	KUNIT_EXPECT_TRUE(test, all_zero(r->base + 4 * page, 4 * page));

	/* The last step is what is left. */
	KUNIT_EXPECT_EQ(test, resv_grow(r, 10 * page), 0);
	KUNIT_EXPECT_EQ(test, r->committed, 10 * page);
	memset(r->base, 0xa5, r->committed);
}

static void odd_sizes_are_rounded_to_pages(struct kunit *test)
{
	u64 page = os_page_size();
	struct resv *r = make(test, 3 * page - 1, 1);

	KUNIT_EXPECT_EQ(test, r->reserved, 3 * page);
	KUNIT_EXPECT_EQ(test, r->step, page);
	KUNIT_EXPECT_EQ(test, resv_grow(r, page + 1), 0);
	KUNIT_EXPECT_EQ(test, r->committed, 2 * page);
}

static void step_beyond_the_end(struct kunit *test)
{
	u64 page = os_page_size();
	struct resv *r = make(test, page, UINT64_MAX / 2);

	KUNIT_EXPECT_EQ(test, resv_grow(r, 1), 0);
	KUNIT_EXPECT_EQ(test, r->committed, page);
}

static void beyond_the_end_is_enospc(struct kunit *test)
{
	u64 page = os_page_size();
	struct resv *r = make(test, 2 * page, page);

	KUNIT_EXPECT_EQ(test, resv_grow(r, 2 * page + 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, resv_grow(r, UINT64_MAX), -ENOSPC);
	KUNIT_EXPECT_EQ(test, r->committed, 0);
	KUNIT_EXPECT_EQ(test, resv_grow(r, 2 * page), 0);
	KUNIT_EXPECT_EQ(test, resv_grow(r, 2 * page + 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, r->committed, 2 * page);
}

static void failed_commit_changes_nothing(struct kunit *test)
{
	u64 page = os_page_size();
	struct resv *r = make(test, 8 * page, page);

	KUNIT_ASSERT_EQ(test, resv_grow(r, page), 0);
	r->base[0] = 1;
	kunit_activate_static_stub(test, os_commit, refuse);
	KUNIT_EXPECT_EQ(test, resv_grow(r, 2 * page), -ENOMEM);
	KUNIT_EXPECT_EQ(test, r->committed, page);
	KUNIT_EXPECT_EQ(test, resv_grow(r, page), 0);
	KUNIT_EXPECT_EQ(test, r->base[0], 1);
	kunit_deactivate_static_stub(test, os_commit);
	KUNIT_EXPECT_EQ(test, resv_grow(r, 2 * page), 0);
	KUNIT_EXPECT_EQ(test, r->committed, 2 * page);
}

static void fini_gives_the_addresses_back(struct kunit *test)
{
	u64 page = os_page_size();
	struct resv r = { 0 };
	char *base;

	KUNIT_ASSERT_EQ(test, resv_init(&r, 4 * page, page), 0);
	KUNIT_ASSERT_EQ(test, resv_grow(&r, page), 0);
	base = r.base;
	resv_fini(&r);
	KUNIT_EXPECT_NULL(test, r.base);
	KUNIT_EXPECT_EQ(test, r.committed, 0);
	/* Nothing is mapped there: nothing can be made accessible. */
	KUNIT_EXPECT_EQ(test, os_commit(base, page), -ENOMEM);
	resv_fini(&r);
}

static void bad_sizes_are_refused(struct kunit *test)
{
	struct resv r = { 0 };

	KUNIT_EXPECT_EQ(test, resv_init(&r, 0, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, resv_init(&r, 1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, resv_init(&r, UINT64_MAX, 1), -ENOMEM);
	KUNIT_EXPECT_EQ(test, resv_init(&r, 1, UINT64_MAX), -ENOMEM);
	KUNIT_EXPECT_EQ(test, resv_init(&r, (u64)1 << 62, 1), -ENOMEM);
	KUNIT_EXPECT_NULL(test, r.base);
	resv_fini(&r);
}

static void failed_reservation_is_passed_on(struct kunit *test)
{
	struct resv r = { 0 };

	kunit_activate_static_stub(test, os_reserve, refuse_reserve);
	KUNIT_EXPECT_EQ(test, resv_init(&r, 1, 1), -ENOMEM);
	KUNIT_EXPECT_NULL(test, r.base);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(grows_in_steps_without_moving),
	KUNIT_CASE(odd_sizes_are_rounded_to_pages),
	KUNIT_CASE(step_beyond_the_end),
	KUNIT_CASE(beyond_the_end_is_enospc),
	KUNIT_CASE(failed_commit_changes_nothing),
	KUNIT_CASE(fini_gives_the_addresses_back),
	KUNIT_CASE(bad_sizes_are_refused),
	KUNIT_CASE(failed_reservation_is_passed_on),
	{ 0 }
};

static const struct kunit_suite resv_suite = {
	.name = "resv",
	.cases = cases,
};
kunit_test_suite(resv_suite);
