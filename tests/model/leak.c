// SPDX-License-Identifier: BSD-2-Clause
/*
 * leak.c - what is alive, and the end of the process.
 *
 * A process that ends takes everything with it, so that nothing is lost; but
 * what a program leaves behind there it leaves behind in its middle too. It is
 * said on standard error, and is a violation.
 *
 * From the exit handler on the driver is down: a handler that was registered
 * before cuInit, or a destructor, gets DEINITIALIZED for whatever it asks.
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/model/internal.h"

static void count_region(const struct region *region, struct model_leaks *l)
{
	size_t i;

	switch (region->kind) {
	case REGION_RESERVED:
		l->reservations++;
		l->mappings += region->parts.n;
		return;
	case REGION_CLASSIC:
	case REGION_MANAGED:
		l->allocations += region->parts.n;
		return;
	case REGION_POOL:
		for (i = 0; i < region->parts.n; i++)
			l->allocations += !part_of(region, i)->freed;
		return;
	case REGION_HOST:
	case REGION_REGISTERED:
		l->host_blocks++;
		return;
	}
}

u64 leak_count(struct model_leaks *leaks)
{
	const struct span_set *regions = space_regions();
	struct model_leaks l = { 0 };
	size_t i;

	for (i = 0; i < regions->n; i++)
		count_region(container_of(regions->v[i], struct region, span),
			     &l);
	l.handles = handle_count(HANDLE_MEMORY);
	l.streams = handle_count(HANDLE_STREAM);
	l.events = handle_count(HANDLE_EVENT);
	l.modules = handle_count(HANDLE_MODULE);
	l.graphs = handle_count(HANDLE_GRAPH) + handle_count(HANDLE_EXEC);
	l.pools = pool_count();
	l.contexts = context_count();
	for (i = 0; i < DEVICES_MAX; i++)
		l.bytes += model.devices[i].used_bytes;
	l.bytes -= context_bytes();
	if (leaks)
		*leaks = l;
	return l.reservations + l.handles + l.mappings + l.allocations +
	       l.host_blocks + l.pools + l.streams + l.events + l.contexts +
	       l.modules + l.graphs;
}

static void say(const char *what, u64 n)
{
	if (n)
		fprintf(stderr, "driver model: left at exit: %llu %s\n",
			(unsigned long long)n, what);
}

void leak_at_exit(void)
{
	struct model_leaks l;

	/* In the child of a fork the lock may be somebody's who is not here. */
	if (model.pid && model.pid != getpid())
		return;
	pthread_mutex_lock(&model.lock);
	model.down = !broken(195);
	if (leak_count(&l)) {
		say("reservations", l.reservations);
		say("memory handles", l.handles);
		say("mappings", l.mappings);
		say("allocations", l.allocations);
		say("blocks of pinned memory", l.host_blocks);
		say("pools", l.pools);
		say("streams", l.streams);
		say("events", l.events);
		say("contexts", l.contexts);
		say("modules", l.modules);
		say("graphs", l.graphs);
		violation("something was left at exit");
	}
	pthread_mutex_unlock(&model.lock);
}
