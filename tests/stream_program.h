/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_program.h - programs for streams, and kernels that find out whether
 * their memory was given away.
 *
 * A program has some streams, host queues here, and objects. Every object has
 * a *home*: the stream that its work is in; 0 is the CPU. A kernel finds in its
 * object what the kernel that was submitted before it on the same object has
 * left, in many places, and leaves a number of its own. Queues are run at
 * random, so kernels run long after their objects were freed: if memory is
 * given away too early, two of them meet in it, and one finds what it did not
 * leave.
 *
 * A program is correct by construction: work in another stream is ordered
 * behind the home's, or told by slabdev_use(); the CPU has an object when its
 * work was waited for. So whatever a kernel finds wrong is the library's fault.
 *
 * A graph is what a declared capture has recorded: kernels, that are submitted
 * again at each replay, with the same addresses. An object that was not freed
 * within the capture must look at each replay as the one before has left it.
 *
 * Locking: a program is one thread's; its kernels may run in any.
 */
#ifndef TESTS_STREAM_PROGRAM_H
#define TESTS_STREAM_PROGRAM_H

#include <slabdev/slabdev.h>

#include "tests/kunit/kunit.h"

#define PROGRAM_STREAMS 8u
#define GRAPH_KERNELS 24u
#define GRAPH_OBJECTS 8u
/* What a kernel expects that does not care. */
#define ANYTHING (~(u64)0)

struct program;

struct kernel {
	struct program *program;
	u64 addr, size;
	u64 before, after;	/* what it finds, and leaves; see .reads */
	u64 before_size;	/* of the object that .before was left in, */
	u64 before_bytes;	/* and how much of that is here */
	u64 step;		/* of the program, when it was submitted */
	u32 stream;
	bool reads;		/* only */
};

struct object {
	void *p;
	u64 size;
	u64 left;		/* by the last kernel, or ANYTHING */
	u64 left_size, left_bytes;
	u32 home;
	bool is_cached;		/* of a cache: cannot be resized */
	bool is_shared;		/* read by other streams: written no more */
};

struct program_stream {
	slabdev_stream_t queue;	/* NULL: the CPU */
	bool attached;
	bool capturing;
};

struct graph_object {
	struct object o;	/* .p is NULL when it was freed */
	u64 addr;
	u32 first;		/* index of its first kernel */
	bool used;		/* not the graph's own: slabdev_use() */
};

enum graph_state { GRAPH_NONE, GRAPH_CAPTURES, GRAPH_READY };

struct program_graph {
	enum graph_state state;
	struct slabdev_graph *graph;
	u32 stream;		/* captured; later that of the last replay */
	u32 nr_kernels, nr_objects;
	u64 replays;
	struct kernel kernel[GRAPH_KERNELS];
	u64 again[GRAPH_KERNELS];	/* .before, from the second replay on */
	struct graph_object object[GRAPH_OBJECTS];
};

struct program {
	struct kunit *test;
	struct slabdev *sd;
	u64 random;
	u64 step;
	u64 next;		/* number of the last kernel */
	u64 submitted, done;	/* atomic: kernels */
	unsigned int queue_flags;
	bool failing;		/* calls of the backend may fail just now */
	u32 nr_streams;
	u32 wrong;		/* atomic: words that were not as left */
	struct kernel first_wrong;
	u64 wrong_at, wrong_word;
	struct program_stream stream[PROGRAM_STREAMS];	/* 0: the CPU */
	struct program_graph graph;
};

/* Streams. None of those that are being captured. */
u32 program_any_stream(struct program *p);
void program_stream_begin(struct program *p, u32 i, bool attach);
/* Its work runs, whatever it waits for; nothing has it as its home. */
void program_stream_end(struct program *p, u32 i);
/* Attached or not, it is told to the library no more. */
void program_stream_detach(struct program *p, u32 i);
/* What is submitted to @after from now on comes after all of @before. */
void program_order(struct program *p, u32 before, u32 after);
/* Have some queue do a few of the things that it has, if it can. */
void program_run_some(struct program *p);
/* All queues are empty. */
void program_run_all(struct program *p);

/* Kernels. */
void program_launch(struct program *p, struct object *o);
/* In another stream than its home, which it is ordered behind. */
void program_launch_reader(struct program *p, const struct object *o,
			   u32 stream);
/* Nothing was found wrong, or the case says what, and is over. */
void program_check(struct program *p);

/* Graphs: the next of the things that can be done with one. */
void program_graph_step(struct program *p);
void program_graph_end(struct program *p);
/* An object that is the graph's from here on: it is freed when the capture
 * ends. False: not now. */
bool program_graph_use(struct program *p, struct object *o);

/* The address of a free on a stream; the CPU's is a plain one. */
void program_free(struct program *p, void *addr, u32 stream);

#endif /* TESTS_STREAM_PROGRAM_H */
