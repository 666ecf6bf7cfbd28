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
#include "vmm/vmm.h"

static int host_test_init(struct kunit *test)
{
	struct bench *b = kunit_kzalloc(test, sizeof(*b));

	KUNIT_ASSERT_EQ(test, vmm_backend_find("host", 0, &b->ops, &b->dev), 0);
	bench_start(test, b);
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
	const struct vmm_ops *ops;
	u64 g, addr, handle;
	void *dev;

	nr_hints = 0;
	kunit_activate_static_stub(test, os_hint_huge, count_hint);
	KUNIT_ASSERT_EQ(test, vmm_backend_find("host", SLABDEV_OPEN_HUGE_PAGES,
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
		{ "cuda:0", -ENOTSUP, "CONFIG_BACKEND_CUDA" },
		{ "cuda:GPU-1234", -ENOTSUP, "built without CUDA" },
		{ "cuda-host:0", -ENOTSUP, "'host' is available" },
		{ "cuda-managed:0", -ENOTSUP, "'host' is available" },
	};
	const struct vmm_ops *ops = NULL;
	void *dev = NULL;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_EXPECT_EQ(test, vmm_backend_find(cases[i].spec, 0, &ops,
						       &dev), cases[i].err);
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
	KUNIT_EXPECT_EQ(test, vmm_backend_find("host", 0, &ops, &dev), -ENOMEM);
	kunit_activate_static_stub(test, os_reserve, refuse_reserve);
	KUNIT_EXPECT_EQ(test, vmm_backend_find("host", 0, &ops, &dev), -ENOMEM);
	KUNIT_EXPECT_NULL(test, ops);
}

static void this_machine_is_a_device(struct kunit *test)
{
	struct slabdev_device_info info;

	KUNIT_ASSERT_EQ(test, vmm_device_count(), 1);
	KUNIT_ASSERT_EQ(test, vmm_device_get(0, &info), 0);
	KUNIT_EXPECT_STREQ(test, info.spec, "host");
	KUNIT_EXPECT_STRNEQ(test, info.name, "");
	KUNIT_EXPECT_STREQ(test, info.reason, "");
	KUNIT_EXPECT_EQ(test, info.usable, 1);
	KUNIT_EXPECT_GT(test, info.memory_total, 0);
	KUNIT_EXPECT_EQ(test, info.granularity, 2 * MIB);
	KUNIT_EXPECT_EQ(test, vmm_device_get(1, &info), -EINVAL);
	KUNIT_EXPECT_EQ(test, vmm_device_get(-1, &info), -EINVAL);
}

static const struct kunit_case host_cases[] = {
	KUNIT_CASE(memory_is_reachable_only_with_access),
	KUNIT_CASE(unmapped_memory_goes_back),
	KUNIT_CASE(refusals_of_the_kernel_change_nothing),
	KUNIT_CASE(huge_pages_are_a_wish),
	KUNIT_CASE(many_mappings_are_no_burden, .timeout_s = 60),
	KUNIT_CASE(names_mean_one_thing),
	KUNIT_CASE(failing_open_leaves_nothing),
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
