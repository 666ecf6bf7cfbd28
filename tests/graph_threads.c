// SPDX-License-Identifier: BSD-2-Clause
/*
 * graph_threads.c - graphs while other threads are at work, for
 * cuda_graph_test.c: each thread has a stream of its own.
 */
#include <sched.h>

#include "tests/crew.h"
#include "tests/launches.h"

#define LIMIT (128 * MIB)
#define NR_THREADS 3u

struct worker {
	struct launches *l;
	CUstream stream;
	u32 number;
	bool *stop;
};

static void in_context(struct launches *l, void (*fn)(struct worker *w),
		       struct worker *w)
{
	CUcontext ctx = bench_of(l->s.test)->ctx;

	MUST(l->s.test, cuCtxPushCurrent(ctx));
	fn(w);
	MUST(l->s.test, cuCtxPopCurrent(&ctx));
}

static void pass_by_for_long(struct worker *w)
{
	do {
		pass_by(w->l, w->stream);
		MUST(w->l->s.test, cuStreamSynchronize(w->stream));
		sched_yield();
	} while (!__atomic_load_n(w->stop, __ATOMIC_ACQUIRE));
}

static void run_passer(void *arg)
{
	struct worker *w = arg;

	in_context(w->l, pass_by_for_long, w);
}

/* A graph: captured, launched, and released. */
static void short_life(struct launches *l, CUstream stream,
		       CUstreamCaptureMode mode)
{
	static const size_t sizes[] = { 256, 5000, 300000 };
	struct replay g;

	replay_begin(&g, l, stream, mode, true);
	for (u32 i = 0; i < 8; i++)
		replay_give(&g, replay_get(&g, sizes[i % 3]));
	replay_end(&g);
	for (u32 i = 0; i < 4; i++)
		replay_launch(&g, stream);
	MUST(l->s.test, cuStreamSynchronize(stream));
	replay_release(&g);
}

void graphs_beside_threads(struct kunit *test, CUstreamCaptureMode mode)
{
	struct worker worker[NR_LANES - 1];
	struct launches l;
	struct crew *crew;
	bool stop = false;

	launches_open(&l, test, NULL, LIMIT);
	crew = crew_new(test, ARRAY_SIZE(worker));
	for (u32 i = 0; i < ARRAY_SIZE(worker); i++) {
		worker[i] = (struct worker){ &l, l.s.lane[i + 1], i, &stop };
		if (i)
			attach(&l.s, worker[i].stream);
		crew_start(crew, i, run_passer, &worker[i]);
	}
	for (u32 i = 0; i < 20; i++) {
		short_life(&l, l.s.lane[0], mode);
		disturb(&l, i % 2 ? 0 : 6);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (u32 i = 0; i < ARRAY_SIZE(worker); i++)
		crew_wait(crew, i);
	crew_dismiss(crew);
	detach(&l.s, l.s.lane[2]);
	launches_close(&l);
}

static void live_shortly(struct worker *w)
{
	for (u32 i = 0; i < 10; i++) {
		short_life(w->l, w->stream, w->number % 2 ?
			   CU_STREAM_CAPTURE_MODE_THREAD_LOCAL :
			   CU_STREAM_CAPTURE_MODE_RELAXED);
		pass_by(w->l, w->stream);
	}
	MUST(w->l->s.test, cuStreamSynchronize(w->stream));
}

static void run_capturer(void *arg)
{
	struct worker *w = arg;

	in_context(w->l, live_shortly, w);
}

void graphs_of_every_thread(struct kunit *test)
{
	struct worker worker[NR_THREADS];
	struct launches l;
	struct crew *crew;

	launches_open(&l, test, NULL, LIMIT);
	crew = crew_new(test, NR_THREADS);
	for (u32 i = 0; i < NR_THREADS; i++)
		worker[i] = (struct worker){ &l, l.s.lane[i], i, NULL };
	crew_all(crew, run_capturer, worker, sizeof(worker[0]));
	crew_dismiss(crew);
	launches_close(&l);
}
