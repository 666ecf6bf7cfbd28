// SPDX-License-Identifier: BSD-2-Clause
/*
 * host_test.c - what the host backend promises beyond the contract that all
 * backends share (backend_test.c), and the names of devices.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "tests/backend_bench.h"
#include "tests/clock.h"
#include "tests/reserved.h"
#include "vmm/vmm.h"

static int host_test_init(struct kunit *test)
{
	struct bench *b = kunit_kzalloc(test, sizeof(*b));

	KUNIT_ASSERT_EQ(test, vmm_backend_find("host", NULL, &b->ops,
					       &b->dev), 0);
	bench_start(test, b);
	/* The first error of a thread takes memory for its text. */
	error_set(-EINVAL, "none yet");
	return 0;
}

static void host_test_exit(struct kunit *test)
{
	struct bench *b = test->priv;

	if (!b)
		return;
	bench_stop(test, b);
	vmm_backend_put(b->ops, b->dev);
}

/* ---- Memory ----------------------------------------------------------- */

/* Whether the byte at @addr can be read; asks the kernel, not the byte. */
static bool is_readable(struct kunit *test, u64 addr)
{
	int fds[2];
	ssize_t n;

	KUNIT_ASSERT_EQ(test, pipe(fds), 0);
	n = write(fds[1], (void *)(uintptr_t)addr, 1);
	close(fds[0]);
	close(fds[1]);
	return n == 1;
}

static void memory_is_reachable_only_with_access(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 handle = make(test, 1);

	KUNIT_EXPECT_FALSE(test, is_readable(test, at(b, 2)));
	map(test, 2, 1, handle);
	KUNIT_EXPECT_FALSE(test, is_readable(test, at(b, 2)));
	access_to(test, 2, 1);
	KUNIT_EXPECT_TRUE(test, is_readable(test, at(b, 2)));
	unmap(test, 2, 1);
	KUNIT_EXPECT_FALSE(test, is_readable(test, at(b, 2)));
	drop(test, handle, 1);
}

static u64 resident_bytes(struct kunit *test)
{
	char text[128] = "";
	unsigned long long pages = 0;
	int fd = open("/proc/self/statm", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	KUNIT_ASSERT_TRUE(test, n > 0 && strchr(text, ' '));
	pages = strtoull(strchr(text, ' '), NULL, 10);
	return pages * os_page_size();
}

/* Goal: unmap gives pages back to the system, not only the address. */
static void unmapped_memory_goes_back(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 size = 32 * b->granularity;
	u64 handle = provide(test, 0, 32);
	u64 before = resident_bytes(test);
	u64 filled;

	KUNIT_EXPECT_EQ(test, b->ops->fill(b->dev, at(b, 0), size, 1, NULL), 0);
	filled = resident_bytes(test);
	KUNIT_EXPECT_GE(test, filled, before + size / 2);
	unmap(test, 0, 32);
	KUNIT_EXPECT_LE(test, resident_bytes(test), filled - size / 2);
	drop(test, handle, 32);
}

static int refuse_range(void *addr, size_t size)
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

static void refusals_of_the_kernel_change_nothing(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 g = b->granularity;
	u64 addr = 42;
	u64 handle;

	kunit_activate_static_stub(test, os_decommit, refuse_range);
	handle = make(test, 1);
	map(test, 0, 1, handle);
	kunit_activate_static_stub(test, os_commit, refuse_range);
	kunit_activate_static_stub(test, os_reserve, refuse_reserve);
	KUNIT_EXPECT_EQ(test, b->ops->set_access(b->dev, at(b, 0), g), -ENOMEM);
	KUNIT_EXPECT_EQ(test, b->ops->unmap(b->dev, at(b, 0), g), -ENOMEM);
	KUNIT_EXPECT_EQ(test, b->ops->reserve(b->dev, g, g, &addr), -ENOMEM);
	KUNIT_EXPECT_EQ(test, addr, 42);
	kunit_deactivate_static_stub(test, os_commit);
	kunit_deactivate_static_stub(test, os_decommit);
	kunit_deactivate_static_stub(test, os_reserve);
	access_to(test, 0, 1);
	withdraw(test, 0, 1, handle);
}

static unsigned int nr_hints;

static int count_hint(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	nr_hints++;
	return -EINVAL;
}

/* A kernel without huge pages is no error. */
static void huge_pages_are_a_wish(struct kunit *test)
{
	struct slabdev_attr huge = SLABDEV_ATTR_INIT;
	const struct vmm_ops *ops;
	u64 g, addr, handle;
	void *dev;

	huge.flags = SLABDEV_OPEN_HUGE_PAGES;
	nr_hints = 0;
	kunit_activate_static_stub(test, os_hint_huge, count_hint);
	KUNIT_ASSERT_EQ(test, vmm_backend_find("host", &huge,
					       &ops, &dev), 0);
	KUNIT_ASSERT_EQ(test, ops->granularity(dev, &g), 0);
	KUNIT_ASSERT_EQ(test, ops->reserve(dev, g, g, &addr), 0);
	KUNIT_ASSERT_EQ(test, ops->create(dev, g, &handle), 0);
	KUNIT_ASSERT_EQ(test, ops->map(dev, addr, g, handle), 0);
	KUNIT_EXPECT_EQ(test, ops->set_access(dev, addr, g), 0);
	KUNIT_EXPECT_EQ(test, nr_hints, 1);
	KUNIT_EXPECT_EQ(test, ops->unmap(dev, addr, g), 0);
	KUNIT_EXPECT_EQ(test, ops->release(dev, handle, g), 0);
	KUNIT_EXPECT_EQ(test, ops->unreserve(dev, addr, g), 0);
	vmm_backend_put(ops, dev);
}

/*
 * Goal: the cost of a call does not grow with what exists. Method: as many
 * mappings as 200 GB have, in two interleaved sweeps, within the case's time;
 * anything quadratic would take minutes.
 */
static void many_mappings_are_no_burden(struct kunit *test)
{
	const u32 nr = 100000;
	struct bench *b = test->priv;
	u64 g = b->granularity;
	u64 *handles = kunit_kmalloc(test, nr * sizeof(*handles));
	u64 base, start = now_ns();

	if (b->ops->reserve(b->dev, nr * g, g, &base))
		kunit_skip(test, "no room for %u granules", nr);
	for (u32 sweep = 0; sweep < 2; sweep++) {
		for (u32 i = sweep; i < nr; i += 2) {
			KUNIT_ASSERT_EQ(test, b->ops->create(b->dev, g,
							     &handles[i]), 0);
			KUNIT_ASSERT_EQ(test, b->ops->map(b->dev, base + i * g,
							  g, handles[i]), 0);
		}
	}
	KUNIT_EXPECT_EQ(test, b->ops->set_access(b->dev, base, nr * g), 0);
	for (u32 i = nr; i--;) {
		KUNIT_ASSERT_EQ(test, b->ops->unmap(b->dev, base + i * g, g),
				0);
		KUNIT_ASSERT_EQ(test, b->ops->release(b->dev, handles[i], g),
				0);
	}
	KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, base, nr * g), 0);
	kunit_info(test, "%u mappings in %llu ms", nr,
		   (unsigned long long)(now_ns() - start) / 1000000);
}

/* ---- Addresses and handles -------------------------------------------- */

/* What is reserved for the alignment goes back at once, the rest later. */
static void only_what_is_asked_for_stays_reserved(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 g = b->granularity, table, addr;

	reserved_watch(test);
	KUNIT_ASSERT_EQ(test, b->ops->reserve(b->dev, g, g, &addr), 0);
	table = reserved.held - g;
	KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, addr, g), 0);
	KUNIT_EXPECT_EQ(test, reserved.held, 0);
	for (u64 align = g; align <= GIB; align *= 2) {
		KUNIT_ASSERT_EQ(test, b->ops->reserve(b->dev, g, align, &addr),
				0);
		KUNIT_EXPECT_EQ(test, addr & (align - 1), 0);
		KUNIT_EXPECT_EQ(test, reserved.held, g + table);
		KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, addr, g), 0);
		KUNIT_EXPECT_EQ(test, reserved.held, 0);
	}
}

static void mapped_reservation_stays(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 g = b->granularity;
	u64 handle, addr;

	KUNIT_ASSERT_EQ(test, b->ops->reserve(b->dev, 4 * g, g, &addr), 0);
	for (u32 i = 0; i < 4; i++) {
		handle = make(test, 1);
		KUNIT_ASSERT_EQ(test, b->ops->map(b->dev, addr + i * g, g,
						  handle), 0);
		KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, addr, 4 * g),
				-EINVAL);
		KUNIT_ASSERT_EQ(test, b->ops->unmap(b->dev, addr + i * g, g),
				0);
		drop(test, handle, 1);
	}
	KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, addr, 2 * g), -EINVAL);
	reserved_watch(test);
	reserved.refuse_unreserve = true;
	KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, addr, 4 * g), -ENOMEM);
	reserved.refuse_unreserve = false;
	KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, addr, 4 * g), 0);
}

/* One more than there are entries for is refused, and nothing stays of it. */
static void reservations_are_bounded(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 g = b->granularity, addr[VMM_MAX_RANGES + 1], before;
	u32 nr = 0;

	reserved_watch(test);
	for (before = 0; nr <= VMM_MAX_RANGES; nr++) {
		before = reserved.held;
		if (b->ops->reserve(b->dev, g, g, &addr[nr]))
			break;
	}
	/* The bench has one. */
	KUNIT_EXPECT_EQ(test, nr, VMM_MAX_RANGES - 1);
	KUNIT_EXPECT_EQ(test, reserved.held, before);
	while (nr--)
		KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, addr[nr], g),
				0);
	KUNIT_EXPECT_EQ(test, reserved.held, 0);
}

/* Places of handles that were released are used again, by other names. */
static void handles_are_used_again(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 old[3], new[3], g = b->granularity;

	for (u32 i = 0; i < 3; i++)
		old[i] = make(test, 1);
	for (u32 i = 0; i < 3; i++)
		drop(test, old[i], 1);
	for (u32 i = 0; i < 3; i++) {
		u64 next = old[i] + ((u64)1 << 32);

		/* The name that it will have is nobody's yet. */
		for (u64 size = 0; size <= g; size += size ? g - 1 : 1)
			KUNIT_EXPECT_EQ(test, b->ops->release(b->dev, next,
							      size), -EINVAL);
		KUNIT_EXPECT_EQ(test, b->ops->map(b->dev, at(b, 0), g, next),
				-EINVAL);
	}
	for (u32 i = 0; i < 3; i++) {
		new[i] = make(test, 1);
		KUNIT_EXPECT_EQ(test, (u32)new[i], (u32)old[2 - i]);
		KUNIT_EXPECT_NE(test, new[i], old[2 - i]);
		KUNIT_EXPECT_EQ(test, b->ops->release(b->dev, old[i], g),
				-EINVAL);
	}
	for (u32 i = 0; i < 3; i++)
		drop(test, new[i], 1);
}

static int refuse_commit(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return -EPERM;
}

/* Handles, mappings and events until a table must grow and cannot. */
static void tables_that_cannot_grow(struct kunit *test)
{
	const u32 most = 70000;
	struct bench *b = test->priv;
	u64 g = b->granularity, base, event = 0;
	u64 *handles = kunit_kmalloc(test, most * sizeof(*handles));
	u32 nr = 0, events = 0;

	handles[0] = make(test, 1);
	KUNIT_ASSERT_EQ(test, b->ops->reserve(b->dev, g, g, &base), 0);
	kunit_activate_static_stub(test, os_commit, refuse_commit);
	KUNIT_EXPECT_EQ(test, b->ops->map(b->dev, base, g, handles[0]),
			-ENOMEM);
	for (nr = 1; nr < most; nr++)
		if (b->ops->create(b->dev, g, &handles[nr]))
			break;
	KUNIT_EXPECT_EQ(test, b->ops->create(b->dev, g, &base), -ENOMEM);
	while (events < most && !b->ops->event_create(b->dev, &event))
		events++;
	KUNIT_EXPECT_EQ(test, b->ops->event_create(b->dev, &event), -ENOMEM);
	kunit_deactivate_static_stub(test, os_commit);

	/* What was refused is given. */
	for (; nr < most; nr++)
		KUNIT_ASSERT_EQ(test, b->ops->create(b->dev, g, &handles[nr]),
				0);
	while (nr--)
		drop(test, handles[nr], 1);
	KUNIT_EXPECT_EQ(test, b->ops->event_create(b->dev, &event), 0);
	KUNIT_EXPECT_EQ(test, event, events + 1);
	for (; event; event--)
		KUNIT_EXPECT_EQ(test, b->ops->event_destroy(b->dev, event), 0);
}

/* ---- Misuse that other backends answer otherwise ---------------------- */

static void addresses_that_were_never_mapped(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 g = b->granularity, handle = make(test, 2), base;

	/* Nothing is mapped, so that there is not even a table. */
	KUNIT_EXPECT_EQ(test, b->ops->unmap(b->dev, at(b, 0), g), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->set_access(b->dev, at(b, 0), g), -EINVAL);
	map(test, 2, 2, handle);
	KUNIT_EXPECT_EQ(test, b->ops->unmap(b->dev, at(b, 1), 2 * g), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->unmap(b->dev, at(b, 3), 2 * g), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->unmap(b->dev, at(b, 2) + 1, 2 * g),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->unmap(b->dev, at(b, NR_GRANULES), g),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->set_access(b->dev, at(b, 2), 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->set_access(b->dev, at(b, 3), g), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->set_access(b->dev, at(b, 2) + 1, 2 * g),
			-EINVAL);
	/* Beyond what the table of a longer reservation has come to cover. */
	KUNIT_ASSERT_EQ(test, b->ops->reserve(b->dev, 40000 * g, g, &base), 0);
	KUNIT_EXPECT_EQ(test, b->ops->unmap(b->dev, base + 16384 * g, g),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, base, 40000 * g), 0);
	withdraw(test, 2, 2, handle);
}

/* A pitch below the width is no matter where there is one row, or none. */
static void rows_may_not_overlap(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 handle = provide(test, 0, 1), a = at(b, 0);
	char rows[32] = { 0 };
	static const struct {
		u64 pitch, width, height;
		int err;
	} cases[] = {
		{ 4, 4, 3, 0 }, { 4, 5, 2, -EINVAL }, { 4, 5, 3, -EINVAL },
		{ 4, 5, 1, 0 }, { 4, 5, 0, 0 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 pitch = cases[i].pitch, width = cases[i].width;
		u64 height = cases[i].height;

		KUNIT_EXPECT_EQ(test, b->ops->fill2d(b->dev, a, pitch, width,
						     height, 1, NULL),
				cases[i].err);
		KUNIT_EXPECT_EQ(test, b->ops->read2d(b->dev, rows, 8, a, pitch,
						     width, height),
				cases[i].err);
		KUNIT_EXPECT_EQ(test, b->ops->read2d(b->dev, rows, pitch, a, 8,
						     width, height),
				cases[i].err);
	}
	/* Not one row too many. */
	memset(rows, 9, sizeof(rows));
	KUNIT_EXPECT_EQ(test, b->ops->read2d(b->dev, rows, 8, a, 8, 8, 2), 0);
	KUNIT_EXPECT_EQ(test, rows[16], 9);
	withdraw(test, 0, 1, handle);
}

static void events_that_are_none(struct kunit *test)
{
	struct bench *b = test->priv;
	u64 event[3], again;

	for (u32 i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, b->ops->event_create(b->dev, &event[i]),
				0);
	KUNIT_EXPECT_EQ(test, b->ops->event_record(b->dev, 0, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->event_record(b->dev, event[2] + 1, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, b->ops->event_record(b->dev, GIB, NULL), -EINVAL);
	/* The place of one that is gone is used again. */
	KUNIT_EXPECT_EQ(test, b->ops->event_destroy(b->dev, event[1]), 0);
	KUNIT_EXPECT_EQ(test, b->ops->event_create(b->dev, &again), 0);
	KUNIT_EXPECT_EQ(test, again, event[1]);
	KUNIT_EXPECT_EQ(test, b->ops->event_query(b->dev, again), -EINVAL);
	for (u32 i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, b->ops->event_destroy(b->dev, event[i]),
				0);
}

/* ---- Names ------------------------------------------------------------ */

static void names_mean_one_thing(struct kunit *test)
{
	static const struct {
		const char *spec;
		int err;
		const char *says;
	} cases[] = {
		{ NULL, -EINVAL, "'host'" },
		{ "", -EINVAL, "'host'" },
		{ "host:0", -EINVAL, "'host:0'" },
		{ "Host", -EINVAL, "not known" },
		{ "0", -EINVAL, "not known" },
		{ "cuda", -EINVAL, "'cuda:'" },
		/* These where CUDA is not built. */
		{ "cuda:0", -ENOTSUP, "CONFIG_BACKEND_CUDA" },
		{ "cuda:GPU-1234", -ENOTSUP, "built without CUDA" },
		{ "cuda-host:0", -ENOTSUP, "'host' is available" },
		{ "cuda-managed:0", -ENOTSUP, "'host' is available" },
	};
	u32 n = ARRAY_SIZE(cases) - (IS_ENABLED(CONFIG_BACKEND_CUDA) ? 4 : 0);
	const struct vmm_ops *ops = NULL;
	void *dev = NULL;

	for (u32 i = 0; i < n; i++) {
		KUNIT_EXPECT_EQ(test, vmm_backend_find(cases[i].spec, NULL,
						       &ops, &dev),
				cases[i].err);
		KUNIT_EXPECT_TRUE_MSG(test, strstr(error_get(), cases[i].says),
				      "%s", error_get());
	}
	KUNIT_EXPECT_NULL(test, ops);
	KUNIT_EXPECT_NULL(test, dev);
}

static void failing_open_leaves_nothing(struct kunit *test)
{
	const struct vmm_ops *ops = NULL;
	void *dev = NULL;

	kunit_activate_static_stub(test, os_commit, refuse_range);
	KUNIT_EXPECT_EQ(test, vmm_backend_find("host", NULL, &ops, &dev),
			-ENOMEM);
	kunit_activate_static_stub(test, os_reserve, refuse_reserve);
	KUNIT_EXPECT_EQ(test, vmm_backend_find("host", NULL, &ops, &dev),
			-ENOMEM);
	KUNIT_EXPECT_NULL(test, ops);
	kunit_deactivate_static_stub(test, os_commit);

	reserved_watch(test);
	for (u32 n = 1; n <= 3; n++) {
		reserved.refuse_at = n;
		KUNIT_EXPECT_EQ(test, vmm_backend_find("host", NULL, &ops,
						       &dev), -ENOMEM);
		KUNIT_EXPECT_EQ(test, reserved.held, 0);
	}
	KUNIT_EXPECT_NULL(test, ops);
}

/* What the backend has for itself goes with it; addresses are its user's. */
static void closing_takes_the_tables(struct kunit *test)
{
	const struct vmm_ops *ops;
	u64 addr[3];
	void *dev;

	reserved_watch(test);
	KUNIT_ASSERT_EQ(test, vmm_backend_find("host", NULL, &ops, &dev), 0);
	for (u32 i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, ops->reserve(dev, 2 * MIB, 2 * MIB,
						   &addr[i]), 0);
	KUNIT_EXPECT_EQ(test, ops->unreserve(dev, addr[1], 2 * MIB), 0);
	KUNIT_EXPECT_GT(test, reserved.held, 4 * MIB);
	vmm_backend_put(ops, dev);
	KUNIT_EXPECT_EQ(test, reserved.held, 4 * MIB);
	for (u32 i = 0; i < 3; i += 2)
		KUNIT_EXPECT_EQ(test, os_unreserve((void *)(uintptr_t)addr[i],
						   2 * MIB), 0);
}

static void this_machine_is_a_device(struct kunit *test)
{
	struct slabdev_device_info info;

	KUNIT_ASSERT_GE(test, vmm_device_count(), 2);
	KUNIT_ASSERT_EQ(test, vmm_device_get(0, &info), 0);
	KUNIT_EXPECT_STREQ(test, info.spec, "host");
	KUNIT_EXPECT_STRNEQ(test, info.name, "");
	KUNIT_EXPECT_STREQ(test, info.reason, "");
	KUNIT_EXPECT_EQ(test, info.usable, 1);
	KUNIT_EXPECT_EQ(test, info.memory_total, os_memory_total());
	KUNIT_EXPECT_LE(test, info.memory_free, info.memory_total);
	KUNIT_EXPECT_EQ(test, info.granularity, 2 * MIB);
	KUNIT_EXPECT_EQ(test, vmm_device_get(vmm_device_count(), &info),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, vmm_device_get(-1, &info), -EINVAL);
}

static const struct kunit_case host_cases[] = {
	KUNIT_CASE(memory_is_reachable_only_with_access),
	KUNIT_CASE(unmapped_memory_goes_back),
	KUNIT_CASE(refusals_of_the_kernel_change_nothing),
	KUNIT_CASE(huge_pages_are_a_wish),
	KUNIT_CASE(many_mappings_are_no_burden, .timeout_s = 60),
	KUNIT_CASE(only_what_is_asked_for_stays_reserved),
	KUNIT_CASE(mapped_reservation_stays),
	KUNIT_CASE(reservations_are_bounded),
	KUNIT_CASE(handles_are_used_again),
	KUNIT_CASE(tables_that_cannot_grow),
	KUNIT_CASE(addresses_that_were_never_mapped),
	KUNIT_CASE(rows_may_not_overlap),
	KUNIT_CASE(events_that_are_none),
	KUNIT_CASE(names_mean_one_thing),
	KUNIT_CASE(failing_open_leaves_nothing),
	KUNIT_CASE(closing_takes_the_tables),
	KUNIT_CASE(this_machine_is_a_device),
	{ 0 }
};

static const struct kunit_suite host_suite = {
	.name = "host",
	.init = host_test_init,
	.exit = host_test_exit,
	.cases = host_cases,
};
kunit_test_suite(host_suite);
