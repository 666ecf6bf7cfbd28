/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * graph.h - the memory of a captured graph.
 *
 * A graph runs with the addresses that it was captured with, as often and
 * whenever its owner likes. So what is allocated, used or freed on a stream
 * while a capture of it is declared is the graph's: live objects have a note
 * with the graph (note.h), free ones are in the graph's list, *held*, from
 * which only the capture itself allocates, since its own order is that of every
 * launch; what it takes from there keeps its note, lest it fall to others if
 * there is no memory for another. New memory for it has to be complete: no
 * launch waits for what the bound stream did before the capture. While a
 * capture is declared no event of the space is asked, and nothing is waited for
 * or unmapped by an allocation of the capture.
 *
 * An object that the graph has is held when it is freed, on whatever stream and
 * whenever, until the graph is released; its user says then that no launch is
 * running or will come.
 *
 * Locking: notes lock, for the list of graphs and what they hold.
 */
#ifndef SLAB_GRAPH_H
#define SLAB_GRAPH_H

#include "slab/stream.h"

/* How memory is got during a capture. */
#define GET_FOR_GRAPH (GET_QUIET | GET_NO_WAIT | GET_STILL)

struct note;
struct note_work;

/* struct slabdev_graph is one; it has no members of its own. */
struct graph {
	struct slabdev *sd;
	struct stream *stream;	/* NULL: the capture has ended */
	struct note *held;		/* free objects */
	struct list link;	/* sd->graphs */
};

/* An object for the capture. NULL with errno. */
void *graph_alloc(struct graph *g, struct class *c, u64 size,
		  unsigned int flags);
/* A large object that the graph holds, of that many bytes, and what it is held
 * by; RANGE_NONE. */
u32 graph_take_large(struct graph *g, u64 usable, u64 align,
		     struct note **held);
/*
 * The object that is about to be live on its stream is the graph's. @held: what
 * it was held by, and then this does not fail; NULL: it is new. @zone: for its
 * note. 0, or -ENOMEM and it is not.
 */
int __must_check graph_own(struct graph *g, u64 offset, struct note *held,
			   u64 zone);

/* Where the zone of an object begins that is about to be live, with @size bytes
 * in a capture; 0: behind those. */
u64 graph_zone_begin(struct class *c, slot_t slot, u64 size);
/* Such an object has been freed: what was noted becomes its size. */
void graph_zone_end(struct class *c, slot_t slot, struct note_work *w);

/* Who holds an object with note @n (or NULL) that is freed in order @o; NULL:
 * nobody. */
struct graph *graph_of_free(const struct order *o, const struct note *n);
/* A graph gets the object too, whose note has @w. 0, or -ENOSPC. Notes lock, or
 * nobody else has the note. */
int graph_join(struct graph *g, struct note_work *w);
/* Hold the object that was freed in order @o. @n: what was noted of it, which
 * is the graph's then, or NULL. */
void graph_put(struct graph *g, const struct order *o, u64 offset,
	       struct note *n);

/* How many graphs were not released. */
u32 graphs_count(const struct slabdev *sd);
/* The space is closing: what they hold is free. */
void graphs_end(struct slabdev *sd);
/* In the child of a fork: their handles are good for nothing. */
void graphs_forget(struct slabdev *sd);

#endif /* SLAB_GRAPH_H */
