// SPDX-License-Identifier: BSD-2-Clause
/* manager_life.c - tokens of managers, what may be freed, and the end. */
#include <errno.h>

#include "core/log.h"
#include "tests/manager_space.h"

/* ---- Handles ------------------------------------------------------------ */

/* Every call on a handle that is none. */
static void expect_no_manager(struct kunit *test, struct slabdev_manager *m,
			      int err)
{
	struct slabdev_ledger l;
	struct slabdev *sd = NULL;

	KUNIT_EXPECT_EQ(test, slabdev_manager_space(m, HOST, &sd), -err);
	KUNIT_EXPECT_EQ(test, slabdev_manager_open(m, HOST, NULL, &sd), -err);
	KUNIT_EXPECT_ERRNO(test, slabdev_manager_alloc(m, HOST, 1, 0), err);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, &l), -err);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, NULL), -err);
	KUNIT_EXPECT_ERRNO(test, slabdev_manager_space_of(m, &l), err);
	KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), -err);
	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger(m, HOST, &l, sizeof(l)),
			-err);
	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger_at(m, 0, &l, sizeof(l)),
			-err);
	KUNIT_EXPECT_EQ(test, slabdev_manager_total(m, &l, sizeof(l)), -err);
	KUNIT_EXPECT_EQ(test, slabdev_manager_report(m, stdout), -err);
	if (m)
		KUNIT_EXPECT_EQ(test, slabdev_manager_destroy(m, 0), -err);
	KUNIT_EXPECT_NULL(test, sd);
	EXPECT_ERROR_HAS(test, "manager");
}

/* The entry is used again, and the old handle does not reach it. */
void stale_token_is_refused_for_ever(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, NULL), *now;

	(void)host_of(test, m);
	end_manager(test, m);
	expect_no_manager(test, m, EALREADY);
	for (u32 i = 0; i < 50; i++) {
		now = new_manager(test, NULL);
		KUNIT_EXPECT_PTR_NE(test, now, m);
		KUNIT_EXPECT_EQ(test, slabdev_manager_count(now), 0);
		expect_no_manager(test, m, EALREADY);
		end_manager(test, now);
	}
}

void what_never_was_a_manager_is_refused(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, NULL);
	struct slabdev *sd = host_of(test, m);

	expect_no_manager(test, NULL, EINVAL);
	expect_no_manager(test, (void *)&sd, EINVAL);
	expect_no_manager(test, (void *)sd, EINVAL);
	expect_no_manager(test, (void *)((uintptr_t)m + 1), EINVAL);
	expect_no_manager(test, (void *)((uintptr_t)m + ((u64)1 << 32)),
			  EINVAL);
	expect_no_manager(test, (void *)UINTPTR_MAX, EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_manager_destroy(NULL, 0), 0);
	end_manager(test, m);
}

/* A manager was a value once, and its copy another one. */
void copy_of_a_token_is_the_same_manager(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, NULL), *copy = m;
	void *p = slabdev_manager_alloc(m, HOST, 100, 0);

	KUNIT_EXPECT_EQ(test, total_of(test, copy).current, 100);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(copy, p), 0);
	KUNIT_EXPECT_EQ(test, total_of(test, m).current, 0);
	KUNIT_EXPECT_EQ(test, total_of(test, m).frees, 1);
	end_manager(test, copy);
	expect_no_manager(test, m, EALREADY);
}

void managers_share_nothing(struct kunit *test)
{
	struct slabdev_manager *a = new_manager(test, "a");
	struct slabdev_manager *b = new_manager(test, "b");
	void *p = slabdev_manager_alloc(a, HOST, 100, 0);
	struct slabdev_ledger before;

	KUNIT_EXPECT_PTR_NE(test, host_of(test, a), host_of(test, b));
	before = total_of(test, b);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(b, p), -EINVAL);
	KUNIT_EXPECT_REPORT_HAS(test, "of no space of this manager");
	KUNIT_EXPECT_REPORT_HAS(test, "live object of alloc-256 in space "
				"a/host");
	KUNIT_EXPECT_ERRNO(test, slabdev_manager_space_of(b, p), ENOENT);
	KUNIT_EXPECT_EQ(test, total_of(test, a).current, 100);
	KUNIT_EXPECT_EQ(test, total_of(test, b).frees, before.frees);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(a, p), 0);
	end_manager(test, a);
	end_manager(test, b);
}

void as_many_managers_as_there_can_be(struct kunit *test)
{
	static struct slabdev_manager *all[1024];
	struct slabdev_manager *m = NULL;
	u32 n;

	for (n = 0; n < ARRAY_SIZE(all); n++)
		all[n] = new_manager(test, NULL);
	KUNIT_EXPECT_EQ(test, slabdev_manager_create(&m, NULL), -ENOSPC);
	KUNIT_EXPECT_NULL(test, m);
	end_manager(test, all[7]);
	all[7] = new_manager(test, NULL);
	while (n)
		end_manager(test, all[--n]);
}

/* ---- Frees -------------------------------------------------------------- */

void wrong_pointers_are_refused(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, "sim");
	char *p = slabdev_manager_alloc(m, HOST, 1000, 0);
	struct slabdev_ledger before = total_of(test, m), after;
	int here;

	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, NULL), 0);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, &here), -EINVAL);
	EXPECT_ERROR_HAS(test, "no space of manager sim has that address");
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, (void *)8), -EINVAL);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, p + 1), -EINVAL);
	EXPECT_ERROR_HAS(test, "1 bytes inside a live object");
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, p + 256 * MIB), -EINVAL);
	after = total_of(test, m);
	KUNIT_EXPECT_MEMEQ(test, &after, &before, sizeof(after));
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, p), 0);
	end_manager(test, m);
}

/* Objects of caches, and of the space's own calls, are the manager's too. */
void any_object_of_its_spaces_can_be_freed(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, NULL);
	struct slabdev *sd = host_of(test, m);
	struct slabdev_cache *c = NULL;

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&c, sd, "c", 700, NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, slabdev_cache_alloc(c)),
			0);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, must_alloc(test, sd,
								 5 * MIB)), 0);
	KUNIT_EXPECT_EQ(test, total_of(test, m).alloc_bytes, 700 + 5 * MIB);
	KUNIT_EXPECT_EQ(test, total_of(test, m).current, 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(c), 0);
	end_manager(test, m);
}

/* What the manager's calls never had live does not count as freed by them. */
void frees_of_others_do_not_lower_the_peak(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, NULL);
	struct slabdev *sd = host_of(test, m);
	void *p, *q;

	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, must_alloc(test, sd,
								 MIB)), 0);
	p = slabdev_manager_alloc(m, HOST, MIB, 0);
	q = slabdev_manager_alloc(m, HOST, MIB + 5000, 0);
	KUNIT_EXPECT_EQ(test, total_of(test, m).current, 2 * MIB + 5000);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, q), 0);
	KUNIT_EXPECT_EQ(test, total_of(test, m).peak, 2 * MIB + 5000);
	end_manager(test, m);
}

/* ---- The end ------------------------------------------------------------ */

void destroy_refuses_while_something_is_live(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, "sim");
	void *p = slabdev_manager_alloc(m, HOST, 1000, 0);

	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_manager_destroy(m, 0), -EBUSY);
	EXPECT_ERROR_HAS(test, "space sim/host has 1 live objects");
	KUNIT_EXPECT_REPORT_HAS(test, "Objects remaining on closing space");
	KUNIT_EXPECT_REPORT_HAS(test, "size=1000");
	KUNIT_EXPECT_EQ(test, total_of(test, m).active, 1);
	KUNIT_EXPECT_EQ(test, slabdev_manager_destroy(m, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, p), 0);
	end_manager(test, m);
}

void destroy_insists_when_it_is_told_to(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, NULL);

	KUNIT_ASSERT_NOT_NULL(test, slabdev_manager_alloc(m, HOST, 1000, 0));
	KUNIT_EXPECT_EQ(test, slabdev_manager_destroy(m, SLABDEV_CLOSE_FORCE),
			0);
	expect_no_manager(test, m, EALREADY);
}

/* The space is not the program's to close; if it does, nothing is reached. */
void space_closed_behind_its_back_is_noticed(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, NULL);
	struct slabdev *sd = host_of(test, m), *other = NULL;
	struct slabdev_ledger l;

	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, slabdev_manager_space(m, HOST, &other), -EINVAL);
	EXPECT_ERROR_HAS(test, "was closed by slabdev_close()");
	/* The descriptor is somebody else's now. */
	other = open_space_attr(test, NULL);
	KUNIT_EXPECT_PTR_EQ(test, other, sd);
	KUNIT_EXPECT_ERRNO(test, slabdev_manager_alloc(m, HOST, 10, 0), EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger(m, HOST, &l, sizeof(l)),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_manager_total(m, &l, sizeof(l)), -EINVAL);
	end_manager(test, m);
	close_space(test, other);
}
