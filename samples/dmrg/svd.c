// SPDX-License-Identifier: BSD-2-Clause
/*
 * svd.c - singular value decomposition of one dense matrix
 *
 * LAPACK has two ways: divide and conquer (dgesdd), several times faster, which
 * on rare matrices does not converge, and the QR iteration (dgesvd), which then
 * still does. Both destroy their input, so the caller, who can make it again,
 * decides about the second try. Results and work space come from mem.h.
 */
#include "svd.h"

#include <errno.h>

#include "blas.h"
#include "mem.h"

static int svd_alloc(struct mem *mem, const struct block *a, struct svd *svd)
{
	const int k = a->rows < a->cols ? a->rows : a->cols;
	int err;

	*svd = (struct svd){
		.u = { .rows = a->rows, .cols = k },
		.s = { .rows = k, .cols = 1 },
		.vt = { .rows = k, .cols = a->cols },
	};
	err = block_alloc(mem, &svd->u);
	if (!err)
		err = block_alloc(mem, &svd->s);
	if (!err)
		err = block_alloc(mem, &svd->vt);
	if (err)
		svd_free(mem, svd);
	return err;
}

void svd_free(struct mem *mem, struct svd *svd)
{
	block_free(mem, &svd->u);
	block_free(mem, &svd->s);
	block_free(mem, &svd->vt);
}

/* Calls with lwork == -1 only ask for the size of the work space. */
static int gesdd(struct block *a, struct svd *svd, double *work, int lwork,
		 int *iwork)
{
	int info;

	dgesdd_("S", &a->rows, &a->cols, a->data, &a->rows, svd->s.data,
		svd->u.data, &svd->u.rows, svd->vt.data, &svd->vt.rows, work,
		&lwork, iwork, &info, 1);
	return info ? -EDOM : 0;
}

static int gesvd(struct block *a, struct svd *svd, double *work, int lwork,
		 int *iwork)
{
	int info;

	(void)iwork;
	dgesvd_("S", "S", &a->rows, &a->cols, a->data, &a->rows, svd->s.data,
		svd->u.data, &svd->u.rows, svd->vt.data, &svd->vt.rows, work,
		&lwork, &info, 1, 1);
	return info ? -EDOM : 0;
}

typedef int (*driver_fn)(struct block *a, struct svd *svd, double *work,
			 int lwork, int *iwork);

static int svd_with(driver_fn driver, struct mem *mem, struct block *a,
		    struct svd *svd)
{
	struct block work = { .rows = 1, .cols = 1 };
	size_t iwork_bytes;
	double optimum;
	int *iwork;
	int err;

	err = svd_alloc(mem, a, svd);
	if (err)
		return err;
	iwork_bytes = 8 * sizeof(int) * (size_t)svd->s.rows;
	iwork = mem_alloc(mem, iwork_bytes);
	if (!iwork) {
		err = -ENOMEM;
		goto free_svd;
	}
	err = driver(a, svd, &optimum, -1, iwork);
	if (err)
		goto free_iwork;
	work.rows = (int)optimum;
	err = block_alloc(mem, &work);
	if (err)
		goto free_iwork;
	err = driver(a, svd, work.data, work.rows, iwork);
	block_free(mem, &work);
free_iwork:
	mem_free(mem, iwork, iwork_bytes);
free_svd:
	if (err)
		svd_free(mem, svd);
	return err;
}

int svd_fast(struct mem *mem, struct block *a, struct svd *svd)
{
	return svd_with(gesdd, mem, a, svd);
}

int svd_robust(struct mem *mem, struct block *a, struct svd *svd)
{
	return svd_with(gesvd, mem, a, svd);
}
