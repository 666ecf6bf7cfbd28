// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_work.c - fills, copies and events in the order of a stream.
 *
 * Memory that the CPU can touch may be handed to it at once, so what is done to
 * it is waited for.
 *
 * A stream that is being captured does not run: what is put into it becomes
 * part of a graph. Such work is refused, with -EBUSY, for the memory would not
 * be what the caller was promised; an event with -EAGAIN, since it proves
 * nothing. The legacy stream waits for all streams that were not created as
 * non-blocking, so while one of those is captured it must not be touched, or
 * the capture is spoilt: the driver is asked first, which is harmless.
 */
#include <errno.h>

#include "core/os.h"
#include "vmm/cuda_dev.h"

/* ---- Streams ---------------------------------------------------------- */

static CUstream stream_or_bound(const struct cuda_dev *d,
				slabdev_stream_t stream)
{
	return stream ? stream : d->bound;
}

int cuda_refuse_capture(struct cuda_dev *d, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult result = d->drv->cuStreamIsCapturing(stream, &status);
	int err;

	if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
	    (!result && status != CU_STREAM_CAPTURE_STATUS_NONE))
		return error_set(-EBUSY, "the space's stream is being "
				 "captured, or a stream that it waits for: "
				 "nothing can run in it");
	/* -EBUSY means a capture here. */
	err = cuda_check(d, "cuStreamIsCapturing", result);
	return err == -EBUSY ? -EIO : err;
}

int cuda_enter_stream(struct cuda_dev *d, struct cuda_scope *scope,
		      CUstream stream)
{
	int err = cuda_enter(d, scope);

	if (err)
		return err;
	err = cuda_refuse_capture(d, stream);
	if (err)
		cuda_leave(d, scope);
	return err;
}

/*
 * A capture that began since cuda_enter_stream() has the work, which is then
 * not done. Only a program that captures the stream in one thread while another
 * works on the space can see that.
 */
static int leave_stream(struct cuda_dev *d, const struct cuda_scope *scope,
			CUstream stream, int err)
{
	if (!err)
		err = cuda_refuse_capture(d, stream);
	if (!err && d->kind != CUDA_DEVICE)
		err = CUDA_CALL(d, cuStreamSynchronize, stream);
	cuda_leave(d, scope);
	return err;
}

/* ---- Fills and copies ------------------------------------------------- */

int cuda_fill(void *dev, u64 addr, u64 size, u8 byte, slabdev_stream_t to)
{
	struct cuda_dev *d = dev;
	CUstream stream = stream_or_bound(d, to);
	struct cuda_scope scope;
	int err = cuda_enter_stream(d, &scope, stream);

	if (err)
		return err;
	err = CUDA_CALL(d, cuMemsetD8Async, addr, byte, size, stream);
	return leave_stream(d, &scope, stream, err);
}

static int fill_rows(struct cuda_dev *d, u64 addr, u64 pitch, u64 width,
		     u64 height, u8 byte, CUstream stream)
{
	int err = 0;

	if (d->drv->cuMemsetD2D8Async)
		return CUDA_CALL(d, cuMemsetD2D8Async, addr, pitch, byte,
				 width, height, stream);
	for (u64 row = 0; !err && row < height; row++)
		err = CUDA_CALL(d, cuMemsetD8Async, addr + row * pitch, byte,
				width, stream);
	return err;
}

int cuda_fill2d(void *dev, u64 addr, u64 pitch, u64 width, u64 height, u8 byte,
		slabdev_stream_t to)
{
	struct cuda_dev *d = dev;
	CUstream stream = stream_or_bound(d, to);
	struct cuda_scope scope;
	int err;

	if (width > pitch && height > 1)
		return error_set(-EINVAL, "a pitch of %llu bytes is less than "
				 "a row of %llu", (unsigned long long)pitch,
				 (unsigned long long)width);
	err = cuda_enter_stream(d, &scope, stream);
	if (err)
		return err;
	if (height == 1)
		pitch = max(pitch, width);
	err = fill_rows(d, addr, pitch, width, height, byte, stream);
	return leave_stream(d, &scope, stream, err);
}

int cuda_copy(void *dev, u64 to, u64 from, u64 size, slabdev_stream_t in)
{
	struct cuda_dev *d = dev;
	CUstream stream = stream_or_bound(d, in);
	struct cuda_scope scope;
	int err = cuda_enter_stream(d, &scope, stream);

	if (err)
		return err;
	err = CUDA_CALL(d, cuMemcpyDtoDAsync, to, from, size, stream);
	return leave_stream(d, &scope, stream, err);
}

int cuda_read(void *dev, void *to, u64 addr, u64 size)
{
	return cuda_read2d(dev, to, size, addr, size, size, 1);
}

static int read_rows(struct cuda_dev *d, char *to, u64 to_pitch, u64 addr,
		     u64 pitch, u64 width, u64 height)
{
	int err = 0;

	for (u64 row = 0; !err && row < height; row++)
		err = CUDA_CALL(d, cuMemcpyDtoHAsync, to + row * to_pitch,
				addr + row * pitch, width, d->bound);
	return err;
}

int cuda_read2d(void *dev, void *to, u64 to_pitch, u64 addr, u64 pitch,
		u64 width, u64 height)
{
	struct cuda_dev *d = dev;
	struct cuda_scope scope;
	int err, sync_err;

	if ((width > pitch || width > to_pitch) && height > 1)
		return error_set(-EINVAL, "a pitch is less than a row of %llu "
				 "bytes", (unsigned long long)width);
	err = cuda_enter_stream(d, &scope, d->bound);
	if (err)
		return err;
	err = read_rows(d, to, to_pitch, addr, pitch, width, height);
	/* Also after an error: what was begun writes to the caller's memory. */
	sync_err = CUDA_CALL(d, cuStreamSynchronize, d->bound);
	cuda_leave(d, &scope);
	return err ? err : sync_err;
}

/* ---- Events ----------------------------------------------------------- */

static CUevent event_of(u64 event)
{
	return (CUevent)(uintptr_t)event;
}

/* Not ready is an answer, and no failure. */
static int check_event(struct cuda_dev *d, const char *call, CUresult result)
{
	int err;

	if (result == CUDA_ERROR_NOT_READY)
		return -EBUSY;
	err = cuda_check(d, call, result);
	return result == CUDA_ERROR_CAPTURED_EVENT ||
	       result == CUDA_ERROR_STREAM_CAPTURE_ISOLATION ? -EXDEV : err;
}

int cuda_event_create(void *dev, u64 *event)
{
	struct cuda_dev *d = dev;
	CUevent made = NULL;
	int err;

	err = CUDA_SCOPED(d, CUDA_CALL(d, cuEventCreate, &made,
				       CU_EVENT_DISABLE_TIMING));
	if (!err)
		*event = (u64)(uintptr_t)made;
	return err;
}

int cuda_event_record(void *dev, u64 event, slabdev_stream_t in)
{
	struct cuda_dev *d = dev;
	CUstream stream = stream_or_bound(d, in);
	struct cuda_scope scope;
	int err = cuda_enter_stream(d, &scope, stream);

	if (err)
		return err == -EBUSY ? -EAGAIN : err;
	err = check_event(d, "cuEventRecord",
			  d->drv->cuEventRecord(event_of(event), stream));
	if (!err)
		err = cuda_refuse_capture(d, stream);
	cuda_leave(d, &scope);
	return err == -EBUSY ? -EXDEV : err;
}

int cuda_event_query(void *dev, u64 event)
{
	struct cuda_dev *d = dev;
	CUevent e = event_of(event);

	return CUDA_SCOPED(d, check_event(d, "cuEventQuery",
					  d->drv->cuEventQuery(e)));
}

int cuda_event_wait(void *dev, u64 event)
{
	struct cuda_dev *d = dev;
	CUevent e = event_of(event);

	return CUDA_SCOPED(d, check_event(d, "cuEventSynchronize",
					  d->drv->cuEventSynchronize(e)));
}

int cuda_event_destroy(void *dev, u64 event)
{
	struct cuda_dev *d = dev;

	return CUDA_SCOPED_FREE(d,
				CUDA_FREE(d, cuEventDestroy, event_of(event)));
}

/* The event was recorded where it could not be captured. */
int cuda_stream_wait(void *dev, slabdev_stream_t in, u64 event)
{
	struct cuda_dev *d = dev;
	CUstream stream = stream_or_bound(d, in);
	struct cuda_scope scope;
	int err = cuda_enter_stream(d, &scope, stream);

	if (err)
		return err == -EBUSY ? -EAGAIN : err;
	err = check_event(d, "cuStreamWaitEvent",
			  d->drv->cuStreamWaitEvent(stream, event_of(event),
						    0));
	cuda_leave(d, &scope);
	return err;
}

/* ---- Questions -------------------------------------------------------- */

/* A handle that is none makes the driver do anything; there is no asking. */
/* Of a handle that is no stream's at all the driver tells nothing. */
int cuda_check_stream(void *dev, slabdev_stream_t stream)
{
	const struct cuda_dev *d = dev;
	CUcontext ctx;

	if (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
	    !d->drv->cuStreamGetCtx || d->drv->cuStreamGetCtx(stream, &ctx) ||
	    ctx == d->ctx)
		return 0;
	return error_set(-EINVAL, "it is a stream of another context, or "
			 "device");
}

int cuda_is_captured(void *dev, slabdev_stream_t in)
{
	struct cuda_dev *d = dev;
	struct cuda_scope scope;
	int err = cuda_enter_stream(d, &scope, stream_or_bound(d, in));

	if (!err)
		cuda_leave(d, &scope);
	return err == -EBUSY ? 1 : err;
}

/*
 * Where a capture runs in the context this would spoil it, and not every
 * capture can be seen: the driver's own answer is the last resort.
 */
int cuda_quiesce(void *dev)
{
	struct cuda_dev *d = dev;
	struct cuda_scope scope;
	int err = cuda_enter_stream(d, &scope, d->bound);

	if (err)
		return err == -EBUSY ? -EAGAIN : err;
	err = CUDA_CALL(d, cuCtxSynchronize);
	cuda_leave(d, &scope);
	return err == -EBUSY ? -EAGAIN : err;
}

int cuda_meminfo(void *dev, u64 *free_bytes, u64 *total_bytes)
{
	struct cuda_dev *d = dev;
	size_t free_now = 0, total = 0;
	int err;

	err = CUDA_SCOPED(d, CUDA_CALL(d, cuMemGetInfo, &free_now, &total));
	if (err)
		return err;
	*free_bytes = free_now;
	*total_bytes = total;
	return 0;
}
