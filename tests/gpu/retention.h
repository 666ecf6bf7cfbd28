/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retention.h - what it takes to keep memory, and what to give it back.
 *
 * Two experiments, each on one of several *ways* to get device memory. A replay
 * makes the calls of allocation traces, loop after loop, and tells of each loop
 * what the driver was called for and what it would have cost. Streams that lag
 * behind are a workload of their own, made of the model's held streams: what is
 * freed stays in use until the device gets there.
 *
 * Time is that of gpu_clock_ns(): on the model what the driver's calls would
 * cost, and nothing else. Work that the device does takes no time there, so
 * what a wait costs is told in steps of work that it waited for.
 */
#ifndef TESTS_GPU_RETENTION_H
#define TESTS_GPU_RETENTION_H

#include "tests/gpu/driver.h"

#define LOOPS_MAX 64
#define LANES_MAX 32

struct way;

/**
 * struct setup - what was asked for
 * @way: how memory is had
 * @policy, @nr_policies: of each loop, an enum slabdev_policy_mode; the last
 *                        one for the rest
 * @keep: bytes that SLABDEV_TRIM keeps
 * @waits: a stream waits rather than the CPU (SLABDEV_POLICY_STREAM_WAITS)
 * @prime: bytes that are mapped before the first loop
 * @threshold: bytes that a pool keeps
 * @limit: most bytes; 0: what the device has
 * @pending: of what streams have freed, so much may wait before frees ask
 * @path, @nr_paths: traces
 * @nr_loops: how often they are replayed
 * @scale, @nr_scales: of each loop, what sizes are multiplied by; the last one
 *                     for the rest
 * @pause: events between two waits for the device; 0: one at the end of a loop
 * @carry: what a loop leaves live is freed bit by bit in the next
 * @lag, @nr_lanes: of each lane, how many steps its stream is behind
 * @steps: steps of each lane
 * @blocks, @bytes: blocks in each step, and their size
 * @across: blocks are allocated on a stream that does not lag
 * @loose: streams are not attached
 */
struct setup {
	const struct way *way;
	u32 policy[LOOPS_MAX];
	unsigned int nr_policies;
	bool waits;
	u64 keep, prime, threshold, limit, pending;
	char **path;
	unsigned int nr_paths;
	u64 nr_loops;
	u64 scale[LOOPS_MAX];
	unsigned int nr_scales;
	u64 pause;
	bool carry;
	u64 lag[LANES_MAX];
	unsigned int nr_lanes;
	u64 steps, blocks, bytes;
	bool across, loose;
};

/**
 * struct way - one way to get device memory; one is open at a time
 * @open: 0, or it was said why not
 * @alloc: @size bytes that @stream uses first; 0: there are none
 * @release: free them, in the order of @stream
 * @attach, @detach: @stream begins and ends
 * @pause: the device was waited for: a step of the job has ended
 * @taken: bytes that the device lost
 *
 * A @stream of NULL is the default one.
 */
struct way {
	const char *name;
	int (*open)(const struct setup *s);
	CUdeviceptr (*alloc)(u64 size, CUstream stream);
	void (*release)(CUdeviceptr ptr, CUstream stream);
	void (*attach)(CUstream stream);
	void (*detach)(CUstream stream);
	void (*pause)(void);
	u64 (*taken)(void);
	void (*close)(void);
};

static inline u32 setup_policy(const struct setup *s, u64 loop)
{
	return s->policy[loop < s->nr_policies ? loop : s->nr_policies - 1];
}

const struct way *way_find(const char *name);
/* The space that the way has open; NULL: it is the driver's own. */
struct slabdev *way_space(void);
/* The policy of @loop begins, from 0. */
void way_set_policy(const struct setup *s, u64 loop);
/* Calls of the driver that manage memory, so far; 0 on a GPU. */
u64 way_driver_calls(void);
/* Times that the driver's own pool had no memory, and all was waited for. */
u64 way_pool_waits(void);

/* 0, or it was said why not. */
int replay_measure(const struct setup *s);
int lag_measure(const struct setup *s);

#endif /* TESTS_GPU_RETENTION_H */
