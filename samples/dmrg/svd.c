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

void svd_shape(struct svd *svd, struct block blocks[SVD_BLOCKS], int rows,
	       int cols)
{
	const int k = rows < cols ? rows : cols;

	*svd = (struct svd){ &blocks[0], &blocks[1], &blocks[2] };
	*svd->u = (struct block){ .rows = rows, .cols = k };
	*svd->s = (struct block){ .rows = k, .cols = 1 };
	*svd->vt = (struct block){ .rows = k, .cols = cols };
}

static int svd_ready(struct mem *mem, const struct svd *svd)
{
	int err;

	err = block_ready(mem, svd->u);
	if (!err)
		err = block_ready(mem, svd->s);
	if (!err)
		err = block_ready(mem, svd->vt);
	return err;
}

/* Calls with lwork == -1 only ask for the size of the work space. */
static int gesdd(struct block *a, const struct svd *svd, double *work,
		 int lwork, int *iwork)
{
	int info;

	dgesdd_("S", &a->rows, &a->cols, a->data, &a->rows, svd->s->data,
		svd->u->data, &svd->u->rows, svd->vt->data, &svd->vt->rows,
		work, &lwork, iwork, &info, 1);
	return info ? -EDOM : 0;
}

static int gesvd(struct block *a, const struct svd *svd, double *work,
		 int lwork, int *iwork)
{
	int info;

	(void)iwork;
	dgesvd_("S", "S", &a->rows, &a->cols, a->data, &a->rows, svd->s->data,
		svd->u->data, &svd->u->rows, svd->vt->data, &svd->vt->rows,
		work, &lwork, &info, 1, 1);
	return info ? -EDOM : 0;
}

typedef int (*driver_fn)(struct block *a, const struct svd *svd,
			 double *work, int lwork, int *iwork);

static int svd_with(driver_fn driver, struct mem *mem, struct block *a,
		    const struct svd *svd)
{
	struct block work = { .rows = 1, .cols = 1 };
	size_t iwork_bytes;
	double optimum;
	int *iwork;
	int err;

	err = svd_ready(mem, svd);
	if (err)
		return err;
	iwork_bytes = 8 * sizeof(int) * (size_t)svd->s->rows;
	iwork = mem_alloc(mem, iwork_bytes);
	if (!iwork)
		return -ENOMEM;
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
	return err;
}

int svd_fast(struct mem *mem, struct block *a, const struct svd *svd)
{
	return svd_with(gesdd, mem, a, svd);
}

int svd_robust(struct mem *mem, struct block *a, const struct svd *svd)
{
	return svd_with(gesvd, mem, a, svd);
}
