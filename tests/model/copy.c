// SPDX-License-Identifier: BSD-2-Clause
/*
 * copy.c - fills and copies, in rows: one row for the plain ones.
 *
 * What may be touched is decided by the device of the caller's current
 * context, when the call is made; the work itself comes later. Only a copy to
 * the host that is not asynchronous waits. Pageable host memory that is copied
 * to the device is staged: the caller may change it when the call returns.
 * Pinned memory is read when the copy runs.
 */
#include "tests/model/internal.h"

#define PITCH_MAX 0x7fffffffu

static CUresult take(CUstream handle, struct stream **stream)
{
	CUresult ret;

	*stream = stream_find(handle, &ret);
	return *stream ? capture_take(*stream) : ret;
}

static u64 checked_rows(u64 height)
{
	return broken(211) ? min(height, (u64)1) : height;
}

/* ---- Fills ---------------------------------------------------------- */

static CUresult fill_rows(u64 addr, u64 pitch, u32 value, unsigned int unit,
			  u64 width, u64 height, CUstream handle)
{
	struct stream *stream;
	u64 row;
	CUresult ret;
	struct op *op;

	for (row = 0, ret = 0; !ret && row < checked_rows(height) && width;
	     row++)
		ret = space_check(addr + row * pitch, width,
				  max(context_device(), 0), MODEL_WRITE);
	if (!ret)
		ret = take(handle, &stream);
	if (ret || !width || !height)
		return ret;
	op = op_new(stream, OP_FILL);
	op->device = max(context_device(), 0);
	op->dst = (struct rows){ .addr = addr, .pitch = pitch };
	op->width = width;
	op->height = height;
	op->value = value;
	op->value_size = unit;
	op_submit(op);
	return CUDA_SUCCESS;
}

static CUresult fill(u64 addr, u32 value, unsigned int unit, u64 n,
		     CUstream stream)
{
	u64 bytes;

	REFUSE_IF(addr % unit, 162, INVALID_VALUE,
		  "the address is no multiple of the unit");
	REFUSE_IF(!n && broken(163), 0, INVALID_VALUE, "nothing to fill");
	REFUSE_IF(__builtin_mul_overflow(n, (u64)unit, &bytes), 0,
		  INVALID_VALUE, "so many bytes do not exist");
	return fill_rows(addr, bytes, value, unit, bytes, 1, stream);
}

static CUresult fill2d(u64 addr, u64 pitch, u32 value, unsigned int unit,
		       u64 width, u64 height, CUstream stream)
{
	REFUSE_IF(addr % unit || pitch % unit, 203, INVALID_VALUE,
		  "address or pitch is no multiple of the unit");
	REFUSE_IF(height > 1 && pitch / unit < width, 201, INVALID_VALUE,
		  "the pitch is smaller than a row");
	REFUSE_IF((!width || !height) && broken(202), 0, INVALID_VALUE,
		  "nothing to fill");
	return fill_rows(addr, broken(204) ? width * unit : pitch, value,
			 unit, width * unit,
			 height && broken(208) ? height - 1 : height,
			 broken(214) ? NULL : stream);
}

#define FILL(bits, type)						\
	CUresult do_cuMemsetD##bits(CUdeviceptr addr, type value, size_t n) \
	{								\
		return fill(addr, value, bits / 8, n, NULL);		\
	}								\
	CUresult do_cuMemsetD##bits##Async(CUdeviceptr addr, type value, \
					   size_t n, CUstream stream)	\
	{								\
		return fill(addr, value, bits / 8, n, stream);		\
	}								\
	CUresult do_cuMemsetD2D##bits(CUdeviceptr addr, size_t pitch,	\
				      type value, size_t width,		\
				      size_t height)			\
	{								\
		return fill2d(addr, pitch, value, bits / 8, width,	\
			      height, NULL);				\
	}								\
	CUresult do_cuMemsetD2D##bits##Async(CUdeviceptr addr,		\
					     size_t pitch, type value,	\
					     size_t width,		\
					     size_t height,		\
					     CUstream stream)		\
	{								\
		return fill2d(addr, pitch, value, bits / 8, width,	\
			      height, stream);				\
	}

FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned int)

/* ---- Copies --------------------------------------------------------- */

struct copy {
	struct rows dst, src;
	u64 width, height;
	CUstream stream;
	bool sync;
};

static CUresult check_rows(const struct rows *rows, const struct copy *c,
			   unsigned int what)
{
	CUresult ret = CUDA_SUCCESS;
	u64 row;

	REFUSE_IF(!rows->addr && !rows->host, 0, INVALID_VALUE,
		  "no address");
	for (row = 0; rows->addr && !ret && row < checked_rows(c->height);
	     row++)
		ret = space_check(rows->addr + row * rows->pitch, c->width,
				  max(context_device(), 0), what);
	return ret;
}

static bool is_pinned(const unsigned char *host)
{
	return part_at((u64)(uintptr_t)host) != NULL;
}

/* A node reads where it is told, at each launch. */
static bool is_read_now(const struct stream *stream, const struct copy *c)
{
	if (!c->src.host)
		return false;
	if (stream_captures(stream))
		return broken(229);
	return c->sync || !is_pinned(c->src.host);
}

/* The bytes as they are now. */
static void stage(struct op *op, const struct copy *c)
{
	u64 row;

	op->staged = malloc(c->width * c->height);
	if (!op->staged)
		undefined(0, "the host has no memory to stage a copy");
	for (row = 0; row < c->height; row++)
		memcpy(op->staged + row * c->width,
		       c->src.host + row * c->src.pitch, c->width);
	op->src = (struct rows){ .host = op->staged, .pitch = c->width };
}

static CUresult copy_wait(struct stream *stream, const struct copy *c)
{
	if (!c->sync || !c->dst.host || broken(c->height > 1 ? 213 : 166))
		return CUDA_SUCCESS;
	return stream_wait(stream);
}

static CUresult copy(const struct copy *c)
{
	bool nothing = !c->width || !c->height;
	struct stream *stream;
	CUresult ret = CUDA_SUCCESS;
	struct op *op;

	if (broken(167) && !context_current()->alive)
		return CUDA_SUCCESS;
	REFUSE_IF(nothing && broken(c->height > 1 || !c->height ? 202 : 163),
		  0, INVALID_VALUE, "nothing to copy");
	if (!nothing)
		ret = check_rows(&c->dst, c, MODEL_WRITE);
	if (!ret && !nothing)
		ret = check_rows(&c->src, c, MODEL_READ);
	if (!ret)
		ret = take(c->stream, &stream);
	if (ret || nothing)
		return ret;
	op = op_new(stream, OP_COPY);
	op->device = max(context_device(), 0);
	op->dst = c->dst;
	op->src = c->src;
	op->width = c->width;
	op->height = c->height;
	if (is_read_now(stream, c))
		stage(op, c);
	op_submit(op);
	return copy_wait(stream, c);
}

static CUresult copy_row(u64 dst, void *dst_host, u64 src,
			 const void *src_host, u64 n, CUstream stream,
			 bool sync)
{
	struct copy c = {
		.dst = { dst, dst_host, n },
		.src = { src, (unsigned char *)(uintptr_t)src_host, n },
		.width = n, .height = 1, .stream = stream, .sync = sync,
	};

	return copy(&c);
}

CUresult do_cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t n)
{
	return copy_row(dst, NULL, 0, src, n, NULL, true);
}

CUresult do_cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t n)
{
	return copy_row(0, dst, src, NULL, n, NULL, true);
}

CUresult do_cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	return copy_row(dst, NULL, src, NULL, n, NULL, true);
}

CUresult do_cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t n,
			      CUstream stream)
{
	return copy_row(dst, NULL, 0, src, n, stream, false);
}

CUresult do_cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t n,
			      CUstream stream)
{
	return copy_row(0, dst, src, NULL, n, stream, false);
}

CUresult do_cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t n,
			      CUstream stream)
{
	return copy_row(dst, NULL, src, NULL, n, stream, false);
}

/* ---- Copies of rectangles ------------------------------------------- */

static CUresult check2d(const CUDA_MEMCPY2D *p, bool limited)
{
	bool tall = p->Height > 1;

	REFUSE_IF(p->srcMemoryType == CU_MEMORYTYPE_ARRAY ||
		  p->dstMemoryType == CU_MEMORYTYPE_ARRAY, 0, NOT_SUPPORTED,
		  "the model has no arrays");
	REFUSE_IF(!p->srcMemoryType || p->srcMemoryType > 4 ||
		  !p->dstMemoryType || p->dstMemoryType > 4, 0,
		  INVALID_VALUE, "no such type of memory");
	REFUSE_IF(tall && (p->srcPitch < p->WidthInBytes + p->srcXInBytes ||
			   p->dstPitch < p->WidthInBytes + p->dstXInBytes),
		  205, INVALID_VALUE, "a pitch is smaller than a row");
	REFUSE_IF(limited && (p->srcPitch > PITCH_MAX ||
			      p->dstPitch > PITCH_MAX), 207, INVALID_VALUE,
		  "a pitch is above the device's maximum");
	return CUDA_SUCCESS;
}

static struct rows rows2d(CUmemorytype type, const void *host, u64 addr,
			  u64 pitch, u64 x, u64 y)
{
	struct rows rows = { .pitch = pitch };

	if (broken(210))
		y = 0;
	if (type == CU_MEMORYTYPE_HOST)
		rows.host = (unsigned char *)(uintptr_t)host + y * pitch + x;
	else
		rows.addr = addr + y * pitch + x;
	return rows;
}

static CUresult copy2d(const CUDA_MEMCPY2D *p, CUstream stream, bool sync,
		       bool limited)
{
	struct copy c = { .stream = broken(214) ? NULL : stream, .sync = sync };
	CUresult ret;

	REFUSE_IF(!p, 0, INVALID_VALUE, "no parameters");
	ret = check2d(p, limited);
	if (ret)
		return ret;
	c.width = p->WidthInBytes;
	c.height = p->Height;
	c.dst = rows2d(p->dstMemoryType, p->dstHost, p->dstDevice,
		       p->dstPitch, p->dstXInBytes, p->dstY);
	c.src = rows2d(p->srcMemoryType, p->srcHost, p->srcDevice,
		       p->srcPitch, p->srcXInBytes, p->srcY);
	if (broken(206))
		c.src.pitch = c.width;
	return copy(&c);
}

CUresult do_cuMemcpy2D(const CUDA_MEMCPY2D *p)
{
	return copy2d(p, NULL, true, true);
}

CUresult do_cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *p)
{
	return copy2d(p, NULL, true, broken(209));
}

CUresult do_cuMemcpy2DAsync(const CUDA_MEMCPY2D *p, CUstream stream)
{
	return copy2d(p, stream, false, true);
}
