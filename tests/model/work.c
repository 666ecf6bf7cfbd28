// SPDX-License-Identifier: BSD-2-Clause
/*
 * work.c - what the worker does: fills, copies, and kernels.
 *
 * Addresses are looked up again when the turn of an operation comes: what may
 * not be touched any more then is a fault of the device, as on hardware. A
 * range may run over several mappings, so that everything goes by extents.
 */
#include "tests/model/ptx.h"

int work_device = -1;

static void fault(const struct op *op)
{
	if (!broken(op->is_launched ? 230 : 103))
		device_fault(op->device, CUDA_ERROR_ILLEGAL_ADDRESS,
			     "work touched memory that it may not");
}

unsigned char *work_view(u64 addr, int device, unsigned int what, u64 *n)
{
	u64 extent = space_extent(addr, device, what);

	if (!extent)
		return NULL;
	*n = min(*n, extent);
	return part_data(part_at(addr), addr);
}

static void fill_bytes(unsigned char *p, u64 n, u32 value, unsigned int size,
		       u64 phase)
{
	unsigned char pattern[4];
	u64 i;

	memcpy(pattern, &value, sizeof(pattern));
	for (i = 0; i < min(n, (u64)size); i++)
		p[i] = pattern[(phase + i) % size];
	/* Twice as many each time. */
	for (; i < n; i += min(i, n - i))
		memcpy(p + i, p, min(i, n - i));
}

static bool fill_row(const struct op *op, u64 addr)
{
	u64 done = 0, n;
	unsigned char *p;

	while (done < op->width) {
		n = op->width - done;
		p = work_view(addr + done, op->device, MODEL_WRITE, &n);
		if (!p)
			return false;
		fill_bytes(p, n, op->value, op->value_size, done);
		done += n;
		if (broken(op->height > 1 ? 212 : 164))
			break;
	}
	return true;
}

static unsigned char *rows_view(const struct rows *rows, u64 at, int device,
				unsigned int what, u64 *n)
{
	if (rows->host)
		return rows->host + at;
	return work_view(rows->addr + at, device, what, n);
}

static bool copy_row(const struct op *op, u64 row)
{
	u64 done = 0, n;
	unsigned char *to, *from;

	while (done < op->width) {
		n = op->width - done;
		to = rows_view(&op->dst, row * op->dst.pitch + done,
			       op->device, MODEL_WRITE, &n);
		if (!to)
			return false;
		from = rows_view(&op->src, row * op->src.pitch + done,
				 op->device, MODEL_READ, &n);
		if (!from)
			return false;
		memmove(to, from, n);
		done += n;
	}
	return true;
}

static void run_rows(const struct op *op)
{
	bool ok = true;
	u64 row;

	for (row = 0; ok && row < op->height; row++)
		ok = op->kind == OP_COPY ? copy_row(op, row) :
		     fill_row(op, op->dst.addr + row * op->dst.pitch);
	if (!ok)
		fault(op);
}

/* ---- Kernels -------------------------------------------------------- */

int model_access(CUdeviceptr addr, void *bytes, size_t size, unsigned int what)
{
	unsigned char *own = bytes, *p;
	u64 n;

	while (size) {
		n = size;
		p = work_view(addr, work_device, what, &n);
		if (!p) {
			if (!broken(93) && !broken(103))
				device_fault(work_device,
					     CUDA_ERROR_ILLEGAL_ADDRESS,
					     "a kernel touched memory that "
					     "it may not");
			return -1;
		}
		memcpy(what & MODEL_WRITE ? p : own,
		       what & MODEL_WRITE ? own : p, n);
		addr += n;
		own += n;
		size -= n;
	}
	return 0;
}

void op_run(struct op *op)
{
	if (op->doomed) {
		fault(op);
		return;
	}
	if (op->kind == OP_FILL || op->kind == OP_COPY)
		run_rows(op);
	if (op->kind != OP_KERNEL)
		return;
	work_device = op->device;
	if (op->kernel)
		op->kernel(op->params);
	else
		ptx_run(op);
	work_device = -1;
}
