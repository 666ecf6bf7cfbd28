// SPDX-License-Identifier: BSD-2-Clause
/*
 * ours_stream.c - libslabdev on streams.
 *
 * stream	allocates and frees on one stream, which is attached: a free is
 *		a hit, as without a stream
 * across	allocates on one and frees on another: each object waits for an
 *		event, with the others of its sheaf
 * loose	as stream, not attached: each object waits for an event of its
 *		own
 *
 * Threads that keep to themselves have a stream each; one that hands its
 * objects to another works in the same stream as that one, but for across,
 * where the first allocates and the second frees.
 *
 * Nothing is ever submitted to a stream, so that each event is done when it is
 * asked: what is measured is the allocator.
 */
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "ours.h"
#include "subject.h"
#include "workload.h"

static slabdev_stream_t stream[MAX_WORKERS];

static bool fail(char *why)
{
	snprintf(why, SUBJECT_TEXT, "%s", slabdev_last_error());
	return false;
}

static bool loose_open(const struct subject *s, struct calls *c, size_t size,
		       uint64_t limit, char *why)
{
	unsigned int i;

	(void)s;
	(void)size;
	c->shape = SHAPE_STREAM;
	c->stream.alloc = slabdev_alloc_async;
	c->stream.free = slabdev_free_async;
	if (!ours_open_space(&c->stream.sd, limit, why))
		return false;
	for (i = 0; i < MAX_WORKERS; i++)
		if (!device_stream(&stream[i], why))
			return false;
	c->stream.from = c->stream.to = stream[0];
	return true;
}

static bool stream_open(const struct subject *s, struct calls *c, size_t size,
			uint64_t limit, char *why)
{
	unsigned int i;

	if (!loose_open(s, c, size, limit, why))
		return false;
	for (i = 0; i < MAX_WORKERS; i++)
		if (slabdev_stream_attach(c->stream.sd, stream[i]))
			return fail(why);
	return true;
}

static bool across_open(const struct subject *s, struct calls *c, size_t size,
			uint64_t limit, char *why)
{
	if (!stream_open(s, c, size, limit, why))
		return false;
	c->stream.to = stream[1];
	return true;
}

static void own_stream(struct calls *c, unsigned int worker)
{
	c->stream.from = c->stream.to = stream[worker];
}

/* A cache has the sheaves of a general class of its size. */
static bool count_events(const struct calls *c, size_t size, struct events *e)
{
	struct slabdev_cache_stats cache_stats = { 0 };
	struct slabdev *sd = c->stream.sd;
	struct slabdev_cache *cache;
	struct slabdev_stats st;

	if (slabdev_cache_create(&cache, sd, "size", size, NULL))
		return false;
	if (slabdev_cache_stats(cache, &cache_stats, sizeof(cache_stats)) ||
	    slabdev_cache_destroy(cache) ||
	    slabdev_stats(sd, &st, sizeof(st)))
		return false;
	e->records = st.event_records;
	e->queries = st.event_queries;
	e->sheaf = cache_stats.sheaf_objects;
	return true;
}

const struct subject ours_stream = {
	.name = "stream",
	.what = "slabdev_alloc_async(), slabdev_free_async() on one stream",
	.kind = KIND_OURS,
	.beside = "slabdev",
	.open = stream_open,
	.for_worker = own_stream,
	.events = count_events,
	.version = ours_version,
};

const struct subject ours_across = {
	.name = "across",
	.what = "the same, freed on another stream than allocated",
	.kind = KIND_OURS,
	.beside = "slabdev",
	.open = across_open,
	.events = count_events,
	.version = ours_version,
};

const struct subject ours_loose = {
	.name = "loose",
	.what = "the same on one stream that is not attached",
	.kind = KIND_OURS,
	.beside = "slabdev",
	.open = loose_open,
	.for_worker = own_stream,
	.events = count_events,
	.version = ours_version,
};
