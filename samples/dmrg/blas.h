/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blas.h - the few BLAS and LAPACK routines that the solver calls
 *
 * Declared here rather than included: Debian installs the headers of four
 * BLAS flavours under different names, the symbols are the same in all. The
 * size_t arguments at the end are the lengths that a Fortran compiler passes
 * for each character argument.
 */
#ifndef DMRG_BLAS_H
#define DMRG_BLAS_H

#include <stddef.h>

void openblas_set_num_threads(int nr);

void dgemm_(const char *transa, const char *transb, const int *m, const int *n,
	    const int *k, const double *alpha, const double *a, const int *lda,
	    const double *b, const int *ldb, const double *beta, double *c,
	    const int *ldc, size_t len_a, size_t len_b);
double ddot_(const int *n, const double *x, const int *incx, const double *y,
	     const int *incy);
void daxpy_(const int *n, const double *a, const double *x, const int *incx,
	    double *y, const int *incy);
void dscal_(const int *n, const double *a, double *x, const int *incx);

void dstev_(const char *jobz, const int *n, double *d, double *e, double *z,
	    const int *ldz, double *work, int *info, size_t len_jobz);
void dgesdd_(const char *jobz, const int *m, const int *n, double *a,
	     const int *lda, double *s, double *u, const int *ldu, double *vt,
	     const int *ldvt, double *work, const int *lwork, int *iwork,
	     int *info, size_t len_jobz);
void dgesvd_(const char *jobu, const char *jobvt, const int *m, const int *n,
	     double *a, const int *lda, double *s, double *u, const int *ldu,
	     double *vt, const int *ldvt, double *work, const int *lwork,
	     int *info, size_t len_jobu, size_t len_jobvt);

#endif
