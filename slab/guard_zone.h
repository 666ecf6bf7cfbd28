/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard_zone.h - the bytes beside a guarded object that nobody may write.
 *
 *   mapping |        | lead 0xbb | object | slack 0xcc |
 *
 * Filling is work of the bound stream, or of the CPU, and comes before that of
 * the stream that asked. Looking comes after the work on the object, and waits
 * for the bound stream, through which everything is read; while a capture runs
 * nothing is looked at.
 *
 * Locking: none may be held.
 */
#ifndef SLAB_GUARD_ZONE_H
#define SLAB_GUARD_ZONE_H

#include "slab/slab.h"
#include "slab/stream.h"

/* Bytes before the object, if there are as many. */
#define GUARD_LEAD 256u
#define GUARD_LEAD_BYTE 0xbb
#define GUARD_SLACK_BYTE 0xcc

/* For the object whose size and begin are in the descriptor of @slice. 0, or
 * the backend's error. */
int __must_check guard_zone_fill(struct slabdev *sd, u32 slice,
				 const struct order *o);
/* Report what was written. */
void guard_zone_check(struct slabdev *sd, u32 slice);

#endif /* SLAB_GUARD_ZONE_H */
