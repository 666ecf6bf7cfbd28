// SPDX-License-Identifier: BSD-2-Clause
/*
 * capture.c - streams that record instead of run.
 *
 * Work that is put into a capturing stream becomes a node of a graph (graph.c)
 * and does not run. A node comes behind the one before it in its stream. An
 * event that is recorded stands for the last node of its stream; a stream that
 * waits for it is in the capture from then on, and must come back to the first
 * one before the end.
 *
 * Four things break a capture, and the call that does them is refused: a
 * potentially unsafe call in a thread whose mode forbids it; a call that needs
 * the captured work to have run; the legacy stream, which would have to wait
 * for it; an order between what is captured and what is not, or is elsewhere.
 */
#include "tests/model/internal.h"

struct capture {
	struct list node;	/* while it goes on */
	unsigned int refs;
	u64 id;
	CUstreamCaptureMode mode;
	struct stream *origin;
	pthread_t thread;
	bool ended, broken;
	struct graph *graph;	/* NULL: it was handed over */
};

static struct list captures = LIST_INIT(captures);

struct capture *capture_get(struct capture *capture)
{
	capture->refs++;
	return capture;
}

void capture_put(struct capture *capture)
{
	if (!capture || --capture->refs)
		return;
	graph_put(capture->graph);
	free(capture);
}

bool capture_is_active(const struct capture *capture)
{
	return capture && !capture->ended;
}

CUresult capture_conflict(struct capture *capture, int statement,
			  CUresult code, const char *why)
{
	if (broken(statement))
		return CUDA_SUCCESS;
	capture->broken = true;
	violation("a capture was broken: %s", why);
	return refuse(statement, code, why);
}

/* ---- Unsafe calls --------------------------------------------------- */

static int statement_of(const char *call, bool own)
{
	static const char *const vmm[] = {
		"cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap",
		"cuMemSetAccess", "cuMemAddressReserve", "cuMemAddressFree",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vmm); i++)
		if (!strcmp(call, vmm[i]))
			return 182;
	if (!strncmp(call, "cuMemPool", 9))
		return 186;
	if (!strncmp(call, "cuGraph", 7))
		return 234;
	return own ? 179 : 181;
}

static bool conflicts(const struct capture *capture, CUstreamCaptureMode mode,
		      bool own)
{
	if (own)
		return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
	return mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
	       capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult capture_forbids(const char *call)
{
	CUstreamCaptureMode mode = thread_self()->mode;
	struct capture *capture;
	struct list *node;
	bool own;
	int statement;

	for (node = captures.next; node != &captures; node = node->next) {
		capture = container_of(node, struct capture, node);
		own = pthread_equal(capture->thread, pthread_self());
		statement = statement_of(call, own);
		if (mode == CU_STREAM_CAPTURE_MODE_RELAXED &&
		    !broken(statement == 182 ? 183 : 180))
			return CUDA_SUCCESS;
		if (conflicts(capture, mode, own) ||
		    mode == CU_STREAM_CAPTURE_MODE_RELAXED)
			return capture_conflict(capture, statement,
				CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
				"a potentially unsafe call");
	}
	return CUDA_SUCCESS;
}

CUresult do_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	struct thread *self = thread_self();
	CUstreamCaptureMode before = self->mode;

	REFUSE_IF(!mode, 0, INVALID_VALUE, "no mode");
	REFUSE_IF(*mode > CU_STREAM_CAPTURE_MODE_RELAXED, 176, INVALID_VALUE,
		  "no such mode");
	self->mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

/* ---- Work ----------------------------------------------------------- */

struct stream *capture_in(const struct context *ctx)
{
	struct list *node;
	struct stream *stream;

	for (node = ctx->streams.next; node != &ctx->streams;
	     node = node->next) {
		stream = container_of(node, struct stream, node);
		if (capture_is_active(stream->capture))
			return stream;
	}
	return NULL;
}

struct stream *capture_beside_legacy(const struct context *ctx)
{
	struct list *node;
	struct stream *stream;

	for (node = ctx->streams.next; node != &ctx->streams;
	     node = node->next) {
		stream = container_of(node, struct stream, node);
		if (stream->blocking && capture_is_active(stream->capture))
			return stream;
	}
	return NULL;
}

static CUresult refuse_beside(struct stream *beside)
{
	return capture_conflict(beside->capture, 0,
				CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
				"the legacy stream beside a blocking stream "
				"that captures");
}

static CUresult refuse_broken(const struct capture *capture)
{
	REFUSE_IF(capture->broken, 0, STREAM_CAPTURE_INVALIDATED,
		  "the capture is broken");
	return CUDA_SUCCESS;
}

CUresult capture_take(struct stream *stream)
{
	struct stream *beside;

	if (stream_captures(stream))
		return refuse_broken(stream->capture);
	beside = stream->legacy ? capture_beside_legacy(stream->ctx) : NULL;
	return beside ? refuse_beside(beside) : CUDA_SUCCESS;
}

void capture_add(struct stream *stream, struct op *op)
{
	if (broken(215))
		op_run(op);
	stream->tail = graph_add(stream->capture->graph, op, stream->tail, 0);
}

/* An empty node behind both: what the stream captured, and the event. */
static void join(struct stream *stream, const struct event *event)
{
	struct op *op;

	if (stream->capture != event->captured) {
		capture_forget(stream);
		stream->capture = capture_get(event->captured);
		stream->tail = 0;
	}
	op = op_new(stream, OP_MARK);
	stream->tail = graph_add(stream->capture->graph, op, stream->tail,
				 broken(221) ? 0 : event->node);
}

CUresult capture_join(struct stream *stream, const struct event *event)
{
	struct capture *capture = event->captured;
	CUresult ret;

	REFUSE_IF(capture->ended, 233, CAPTURED_EVENT,
		  "the event was last recorded in a capture that has ended");
	if (capture->ended)
		return CUDA_SUCCESS;
	ret = refuse_broken(capture);
	if (ret)
		return ret;
	if (stream->legacy)
		return capture_conflict(capture, 0,
					CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
					"the legacy stream cannot join");
	if (stream_captures(stream) && stream->capture != capture) {
		stream->capture->broken = !broken(224);
		return capture_conflict(capture, 224,
					CUDA_ERROR_STREAM_CAPTURE_MERGE,
					"two captures would become one");
	}
	join(stream, event);
	return CUDA_SUCCESS;
}

void capture_forget(struct stream *stream)
{
	struct capture *capture = stream->capture;

	stream->capture = NULL;
	if (capture && capture->origin == stream && !capture->ended) {
		capture->ended = true;
		list_del(&capture->node);
	}
	capture_put(capture);
}

/* ---- Calls ---------------------------------------------------------- */

CUresult do_cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode)
{
	struct capture *capture;
	struct stream *stream;
	CUresult ret;

	stream = stream_find(handle, &ret);
	if (!stream)
		return ret;
	REFUSE_IF(mode > CU_STREAM_CAPTURE_MODE_RELAXED, 0, INVALID_VALUE,
		  "no such mode");
	REFUSE_IF(stream->legacy, 0, INVALID_VALUE,
		  "the legacy stream cannot capture");
	REFUSE_IF(capture_is_active(stream->capture), 0, INVALID_VALUE,
		  "the stream captures already");
	capture_forget(stream);
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		return CUDA_ERROR_OUT_OF_MEMORY;
	capture->graph = graph_new();
	capture->refs = 1;
	capture->id = ++model.next_id;
	capture->mode = mode;
	capture->origin = stream;
	capture->thread = pthread_self();
	list_add_tail(&capture->node, &captures);
	stream->capture = capture;
	stream->tail = 0;
	return CUDA_SUCCESS;
}

static CUresult end_result(const struct stream *stream)
{
	const struct capture *capture = stream->capture;


	if (capture->broken)
		return refuse(0, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
			      "the capture was broken");
	REFUSE_IF(!graph_comes_together(capture->graph, stream->tail), 222,
		  STREAM_CAPTURE_UNJOINED,
		  "a stream joined and did not come back");
	return CUDA_SUCCESS;
}

CUresult do_cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
	struct capture *capture;
	struct stream *stream;
	CUresult ret;

	REFUSE_IF(!graph, 0, INVALID_VALUE, "no place for the graph");
	stream = stream_find(handle, &ret);
	if (!stream)
		return ret;
	capture = stream->capture;
	REFUSE_IF(!capture_is_active(capture), 0, INVALID_VALUE,
		  "the stream does not capture");
	REFUSE_IF(capture->origin != stream, 0, STREAM_CAPTURE_UNMATCHED,
		  "the capture began in another stream");
	REFUSE_IF(capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
		  !pthread_equal(capture->thread, pthread_self()), 0,
		  STREAM_CAPTURE_WRONG_THREAD,
		  "the capture began in another thread");
	ret = end_result(stream);
	*graph = NULL;
	if (!ret) {
		*graph = (CUgraph)handle_new(HANDLE_GRAPH, capture->graph);
		capture->graph = NULL;
	}
	capture_forget(stream);
	return ret;
}

static CUstreamCaptureStatus status_of(const struct stream *stream)
{
	if (!capture_is_active(stream->capture) || broken(177))
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return stream->capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED :
	       CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static CUresult ask_status(CUstream handle, struct stream **stream)
{
	CUresult ret;

	*stream = stream_find(handle, &ret);
	if (!*stream)
		return ret;
	REFUSE_IF((*stream)->legacy && capture_beside_legacy((*stream)->ctx),
		  178, STREAM_CAPTURE_IMPLICIT,
		  "a blocking stream captures beside the legacy stream");
	return CUDA_SUCCESS;
}

CUresult do_cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
	struct stream *stream;
	CUresult ret;

	REFUSE_IF(!status, 0, INVALID_VALUE, "no place for the status");
	ret = ask_status(handle, &stream);
	if (!ret)
		*status = status_of(stream);
	return ret;
}

CUresult do_cuStreamGetCaptureInfo(CUstream handle,
				   CUstreamCaptureStatus *status,
				   cuuint64_t *id, CUgraph *graph,
				   const CUgraphNode **deps, size_t *nr_deps)
{
	struct stream *stream;
	CUresult ret;

	REFUSE_IF(!status, 0, INVALID_VALUE, "no place for the status");
	ret = ask_status(handle, &stream);
	if (ret)
		return ret;
	*status = status_of(stream);
	if (id && capture_is_active(stream->capture))
		*id = stream->capture->id;
	if (graph)
		*graph = NULL;
	if (deps)
		*deps = NULL;
	if (nr_deps)
		*nr_deps = 0;
	return CUDA_SUCCESS;
}
