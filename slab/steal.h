/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steal.h - taking back what other threads hold in their sheaves.
 *
 * The protocol is section 4 of slab.h. One barrier serves all heaps of the
 * space: first every bin is emptied by exchange, then the barrier is issued,
 * then each heap's busy word is waited for. A thread that stays inside a fast
 * path for a second (it is stopped, or out of processor time) keeps its stolen
 * sheaves on its heap's list: they are safe there, and the next one who takes
 * back, or the thread's exit, gets them.
 */
#ifndef SLAB_STEAL_H
#define SLAB_STEAL_H

#include "slab/slab.h"

/*
 * Objects of class @c (NULL: of all classes) return from the sheaves of all
 * threads and from the barns to the slabs. False when a thread that stays
 * inside had to be left out.
 */
bool take_back(struct slabdev *sd, struct class *c);
/* The sheaves that all threads have for a stream; they become pending. */
bool take_back_stream(struct slabdev *sd, const struct stream *st);

#endif /* SLAB_STEAL_H */
