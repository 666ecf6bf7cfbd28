/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_program.h - programs for streams, and kernels that find out whether
 * their memory was given away.
 *
 * A program has some streams and objects. Every object has a *home*: the stream
 * that its work is in; 0 is that of calls without a stream. A kernel finds in
 * its object what the kernel that was submitted before it on the same object
 * has left, in many places, and leaves a number of its own. Streams are held
 * back and run at random, so kernels run long after their objects were freed:
 * if memory is given away too early, two of them meet in it, and one finds what
 * it did not leave.
 *
 * A program is correct by construction: work in another stream is ordered
 * behind the home's, or told by slabdev_use(). So whatever a kernel finds wrong
 * is the library's fault.
 *
 * Its *driver* says what streams are: host queues (stream_queues.c), where
 * stream 0 is the CPU, which has an object when its work was waited for; or
 * streams on the model of the driver (stream_model.c), where it is the bound
 * stream.
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

#define PROGRAM_STREAMS 10u
#define GRAPH_KERNELS 24u
#define GRAPH_OBJECTS 8u
/* What a kernel expects that does not care. */
#define ANYTHING (~(u64)0)

struct program;

struct program_kernel {
	struct program *program;
	u64 addr, size;
	u64 before, after;	/* what it finds, and leaves; see .reads */
	u64 before_size;	/* of the object that .before was left in, */
	u64 before_bytes;	/* and how much of that is here */
	u64 step;		/* of the program, when it was submitted */
	u32 stream;
	bool reads;		/* only */
	bool by_cpu;		/* here and now */
};

struct program_driver {
	u32 places;		/* of an object that kernels look at */
	u64 backlog;		/* most kernels that are submitted and not run */
	u32 run_every;		/* steps, on average */
	/* Stream @i; its work runs before it goes, whatever it waits for. */
	void (*begin)(struct program *p, u32 i);
	void (*end)(struct program *p, u32 i);
	/* The kernel calls program_kernel_run() when its turn comes. */
	void (*submit)(struct program *p, struct program_kernel *k, u32 stream);
	void (*order)(struct program *p, u32 before, u32 after);
	void (*run_some)(struct program *p);
	void (*run_all)(struct program *p);
	/* Of kernels, to their object; NULL: as the CPU does it. */
	void (*access)(u64 addr, u64 *word, bool writes);
	/* Optional: the driver is told too. */
	void (*capture_begin)(struct program *p, u32 i);
	void (*capture_end)(struct program *p, u32 i);
	void (*record)(struct program *p, const struct program_kernel *k,
		       u32 stream);
	/* Have some call of the library's backend fail, or none any more. */
	void (*fail)(struct program *p, bool fails);
};

extern const struct program_driver queue_driver, model_driver;

struct object {
	void *p;
	u64 size;
	u64 left;		/* by the last kernel, or ANYTHING */
	u64 left_size, left_bytes;
	u32 home;
	bool is_plain;		/* from a call without a stream */
	bool is_cached;		/* of a cache: cannot be resized */
	bool is_shared;		/* read by other streams: written no more */
};

struct program_stream {
	slabdev_stream_t handle;	/* NULL: the CPU */
	bool is_default;		/* of the process, or of the thread */
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
	struct program_kernel kernel[GRAPH_KERNELS];
	u64 again[GRAPH_KERNELS];	/* .before, from the second replay on */
	struct graph_object object[GRAPH_OBJECTS];
};

struct program {
	const struct program_driver *driver;
	struct kunit *test;
	struct slabdev *sd;
	void *priv;		/* of the driver */
	u64 random;
	u64 step;
	u64 next;		/* number of the last kernel */
	u64 submitted, done;	/* atomic: kernels */
	bool alone;		/* no other thread: the same in each run */
	bool failing;		/* calls of the backend may fail just now */
	u32 nr_streams;
	u32 wrong;		/* atomic: words that were not as left */
	struct program_kernel first_wrong;
	u64 wrong_at, wrong_word;
	struct program_stream stream[PROGRAM_STREAMS];
	struct program_graph graph;
};

/* Streams. None of those that are being captured. */
u32 program_any_stream(struct program *p);
void program_stream_begin(struct program *p, u32 i, bool attach);
/* Nothing has it as its home. */
void program_stream_end(struct program *p, u32 i);
/* Attached or not, it is told to the library no more. */
void program_stream_detach(struct program *p, u32 i);
/* What is submitted to @after from now on comes after all of @before. */
void program_order(struct program *p, u32 before, u32 after);
/* All that was submitted is done. */
void program_run_all(struct program *p);

/* Kernels. The driver calls this in the order of streams, and frees it. */
void program_kernel_run(const struct program_kernel *k);
void program_launch(struct program *p, struct object *o);
/* By the CPU, at once. */
void program_touch(struct program *p, struct object *o);
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

/* On a stream; 0 is without one. */
void program_free(struct program *p, void *addr, u32 stream);

#endif /* TESTS_STREAM_PROGRAM_H */
