// SPDX-License-Identifier: BSD-2-Clause
/*
 * cpu.c - the CPU as the device, with whatever BLAS is linked
 */
#include <string.h>

#include "blas.h"
#include "device.h"

static int cpu_open(const char *spec)
{
	(void)spec;
	return 0;
}

static void cpu_close(void)
{
}

static slabdev_stream_t cpu_stream(void)
{
	return NULL;
}

static void cpu_zero(void *p, size_t bytes)
{
	memset(p, 0, bytes);
}

static void cpu_copy(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
}

static void cpu_gemm(enum trans ta, enum trans tb, int m, int n, int k,
		     double alpha, const double *a, int lda, const double *b,
		     int ldb, double beta, double *c, int ldc)
{
	dgemm_(ta == TRANSPOSED ? "T" : "N", tb == TRANSPOSED ? "T" : "N", &m,
	       &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}

static void cpu_axpy(int n, double alpha, const double *x, double *y)
{
	const int one = 1;

	daxpy_(&n, &alpha, x, &one, y, &one);
}

static double cpu_dot(int n, const double *x, const double *y)
{
	const int one = 1;

	return ddot_(&n, x, &one, y, &one);
}

static void cpu_scale(int n, double alpha, double *x)
{
	const int one = 1;

	dscal_(&n, &alpha, x, &one);
}

static void cpu_counts(struct device_counts *c)
{
	memset(c, 0, sizeof(*c));
}

const struct device device_cpu = {
	.is_cpu = true,
	.open = cpu_open,
	.close = cpu_close,
	.stream = cpu_stream,
	.zero = cpu_zero,
	.copy = cpu_copy,
	.read = cpu_copy,
	.write = cpu_copy,
	.gemm = cpu_gemm,
	.axpy = cpu_axpy,
	.dot = cpu_dot,
	.scale = cpu_scale,
	.counts = cpu_counts,
};
