// SPDX-License-Identifier: BSD-2-Clause
/*
 * graph.c - graphs: work that was captured, and its launches.
 *
 * A graph is a list of nodes in the order of their capture, each an operation
 * that is not submitted, behind up to two others. So no node is behind a later
 * one. It does not change any more once the capture has ended; an executable
 * graph is another reference to it, and the place of its last launch.
 *
 * A launch puts three things into its stream: an empty operation behind what
 * was there before and behind the last launch of the same executable graph;
 * copies of all nodes, which wait for each other as the nodes say and for that
 * one; and an empty operation behind them all, which the stream goes on from.
 * They are work like any other from then on: a stream that is held stops
 * between two nodes, and memory is looked up when the turn of each comes.
 * Nothing of a launch is left to its executable graph, which so may end before.
 *
 * A kernel is found by its handle at each launch, so that one whose module is
 * gone is noticed. Not modelled: launches in a stream that captures, launches
 * by the device, memory in graphs, nodes made by hand, and updates.
 */
#include "tests/model/internal.h"

struct node {
	struct op *op;
	size_t after[2];	/* nodes; 0: the beginning */
};

struct graph {
	unsigned int refs;
	struct node *nodes;	/* number n is nodes[n - 1] */
	size_t n, cap;
};

struct exec {
	u64 handle;
	struct graph *graph;
	struct mark *last;	/* of its newest launch */
};

/* Of all executable graphs: what a broken rule waits for. */
static struct mark *newest;

struct graph *graph_new(void)
{
	struct graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		undefined(0, "the host has no memory for a graph");
	graph->refs = 1;
	return graph;
}

void graph_put(struct graph *graph)
{
	size_t i;

	if (!graph || --graph->refs)
		return;
	for (i = 0; i < graph->n; i++)
		op_free(graph->nodes[i].op);
	free(graph->nodes);
	free(graph);
}

size_t graph_add(struct graph *graph, struct op *op, size_t after,
		 size_t also)
{
	if (graph->n == graph->cap) {
		graph->cap = graph->cap ? 2 * graph->cap : 16;
		graph->nodes = realloc(graph->nodes,
				       graph->cap * sizeof(graph->nodes[0]));
		if (!graph->nodes)
			undefined(0, "the host has no memory for a node");
	}
	/* A stream may end before the graph. */
	stream_put(op->stream);
	op->stream = NULL;
	graph->nodes[graph->n] = (struct node){ op, { after, also } };
	return ++graph->n;
}

/* Does a stream join with it, or is it work? Not if the stream only waits. */
static bool must_be_met(const struct node *node)
{
	return node->op->kind != OP_MARK || !node->after[0];
}

bool graph_comes_together(const struct graph *graph, size_t last)
{
	bool *met = calloc(graph->n + 1, sizeof(*met)), all = true;
	const struct node *node;
	size_t i;

	if (!met)
		undefined(0, "the host has no memory for a graph");
	met[last] = true;
	for (i = graph->n; i; i--) {
		node = &graph->nodes[i - 1];
		if (met[i])
			met[node->after[0]] = met[node->after[1]] = true;
		else if (must_be_met(node))
			all = false;
	}
	free(met);
	return all;
}

CUresult do_cuGraphDestroy(CUgraph handle)
{
	struct graph *graph = handle_find(HANDLE_GRAPH, (u64)handle);

	REFUSE_IF(!graph, 0, INVALID_VALUE, "not a graph");
	handle_end((u64)handle);
	if (broken(226))
		graph->n = 0;
	graph_put(graph);
	return CUDA_SUCCESS;
}

/* ---- Executable graphs ---------------------------------------------- */

CUresult do_cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph handle,
					unsigned long long flags)
{
	struct graph *graph = handle_find(HANDLE_GRAPH, (u64)handle);
	struct exec *exec;

	REFUSE_IF(!out || !graph, 0, INVALID_VALUE,
		  "no place for it, or not a graph");
	REFUSE_IF(flags & ~(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
			    CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
			    CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY),
		  227, INVALID_VALUE, "no such flags");
	REFUSE_IF(flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, 0,
		  NOT_SUPPORTED, "the device of the model launches nothing");
	exec = calloc(1, sizeof(*exec));
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	graph->refs++;
	exec->graph = graph;
	exec->handle = handle_new(HANDLE_EXEC, exec);
	*out = (CUgraphExec)exec->handle;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphExecDestroy(CUgraphExec handle)
{
	struct exec *exec = handle_find(HANDLE_EXEC, (u64)handle);

	REFUSE_IF(!exec, 0, INVALID_VALUE, "not an executable graph");
	REFUSE_IF(broken(225) && exec->last && !exec->last->done, 0,
		  NOT_READY, "broken");
	handle_end(exec->handle);
	mark_put(exec->last);
	graph_put(exec->graph);
	free(exec);
	return CUDA_SUCCESS;
}

/* ---- Launches ------------------------------------------------------- */

static void break_node(struct op *op)
{
	if (broken(228))
		op->params[1]++;
	if (broken(216) || (broken(231) && op->kind == OP_HOST))
		op->kind = OP_MARK;
}

/* @marks: of the beginning, and of the nodes so far. */
static struct mark *launch_node(const struct node *node, struct stream *stream,
				struct mark *const *marks)
{
	struct op *op = op_again(node->op, stream);
	struct mark *mark = mark_get(op->mark);

	if (op->kind == OP_KERNEL)
		handle_find(HANDLE_FUNCTION, op->function);
	break_node(op);
	op_wait_for(op, marks[node->after[0]]);
	op_wait_for(op, marks[node->after[1]]);
	op_enqueue(op);
	return mark;
}

static struct op *begin_launch(struct exec *exec, struct stream *stream)
{
	struct op *first = op_new(stream, OP_MARK);

	if (broken(217))
		first->nr_waits = 0;
	if (!broken(219))
		op_wait_for(first, exec->last);
	if (broken(220))
		op_wait_for(first, newest);
	return first;
}

static void end_launch(struct exec *exec, struct stream *stream,
		       struct mark **marks)
{
	struct op *last = op_new(stream, OP_MARK);
	size_t i;

	for (i = 0; i <= exec->graph->n; i++) {
		if (!broken(218))
			op_wait_for(last, marks[i]);
		mark_put(marks[i]);
	}
	mark_put(exec->last);
	exec->last = mark_get(last->mark);
	mark_put(newest);
	newest = mark_get(last->mark);
	op_submit(last);
}

static void launch(struct exec *exec, struct stream *stream)
{
	struct graph *graph = exec->graph;
	struct mark **marks = calloc(graph->n + 1, sizeof(marks[0]));
	struct op *first = begin_launch(exec, stream);
	size_t i;

	if (!marks)
		undefined(0, "the host has no memory for a launch");
	marks[0] = mark_get(first->mark);
	op_submit(first);
	for (i = 0; i < graph->n; i++)
		marks[i + 1] = launch_node(&graph->nodes[i], stream, marks);
	end_launch(exec, stream, marks);
	free(marks);
}

CUresult do_cuGraphLaunch(CUgraphExec handle, CUstream where)
{
	struct exec *exec = handle_find(HANDLE_EXEC, (u64)handle);
	struct stream *stream;
	CUresult ret;

	REFUSE_IF(!exec, 0, INVALID_VALUE, "not an executable graph");
	stream = stream_find(where, &ret);
	if (!stream)
		return ret;
	REFUSE_IF(stream_captures(stream), 0, NOT_SUPPORTED,
		  "the model has no graphs in graphs");
	REFUSE_IF(broken(232) && stream->legacy, 0, INVALID_VALUE, "broken");
	ret = capture_take(stream);
	if (!ret)
		launch(exec, stream);
	return ret;
}
