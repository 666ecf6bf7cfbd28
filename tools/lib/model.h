/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - what was read, as the views see it.
 *
 * Everything here is private memory: nothing in it changes or disappears with
 * the process it describes. Strings end with a zero but may hold any byte; a
 * view prints them through text_escape() or json_string() only.
 */
#ifndef SLABINFO_MODEL_H
#define SLABINFO_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <slabdev/segment.h>

#include "problem.h"
#include "rank.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct space;

/**
 * struct cache - one size class, cache, or the large objects of a space
 * @space: it belongs to
 * @rec: its record, as it was published
 * @sum: its counters: those of threads that are gone, and of each that is not
 * @fig: bytes and objects that follow from both
 * @memory: bytes of its slabs
 * @loss: bytes of them that are not live: rounding, cached, slack, pending
 */
struct cache {
	const struct space *space;
	struct slabdev_seg_class rec;
	struct slabdev_seg_counters sum;
	struct slabdev_seg_figures fig;
	uint64_t memory;
	uint64_t loss;
};

/**
 * struct origin - a stack that allocated or freed objects
 * @rec: its record; kind and frames make sense
 * @modules: SLABDEV_SEG_MODULES of them, that the frames are in
 */
struct origin {
	struct slabdev_seg_trace rec;
	const struct slabdev_seg_module *modules;
};

/**
 * struct account - where the bytes are
 *
 * @mapped is the sum of the others; @in_flight takes what is left.
 */
struct account {
	uint64_t mapped;
	uint64_t live;
	uint64_t cached;
	uint64_t pending;
	uint64_t retained;
	uint64_t rounding;
	uint64_t slack;
	uint64_t lost;
	int64_t in_flight;
};

/**
 * struct counts - a space's counters, summed over its caches
 */
struct counts {
	struct slabdev_seg_counters ops;
	uint64_t refills;
	uint64_t flushes;
	uint64_t live_objects;
	uint64_t cached_objects;
	uint64_t backend_calls;
	uint64_t backend_fails;
};

/**
 * struct space - one open space of one process
 * @pid: as this process sees it
 * @command: /proc/PID/comm
 * @rank: in a parallel job
 * @open_id: the n-th open of the process
 * @complete: false when something could not be read: a problem says what
 * @rec: its record, as it was published
 * @bytes: where the bytes are
 * @counts: what was done
 * @caches: the records in use, by number
 * @nr_caches: how many
 * @origins: stacks, where objects are tracked
 * @nr_origins: how many
 * @modules: arrays of modules that the origins point to
 * @nr_modules: how many arrays
 */
struct space {
	pid_t pid;
	char command[32];
	struct rank rank;
	uint64_t open_id;
	bool complete;
	struct slabdev_seg_space rec;
	struct account bytes;
	struct counts counts;
	struct cache *caches;
	size_t nr_caches;
	struct origin *origins;
	size_t nr_origins;
	struct slabdev_seg_module **modules;
	size_t nr_modules;
};

/**
 * struct snapshot - everything that was read in one round
 * @spaces: by pid and open_id
 * @nr_spaces: how many
 * @inherited: processes that only have the statistics of the one that forked
 *             them
 * @absent: processes that were asked for and do not exist, or have ended
 * @problems: what could not be read, and why
 */
struct snapshot {
	struct space **spaces;
	size_t nr_spaces;
	unsigned int inherited;
	struct problems absent;
	struct problems problems;
};

/* Free objects that nobody may have yet: as many as their bytes are of. */
static inline uint64_t pending_objects(const struct cache *c)
{
	return c->rec.stride ? c->fig.pending / c->rec.stride :
			       c->rec.pending;
}

void snapshot_add(struct snapshot *snap, struct space *space);
void snapshot_truncate(struct snapshot *snap, size_t nr_spaces);
void snapshot_fini(struct snapshot *snap);

struct space *space_new(void);
void space_free(struct space *space);
struct cache *space_add_cache(struct space *space);
struct origin *space_add_origin(struct space *space);
/* Room for SLABDEV_SEG_MODULES modules. */
struct slabdev_seg_module *space_add_modules(struct space *space);

#endif /* SLABINFO_MODEL_H */
