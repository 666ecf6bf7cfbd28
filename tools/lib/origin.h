/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * origin.h - the stacks that allocated or freed objects, from a space's files.
 */
#ifndef SLABINFO_ORIGIN_H
#define SLABINFO_ORIGIN_H

#include <stddef.h>

#include "model.h"
#include "segment.h"

/*
 * Reads the TRACES segments @segs of @space, sorted by index. What is wrong
 * becomes a problem and leaves @space incomplete; a record whose kind or frames
 * make no sense is left out.
 */
void origins_read(struct space *space, const struct segment *segs, size_t nr,
		  struct problems *problems);

/* The module of a frame of @o; NULL: its address is the process's. */
const struct slabdev_seg_module *origin_module(const struct origin *o,
					       uint64_t frame);

/* Of the call: a return address may be in the next line, or function. */
static inline uint64_t origin_address(uint64_t frame)
{
	frame &= (UINT64_C(1) << SLABDEV_SEG_FRAME_SHIFT) - 1;
	return frame ? frame - 1 : 0;
}

#endif /* SLABINFO_ORIGIN_H */
