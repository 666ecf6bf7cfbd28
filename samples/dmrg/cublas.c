// SPDX-License-Identifier: BSD-2-Clause
/*
 * cublas.c - a GPU as the device that computes
 *
 * cuBLAS is looked for when a run asks for a GPU, under the names that its
 * releases have, newest first; the first that can be opened and used is taken.
 * As few of its functions are used as a block needs, and they are declared
 * here, by its documentation, so that the sample builds without CUDA.
 *
 * A cuBLAS handle belongs to one thread at a time, and the order of its stream
 * is the order of the calls: one lock for both.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "driver.h"

struct cublasContext;

enum { OP_N, OP_T };

/* X(what it is called here, its name in cuBLAS, what follows the handle) */
#define FUNCTIONS(X)							\
	X(set_stream, cublasSetStream_v2, slabdev_stream_t stream)	\
	X(gemm, cublasDgemm_v2, int transa, int transb, int m, int n,	\
	  int k, const double *alpha, const double *a, int lda,		\
	  const double *b, int ldb, const double *beta, double *c,	\
	  int ldc)							\
	X(axpy, cublasDaxpy_v2, int n, const double *alpha,		\
	  const double *x, int incx, double *y, int incy)		\
	X(dot, cublasDdot_v2, int n, const double *x, int incx,		\
	  const double *y, int incy, double *result)			\
	X(scale, cublasDscal_v2, int n, const double *alpha, double *x,	\
	  int incx)

#define MEMBER(name, symbol, ...)					\
	int (*name)(struct cublasContext *handle, __VA_ARGS__);
static struct {
	int (*create)(struct cublasContext **handle);
	int (*destroy)(struct cublasContext *handle);
	FUNCTIONS(MEMBER)
} blas;

static const char *const names[] = {
	"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
};
#define NR_NAMES (sizeof(names) / sizeof(names[0]))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cublasContext *handle;	/* Locking: lock */
static uint64_t nr_gemms;		/* Locking: lock */

/* What a call of cuBLAS returned. */
static int check(int status, const char *call)
{
	if (!status)
		return 0;
	driver_failed("cuBLAS: %s: status %d", call, status);
	return -EIO;
}

#define CALL(name, ...) check(blas.name(handle, __VA_ARGS__), #name)

static const char *find_all(void *lib)
{
	if (driver_find(lib, "cublasCreate_v2", &blas.create))
		return "cublasCreate_v2";
	if (driver_find(lib, "cublasDestroy_v2", &blas.destroy))
		return "cublasDestroy_v2";
#define FIND(name, symbol, ...)						\
	if (driver_find(lib, #symbol, &blas.name))			\
		return #symbol;
	FUNCTIONS(FIND)
	return NULL;
}

/* Use the library of that name; else say why not. */
static int try_library(const char *name, char *why, size_t why_len)
{
	void *lib = dlopen(name, RTLD_NOW);
	const char *missing;
	int status;

	if (!lib) {
		snprintf(why, why_len, "%s", dlerror());
		return -ENOENT;
	}
	missing = find_all(lib);
	if (missing) {
		snprintf(why, why_len, "%s has no %s()", name, missing);
		return -ENOSYS;
	}
	status = blas.create(&handle);
	if (status) {
		snprintf(why, why_len, "%s: status %d of cublasCreate()", name,
			 status);
		return -EIO;
	}
	return 0;
}

static int load(void)
{
	char why[NR_NAMES][128];
	size_t i;

	for (i = 0; i < NR_NAMES; i++)
		if (!try_library(names[i], why[i], sizeof(why[i])))
			return 0;
	driver_failed("no cuBLAS to compute with: %s; %s; %s", why[0], why[1],
		    why[2]);
	return -ENOENT;
}

static int gpu_open(const char *spec)
{
	int err;

	err = driver_open(spec);
	if (err)
		return err;
	nr_gemms = 0;
	err = load();
	if (err)
		goto close_cuda;
	err = CALL(set_stream, driver_stream());
	if (err)
		goto destroy_handle;
	return 0;

destroy_handle:
	blas.destroy(handle);
close_cuda:
	driver_close();
	return err;
}

static void gpu_close(void)
{
	check(blas.destroy(handle), "destroy");
	driver_close();
}

static void gpu_gemm(enum trans ta, enum trans tb, int m, int n, int k,
		     double alpha, const double *a, int lda, const double *b,
		     int ldb, double beta, double *c, int ldc)
{
	pthread_mutex_lock(&lock);
	driver_enter();
	CALL(gemm, ta == TRANSPOSED ? OP_T : OP_N,
	     tb == TRANSPOSED ? OP_T : OP_N, m, n, k, &alpha, a, lda, b, ldb,
	     &beta, c, ldc);
	nr_gemms++;
	pthread_mutex_unlock(&lock);
}

static void gpu_axpy(int n, double alpha, const double *x, double *y)
{
	pthread_mutex_lock(&lock);
	driver_enter();
	CALL(axpy, n, &alpha, x, 1, y, 1);
	pthread_mutex_unlock(&lock);
}

/* Waits for the result. */
static double gpu_dot(int n, const double *x, const double *y)
{
	double result = 0;

	pthread_mutex_lock(&lock);
	driver_enter();
	CALL(dot, n, x, 1, y, 1, &result);
	pthread_mutex_unlock(&lock);
	return result;
}

static void gpu_scale(int n, double alpha, double *x)
{
	pthread_mutex_lock(&lock);
	driver_enter();
	CALL(scale, n, &alpha, x, 1);
	pthread_mutex_unlock(&lock);
}

static void gpu_counts(struct device_counts *c)
{
	driver_counts(c);
	c->gemms = nr_gemms;
}

const struct device device_cuda = {
	.open = gpu_open,
	.close = gpu_close,
	.stream = driver_stream,
	.zero = driver_zero,
	.copy = driver_copy,
	.read = driver_read,
	.write = driver_write,
	.gemm = gpu_gemm,
	.axpy = gpu_axpy,
	.dot = gpu_dot,
	.scale = gpu_scale,
	.counts = gpu_counts,
};
