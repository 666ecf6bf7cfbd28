/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.h - who computes on blocks: the CPU, or a GPU
 *
 * The work of one device is done in the order of the calls, whatever threads
 * make them; what needs an answer waits for it. So a block may be freed as soon
 * as its last use was submitted: memory is used again in the same order.
 *
 * Work that fails is remembered: device_error() has the first reason, and what
 * was computed since is worth nothing.
 */
#ifndef DMRG_DEVICE_H
#define DMRG_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slabdev/base.h>

enum trans { PLAIN, TRANSPOSED };

/* Copies between the memories, and bytes of them. */
struct device_counts {
	uint64_t reads, read_bytes;
	uint64_t writes, written_bytes;
	uint64_t gemms;
};

struct device {
	bool is_cpu;
	int (*open)(const char *spec);
	void (*close)(void);
	/* What the space is to be bound to; NULL for the CPU. */
	slabdev_stream_t (*stream)(void);
	void (*zero)(void *p, size_t bytes);
	void (*copy)(void *to, const void *from, size_t bytes);
	/* Into and out of the CPU's memory; done when they return. */
	void (*read)(void *to, const void *from, size_t bytes);
	void (*write)(void *to, const void *from, size_t bytes);
	void (*gemm)(enum trans ta, enum trans tb, int m, int n, int k,
		     double alpha, const double *a, int lda, const double *b,
		     int ldb, double beta, double *c, int ldc);
	void (*axpy)(int n, double alpha, const double *x, double *y);
	double (*dot)(int n, const double *x, const double *y);
	void (*scale)(int n, double alpha, double *x);
	void (*counts)(struct device_counts *c);
};

extern const struct device device_cpu, device_cuda;

/* The device of a space that is opened with @spec. */
const struct device *device_find(const char *spec);
const char *device_error(void);

#endif
