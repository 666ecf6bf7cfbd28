// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_device_test.c - discovery, names of devices, and attributes of a space,
 * on each machine that the model can be.
 *
 * What is told of a device is what the driver tells; what is opened is what was
 * asked for, or there is an error that says why not.
 */
#include <errno.h>
#include <stdio.h>

#include "core/log.h"
#include "tests/cuda_space.h"

#define GIB_OF(n) ((u64)((n) * 1024) * MIB)

/* ---- Machines --------------------------------------------------------- */

#define FEATURES_OF_VMM (SLABDEV_DEVICE_VMM | SLABDEV_DEVICE_FD | \
			 SLABDEV_DEVICE_FABRIC | SLABDEV_DEVICE_RDMA)

struct machine {
	const char *profile, *name;
	u32 devices;
	u64 memory;
	u32 features;
	u32 backing;		/* what AUTO takes */
};

static const struct machine machines[] = {
	{ "h200", "MODEL H200", 1, 71578 * (2 * MIB),
	  FEATURES_OF_VMM | SLABDEV_DEVICE_POOLS | SLABDEV_DEVICE_MANAGED,
	  SLABDEV_BACKING_VMM },
	{ "two", "MODEL H200", 2, 71578 * (2 * MIB),
	  FEATURES_OF_VMM | SLABDEV_DEVICE_POOLS | SLABDEV_DEVICE_MANAGED,
	  SLABDEV_BACKING_VMM },
	{ "twonopeer", "MODEL L4", 2, GIB_OF(22),
	  FEATURES_OF_VMM | SLABDEV_DEVICE_POOLS | SLABDEV_DEVICE_MANAGED,
	  SLABDEV_BACKING_VMM },
	{ "novmm", "MODEL vGPU", 1, GIB_OF(8),
	  SLABDEV_DEVICE_POOLS | SLABDEV_DEVICE_MANAGED,
	  SLABDEV_BACKING_POOL },
	{ "plain", "MODEL vGPU without pools", 1, GIB_OF(8),
	  SLABDEV_DEVICE_MANAGED, SLABDEV_BACKING_MALLOC },
	{ "smallva", "MODEL Jetson", 1, GIB_OF(30),
	  FEATURES_OF_VMM | SLABDEV_DEVICE_POOLS | SLABDEV_DEVICE_MANAGED |
	  SLABDEV_DEVICE_INTEGRATED, SLABDEV_BACKING_VMM },
	{ "wsl", "MODEL RTX on WSL", 1, GIB_OF(16),
	  FEATURES_OF_VMM | SLABDEV_DEVICE_POOLS | SLABDEV_DEVICE_MANAGED,
	  SLABDEV_BACKING_VMM },
	{ "mig", "MODEL H200 MIG 1g.18gb", 1, GIB_OF(16),
	  FEATURES_OF_VMM | SLABDEV_DEVICE_POOLS | SLABDEV_DEVICE_MANAGED |
	  SLABDEV_DEVICE_MIG, SLABDEV_BACKING_VMM },
};

static void describe_machine(const struct machine *m, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", m->profile);
}
KUNIT_ARRAY_PARAM(machine, machines, describe_machine);

/* Warnings, such as that of a backing that is not the first, are no reports. */
static void machine_begin(struct kunit *test, const char *profile)
{
	cuda_model(test, profile);
	cu.model_reset();
}

static void machine_end(struct kunit *test)
{
	EXPECT_NO_VIOLATION(test);
	KUNIT_EXPECT_EQ(test, cu.model_leaks(NULL), 0);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuDevicePrimaryCtxRetain"),
			cu.model_calls("cuDevicePrimaryCtxRelease_v2"));
}

/* A process has one machine. */
static void on_machine(struct kunit *test, void (*fn)(struct kunit *test))
{
	KUNIT_EXPECT_EQ(test, in_fork(test, fn), 0);
}

static void get_device(struct kunit *test, int index,
		       struct slabdev_device_info *info)
{
	memset(info, 0xaa, sizeof(*info));
	KUNIT_ASSERT_EQ(test, slabdev_device_get(index, info, sizeof(*info)),
			0);
}

static void expect_device(struct kunit *test, const struct machine *m, u32 n)
{
	struct slabdev_device_info info;
	char text[64];

	get_device(test, 1 + (int)n, &info);
	snprintf(text, sizeof(text), "cuda:%u", n);
	KUNIT_EXPECT_STREQ(test, info.spec, text);
	KUNIT_EXPECT_STREQ(test, info.name, m->name);
	snprintf(text, sizeof(text),
		 "%s-4d4f4445-4c00-0000-4000-80000000%02x%02x",
		 m->features & SLABDEV_DEVICE_MIG ? "MIG" : "GPU",
		 !!(m->features & SLABDEV_DEVICE_MIG), n);
	KUNIT_EXPECT_STREQ(test, info.uuid, text);
	snprintf(text, sizeof(text), "0000:%02x:00.0", 0x1b + n);
	KUNIT_EXPECT_STREQ(test, info.pci, text);
	KUNIT_EXPECT_STREQ(test, info.reason, "");
	KUNIT_EXPECT_EQ(test, info.usable, 1);
	KUNIT_EXPECT_EQ(test, info.memory_total, m->memory);
	KUNIT_EXPECT_EQ(test, info.memory_free, 0);
	KUNIT_EXPECT_EQ(test, info.granularity,
			m->features & SLABDEV_DEVICE_VMM ? 2 * MIB : 0);
	KUNIT_EXPECT_EQ(test, info.features, m->features);
	KUNIT_EXPECT_EQ(test, info.compute_major, 9);
	KUNIT_EXPECT_EQ(test, info.compute_minor, 0);
	KUNIT_EXPECT_EQ(test, info.driver, 13000);
}

static void do_machine_is_described(struct kunit *test)
{
	const struct machine *m = test->param_value;
	struct slabdev_device_info info;

	machine_begin(test, m->profile);
	KUNIT_EXPECT_EQ(test, slabdev_device_count(), 1 + (int)m->devices);
	for (u32 n = 0; n < m->devices; n++)
		expect_device(test, m, n);
	get_device(test, 0, &info);
	KUNIT_EXPECT_STREQ(test, info.spec, "host");
	KUNIT_EXPECT_EQ(test, slabdev_device_get(1 + (int)m->devices, &info,
						 sizeof(info)), -EINVAL);
	/* No context: discovery costs no device memory. */
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuDevicePrimaryCtxRetain"), 0);
	machine_end(test);
}

static void machine_is_described(struct kunit *test)
{
	on_machine(test, do_machine_is_described);
}

/* With a context of the process it can be told. */
static void free_memory_is_told_beside_a_space(struct kunit *test)
{
	struct slabdev_device_info before, after;
	struct slabdev *sd;

	machine_begin(test, "h200");
	sd = cuda_open(test, "cuda:0", NULL);
	get_device(test, 1, &before);
	KUNIT_EXPECT_GT(test, before.memory_free, 0);
	KUNIT_EXPECT_EQ(test, slabdev_prime(sd, 100 * MIB), 0);
	get_device(test, 1, &after);
	KUNIT_EXPECT_EQ(test, before.memory_free - after.memory_free,
			100 * MIB);
	cuda_close(test, sd);
	machine_end(test);
}

/* A machine works as it is, with the backing that it has. */
static void do_machine_works(struct kunit *test)
{
	const struct machine *m = test->param_value;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	char text[256];
	struct slabdev *sd;
	void *p;

	machine_begin(test, m->profile);
	attr.limit = 512 * MIB;
	sd = cuda_open(test, "cuda:0", &attr);
	p = slabdev_zalloc(sd, 5 * MIB);
	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(test, slabdev_explain(p, text, sizeof(text)), 0);
	kunit_info(test, "%s", text);
	p = slabdev_realloc(sd, p, 80 * MIB);
	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuMemCreate") > 0,
			m->backing == SLABDEV_BACKING_VMM);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuMemAllocFromPoolAsync") > 0,
			m->backing == SLABDEV_BACKING_POOL);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuMemAlloc_v2") > 0,
			m->backing == SLABDEV_BACKING_MALLOC);
	cuda_close(test, sd);
	machine_end(test);
}

static void machine_works(struct kunit *test)
{
	on_machine(test, do_machine_works);
}

/* Asked for by name, what is not there is not replaced. */
static void do_backing_that_is_not_there(struct kunit *test)
{
	const struct machine *m = test->param_value;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	bool has[] = {
		[SLABDEV_BACKING_VMM] = m->features & SLABDEV_DEVICE_VMM,
		[SLABDEV_BACKING_POOL] = m->features & SLABDEV_DEVICE_POOLS,
		[SLABDEV_BACKING_MALLOC] = true,
	};
	struct slabdev *sd;

	machine_begin(test, m->profile);
	attr.limit = 256 * MIB;
	for (attr.backing = SLABDEV_BACKING_VMM;
	     attr.backing <= SLABDEV_BACKING_MALLOC; attr.backing++) {
		sd = NULL;
		KUNIT_EXPECT_EQ(test, slabdev_open(&sd, "cuda:0", &attr),
				has[attr.backing] ? 0 : -ENOTSUP);
		if (sd)
			cuda_close(test, sd);
	}
	machine_end(test);
}

static void backing_that_is_not_there(struct kunit *test)
{
	on_machine(test, do_backing_that_is_not_there);
}

static void no_device(struct kunit *test)
{
	struct slabdev_device_info info;
	struct slabdev *sd = NULL;

	machine_begin(test, "nodevice");
	KUNIT_EXPECT_EQ(test, slabdev_device_count(), 2);
	get_device(test, 1, &info);
	KUNIT_EXPECT_STREQ(test, info.spec, "cuda");
	KUNIT_EXPECT_EQ(test, info.usable, 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(info.reason, "no device"), "%s",
				  info.reason);
	KUNIT_EXPECT_EQ(test, slabdev_open(&sd, "cuda:0", NULL), -ENODEV);
	EXPECT_LAST_ERROR_HAS(test, "no device");
	KUNIT_EXPECT_NULL(test, sd);
}

/* ---- Names ------------------------------------------------------------ */

struct name {
	const char *spec;
	int err;
};

#define UUID "4d4f4445-4c00-0000-4000-8000000000"

static const struct name names[] = {
	{ "cuda:0", 0 }, { "cuda:1", 0 },
	{ "cuda-host:1", 0 }, { "cuda-managed:1", 0 },
	{ "cuda:GPU-" UUID "00", 0 }, { "cuda:GPU-" UUID "01", 0 },
	{ "cuda:gpu-4D4F4445-4C00-0000-4000-800000000001", 0 },
	{ "cuda-host:GPU-" UUID "01", 0 },
	{ "cuda-managed:GPU-" UUID "01", 0 },
	{ "cuda:GPU-" UUID "02", -ENODEV },
	{ "cuda:MIG-" UUID "77", -ENODEV },
	{ "cuda:2", -ENODEV }, { "cuda:31", -ENODEV },
	{ "cuda-host:2", -ENODEV }, { "cuda-managed:2", -ENODEV },
	{ "cuda:", -EINVAL }, { "cuda:-1", -EINVAL }, { "cuda:0x", -EINVAL },
	{ "cuda:00", -EINVAL }, { "cuda:01", -EINVAL }, { "cuda:0 ", -EINVAL },
	{ "cuda: 0", -EINVAL }, { "cuda:+0", -EINVAL }, { "cuda:0,1", -EINVAL },
	{ "cuda:all", -EINVAL }, { "cuda:0x0", -EINVAL },
	{ "cuda:1e0", -EINVAL }, { "cuda::0", -EINVAL },
	{ "cuda-host:", -EINVAL }, { "cuda-managed:x", -EINVAL },
	{ "cuda", -EINVAL }, { "CUDA:0", -EINVAL }, { "cuda0", -EINVAL },
	{ " cuda:0", -EINVAL }, { "cuda-hosts:0", -EINVAL },
	{ "hip:0", -EINVAL },
};

static void name_means_one_device_or_none(struct kunit *test)
{
	u64 used = 0;

	machine_begin(test, "two");
	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		struct slabdev *sd = NULL;
		int err = slabdev_open(&sd, names[i].spec, NULL);

		KUNIT_EXPECT_EQ_MSG(test, err, names[i].err, "'%s': %s",
				    names[i].spec, slabdev_last_error());
		if (err) {
			KUNIT_EXPECT_NULL(test, sd);
			EXPECT_LAST_ERROR_HAS(test, names[i].spec);
		} else {
			cuda_close(test, sd);
			used++;
		}
	}
	KUNIT_EXPECT_EQ(test, used, 9);
	machine_end(test);
}

/* A number of more digits than any machine has devices, or than an int. */
static void absurd_number_is_no_device(struct kunit *test)
{
	static const char *const specs[] = {
		"cuda:999", "cuda:4294967296", "cuda:18446744073709551616",
		"cuda:99999999999999999999999999999999999999999999999999999999",
	};
	struct slabdev *sd = NULL;
	int err;

	machine_begin(test, "h200");
	for (u32 i = 0; i < ARRAY_SIZE(specs); i++) {
		err = slabdev_open(&sd, specs[i], NULL);
		KUNIT_EXPECT_TRUE_MSG(test, err == -ENODEV || err == -EINVAL,
				      "%s: %d", specs[i], err);
		KUNIT_EXPECT_NULL(test, sd);
	}
	machine_end(test);
}

/* It is the device that was meant which pays. */
static void memory_is_of_the_device_that_was_named(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;
	int ordinal = -1;
	void *p;

	machine_begin(test, "two");
	sd = cuda_open(test, "cuda:GPU-" UUID "01", &attr);
	p = must_alloc(test, sd, 3 * MIB);
	MUST(test, cuPointerGetAttribute(&ordinal,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device_ptr(p)));
	KUNIT_EXPECT_EQ(test, ordinal, 1);
	EXPECT_FREED(test, sd, p);
	cuda_close(test, sd);
	machine_end(test);
}

static void instance_has_a_name_of_its_own(struct kunit *test)
{
	struct slabdev *sd;

	machine_begin(test, "mig");
	sd = cuda_open(test, "cuda:MIG-4d4f4445-4c00-0000-4000-800000000100",
		       NULL);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 3 * MIB));
	cuda_close(test, sd);
	machine_end(test);
}

static const struct kunit_case device_cases[] = {
	KUNIT_CASE_PARAM(machine_is_described, machine_gen_params,
			 .isolated = true),
	KUNIT_CASE_PARAM(machine_works, machine_gen_params, .isolated = true),
	KUNIT_CASE_PARAM(backing_that_is_not_there, machine_gen_params,
			 .isolated = true),
	KUNIT_CASE_ISOLATED(free_memory_is_told_beside_a_space),
	KUNIT_CASE_ISOLATED(no_device),
	KUNIT_CASE_ISOLATED(name_means_one_device_or_none),
	KUNIT_CASE_ISOLATED(absurd_number_is_no_device),
	KUNIT_CASE_ISOLATED(memory_is_of_the_device_that_was_named),
	KUNIT_CASE_ISOLATED(instance_has_a_name_of_its_own),
	{ 0 }
};

static const struct kunit_suite cuda_device_suite = {
	.name = "cuda_device",
	.cases = device_cases,
};
kunit_test_suite(cuda_device_suite);
