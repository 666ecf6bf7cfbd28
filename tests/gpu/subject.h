/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * subject.h - ways to get device memory, as they are compared.
 *
 * Each allocates and frees in loops of its own, so that a call through a
 * pointer is not part of what is measured. Memory is as ready as it can be:
 * libslabdev retains what was freed, and the pool is told to. On the driver's
 * side nothing is ever touched: no subject waits for the device.
 */
#ifndef TESTS_GPU_SUBJECT_H
#define TESTS_GPU_SUBJECT_H

#include "tests/gpu/driver.h"

enum { SUBJECT_SLABDEV, SUBJECT_POOL, SUBJECT_MALLOC, NR_SUBJECTS };

struct subject {
	const char *name;	/* in tables */
	const char *calls;	/* what an allocation and a free are */
	/* false: not here, and @why says why. */
	bool (*open)(char *why, size_t len);
	/* @n times: allocate @size bytes and free them. false: refused. */
	bool (*pairs)(u64 size, unsigned int n);
	/* Allocate @n objects, then free them all. false: refused. */
	bool (*batch)(u64 size, unsigned int n, CUdeviceptr *ptr);
	/* Give back what is retained. */
	void (*trim)(void);
	void (*close)(void);
};

extern const struct subject subjects[NR_SUBJECTS];

/* Memory-management calls of the driver that libslabdev has made so far. */
u64 subject_slabdev_calls(void);

#endif /* TESTS_GPU_SUBJECT_H */
