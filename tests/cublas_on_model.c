// SPDX-License-Identifier: BSD-2-Clause
/*
 * cublas_on_model.c - the functions of cuBLAS that samples/dmrg uses, on the
 * model of the driver
 *
 * A stand-in, no cuBLAS: it computes in kernels of the model, which run when
 * their turn in the stream comes, and reach memory of the device only as a
 * kernel may. It is stricter than what it stands for: a call without a context,
 * two threads in one handle, or a leading dimension that is too small is
 * refused by the status that cuBLAS has for it. CUBLAS_FAIL=N makes the N-th
 * call fail that computes. dmrg_gpu_test.c compiles it and
 * has it found in the place of the real one; it uses nothing of this tree.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS, NOT_INITIALIZED, INVALID_VALUE = 7, INTERNAL_ERROR = 14 };

#define READ 1u		/* of model_access() */
#define WRITE 2u

typedef void (*kernel_fn)(const uint64_t *params);

static struct {
	int (*kernel)(const char *name, kernel_fn fn);
	int (*access)(uint64_t addr, void *bytes, size_t size,
		      unsigned int what);
	int (*current)(void **ctx);
	int (*load)(void **module, const void *image);
	int (*unload)(void *module);
	int (*function)(void **function, void *module, const char *name);
	int (*launch)(void *function, unsigned int gx, unsigned int gy,
		      unsigned int gz, unsigned int bx, unsigned int by,
		      unsigned int bz, unsigned int shared, void *stream,
		      void **params, void **extra);
	int (*synchronize)(void *stream);
} cu;

static long fail_after;		/* calls; 0: never */

struct cublasContext {
	void *module, *gemm, *axpy, *dot, *scale, *stream;
	atomic_flag busy;
};

#define P ".param .u64 p"
#define P5(n) P n "0, " P n "1, " P n "2, " P n "3, " P n "4"
#define ENTRY(name, params) ".visible .entry " name "(" params ")\n{\nret;\n}\n"

static const char ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	ENTRY("blas_gemm", P5("a") ", " P5("b") ", " P "c0, " P "c1, " P "c2")
	ENTRY("blas_axpy", P "0, " P "1, " P "2, " P "3")
	ENTRY("blas_dot", P "0, " P "1, " P "2, " P "3")
	ENTRY("blas_scale", P "0, " P "1, " P "2");

/* ---- In the kernels ------------------------------------------------------ */

static double *fetch(uint64_t addr, size_t n)
{
	double *x = malloc(n * sizeof(*x));

	if (!x || cu.access(addr, x, n * sizeof(*x), READ))
		abort();
	return x;
}

static void store(uint64_t addr, double *x, size_t n)
{
	if (cu.access(addr, x, n * sizeof(*x), WRITE))
		abort();
	free(x);
}

static double real(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static double element(const double *a, size_t lda, int transposed, size_t row,
		      size_t col)
{
	return transposed ? a[row * lda + col] : a[col * lda + row];
}

static void do_gemm(const uint64_t *p)
{
	const size_t m = p[2], n = p[3], k = p[4];
	const size_t lda = p[7], ldb = p[9], ldc = p[12];
	const double alpha = real(p[5]), beta = real(p[10]);
	double *a = fetch(p[6], lda * (p[0] ? m : k));
	double *b = fetch(p[8], ldb * (p[1] ? k : n));
	double *c = fetch(p[11], ldc * n);
	double sum, *at;
	size_t i, j, l;

	for (j = 0; j < n; j++) {
		for (i = 0; i < m; i++) {
			for (l = 0, sum = 0; l < k; l++)
				sum += element(a, lda, (int)p[0], i, l) *
				       element(b, ldb, (int)p[1], l, j);
			at = &c[j * ldc + i];
			*at = alpha * sum + (beta != 0 ? beta * *at : 0);
		}
	}
	free(a);
	free(b);
	store(p[11], c, ldc * n);
}

static void do_axpy(const uint64_t *p)
{
	const size_t n = p[0];
	double *x = fetch(p[2], n), *y = fetch(p[3], n);
	size_t i;

	for (i = 0; i < n; i++)
		y[i] += real(p[1]) * x[i];
	free(x);
	store(p[3], y, n);
}

/* The result goes to the host. */
static void do_dot(const uint64_t *p)
{
	const size_t n = p[0];
	double *x = fetch(p[1], n), *y = fetch(p[2], n), sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += x[i] * y[i];
	free(x);
	free(y);
	*(double *)(uintptr_t)p[3] = sum;
}

static void do_scale(const uint64_t *p)
{
	const size_t n = p[0];
	double *x = fetch(p[2], n);
	size_t i;

	for (i = 0; i < n; i++)
		x[i] *= real(p[1]);
	store(p[2], x, n);
}

/* ---- What is called ------------------------------------------------------ */

static int find(void *lib, const char *symbol, void *fn)
{
	void *p = dlsym(lib, symbol);

	memcpy(fn, &p, sizeof(p));
	return p ? 0 : -1;
}

static int load_model(void)
{
	const char *path = getenv("SLABDEV_LIBCUDA");
	void *lib = path ? dlopen(path, RTLD_NOW) : NULL;

	if (!lib || find(lib, "model_kernel", &cu.kernel) ||
	    find(lib, "model_access", &cu.access) ||
	    find(lib, "cuCtxGetCurrent", &cu.current) ||
	    find(lib, "cuModuleLoadData", &cu.load) ||
	    find(lib, "cuModuleUnload", &cu.unload) ||
	    find(lib, "cuModuleGetFunction", &cu.function) ||
	    find(lib, "cuLaunchKernel", &cu.launch) ||
	    find(lib, "cuStreamSynchronize", &cu.synchronize))
		return -1;
	return cu.kernel("blas_gemm", do_gemm) ||
	       cu.kernel("blas_axpy", do_axpy) ||
	       cu.kernel("blas_dot", do_dot) ||
	       cu.kernel("blas_scale", do_scale);
}

int cublasCreate_v2(struct cublasContext **handle)
{
	const char *fail = getenv("CUBLAS_FAIL");
	struct cublasContext *h;
	void *ctx = NULL;

	fail_after = fail ? atol(fail) : 0;
	if (load_model() || cu.current(&ctx) || !ctx)
		return NOT_INITIALIZED;
	h = calloc(1, sizeof(*h));
	if (!h || cu.load(&h->module, ptx) ||
	    cu.function(&h->gemm, h->module, "blas_gemm") ||
	    cu.function(&h->axpy, h->module, "blas_axpy") ||
	    cu.function(&h->dot, h->module, "blas_dot") ||
	    cu.function(&h->scale, h->module, "blas_scale"))
		return INTERNAL_ERROR;
	*handle = h;
	return SUCCESS;
}

int cublasDestroy_v2(struct cublasContext *h)
{
	int err = cu.synchronize(h->stream) || cu.unload(h->module);

	free(h);
	return err ? INTERNAL_ERROR : SUCCESS;
}

int cublasSetStream_v2(struct cublasContext *h, void *stream)
{
	h->stream = stream;
	return SUCCESS;
}

/* @wait: the caller wants the result. */
static int launch(struct cublasContext *h, void *kernel, uint64_t *values,
		  int n, int wait)
{
	void *params[16], *ctx = NULL;
	int i, err;

	if (atomic_flag_test_and_set(&h->busy))
		return INTERNAL_ERROR;
	if (fail_after && !--fail_after) {
		atomic_flag_clear(&h->busy);
		return INTERNAL_ERROR;
	}
	for (i = 0; i < n; i++)
		params[i] = &values[i];
	err = cu.current(&ctx) || !ctx ||
	      cu.launch(kernel, 1, 1, 1, 1, 1, 1, 0, h->stream, params, NULL);
	if (!err && wait)
		err = cu.synchronize(h->stream);
	atomic_flag_clear(&h->busy);
	return err ? INTERNAL_ERROR : SUCCESS;
}

static uint64_t bits(double x)
{
	uint64_t u;

	memcpy(&u, &x, sizeof(u));
	return u;
}

int cublasDgemm_v2(struct cublasContext *h, int ta, int tb, int m, int n,
		   int k, const double *alpha, const double *a, int lda,
		   const double *b, int ldb, const double *beta, double *c,
		   int ldc)
{
	uint64_t p[] = { (uint64_t)ta, (uint64_t)tb, (uint64_t)m, (uint64_t)n,
			 (uint64_t)k, bits(*alpha), (uintptr_t)a,
			 (uint64_t)lda, (uintptr_t)b, (uint64_t)ldb,
			 bits(*beta), (uintptr_t)c, (uint64_t)ldc };

	if (ta < 0 || ta > 1 || tb < 0 || tb > 1 || m < 1 || n < 1 || k < 1 ||
	    lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m)
		return INVALID_VALUE;
	return launch(h, h->gemm, p, 13, 0);
}

int cublasDaxpy_v2(struct cublasContext *h, int n, const double *alpha,
		   const double *x, int incx, double *y, int incy)
{
	uint64_t p[] = { (uint64_t)n, bits(*alpha), (uintptr_t)x,
			 (uintptr_t)y };

	if (n < 1 || incx != 1 || incy != 1)
		return INVALID_VALUE;
	return launch(h, h->axpy, p, 4, 0);
}

int cublasDdot_v2(struct cublasContext *h, int n, const double *x, int incx,
		  const double *y, int incy, double *result)
{
	uint64_t p[] = { (uint64_t)n, (uintptr_t)x, (uintptr_t)y,
			 (uintptr_t)result };

	if (n < 1 || incx != 1 || incy != 1)
		return INVALID_VALUE;
	return launch(h, h->dot, p, 4, 1);
}

int cublasDscal_v2(struct cublasContext *h, int n, const double *alpha,
		   double *x, int incx)
{
	uint64_t p[] = { (uint64_t)n, bits(*alpha), (uintptr_t)x };

	if (n < 1 || incx != 1)
		return INVALID_VALUE;
	return launch(h, h->scale, p, 3, 0);
}
