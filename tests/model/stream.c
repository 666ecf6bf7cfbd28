// SPDX-License-Identifier: BSD-2-Clause
/*
 * stream.c - streams: what they are, not what runs in them (queue.c).
 *
 * NULL and 1 are the legacy stream of the current context, 2 the stream of the
 * calling thread there. A stream that is destroyed with work in it stays until
 * that has run; its handle is dead at once.
 */
#include "tests/model/internal.h"

struct stream *stream_create(struct context *ctx, bool blocking)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		undefined(0, "the host has no memory for a stream");
	stream->ctx = ctx;
	stream->blocking = blocking;
	stream->refs = 1;
	stream->id = ++model.next_id;
	list_add_tail(&stream->node, &ctx->streams);
	return stream;
}

void stream_put(struct stream *stream)
{
	if (--stream->refs)
		return;
	list_del(&stream->node);
	mark_put(stream->last);
	free(stream);
}

void stream_end(struct stream *stream)
{
	if (stream->handle)
		handle_end(stream->handle);
	capture_forget(stream);
	stream->ended = true;
	/* Its last operation holds it until then. */
	stream_put(stream);
}

void streams_end_all(struct context *ctx)
{
	struct list *node, *next;
	struct stream *stream;

	for (node = ctx->streams.next; node != &ctx->streams; node = next) {
		next = node->next;
		stream = container_of(node, struct stream, node);
		queue_drop_stream(stream);
		if (!stream->ended)
			stream_end(stream);
	}
	ctx->legacy = NULL;
}

static struct stream *per_thread_stream(struct context *ctx)
{
	struct stream *stream;
	struct list *node;

	for (node = ctx->streams.next; node != &ctx->streams;
	     node = node->next) {
		stream = container_of(node, struct stream, node);
		if (stream->per_thread &&
		    pthread_equal(stream->thread, pthread_self()))
			return stream;
	}
	stream = stream_create(ctx, true);
	stream->per_thread = true;
	stream->thread = pthread_self();
	return stream;
}

struct stream *stream_find(CUstream handle, CUresult *ret)
{
	struct context *ctx = context_current();
	struct stream *stream;

	*ret = CUDA_SUCCESS;
	if ((u64)handle > 2) {
		stream = handle_find(HANDLE_STREAM, (u64)handle);
		if (!stream)
			*ret = refuse(0, CUDA_ERROR_INVALID_HANDLE,
				      "not a stream");
		return stream;
	}
	if (!ctx || !ctx->alive) {
		*ret = refuse(0, ctx ? CUDA_ERROR_CONTEXT_IS_DESTROYED :
			      CUDA_ERROR_INVALID_CONTEXT,
			      "no context is current, so that it has no "
			      "default stream");
		return NULL;
	}
	return handle == CU_STREAM_PER_THREAD ? per_thread_stream(ctx) :
	       ctx->legacy;
}

/* ---- Calls ---------------------------------------------------------- */

CUresult do_cuStreamCreate(CUstream *out, unsigned int flags)
{
	struct stream *stream;

	REFUSE_IF(!out, 0, INVALID_VALUE, "no place for the stream");
	REFUSE_IF(flags > CU_STREAM_NON_BLOCKING, 168, INVALID_VALUE,
		  "no such flags");
	stream = stream_create(context_current(),
			       flags != CU_STREAM_NON_BLOCKING);
	stream->handle = handle_new(HANDLE_STREAM, stream);
	*out = (CUstream)stream->handle;
	return CUDA_SUCCESS;
}

static bool is_busy(const struct stream *stream)
{
	return stream->last && !stream->last->done;
}

CUresult do_cuStreamDestroy(CUstream handle)
{
	struct stream *stream;
	CUresult ret;

	REFUSE_IF((u64)handle <= 2, 0, INVALID_HANDLE,
		  "a default stream cannot be destroyed");
	stream = stream_find(handle, &ret);
	if (!stream)
		return ret;
	REFUSE_IF(broken(174) && is_busy(stream), 0, NOT_READY, "broken");
	stream_end(stream);
	return CUDA_SUCCESS;
}

static CUresult refuse_capturing(struct stream *stream)
{
	struct stream *beside;

	if (capture_is_active(stream->capture))
		return capture_conflict(stream->capture, 184,
					CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
					"the stream captures");
	beside = stream->legacy ? capture_beside_legacy(stream->ctx) : NULL;
	if (beside)
		return capture_conflict(beside->capture, 0,
					CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
					"a blocking stream captures");
	return CUDA_SUCCESS;
}

CUresult stream_wait(struct stream *stream)
{
	int device = stream->ctx->device;
	struct mark *last;
	CUresult ret;

	if (!stream->last)
		return sticky_of(device);
	last = mark_get(stream->last);
	ret = mark_wait(last, device);
	mark_put(last);
	return ret;
}

CUresult do_cuStreamSynchronize(CUstream handle)
{
	struct stream *stream;
	CUresult ret;

	stream = stream_find(handle, &ret);
	if (!stream)
		return ret;
	ret = refuse_capturing(stream);
	if (ret)
		return ret;
	ret = stream_wait(stream);
	pools_observe();
	return ret;
}

CUresult do_cuStreamQuery(CUstream handle)
{
	struct stream *stream;
	CUresult ret;

	stream = stream_find(handle, &ret);
	if (!stream)
		return ret;
	ret = refuse_capturing(stream);
	if (ret)
		return ret;
	if (is_busy(stream) && !broken(169))
		return CUDA_ERROR_NOT_READY;
	pools_observe();
	return CUDA_SUCCESS;
}

CUresult do_cuStreamGetCtx(CUstream handle, CUcontext *out)
{
	struct stream *stream;
	CUresult ret;

	REFUSE_IF(!out, 0, INVALID_VALUE, "no place for the context");
	stream = stream_find(handle, &ret);
	if (stream)
		*out = stream->ctx->handle;
	return ret;
}

CUresult do_cuStreamGetDevice(CUstream handle, CUdevice *out)
{
	struct stream *stream;
	CUresult ret;

	REFUSE_IF(!out, 0, INVALID_VALUE, "no place for the device");
	stream = stream_find(handle, &ret);
	if (stream)
		*out = stream->ctx->device;
	return ret;
}

CUresult do_cuStreamGetId(CUstream handle, unsigned long long *out)
{
	struct stream *stream;
	CUresult ret;

	REFUSE_IF(!out, 0, INVALID_VALUE, "no place for the id");
	stream = stream_find(handle, &ret);
	if (stream)
		*out = stream->id;
	return ret;
}

CUresult do_cuLaunchHostFunc(CUstream handle, CUhostFn fn, void *data)
{
	struct stream *stream;
	CUresult ret;
	struct op *op;

	REFUSE_IF(!fn, 0, INVALID_VALUE, "no function");
	stream = stream_find(handle, &ret);
	if (!stream)
		return ret;
	ret = capture_take(stream);
	if (ret)
		return ret;
	op = op_new(stream, OP_HOST);
	op->fn = fn;
	op->data = data;
	op_submit(op);
	return CUDA_SUCCESS;
}
