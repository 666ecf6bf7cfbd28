/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hazard_event.h - what a stream knew when an event was recorded in it.
 *
 * An event has the name that the program gave it; a *mark* is one that hazard
 * mode needs for itself, once.
 *
 * Locking: hazard lock.
 */
#ifndef SLAB_HAZARD_EVENT_H
#define SLAB_HAZARD_EVENT_H

#include "slab/hazard_clock.h"

void event_record_locked(u64 name, const struct hazard_stream *stream);
void event_wait_locked(struct hazard_stream stream, u64 name);

/* All that is in the stream now: a name for it, which is given back. */
u64 event_mark_locked(const struct hazard_stream *stream);
/* @later comes after the mark; NULL: nobody does. */
void event_pass_locked(u64 mark, const struct hazard_stream *later);

/* True once: not all events can be followed. */
bool event_take_overflow_locked(void);
/* What belongs to capture @from belongs to @to. */
void event_join_captures_locked(u64 to, u64 from);
/* Forget every event; for tests. */
void event_reset_locked(void);

#endif /* SLAB_HAZARD_EVENT_H */
