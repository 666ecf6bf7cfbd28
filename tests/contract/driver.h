/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * driver.h - the driver under test, a model or a real one, and what the cases
 * about it share.
 *
 * A case is named after the number of its statement, and the statement stands
 * above it. It runs on the model that was built beside it or on the library
 * that SLABDEV_LIBCUDA names. Where the statement accepts several results, a
 * real driver may give any of them; the model must give the first.
 *
 * A case leaves nothing behind: on the model that is checked.
 */
#ifndef TESTS_CONTRACT_DRIVER_H
#define TESTS_CONTRACT_DRIVER_H

#include "tests/kunit/kunit.h"
#include "tests/model/model.h"

#define DRIVER_FUNCTION(need, base, suffix, version, args, names) \
	cuda_pfn_##base base;
#define DRIVER_CONTROL(name, type, args) name##_pfn name;

struct driver {
	void *lib;
	bool is_loaded;
	bool is_model;
	SLABDEV_CUDA_FUNCS(DRIVER_FUNCTION)
	MODEL_CONTROLS(DRIVER_CONTROL)
};

extern struct driver cu;

/* What most cases start from: device 0 and its primary context, current. */
struct bench {
	CUcontext ctx;
	size_t g;		/* the minimum granularity */
	size_t page;
	CUmemAllocationProp prop;
	CUmemAccessDesc rw;
	bool has_vmm;
	bool expects_violation;
	uint64_t leaks;		/* before the case */
};

/* Skips the case when there is no driver. */
void driver_load(struct kunit *test);
/* With another machine, before anything loaded it; real drivers skip. */
void driver_profile(struct kunit *test, const char *name);
void model_only(struct kunit *test);

/* For suites: as .init and .exit. */
int bench_init(struct kunit *test);
/* Skips the case, too, where the device has no memory management. */
int vmm_bench_init(struct kunit *test);
void need_vmm(struct kunit *test);
void bench_exit(struct kunit *test);
/* Within a case whose suite does not: the same. */
struct bench *bench_open(struct kunit *test);
void bench_close(struct kunit *test);

static inline struct bench *bench_of(struct kunit *test)
{
	return test->priv;
}

/* ---- Results -------------------------------------------------------- */

void expect_result(struct kunit *test, const char *what, int line,
		   CUresult got, const int *accepted);
void must_result(struct kunit *test, const char *what, int line,
		 CUresult got);

/** EXPECT_CU - @call returns one of the codes behind it; the model the first */
#define EXPECT_CU(test, call, ...)					\
	expect_result(test, #call, __LINE__, cu.call,			\
		      (const int[]){ __VA_ARGS__, -1 })
/** MUST - @call succeeds, or the case ends here */
#define MUST(test, call) must_result(test, #call, __LINE__, cu.call)

/* ---- Memory --------------------------------------------------------- */

/* A mapping with a reservation of its own; the handle is kept. */
struct area {
	CUdeviceptr ptr;
	size_t size;
	CUmemGenericAllocationHandle handle;
};

/* Skips the case where the device has no virtual memory management. */
CUdeviceptr reserve(struct kunit *test, size_t size);
void unreserve(struct kunit *test, CUdeviceptr ptr, size_t size);
CUmemGenericAllocationHandle create(struct kunit *test, size_t size);
void release(struct kunit *test, CUmemGenericAllocationHandle handle);
/* Reserved, created, mapped, and granted to device 0 for reading and writing */
struct area area_open(struct kunit *test, size_t size);
/* The same without access. */
struct area area_mapped(struct kunit *test, size_t size);
void area_close(struct kunit *test, const struct area *a);
void grant(struct kunit *test, CUdeviceptr ptr, size_t size);

size_t free_bytes(struct kunit *test);
/* Two reservations side by side, or false where the driver makes none. */
bool reserve_pair(struct kunit *test, size_t size, CUdeviceptr *first);

/* Both have happened when they return. */
void put_u32(struct kunit *test, CUdeviceptr ptr, uint32_t value);
uint32_t get_u32(struct kunit *test, CUdeviceptr ptr);

/* ---- Streams -------------------------------------------------------- */

CUstream new_stream(struct kunit *test, unsigned int flags);
void end_stream(struct kunit *test, CUstream stream);
CUevent new_event(struct kunit *test);

/* A place in a stream that nothing passes until it is opened. */
struct gate;
struct gate *gate_close(struct kunit *test, CUstream stream);
void gate_open(struct gate *gate);
/* Until the host function stands in the gate. */
void gate_await(struct gate *gate);

/* ---- Kernels and threads -------------------------------------------- */

struct kernel {
	CUmodule module;
	CUfunction store;	/* (u64 address, u32 value) */
};

struct kernel kernel_load(struct kunit *test);
void kernel_unload(struct kunit *test, struct kernel *k);
CUresult kernel_store(struct kernel *k, CUdeviceptr ptr, uint32_t value,
		      CUstream stream);

/* Run in a thread of its own, to its end. */
void in_thread(struct kunit *test, void (*fn)(struct kunit *test, void *arg),
	       void *arg);
/* Run in the child of a fork; returns the status of waitpid(). */
int in_fork(struct kunit *test, void (*fn)(struct kunit *test));

#endif /* TESTS_CONTRACT_DRIVER_H */
