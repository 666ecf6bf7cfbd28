/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launches.h - graphs on the model of the driver, and who owns which bytes.
 *
 * Everybody who has memory fills it with a number of his own, and a kernel that
 * works on it finds that number in it, at both ends and in between. A graph
 * has one number for all that it has, from before its first launch to its
 * release: each launch finds what the last one left. So two who were given the
 * same byte meet, whoever comes first.
 */
#ifndef TESTS_LAUNCHES_H
#define TESTS_LAUNCHES_H

#include "tests/stream_space.h"

struct launches {
	struct stream_space s;
	CUmodule module;
	CUfunction check;
	u32 next;		/* number of an owner */
};

void launches_open(struct launches *l, struct kunit *test,
		   const struct cuda_kind_param *kind, u64 limit);
/* No kernel found what is not his; all memory goes back. */
void launches_close(struct launches *l);

/* How many kernels found another's number so far; why it is 0 or not. */
u64 strangers(void);
void expect_no_stranger(struct kunit *test);
void forget_strangers(void);

/* Atomic: any thread. */
u32 new_owner(struct launches *l);
/* Put into @stream: all of it is @owner's; a kernel that expects so. */
void own_on(struct launches *l, void *p, size_t size, u32 owner,
	    CUstream stream);
void check_on(struct launches *l, void *p, size_t size, u32 owner,
	      CUstream stream);

/* Objects that come and go on a stream, of all sizes; NULL: the bound one. */
void pass_by(struct launches *l, CUstream stream);
/* Everything that gives memory away or back, by the number of the round. */
void disturb(struct launches *l, u32 round);

/* ---- One graph ------------------------------------------------------ */

#define REPLAY_OBJECTS 16u

struct replay {
	struct launches *l;
	CUstream stream;	/* that was captured */
	CUgraph graph;
	CUgraphExec exec;
	struct slabdev_graph *memory;
	u32 owner, n;
	struct replay_object {
		void *p;
		size_t size;
	} object[REPLAY_OBJECTS];
};

/* The capture begins; @declared: with slabdev_capture_begin(). */
void replay_begin(struct replay *g, struct launches *l, CUstream stream,
		   CUstreamCaptureMode mode, bool declared);
/* In the capture: work on an object that is the graph's from then on. */
void replay_use(struct replay *g, void *p, size_t size, CUstream stream);
/* The same with memory that it allocates, on the stream. */
void *replay_get(struct replay *g, size_t size);
void replay_give(struct replay *g, void *p);
/* It ends, and work is submitted that gives what it has its number. */
void replay_stop(struct replay *g);
/* The same, and that is done: it may be launched in any stream. */
void replay_end(struct replay *g);
void replay_launch(struct replay *g, CUstream stream);
/* Its launches are over: the memory is the space's again. */
void replay_release(struct replay *g);
/* The driver's part of that. */
void replay_destroy(struct replay *g);

/* ---- Cases (graph_random.c, graph_threads.c) ------------------------ */

void graph_random(struct kunit *test, u64 steps);
void graphs_beside_threads(struct kunit *test, CUstreamCaptureMode mode);
void graphs_of_every_thread(struct kunit *test);

#endif /* TESTS_LAUNCHES_H */
