// SPDX-License-Identifier: BSD-2-Clause
/*
 * lag.c - streams that are behind, and what was freed on them: see retention.h.
 *
 * A *lane* is a job of its own: in each step it allocates blocks, submits work
 * on them to its stream, and frees them there, without waiting. Its stream is
 * @lag steps behind: before the work of a step it waits for an event of a
 * *gate*, a stream that the model holds, and the gate of step t opens after
 * step t + lag. So what the lane needs at once is known: its blocks, (lag + 1)
 * times.
 *
 * When the library waits for the device, the model lets everything run: after
 * such a wait no stream is behind, as on a device that has run dry.
 *
 * The first half of the steps is the warm-up, and not in the figures.
 */
#include <stdio.h>
#include <stdlib.h>

#include <slabdev/slabdev.h>

#include "tests/gpu/retention.h"
#include "tools/lib/memory.h"

struct lane {
	u64 nr_gates;		/* lag + 1 */
	CUstream from, to;	/* allocates; works and frees */
	CUstream *gate;
	CUevent *open;		/* recorded in the gate */
	CUevent made;		/* recorded in @from, which @to waits for */
	CUdeviceptr *block;
};

struct figures {
	u64 taken, pending;	/* at most */
	u64 failed, ns;
};

struct lag {
	const struct setup *setup;
	struct lane lane[LANES_MAX];
	struct figures now;	/* of the half that is going on */
};

static CUstream new_stream(void)
{
	CUstream stream;

	GPU_MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

static CUevent new_event(void)
{
	CUevent event;

	GPU_MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	return event;
}

static void attach(const struct setup *s, CUstream stream)
{
	if (!s->loose)
		s->way->attach(stream);
}

static void lane_open(struct lane *l, const struct setup *s, u64 lag)
{
	l->nr_gates = lag + 1;
	l->to = new_stream();
	attach(s, l->to);
	l->from = s->across ? new_stream() : l->to;
	if (s->across)
		attach(s, l->from);
	l->made = new_event();
	l->gate = zalloc(l->nr_gates * sizeof(*l->gate));
	l->open = zalloc(l->nr_gates * sizeof(*l->open));
	l->block = zalloc(s->blocks * sizeof(*l->block));
	for (u64 i = 0; i < l->nr_gates; i++) {
		l->gate[i] = new_stream();
		l->open[i] = new_event();
		gpu.model_stream_hold(l->gate[i]);
	}
}

static void lane_finish(struct lane *l)
{
	for (u64 i = 0; i < l->nr_gates; i++)
		gpu.model_stream_release(l->gate[i]);
	GPU_MUST(cuStreamSynchronize(l->to));
}

static void lane_close(struct lane *l, const struct setup *s)
{
	for (u64 i = 0; i < l->nr_gates; i++) {
		GPU_MUST(cuStreamDestroy(l->gate[i]));
		GPU_MUST(cuEventDestroy(l->open[i]));
	}
	GPU_MUST(cuEventDestroy(l->made));
	if (!s->loose) {
		s->way->detach(l->to);
		if (s->across)
			s->way->detach(l->from);
	}
	if (s->across)
		GPU_MUST(cuStreamDestroy(l->from));
	GPU_MUST(cuStreamDestroy(l->to));
	free(l->gate);
	free(l->open);
	free(l->block);
}

/* Before step @t: the gate that it will use opens, and the work behind it,
 * that of step @t - lag - 1, is done. */
static void device_goes_on(struct lane *l, u64 t)
{
	CUstream gate = l->gate[t % l->nr_gates];

	gpu.model_stream_release(gate);
	gpu.model_run();
	gpu.model_stream_hold(gate);
}

/* Work that begins when the gate of step @t opens. */
static void submit(struct lane *l, u64 t)
{
	u64 i = t % l->nr_gates;

	if (l->from != l->to) {
		GPU_MUST(cuEventRecord(l->made, l->from));
		GPU_MUST(cuStreamWaitEvent(l->to, l->made, 0));
	}
	GPU_MUST(cuEventRecord(l->open[i], l->gate[i]));
	GPU_MUST(cuStreamWaitEvent(l->to, l->open[i], 0));
}

static void look(struct lag *g)
{
	struct slabdev_stats st = { .pending = 0 };
	u64 taken = g->setup->way->taken();

	if (way_space())
		slabdev_stats(way_space(), &st, sizeof(st));
	if (taken > g->now.taken)
		g->now.taken = taken;
	if (st.pending > g->now.pending)
		g->now.pending = st.pending;
}

static void step(struct lag *g, struct lane *l, u64 t)
{
	const struct setup *s = g->setup;
	u64 start;

	device_goes_on(l, t);
	start = gpu_clock_ns();
	for (u64 i = 0; i < s->blocks; i++) {
		l->block[i] = s->way->alloc(s->bytes, l->from);
		g->now.failed += !l->block[i];
	}
	g->now.ns += gpu_clock_ns() - start;
	submit(l, t);
	start = gpu_clock_ns();
	for (u64 i = 0; i < s->blocks; i++)
		if (l->block[i])
			s->way->release(l->block[i], l->to);
	g->now.ns += gpu_clock_ns() - start;
	look(g);
}

/* Counts of events and waits since the way was opened. */
static struct slabdev_stats counts(void)
{
	struct slabdev_stats st = { .host_waits = 0 };

	if (way_space())
		slabdev_stats(way_space(), &st, sizeof(st));
	else
		st.host_waits = way_pool_waits();
	return st;
}

static void walk(struct lag *g, u64 from, u64 to)
{
	for (u64 t = from; t < to; t++)
		for (unsigned int i = 0; i < g->setup->nr_lanes; i++)
			step(g, &g->lane[i], t);
}

static void print(const struct lag *g, const struct slabdev_stats *from)
{
	const struct setup *s = g->setup;
	struct slabdev_stats to = counts();
	u64 steps = s->steps - s->steps / 2, need = 0;

	for (unsigned int i = 0; i < s->nr_lanes; i++)
		need += (s->lag[i] + 1) * s->blocks * s->bytes;
	puts("steps,pairs,need,taken,pending,failed,records,queries,"
	     "host_waits,stream_waits,us");
	printf("%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%.1f\n",
	       (unsigned long long)(steps * s->nr_lanes),
	       (unsigned long long)(steps * s->nr_lanes * s->blocks),
	       (unsigned long long)need, (unsigned long long)g->now.taken,
	       (unsigned long long)g->now.pending,
	       (unsigned long long)g->now.failed,
	       (unsigned long long)(to.event_records - from->event_records),
	       (unsigned long long)(to.event_queries - from->event_queries),
	       (unsigned long long)(to.host_waits - from->host_waits),
	       (unsigned long long)(to.stream_waits - from->stream_waits),
	       (double)g->now.ns / 1e3);
}

static void measure(struct lag *g)
{
	const struct setup *s = g->setup;
	struct slabdev_stats from;

	walk(g, 0, s->steps / 2);
	from = counts();
	g->now = (struct figures){ .ns = 0 };
	walk(g, s->steps / 2, s->steps);
	print(g, &from);
}

int lag_measure(const struct setup *s)
{
	struct lag g = { .setup = s };
	unsigned int i;

	if (!gpu.is_model) {
		fputs("retention: only the model can hold streams back\n",
		      stderr);
		return -1;
	}
	if (s->way->open(s))
		return -1;
	for (i = 0; i < s->nr_lanes; i++)
		lane_open(&g.lane[i], s, s->lag[i]);
	measure(&g);
	for (i = 0; i < s->nr_lanes; i++)
		lane_finish(&g.lane[i]);
	for (i = 0; i < s->nr_lanes; i++)
		lane_close(&g.lane[i], s);
	s->way->close();
	return 0;
}
