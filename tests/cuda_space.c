// SPDX-License-Identifier: BSD-2-Clause
/* cuda_space.c - see cuda_space.h. */
#include "tests/cuda_space.h"

#include <stdio.h>

#include "tests/kunit/spawn.h"

const struct cuda_kind_param cuda_kinds[5] = {
	{ "vmm", "cuda:0", SLABDEV_BACKING_VMM },
	{ "pool", "cuda:0", SLABDEV_BACKING_POOL },
	{ "malloc", "cuda:0", SLABDEV_BACKING_MALLOC },
	{ "host", "cuda-host:0", SLABDEV_BACKING_AUTO },
	{ "managed", "cuda-managed:0", SLABDEV_BACKING_AUTO },
};

/* A real driver, or another model, that the caller asked for is not tested. */
static void use_library(struct kunit *test, const char *name)
{
	setenv("SLABDEV_LIBCUDA", kunit_built_path(test, name), 1);
	driver_load(test);
}

void cuda_model(struct kunit *test, const char *profile)
{
	if (profile)
		setenv("SLABDEV_MODEL_PROFILE", profile, 1);
	else
		unsetenv("SLABDEV_MODEL_PROFILE");
	use_library(test, "tests/model/libcuda.so.1");
}

void cuda_model_age(struct kunit *test, const char *age)
{
	char name[64];

	snprintf(name, sizeof(name), "tests/model/cuda-%s/libcuda.so.1", age);
	unsetenv("SLABDEV_MODEL_PROFILE");
	use_library(test, name);
}

int cuda_space_init(struct kunit *test)
{
	cuda_model(test, NULL);
	bench_open(test);
	return 0;
}

void cuda_space_exit(struct kunit *test)
{
	bench_close(test);
}

struct slabdev *cuda_open(struct kunit *test, const char *spec,
			  const struct slabdev_attr *attr)
{
	struct slabdev *sd = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_open(&sd, spec, attr), 0, "%s: %s",
			    spec, slabdev_last_error());
	return sd;
}

struct slabdev *cuda_open_kind(struct kunit *test,
			       const struct cuda_kind_param *kind,
			       uint64_t limit, CUstream stream)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = limit;
	attr.backing = kind->backing;
	attr.stream = stream;
	attr.ordering = SLABDEV_ORDER_STREAM;
	attr.name = "test";
	return cuda_open(test, kind->spec, &attr);
}

void cuda_close(struct kunit *test, struct slabdev *sd)
{
	close_space(test, sd);
}

uint64_t cuda_management_calls(void)
{
	static const char *const names[] = {
		"cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap",
		"cuMemSetAccess", "cuMemAddressReserve", "cuMemAddressFree",
		"cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc",
		"cuMemFreeHost", "cuMemAllocManaged", "cuMemAllocAsync",
		"cuMemAllocFromPoolAsync", "cuMemFreeAsync",
		"cuMemPoolCreate", "cuMemPoolDestroy", "cuMemPoolTrimTo",
	};
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		sum += cu.model_calls(names[i]);
	return sum;
}

void cuda_submit_fill(struct kunit *test, void *p, size_t size,
		      unsigned char byte, CUstream stream)
{
	MUST(test, cuMemsetD8Async(device_ptr(p), byte, size, stream));
}

unsigned char cuda_byte(struct kunit *test, const void *p)
{
	unsigned char byte = 0;

	MUST(test, cuCtxSynchronize());
	MUST(test, cuMemcpyDtoH(&byte, device_ptr(p), 1));
	return byte;
}
