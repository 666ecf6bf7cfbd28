// SPDX-License-Identifier: BSD-2-Clause
/*
 * event.c - events: the newest place in a stream where each was recorded.
 *
 * An event that was never recorded is complete. One that was last recorded in
 * a capture stands for a node of a graph, and cannot be asked.
 */
#include "tests/model/internal.h"

#define EVENT_FLAGS (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | \
		     CU_EVENT_INTERPROCESS)

static struct event *event_find(CUevent handle, CUresult *ret)
{
	struct event *event = handle_find(HANDLE_EVENT, (u64)handle);

	*ret = CUDA_SUCCESS;
	if (!event)
		*ret = refuse(0, CUDA_ERROR_INVALID_HANDLE, "not an event");
	return event;
}

static void event_forget(struct event *event)
{
	mark_put(event->mark);
	capture_put(event->captured);
	event->mark = NULL;
	event->captured = NULL;
}

CUresult do_cuEventCreate(CUevent *out, unsigned int flags)
{
	struct event *event;

	REFUSE_IF(!out, 0, INVALID_VALUE, "no place for the event");
	REFUSE_IF(flags & ~(unsigned int)EVENT_FLAGS ||
		  (flags & CU_EVENT_INTERPROCESS &&
		   !(flags & CU_EVENT_DISABLE_TIMING)), 0, INVALID_VALUE,
		  "no such flags, or INTERPROCESS without DISABLE_TIMING");
	event = calloc(1, sizeof(*event));
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->ctx = context_current();
	event->flags = flags;
	event->handle = handle_new(HANDLE_EVENT, event);
	*out = (CUevent)event->handle;
	return CUDA_SUCCESS;
}

static bool is_pending(const struct event *event)
{
	return event->mark && !event->mark->done;
}

CUresult do_cuEventDestroy(CUevent handle)
{
	struct event *event;
	CUresult ret;

	event = event_find(handle, &ret);
	if (!event)
		return ret;
	REFUSE_IF(broken(174) && is_pending(event), 0, NOT_READY, "broken");
	event_forget(event);
	handle_end(event->handle);
	free(event);
	return CUDA_SUCCESS;
}

CUresult do_cuEventRecord(CUevent handle, CUstream where)
{
	struct stream *stream;
	struct event *event;
	CUresult ret;
	struct op *op;

	event = event_find(handle, &ret);
	stream = event ? stream_find(where, &ret) : NULL;
	if (!stream)
		return ret;
	REFUSE_IF(event->ctx != stream->ctx, 171, INVALID_HANDLE,
		  "event and stream are of different contexts");
	ret = capture_take(stream);
	if (ret)
		return ret;
	if (broken(172) && is_pending(event))
		return CUDA_SUCCESS;
	event_forget(event);
	if (stream_captures(stream)) {
		event->captured = capture_get(stream->capture);
		event->node = stream->tail;
		return CUDA_SUCCESS;
	}
	op = op_new(stream, OP_MARK);
	event->mark = mark_get(op->mark);
	op_submit(op);
	return CUDA_SUCCESS;
}

static CUresult refuse_captured(const struct event *event)
{
	REFUSE_IF(event->captured, 185, CAPTURED_EVENT,
		  "the event was last recorded in a capture");
	return CUDA_SUCCESS;
}

CUresult do_cuEventQuery(CUevent handle)
{
	struct event *event;
	CUresult ret;

	event = event_find(handle, &ret);
	if (!event)
		return ret;
	ret = refuse_captured(event);
	if (ret)
		return ret;
	if (is_pending(event) || (!event->mark && broken(170)))
		return CUDA_ERROR_NOT_READY;
	pools_observe();
	return CUDA_SUCCESS;
}

CUresult do_cuEventSynchronize(CUevent handle)
{
	struct event *event;
	struct mark *mark;
	CUresult ret;

	event = event_find(handle, &ret);
	if (!event)
		return ret;
	ret = refuse_captured(event);
	if (ret || !event->mark)
		return ret;
	mark = mark_get(event->mark);
	ret = mark_wait(mark, event->ctx->device);
	mark_put(mark);
	pools_observe();
	return ret;
}

CUresult do_cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	struct event *a, *b;
	CUresult ret;

	REFUSE_IF(!ms, 0, INVALID_VALUE, "no place for the time");
	a = event_find(start, &ret);
	b = a ? event_find(end, &ret) : NULL;
	if (!b)
		return ret;
	REFUSE_IF(!a->mark || !b->mark ||
		  (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING, 0,
		  INVALID_HANDLE, "not recorded, or without timing");
	if (is_pending(a) || is_pending(b))
		return CUDA_ERROR_NOT_READY;
	*ms = (float)((double)(s64)(b->mark->when_ns - a->mark->when_ns) /
		      1e6);
	return CUDA_SUCCESS;
}

CUresult do_cuStreamWaitEvent(CUstream where, CUevent handle,
			      unsigned int flags)
{
	struct stream *stream;
	struct event *event;
	CUresult ret;
	struct op *op;

	REFUSE_IF(flags > CU_EVENT_WAIT_EXTERNAL, 0, INVALID_VALUE,
		  "no such flags");
	event = event_find(handle, &ret);
	stream = event ? stream_find(where, &ret) : NULL;
	if (!stream)
		return ret;
	REFUSE_IF(flags && stream_captures(stream), 0, NOT_SUPPORTED,
		  "the model has no nodes that wait for events");
	if (event->captured)
		return capture_join(stream, event);
	ret = capture_take(stream);
	if (ret)
		return ret;
	if (stream_captures(stream))
		return capture_conflict(stream->capture, 223,
					CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
					"a capture waits for an event from "
					"outside of it");
	op = op_new(stream, OP_MARK);
	if (!broken(173))
		op_wait_for(op, event->mark);
	op_submit(op);
	return CUDA_SUCCESS;
}
