/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hazard_program.h - random programs of streams, with a race or without.
 *
 * What comes before what is kept here as sets of numbered steps, the other way
 * round than hazard mode does it: each stream has the set of all steps that
 * come before its next one. A program adds the order that a step needs, in one
 * of the ways that there are, before the step; so it is correct. One that is to
 * have a race leaves that out once, where the sets say that it matters, and
 * ends there.
 *
 * How a step is done is the user's: by the engine alone, on host queues, or on
 * a device.
 */
#ifndef TESTS_HAZARD_PROGRAM_H
#define TESTS_HAZARD_PROGRAM_H

#include <slabdev/slabdev.h>

#include "tests/random.h"

#define STEPS 200u
#define STREAMS 5u		/* 0 is the CPU */
#define OBJECTS 4u
#define EVENTS 6u
#define TOUCHES 64u

struct steps {
	u64 bits[STEPS * 4 / 64];
};

struct touch {
	u32 stream, step;
};

struct object {
	bool live;
	u64 addr;
	u64 size;
	struct touch alloc;
	u32 nr;
	struct touch touch[TOUCHES];
	bool used[STREAMS];
};

struct program;

/* Each is done by stream @stream, 0 the CPU, and is step @step of it. */
struct program_ops {
	void (*record)(struct program *p, u32 stream, u32 event);
	void (*wait)(struct program *p, u32 stream, u32 event);
	/* The CPU waits for the stream; for all: 0. */
	void (*synchronize)(struct program *p, u32 stream);
	/* All at once; NULL: there is no such call. */
	void (*order)(struct program *p, u32 late, u32 early);
	/* Sets .addr and .size of the object. */
	void (*alloc)(struct program *p, u32 object, u32 stream, u32 step);
	/* Those two: was a hazard reported? */
	bool (*access)(struct program *p, u32 object, u64 addr, u32 stream,
		       u32 step);
	bool (*free)(struct program *p, u32 object, u32 stream, u32 step);
	void (*use)(struct program *p, u32 object, u32 stream);
	/* Between the steps; NULL: nothing. */
	void (*between)(struct program *p);
};

struct program {
	struct kunit *test;
	const struct program_ops *ops;
	void *arg;		/* of the ops */
	slabdev_stream_t handle[STREAMS];
	/* In whose order calls without a stream are: the bound stream, or the
	 * CPU. With host order all have at once what the bound one gets. */
	u32 plain_alloc, plain_free;
	u64 state;
	u32 nr_steps;
	struct steps before[STREAMS];
	struct steps event[EVENTS];
	struct object object[OBJECTS];
	u32 race_at;		/* the chance that is not taken; 0: none */
	u32 chances;
	/* The race, once it is there. */
	bool planted;
	u32 object_nr;
	struct touch early, late;
	bool at_access;
};

/* Whose step an allocation on @stream is. */
static inline u32 program_alloc_stream(const struct program *p, u32 stream)
{
	return !stream || stream == p->plain_free ? p->plain_alloc : stream;
}

/* True: it has the race that it was to have, and that was reported. */
bool hazard_program_run(struct program *p, u64 seed, bool race);

#endif /* TESTS_HAZARD_PROGRAM_H */
