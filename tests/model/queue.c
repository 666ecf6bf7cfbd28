// SPDX-License-Identifier: BSD-2-Clause
/*
 * queue.c - the order of work.
 *
 * One list has all operations that have not run, in the order of submission.
 * Each waits for marks: that of the operation before it in its stream, those
 * that the legacy stream and the blocking streams of a context put between
 * each other, and those of events. The worker runs the first that waits for
 * nothing and whose stream is not held; so the order is the same in every run
 * that makes the same calls before it waits.
 *
 * The threads start with the first operation and are never joined: they hold
 * the lock or sleep when the process ends.
 */
#include <signal.h>
#include <time.h>

#include "tests/model/ptx.h"

static struct list ops = LIST_INIT(ops);
static u64 nr_ops;
static u64 nr_host_ops;
static u64 last_order;
static bool threads_started;
static bool host_function_runs;
static pthread_cond_t host_cond = PTHREAD_COND_INITIALIZER;
static pthread_cond_t idle_cond = PTHREAD_COND_INITIALIZER;
static bool holds_yield;
static unsigned int nr_yielding;	/* wait, and hold back nothing */

void queue_wake(void)
{
	pthread_cond_broadcast(&model.cond);
	if (nr_host_ops)
		pthread_cond_signal(&host_cond);
}

static bool any_ready(void);

/* ---- Marks ---------------------------------------------------------- */

struct mark *mark_new(void)
{
	struct mark *mark = calloc(1, sizeof(*mark));

	if (!mark)
		undefined(0, "the host has no memory for an operation");
	mark->refs = 1;
	return mark;
}

struct mark *mark_get(struct mark *mark)
{
	if (mark)
		mark->refs++;
	return mark;
}

void mark_put(struct mark *mark)
{
	if (mark && !--mark->refs)
		free(mark);
}

static void mark_done(struct mark *mark)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	mark->when_ns = (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
	mark->done = true;
	queue_wake();
}

/* So that what runs meanwhile is the same in each run: all that can. */
static void yield_to(const struct mark *mark, int device)
{
	nr_yielding++;
	queue_wake();
	while ((!mark->done && !sticky_of(device)) || any_ready())
		pthread_cond_wait(&idle_cond, &model.lock);
	nr_yielding--;
}

CUresult mark_wait(struct mark *mark, int device)
{
	if (holds_yield && !mark->done)
		yield_to(mark, device);
	while (!mark->done && !sticky_of(device))
		pthread_cond_wait(&model.cond, &model.lock);
	return broken(192) ? CUDA_SUCCESS : sticky_of(device);
}

/* ---- Operations ----------------------------------------------------- */

void op_wait_for(struct op *op, struct mark *mark)
{
	if (!mark || mark->done)
		return;
	if (op->nr_waits == op->cap_waits) {
		op->cap_waits = op->cap_waits ? 2 * op->cap_waits : 4;
		op->waits = realloc(op->waits,
				    op->cap_waits * sizeof(op->waits[0]));
		if (!op->waits)
			undefined(0, "the host has no memory for a queue");
	}
	op->waits[op->nr_waits++] = mark_get(mark);
}

static void wait_for_blocking_streams(struct op *op, struct context *ctx)
{
	struct list *node;
	struct stream *stream;

	for (node = ctx->streams.next; node != &ctx->streams;
	     node = node->next) {
		stream = container_of(node, struct stream, node);
		if (stream->blocking)
			op_wait_for(op, stream->last);
	}
}

static void wait_for_what_went_before(struct op *op, struct stream *stream)
{
	op_wait_for(op, stream->last);
	if (stream->legacy)
		wait_for_blocking_streams(op, stream->ctx);
	else if (stream->blocking)
		op_wait_for(op, stream->ctx->legacy->last);
}

struct op *op_new(struct stream *stream, enum op_kind kind)
{
	struct op *op = calloc(1, sizeof(*op));

	if (!op)
		undefined(0, "the host has no memory for an operation");
	op->kind = kind;
	op->stream = stream;
	op->device = stream->ctx->device;
	op->mark = mark_new();
	stream->refs++;
	if (!stream_captures(stream))
		wait_for_what_went_before(op, stream);
	return op;
}

struct op *op_again(const struct op *node, struct stream *stream)
{
	struct op *op = calloc(1, sizeof(*op));

	if (!op)
		undefined(0, "the host has no memory for an operation");
	*op = *node;
	op->stream = stream;
	op->mark = mark_new();
	op->waits = NULL;
	op->nr_waits = op->cap_waits = 0;
	op->staged = NULL;
	op->text = ptx_get(node->text);
	op->is_launched = true;
	stream->refs++;
	return op;
}

void op_free(struct op *op)
{
	size_t i;

	for (i = 0; i < op->nr_waits; i++)
		mark_put(op->waits[i]);
	free(op->waits);
	free(op->staged);
	ptx_put(op->text);
	mark_put(op->mark);
	if (op->stream)
		stream_put(op->stream);
	free(op);
}

/* Through with it, whether it ran or not. */
static void op_retire(struct op *op)
{
	list_del(&op->node);
	nr_ops--;
	nr_host_ops -= op->kind == OP_HOST;
	mark_done(op->mark);
	op_free(op);
}

/* ---- Threads -------------------------------------------------------- */

static bool is_ready(const struct op *op)
{
	size_t i;

	if (op->runs || (op->stream->held && !nr_yielding))
		return false;
	for (i = 0; i < op->nr_waits; i++)
		if (!op->waits[i]->done)
			return false;
	return true;
}

static struct op *next_ready(bool host)
{
	struct list *node;
	struct op *op;

	for (node = ops.next; node != &ops; node = node->next) {
		op = container_of(node, struct op, node);
		if ((op->kind == OP_HOST) == host && is_ready(op))
			return op;
	}
	return NULL;
}

static bool any_ready(void)
{
	return next_ready(false) || next_ready(true);
}

void queue_run(void)
{
	queue_wake();
	while (any_ready() || host_function_runs)
		pthread_cond_wait(&idle_cond, &model.lock);
}

void queue_yield(bool yield)
{
	holds_yield = yield;
}

static struct op *wait_for_op(bool host)
{
	struct op *op;

	while (!(op = next_ready(host))) {
		pthread_cond_broadcast(&idle_cond);
		pthread_cond_wait(host ? &host_cond : &model.cond,
				  &model.lock);
	}
	return op;
}

/* Nothing runs on a device that has failed. */
static void *work(void *arg)
{
	struct op *op;

	pthread_mutex_lock(&model.lock);
	for (;;) {
		op = wait_for_op(false);
		if (!sticky_of(op->device) || broken(192))
			op_run(op);
		op_retire(op);
	}
	return arg;
}

static void *call_host_functions(void *arg)
{
	struct op *op;

	thread_self()->runs_host_function = true;
	pthread_mutex_lock(&model.lock);
	for (;;) {
		op = wait_for_op(true);
		op->runs = host_function_runs = true;
		if (!sticky_of(op->device) && !broken(175)) {
			pthread_mutex_unlock(&model.lock);
			op->fn(op->data);
			pthread_mutex_lock(&model.lock);
		}
		op_retire(op);
		host_function_runs = false;
	}
	return arg;
}

static void start_thread(void *(*fn)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fn, NULL))
		undefined(0, "the host has no thread for the driver");
	pthread_detach(thread);
}

static void start_threads(void)
{
	sigset_t all, before;

	threads_started = true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	start_thread(work);
	start_thread(call_host_functions);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void op_enqueue(struct op *op)
{
	if (!threads_started)
		start_threads();
	op->order = ++last_order;
	list_add_tail(&op->node, &ops);
	nr_ops++;
	nr_host_ops += op->kind == OP_HOST;
	if (is_ready(op))
		queue_wake();
}

void op_submit(struct op *op)
{
	struct stream *stream = op->stream;

	if (stream_captures(stream)) {
		capture_add(stream, op);
		return;
	}
	mark_put(stream->last);
	stream->last = mark_get(op->mark);
	op_enqueue(op);
}

/* ---- Work in flight ------------------------------------------------- */

static bool overlaps(u64 a, u64 a_size, u64 b, u64 b_size)
{
	return a_size && a < b + b_size && b < a + a_size;
}

static u64 rows_start(const struct rows *rows)
{
	return rows->addr ? rows->addr : (u64)(uintptr_t)rows->host;
}

static u64 rows_bytes(const struct rows *rows, const struct op *op)
{
	if (!rows_start(rows) || !op->height || !op->width)
		return 0;
	return rows->pitch * (op->height - 1) + op->width;
}

/* A kernel may touch what any of its parameters points into. */
static bool params_touch(const struct op *op, u64 start, u64 size)
{
	size_t i;

	for (i = 0; i < KERNEL_PARAMS_MAX; i++)
		if (overlaps(op->params[i], 1, start, size))
			return true;
	return false;
}

static bool op_touches(const struct op *op, u64 start, u64 size)
{
	if (op->kind == OP_KERNEL)
		return params_touch(op, start, size);
	return overlaps(rows_start(&op->dst), rows_bytes(&op->dst, op), start,
			size) ||
	       overlaps(rows_start(&op->src), rows_bytes(&op->src, op), start,
			size);
}

/* What goes away under work makes that work fault when its turn comes. */
void queue_doom(u64 start, u64 size, const char *what)
{
	struct list *node;
	struct op *op;

	for (node = ops.next; node != &ops; node = node->next) {
		op = container_of(node, struct op, node);
		if (op->doomed || !op_touches(op, start, size))
			continue;
		violation("%s of %#llx while work that uses it is in flight",
			  what, (unsigned long long)start);
		op->doomed = !broken(103);
	}
}

static const struct op *op_of(const struct mark *mark)
{
	struct list *node;
	const struct op *op;

	for (node = ops.next; node != &ops; node = node->next) {
		op = container_of(node, struct op, node);
		if (op->mark == mark)
			return op;
	}
	return NULL;
}

/* Whether @op runs after @other, by what it waits for and what that does. */
static bool runs_after(const struct op *op, const struct op *other)
{
	const struct op *before;
	size_t i;

	for (i = 0; i < op->nr_waits; i++) {
		before = op_of(op->waits[i]);
		if (before && (before == other || runs_after(before, other)))
			return true;
	}
	return false;
}

void queue_check_order(const struct op *op, u64 start, u64 size)
{
	const struct list *node;
	const struct op *other;

	for (node = ops.next; node != &ops; node = node->next) {
		other = container_of(node, struct op, node);
		if (op_touches(other, start, size) && !runs_after(op, other))
			violation("%#llx is freed in a stream that does not "
				  "wait for work that uses it",
				  (unsigned long long)start);
	}
}

u64 queue_pending(void)
{
	return nr_ops;
}

/* Of a context that ends; a host function that runs is left to its end. */
void queue_drop_stream(struct stream *stream)
{
	struct list *node, *next;
	struct op *op;

	stream->refs++;
	for (node = ops.next; node != &ops; node = next) {
		next = node->next;
		op = container_of(node, struct op, node);
		if (op->stream == stream && !op->runs)
			op_retire(op);
	}
	stream_put(stream);
}
