/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_walk.h - random walks through all that can be done with streams.
 *
 * A walk is a program (stream_program.h) that makes random steps: objects of
 * all kinds come and go in all streams, streams are made and destroyed,
 * attached and detached, graphs captured and replayed, the policy changes,
 * memory is short, calls of the backend fail. No kernel finds its memory given
 * away, the books balance, and in the end everything is given back.
 *
 * Several walks, in threads, may share a space and its caches, and hand each
 * other objects over.
 */
#ifndef TESTS_STREAM_WALK_H
#define TESTS_STREAM_WALK_H

#include "tests/stream_program.h"

#define WALK_OBJECTS 160u
#define WALK_DESKS 16u
#define WALK_CACHES 5u

struct walk_settings {
	u64 limit;
	u32 nr_streams;		/* with stream 0 */
	u64 steps;
	bool huge, fails;
	/* Streams may be made to wait, and sizes are few, so that they are. */
	bool waits;
	bool keeps_streams;	/* from the beginning to the end */
};

/* What the walks of a case have together. */
struct walk_space {
	struct kunit *test;
	const struct walk_settings *set;
	const struct program_driver *driver;
	struct slabdev *sd;
	/* Memory of calls without a stream is for everybody at once, .. */
	bool for_all;
	bool for_cpu;		/* .. the CPU too */
	u64 seed;
	struct slabdev_cache *cache[WALK_CACHES];
	struct object *desk[WALK_DESKS];	/* atomic; homes are 0 */
};

struct walk {
	struct program p;
	struct walk_space *space;
	u64 nothing;		/* allocations that got none */
	struct object object[WALK_OBJECTS];
};

/* .test and .set are set, and .sd, on which nothing was done yet. */
void walk_open(struct walk_space *s);
/* Nothing is live: the figures, and everything is given back. */
struct slabdev_stats walk_close(struct walk_space *s);

/* Walk number @me begins; .p.priv is set, as its driver wants it. */
void walk_begin(struct walk *w, struct walk_space *s, u32 me, bool alone);
/* All of its steps, and its objects are freed: takes a struct walk. */
void walk_steps(void *arg);
/* Its streams end. */
void walk_end(struct walk *w);

#endif /* TESTS_STREAM_WALK_H */
