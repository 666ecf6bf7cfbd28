// SPDX-License-Identifier: BSD-2-Clause
/*
 * backend_test.c - the contract of vmm/ops.h, for every backend.
 *
 * Each case runs once for each row of backends[]. The cases ask for what ops.h
 * promises and nothing else, so a backend of real devices is one more row.
 * Breaches that a backend is expected to refuse are tested too.
 */
#include <errno.h>

#include "core/os.h"
#include "core/overflow.h"
#include "tests/backend_bench.h"
#include "vmm/fault.h"
#include "vmm/vmm.h"

/* ---- The backends ----------------------------------------------------- */

struct backend {
	const char *name;
	void (*open)(struct kunit *test, struct bench *b);
	void (*close)(struct kunit *test, struct bench *b);
};

static void host_open(struct kunit *test, struct bench *b)
{
	KUNIT_ASSERT_EQ(test, vmm_backend_find("host", NULL, &b->ops,
					       &b->dev), 0);
}

static void host_close(struct kunit *test, struct bench *b)
{
	(void)test;
	vmm_backend_put(b->ops, b->dev);
}

static void fault_open(struct kunit *test, struct bench *b)
{
	struct vmm_fault *fault = kunit_kzalloc(test, sizeof(*fault));

	if (!IS_ENABLED(CONFIG_VMM_FAULT))
		kunit_skip(test, "CONFIG_VMM_FAULT is not set");
	host_open(test, b);
	if (IS_ENABLED(CONFIG_VMM_FAULT)) {
		vmm_fault_init(fault, b->ops, b->dev);
		b->ops = &fault->table;
		b->dev = fault;
	}
}

static void fault_close(struct kunit *test, struct bench *b)
{
	struct vmm_fault *fault = b->dev;

	if (IS_ENABLED(CONFIG_VMM_FAULT)) {
		KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(fault));
		vmm_fault_fini(fault);
		vmm_backend_put(fault->ops, fault->dev);
	}
}

static const struct backend backends[] = {
	{ "host", host_open, host_close },
	{ "fault", fault_open, fault_close },
};

static void describe_backend(const struct backend *b, char *desc)
{
	strcpy(desc, b->name);
}
KUNIT_ARRAY_PARAM(backend, backends, describe_backend);

static int backend_test_init(struct kunit *test)
{
	const struct backend *backend = test->param_value;
	struct bench *b = kunit_kzalloc(test, sizeof(*b));

	backend->open(test, b);
	bench_start(test, b);
	return 0;
}

static void backend_test_exit(struct kunit *test)
{
	const struct backend *backend = test->param_value;
	struct bench *b = test->priv;

	if (!b)
		return;
	bench_stop(test, b);
	backend->close(test, b);
}

/* ---- The contract ----------------------------------------------------- */

static void granularity_is_a_power_of_two(struct kunit *test)
{
	struct bench *b = test->priv;

	KUNIT_EXPECT_TRUE(test, is_power_of_2(b->granularity));
	KUNIT_EXPECT_GE(test, b->granularity, os_page_size());
}

static void memory_lives_from_create_to_release(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 handle = provide(test, 3, 2);
	u8 got[4] = { 0 };
	u8 want[4] = { 7, 7, 7, 7 };

	KUNIT_EXPECT_EQ(test, b->ops->fill(b->dev, at(b, 3), 2 * b->granularity,
					   7, NULL), 0);
	KUNIT_EXPECT_EQ(test, b->ops->read(b->dev, got, at(b, 5) - 4, 4), 0);
	KUNIT_EXPECT_MEMEQ(test, got, want, 4);
	withdraw(test, 3, 2, handle);
	/* The same address, other memory. */
	handle = provide(test, 3, 1);
	KUNIT_EXPECT_EQ(test, b->ops->fill(b->dev, at(b, 3), b->granularity, 9,
					   NULL), 0);
	withdraw(test, 3, 1, handle);
}

static void reservations_are_aligned(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 addr = 0;

	for (u64 align = b->granularity; align <= GIB; align *= 2) {
		KUNIT_ASSERT_EQ(test, b->ops->reserve(b->dev, b->granularity,
						      align, &addr), 0);
		KUNIT_EXPECT_TRUE(test, is_aligned(addr, align));
		KUNIT_ASSERT_EQ(test, b->ops->unreserve(b->dev, addr,
							b->granularity), 0);
	}
}

static void reservations_go_as_they_came(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 g = b->granularity;
	u64 addr, handle;

	KUNIT_ASSERT_EQ(test, b->ops->reserve(b->dev, 4 * g, g, &addr), 0);
	KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, addr, 2 * g), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, addr + g, 3 * g),
			-EINVAL);
	handle = make(test, 1);
	KUNIT_ASSERT_EQ(test, b->ops->map(b->dev, addr + 2 * g, g, handle), 0);
	KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, addr, 4 * g), -EINVAL);
	KUNIT_ASSERT_EQ(test, b->ops->unmap(b->dev, addr + 2 * g, g), 0);
	drop(test, handle, 1);
	KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, addr, 4 * g), 0);
	KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, addr, 4 * g), -EINVAL);
}

static void odd_sizes_are_refused(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 g = b->granularity;
	u64 out = 42;
	u64 handle = make(test, 1);

	KUNIT_EXPECT_EQ(test, b->ops->reserve(b->dev, 0, g, &out), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->reserve(b->dev, g + 1, g, &out), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->reserve(b->dev, g, 3, &out), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->create(b->dev, 0, &out), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->create(b->dev, g / 2, &out), -EINVAL);
	KUNIT_EXPECT_EQ(test, out, 42);
	KUNIT_EXPECT_EQ(test, b->ops->map(b->dev, at(b, 0) + 4096, g, handle),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->map(b->dev, at(b, 0), 0, handle),
			-EINVAL);
	drop(test, handle, 1);
}

static void impossible_reservation_fails(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 huge = align_down(~(u64)0 / 2, b->granularity);
	u64 addr = 42;

	KUNIT_EXPECT_EQ(test, b->ops->reserve(b->dev, huge, b->granularity,
					      &addr), -ENOMEM);
	huge = align_down(~(u64)0, b->granularity);
	KUNIT_EXPECT_EQ(test, b->ops->reserve(b->dev, huge, b->granularity,
					      &addr), -ENOMEM);
	KUNIT_EXPECT_EQ(test, addr, 42);
}

static void handles_are_known_and_whole(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 g = b->granularity;
	u64 handle = make(test, 2);
	u64 stale = make(test, 1);
	u64 other;

	drop(test, stale, 1);
	KUNIT_EXPECT_EQ(test, b->ops->release(b->dev, stale, g), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->map(b->dev, at(b, 0), g, stale), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->release(b->dev, 0, g), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->map(b->dev, at(b, 0), g, ~(u64)0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->map(b->dev, at(b, 0), g, handle),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->map(b->dev, at(b, 0), 3 * g, handle),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->release(b->dev, handle, g), -EINVAL);

	/* Another one in its place is not the one that went. */
	other = make(test, 1);
	KUNIT_EXPECT_EQ(test, b->ops->release(b->dev, stale, g), -EINVAL);
	drop(test, other, 1);

	map(test, 0, 2, handle);
	KUNIT_EXPECT_EQ(test, b->ops->map(b->dev, at(b, 8), 2 * g, handle),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->release(b->dev, handle, 2 * g), -EINVAL);
	withdraw(test, 0, 2, handle);
}

static void mappings_do_not_overlap(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 g = b->granularity;
	u64 first = make(test, 4);
	u64 second = make(test, 4);

	map(test, 10, 4, first);
	for (u32 granule = 7; granule <= 13; granule++)
		KUNIT_EXPECT_EQ(test, b->ops->map(b->dev, at(b, granule), 4 * g,
						  second), -EINVAL);
	map(test, 14, 4, second);
	KUNIT_EXPECT_EQ(test, b->ops->unmap(b->dev, at(b, 14), 4 * g), 0);
	map(test, 6, 4, second);
	withdraw(test, 6, 4, second);
	withdraw(test, 10, 4, first);
}

static void mappings_stay_inside(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 g = b->granularity;
	u64 handle = make(test, 2);

	KUNIT_EXPECT_EQ(test, b->ops->map(b->dev, at(b, NR_GRANULES - 1), 2 * g,
					  handle), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->map(b->dev, align_down(~(u64)0, g), 2 * g,
					  handle), -EINVAL);
	map(test, NR_GRANULES - 2, 2, handle);
	withdraw(test, NR_GRANULES - 2, 2, handle);
}

static void access_covers_whole_mappings(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 g = b->granularity;
	u64 low = make(test, 2);
	u64 high = make(test, 3);

	KUNIT_EXPECT_EQ(test, b->ops->set_access(b->dev, at(b, 5), g), -EINVAL);
	map(test, 5, 2, low);
	map(test, 7, 3, high);
	KUNIT_EXPECT_EQ(test, b->ops->set_access(b->dev, at(b, 5), g), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->set_access(b->dev, at(b, 6), 4 * g),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->set_access(b->dev, at(b, 5), 6 * g),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->set_access(b->dev, at(b, 5), 0), -EINVAL);
	access_to(test, 5, 5);
	/* One fill across both. */
	KUNIT_EXPECT_EQ(test, b->ops->fill(b->dev, at(b, 5), 5 * g, 1, NULL),
			0);
	withdraw(test, 5, 2, low);
	withdraw(test, 7, 3, high);
}

static void unmap_takes_exactly_one_mapping(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 g = b->granularity;
	u64 handle = provide(test, 4, 4);

	KUNIT_EXPECT_EQ(test, b->ops->unmap(b->dev, at(b, 4), g), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->unmap(b->dev, at(b, 5), 3 * g), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->unmap(b->dev, at(b, 4), 5 * g), -EINVAL);
	unmap(test, 4, 4);
	KUNIT_EXPECT_EQ(test, b->ops->unmap(b->dev, at(b, 4), 4 * g), -EINVAL);
	drop(test, handle, 4);
}

static void copies_move_bytes(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 handle = provide(test, 0, 1);
	u64 addr = at(b, 0);
	u8 got[3];

	KUNIT_EXPECT_EQ(test, b->ops->fill(b->dev, addr, 100, 1, NULL), 0);
	KUNIT_EXPECT_EQ(test, b->ops->fill(b->dev, addr + 10, 1, 2, NULL), 0);
	KUNIT_EXPECT_EQ(test, b->ops->copy(b->dev, addr + 1001, addr + 9, 3,
					   NULL), 0);
	KUNIT_EXPECT_EQ(test, b->ops->read(b->dev, got, addr + 1001, 3), 0);
	KUNIT_EXPECT_MEMEQ(test, got, ((u8[]){ 1, 2, 1 }), 3);
	KUNIT_EXPECT_EQ(test, b->ops->fill(b->dev, addr, 0, 9, NULL), 0);
	KUNIT_EXPECT_EQ(test, b->ops->copy(b->dev, addr, addr + 9, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, b->ops->read(b->dev, got, addr, 0), 0);
	withdraw(test, 0, 1, handle);
}

/* Rows of 5 bytes, 16 apart: nothing between them is touched. */
static void rectangles_leave_the_gaps_alone(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 handle = provide(test, 0, 1);
	u64 addr = at(b, 0);
	u8 all[64], rows[20];

	KUNIT_EXPECT_EQ(test, b->ops->fill(b->dev, addr, 64, 1, NULL), 0);
	KUNIT_EXPECT_EQ(test, b->ops->fill2d(b->dev, addr, 16, 5, 3, 2, NULL),
			0);
	KUNIT_EXPECT_EQ(test, b->ops->read(b->dev, all, addr, 64), 0);
	for (u32 i = 0; i < 64; i++)
		KUNIT_EXPECT_EQ(test, all[i], i < 48 && i % 16 < 5 ? 2 : 1);
	KUNIT_EXPECT_EQ(test, b->ops->read2d(b->dev, rows, 5, addr + 32, 16, 5,
					     2), 0);
	for (u32 i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, rows[i], i < 5 ? 2 : 1);
	KUNIT_EXPECT_EQ(test, b->ops->fill2d(b->dev, addr, 4, 5, 3, 2, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->read2d(b->dev, rows, 4, addr, 16, 5, 2),
			-EINVAL);
	withdraw(test, 0, 1, handle);
}

static void events_follow_the_work(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 first = 0, second = 0;

	KUNIT_ASSERT_EQ(test, b->ops->event_create(b->dev, &first), 0);
	KUNIT_ASSERT_EQ(test, b->ops->event_create(b->dev, &second), 0);
	KUNIT_EXPECT_NE(test, first, second);
	KUNIT_EXPECT_EQ(test, b->ops->event_query(b->dev, first), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->event_wait(b->dev, first), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->event_record(b->dev, first, NULL), 0);
	KUNIT_EXPECT_EQ(test, b->ops->event_wait(b->dev, first), 0);
	KUNIT_EXPECT_EQ(test, b->ops->event_query(b->dev, first), 0);
	KUNIT_EXPECT_EQ(test, b->ops->event_query(b->dev, second), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->event_record(b->dev, first, NULL), 0);
	KUNIT_EXPECT_EQ(test, b->ops->event_destroy(b->dev, first), 0);
	KUNIT_EXPECT_EQ(test, b->ops->event_destroy(b->dev, first), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->event_record(b->dev, first, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->event_destroy(b->dev, second), 0);
}

static void memory_is_known(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 free_bytes = 0, total = 0;

	KUNIT_ASSERT_EQ(test, b->ops->meminfo(b->dev, &free_bytes, &total), 0);
	KUNIT_EXPECT_GT(test, total, 0);
	KUNIT_EXPECT_LE(test, free_bytes, total);
}

#define CONTRACT(fn) KUNIT_CASE_PARAM(fn, backend_gen_params)

static const struct kunit_case backend_cases[] = {
	CONTRACT(granularity_is_a_power_of_two),
	CONTRACT(memory_lives_from_create_to_release),
	CONTRACT(reservations_are_aligned),
	CONTRACT(reservations_go_as_they_came),
	CONTRACT(odd_sizes_are_refused),
	CONTRACT(impossible_reservation_fails),
	CONTRACT(handles_are_known_and_whole),
	CONTRACT(mappings_do_not_overlap),
	CONTRACT(mappings_stay_inside),
	CONTRACT(access_covers_whole_mappings),
	CONTRACT(unmap_takes_exactly_one_mapping),
	CONTRACT(copies_move_bytes),
	CONTRACT(rectangles_leave_the_gaps_alone),
	CONTRACT(events_follow_the_work),
	CONTRACT(memory_is_known),
	{ 0 }
};

static const struct kunit_suite backend_suite = {
	.name = "backend",
	.init = backend_test_init,
	.exit = backend_test_exit,
	.cases = backend_cases,
};
kunit_test_suite(backend_suite);
