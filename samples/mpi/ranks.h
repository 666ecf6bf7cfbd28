/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ranks.h - two or more ranks that share memory.
 *
 * Every rank opens a space with the same layout and makes the same calls for
 * it, so that what lies at some offset here lies there in every rank. Part of
 * the memory is its *window*: comm memory, which its neighbours in a ring map
 * and write into. MPI says who has what, and when.
 */
#ifndef SAMPLES_MPI_RANKS_H
#define SAMPLES_MPI_RANKS_H

#include <mpi.h>
#include <slabdev/slabdev.h>

/* Says what went wrong, and ends all ranks. */
void give_up(const char *what) __attribute__((noreturn));

/* ---- memory.c ----------------------------------------------------------- */

struct memory {
	const char *spec;
	struct slabdev *sd;
	int is_host;
	size_t registered;	/* bytes of comm memory that are mapped */
	unsigned int pieces;	/* and how many pieces they are */
};

void memory_open(struct memory *m, const char *spec);
void memory_close(struct memory *m);
void *memory_alloc(struct memory *m, size_t size, unsigned int flags);
void memory_free(struct memory *m, void *p);

/* Between an array of this process and memory of a space: by the CPU, or by
 * the driver where only a device may touch it. */
void memory_put(const struct memory *m, void *to, const void *from,
		size_t size);
void memory_get(const struct memory *m, void *to, const void *from,
		size_t size);

/* ---- window.c ----------------------------------------------------------- */

enum { LEFT, RIGHT };

/* An object that both neighbours have too, and what they have instead. */
struct window {
	struct memory *memory;
	void *p;
	struct slabdev_share share;
	struct slabdev_import *of[2];
	int neighbour[2];	/* ranks */
};

void window_open(struct window *w, struct memory *m, void *p);
void window_close(struct window *w);
/* Where the neighbour on that side has what lies at @p here. */
void *window_there(const struct window *w, int side, const void *p);

/* ---- halo.c, message.c: what is done with it ---------------------------- */

/* Heat in a ring of cells, cut into one piece a rank. */
void halo_run(struct memory *m, int steps);
/* MPI's own calls on memory of a space; nothing on a device. */
void message_run(struct memory *m);

#endif /* SAMPLES_MPI_RANKS_H */
