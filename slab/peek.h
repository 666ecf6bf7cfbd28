/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peek.h - device memory as the CPU may look at it: a copy.
 *
 * A *peek* reads through the backend, 64 KiB at a time, so that a whole slab of
 * small objects costs one call. What it has shown once it shows again: it is a
 * picture of the time when it was taken, and one is made for each look.
 *
 * It is what reports show. Whether there is anything to report the device may
 * say itself, for many objects at once (zone_batch.h); where it does, only
 * those with damage are read.
 *
 * Reading comes after the work of the bound stream. In a capture nothing can be
 * read. Memory must stay mapped meanwhile: the caller has an object of the slab
 * or has pinned it.
 *
 * Locking: none may be held: reading waits for the device.
 */
#ifndef SLAB_PEEK_H
#define SLAB_PEEK_H

#include "slab/slab.h"

#define PEEK_BYTES ((u64)64 << 10)

struct peek {
	struct slabdev *sd;
	bool wide;
	bool failed;	/* something could not be read */
	bool torn;	/* a read has failed, and may be at work yet */
	u8 *copy;	/* PEEK_BYTES of host memory */
	u64 at, len;	/* what of the space is in it */
};

/* Does a capture forbid work of the device beside it? */
static inline bool peek_is_forbidden(const struct slabdev *sd)
{
	return READ_ONCE(sd->streams.nr_captures) && !sd->ops->synchronous;
}

/*
 * peek_begin - begin to look
 * @wide: at many objects of a slab: what is near is read along, where reading
 *        costs a wait
 *
 * 0; -ENOMEM no host memory for a copy; -EAGAIN a capture forbids to read.
 */
int __must_check peek_begin(struct peek *k, struct slabdev *sd, bool wide);
void peek_end(struct peek *k);
/* At the end of a walk: the log is told of what it could not look at. */
void peek_tell_failed(const struct peek *k);
/* What was read is out of date. */
void peek_forget(struct peek *k);
/* Its PEEK_BYTES for another use until it is looked at again; NULL: a read that
 * failed may still write to them. */
void *peek_borrow(struct peek *k);

/*
 * The bytes from @offset on, in the copy; *@n, at least 1 and at most what was
 * asked for, is set to how many there are in one piece. @end: what may be read
 * along with them. NULL: the backend failed.
 */
const u8 *peek_at(struct peek *k, u64 offset, u64 end, u64 *n);

/* Up to @n bytes from @offset on, into @to. How many. */
u64 peek_copy(struct peek *k, u8 *to, u64 offset, u64 n);

#endif /* SLAB_PEEK_H */
