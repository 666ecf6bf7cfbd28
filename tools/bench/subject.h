/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * subject.h - who is measured.
 *
 * ours		the general calls of libslabdev, the same on streams, a cache,
 *		and a group; the general calls and the cache with letters of
 *		SLABDEV_DEBUG, if asked for
 * floors	what can be done at best: see floor.h
 * peers	malloc() of glibc, and of libraries that are loaded when they
 *		are installed; one that is not is named and left out
 *
 * A process opens one subject.
 */
#ifndef SLABBENCH_SUBJECT_H
#define SLABBENCH_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "calls.h"

#define SUBJECT_MAX 40
#define SUBJECT_TEXT 256

enum subject_kind {
	KIND_OURS,
	KIND_FLOOR,
	KIND_PEER,
};

/* How a figure of its memory is got. */
enum subject_memory {
	MEMORY_NONE,		/* not at all */
	MEMORY_ACCOUNT,		/* from the accounts that it keeps */
	MEMORY_RESIDENT,	/* from the system, its objects being written */
};

/* Those with letters of SLABDEV_DEBUG. */
#define SUBJECT_GROUP "debug"
#define NR_OURS_DEBUG 13

/* Memory that its objects have, and what is known about them. */
struct account {
	uint64_t device;
	uint64_t host;
};

/* What the work of streams has cost so far. */
struct events {
	uint64_t records;
	uint64_t queries;
	uint64_t sheaf;		/* objects that one sheaf has */
};

/**
 * struct subject - an allocator
 * @name: of the subject
 * @what: in words
 * @kind: an enum subject_kind
 * @one_size: all its objects have one size
 * @groups: it has no objects but those that are allocated and freed together
 * @one_way: memory does not come back from a thread that frees it to the one
 *           that allocates, so that it would grow for ever
 * @memory: an enum subject_memory
 * @fake: it hands one address out again and again
 * @group: of which it is one: measured only if that or its own name is asked
 *         for; NULL: always
 * @path: of the library to load; NULL: none
 * @beside: the subject that it is compared with, besides the floor; NULL: none
 * @open: gets ready for objects of @size (those of one size) within @limit
 *        bytes (0: no limit); false: @why says why not
 * @close: gives everything back; NULL: cannot
 * @for_worker: makes the calls of one of several threads that keep to
 *              themselves; NULL: they are the same for all
 * @peak: bytes of memory held at most; of MEMORY_ACCOUNT only
 * @account: so far; NULL: it has none. False: it cannot tell
 * @events: so far, and of a sheaf with objects of @size; NULL: it has none
 * @version: written to a text of SUBJECT_TEXT bytes
 */
struct subject {
	const char *name;
	const char *what;
	enum subject_kind kind;
	enum subject_memory memory;
	bool one_size;
	bool groups;
	bool one_way;
	bool fake;
	const char *group;
	const char *path;
	const char *beside;
	bool (*open)(const struct subject *s, struct calls *c, size_t size,
		     uint64_t limit, char *why);
	void (*close)(const struct calls *c);
	void (*for_worker)(struct calls *c, unsigned int worker);
	uint64_t (*peak)(const struct calls *c);
	bool (*account)(const struct calls *c, struct account *a);
	bool (*events)(const struct calls *c, size_t size, struct events *e);
	void (*version)(const struct subject *s, char *text);
};

struct cell;

/* All of them: @nr is set. */
const struct subject *subjects(unsigned int *nr);
/* By name; NULL: there is none. */
const struct subject *subject_find(const char *name);
/* A library of malloc() and free() from now on, known or new. 0 or -ENOSPC. */
int subject_add_library(const char *name, const char *path);
/* Can it do this at all? */
bool subject_can(const struct subject *s, const struct cell *cell);

/* ours.c */
extern const struct subject ours_general;
extern const struct subject ours_cache;
/* ours_group.c */
extern const struct subject ours_group;
/* ours_arena.c */
extern const struct subject ours_arena;
/* ours_debug.c */
extern const struct subject ours_debug[NR_OURS_DEBUG];
/* ours_stream.c */
extern const struct subject ours_stream;
extern const struct subject ours_across;
extern const struct subject ours_loose;
/* floor_*.c */
extern const struct subject floor_null;
extern const struct subject floor_bump;
extern const struct subject floor_bare;
extern const struct subject floor_lifo;
extern const struct subject floor_mag;
extern const struct subject floor_cursor;
/* peer.c */
extern const struct subject peer_glibc;
bool peer_open(const struct subject *s, struct calls *c, size_t size,
	       uint64_t limit, char *why);
void peer_version(const struct subject *s, char *text);

#endif /* SLABBENCH_SUBJECT_H */
