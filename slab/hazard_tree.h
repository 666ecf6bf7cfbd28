/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hazard_tree.h - what hazard mode knows of each object, found by address.
 *
 * A treap: a search tree by address that is a heap by random priorities, so
 * that it is balanced whatever the program does. Records never overlap. One of
 * a freed object stays until the memory is handed out again.
 *
 * Locking: hazard lock.
 */
#ifndef SLAB_HAZARD_TREE_H
#define SLAB_HAZARD_TREE_H

#include "slab/hazard_clock.h"

/* slabdev_use() takes no more (note.h). */
#define HAZARD_USES 14u

/* Something that was done to an object. */
struct deed {
	struct epoch epoch;
	struct hazard_stream stream;
	const void *site;	/* in the program */
};

struct access {
	struct access *next;
	struct deed deed;
};

struct record {
	struct record *left, *right;
	u64 priority;
	u64 start, end;		/* addresses */
	const void *space;
	bool freed;
	bool waited;		/* the free waits for the allocation anyway */
	bool is_arena;		/* an allocation of an arena */
	u32 nr_uses;
	struct deed alloc, free;
	struct hazard_stream use[HAZARD_USES];
	/* Those that no later one comes after. */
	struct access *accesses;
};

/* The record with @addr in it, freed or not; NULL: none. */
struct record *tree_find_locked(u64 addr);
/* The first that begins at @addr or above; NULL: none. */
struct record *tree_next_locked(u64 addr);
/* Forget all that have a part of it. */
void tree_forget_range_locked(u64 start, u64 end);
/* A new one, in place of all that it overlaps; NULL: no host memory. */
struct record *tree_add_locked(const void *space, u64 start, u64 end);
/* All of a space; NULL: of all spaces. */
void tree_forget_locked(const void *space);
/* Call @each for all of a space; NULL: of all spaces. */
void tree_each_locked(const void *space,
		      void (*each)(struct record *r, const void *arg),
		      const void *arg);

/* NULL: no host memory. */
struct access *access_add_locked(struct record *r);
/* Forget those that come before what the stream did last. */
void access_prune_locked(struct record *r, const struct hazard_stream *stream);
/* Forget them all. */
void access_drop_locked(struct record *r);

#endif /* SLAB_HAZARD_TREE_H */
