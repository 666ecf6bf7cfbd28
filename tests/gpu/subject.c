// SPDX-License-Identifier: BSD-2-Clause
/* subject.c - libslabdev, the driver's pool, and cuMemAlloc: see subject.h. */
#include "tests/gpu/subject.h"

#include <stdio.h>

#include <slabdev/slabdev.h>

/** LOOPS - the two loops of @name, from @name_alloc() and @name_release() */
#define LOOPS(name)							\
static bool name##_pairs(u64 size, unsigned int n)			\
{									\
	while (n--) {							\
		CUdeviceptr ptr = name##_alloc(size);			\
									\
		if (!ptr)						\
			return false;					\
		name##_release(ptr);					\
	}								\
	return true;							\
}									\
									\
static bool name##_batch(u64 size, unsigned int n, CUdeviceptr *ptr)	\
{									\
	unsigned int i, got = 0;					\
									\
	while (got < n && (ptr[got] = name##_alloc(size)))		\
		got++;							\
	for (i = 0; i < got; i++)					\
		name##_release(ptr[i]);					\
	return got == n;						\
}

/* ---- libslabdev ----------------------------------------------------- */

static struct slabdev *space;

static bool ours_open(char *why, size_t len)
{
	if (!slabdev_open(&space, "cuda:0", NULL))
		return true;
	snprintf(why, len, "%s", slabdev_last_error());
	return false;
}

static inline CUdeviceptr ours_alloc(u64 size)
{
	return (CUdeviceptr)(uintptr_t)slabdev_alloc(space, size);
}

static inline void ours_release(CUdeviceptr ptr)
{
	slabdev_free(space, (void *)(uintptr_t)ptr);
}

LOOPS(ours)

static void ours_trim(void)
{
	slabdev_trim(space, 0);
}

static void ours_close(void)
{
	slabdev_close(space, 0);
}

u64 subject_slabdev_calls(void)
{
	struct slabdev_stats st = { .backend_calls = 0 };

	if (space)
		slabdev_stats(space, &st, sizeof(st));
	return st.backend_calls;
}

/* ---- The driver's pool ---------------------------------------------- */

static CUmemoryPool pool;
static CUstream stream;
static cuuint64_t threshold;	/* as it was */

static bool pool_open(char *why, size_t len)
{
	cuuint64_t all = UINT64_MAX;

	if (!gpu.has_pools) {
		snprintf(why, len, "the device has no memory pools");
		return false;
	}
	GPU_MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	GPU_MUST(cuDeviceGetDefaultMemPool(&pool, 0));
	GPU_MUST(cuMemPoolGetAttribute(pool,
			CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	GPU_MUST(cuMemPoolSetAttribute(pool,
			CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
	return true;
}

static inline CUdeviceptr pool_alloc(u64 size)
{
	CUdeviceptr ptr = 0;

	return gpu.cuMemAllocAsync(&ptr, size, stream) ? 0 : ptr;
}

static inline void pool_release(CUdeviceptr ptr)
{
	gpu.cuMemFreeAsync(ptr, stream);
}

LOOPS(pool)

static void pool_trim(void)
{
	GPU_MUST(cuStreamSynchronize(stream));
	GPU_MUST(cuMemPoolTrimTo(pool, 0));
}

static void pool_close(void)
{
	pool_trim();
	GPU_MUST(cuMemPoolSetAttribute(pool,
			CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	GPU_MUST(cuStreamDestroy(stream));
}

/* ---- cuMemAlloc ----------------------------------------------------- */

static bool classic_open(char *why, size_t len)
{
	(void)why;
	(void)len;
	return true;
}

static inline CUdeviceptr classic_alloc(u64 size)
{
	CUdeviceptr ptr = 0;

	return gpu.cuMemAlloc(&ptr, size) ? 0 : ptr;
}

static inline void classic_release(CUdeviceptr ptr)
{
	gpu.cuMemFree(ptr);
}

LOOPS(classic)

static void classic_nothing(void)
{
}

/* ---- All ------------------------------------------------------------ */

const struct subject subjects[NR_SUBJECTS] = {
	[SUBJECT_SLABDEV] = { "slabdev", "slabdev_alloc, slabdev_free",
		ours_open, ours_pairs, ours_batch, ours_trim, ours_close },
	[SUBJECT_POOL] = { "pool", "cuMemAllocAsync, cuMemFreeAsync",
		pool_open, pool_pairs, pool_batch, pool_trim, pool_close },
	[SUBJECT_MALLOC] = { "malloc", "cuMemAlloc, cuMemFree",
		classic_open, classic_pairs, classic_batch, classic_nothing,
		classic_nothing },
};
