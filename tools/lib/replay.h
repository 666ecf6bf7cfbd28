/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.h - makes the calls of a trace again, and measures them.
 *
 * A trace is read in blocks of a few events. Each block is read and checked
 * first, then its calls are made in one go, and only that is timed; then the
 * space is asked for its figures. So neither reading nor asking counts, and a
 * trace needs no more memory than what is live at once.
 *
 * Live bytes are what the trace asked for, known after each event. Mapped
 * bytes are known after each block; their high water since the space was
 * opened is exact.
 */
#ifndef SLABREPLAY_REPLAY_H
#define SLABREPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slabdev/slabdev.h>

#include "ids.h"
#include "series.h"

#define REPLAY_BLOCK 64

/**
 * struct call - an event that is about to be replayed
 * @bytes: of the object; 0 when it could not be had
 * @slot: where its address is kept
 * @is_free: it is freed
 */
struct call {
	uint64_t bytes;
	uint32_t slot;
	bool is_free;
};

/**
 * struct stretch - what one loop did, or several
 * @loops: how many
 * @allocs: allocations that were tried
 * @frees: those that were freed again, at the end of the trace at the latest
 * @failed: allocations that failed
 * @peak_live: the most bytes that were live at once
 * @peak_mapped: the most bytes that were mapped
 * @backend_calls: memory-management calls of the backend
 * @refills: allocations that left the thread's own sheaves
 * @flushes: frees that did
 * @ns: time in the calls
 */
struct stretch {
	uint64_t loops;
	uint64_t allocs;
	uint64_t frees;
	uint64_t failed;
	uint64_t peak_live;
	uint64_t peak_mapped;
	uint64_t backend_calls;
	uint64_t refills;
	uint64_t flushes;
	uint64_t ns;
};

/**
 * struct replay - a replay, and in the end its result
 * @sd: the space
 * @touch: write to each page of each object
 * @ids: the live ids of the trace that is played
 * @object: their objects, by slot; NULL: none, or it could not be had
 * @nr_objects: slots that have an entry
 * @call: the block
 * @nr_calls: calls in it
 * @live: bytes that are live
 * @seen: the figures after the block before
 * @now: the stretch that is going on
 * @first: the first loop
 * @later: all other loops
 * @drawn: the first loop, and the last one
 * @drawing: the one of these that is going on
 */
struct replay {
	struct slabdev *sd;
	bool touch;
	struct ids ids;
	void **object;
	size_t nr_objects;
	struct call call[REPLAY_BLOCK];
	unsigned int nr_calls;
	uint64_t live;
	struct slabdev_stats seen;
	struct stretch *now;
	struct stretch first;
	struct stretch later;
	struct series drawn[2];
	struct series *drawing;
};

/*
 * Replays the traces, one after the other, @loops times in @sd. What a trace
 * leaves live is freed at its end. 0, or a negative errno, and it was said.
 */
int replay_run(struct replay *r, struct slabdev *sd, char *const *paths,
	       size_t nr, uint64_t loops, bool touch);
void replay_fini(struct replay *r);

static inline uint64_t stretch_events(const struct stretch *s)
{
	return s->allocs + s->frees;
}

#endif /* SLABREPLAY_REPLAY_H */
