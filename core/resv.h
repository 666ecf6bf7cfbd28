/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resv.h - host arrays that grow in place.
 *
 * Metadata is indexed by position in the device range, so its arrays must be
 * as long as the range could become, and must never move, since fast paths
 * read them without a lock. A *reserved array* takes addresses for the whole
 * length and memory only for the part in use, in steps; memory is counted when
 * committed and zero when first seen.
 *
 * Locking: resv_grow() is called under the caller's lock; the committed part
 * may be read by anybody who learnt of an index through an acquire.
 * Failure: resv_grow() fails with nothing changed.
 */
#ifndef CORE_RESV_H
#define CORE_RESV_H

struct resv {
	char *base;
	size_t reserved;	/* bytes */
	size_t committed;	/* bytes; grows only */
	size_t step;		/* bytes, a multiple of the page size */
};

/* Reserve @max_bytes; commit in steps of about @step bytes. */
int __must_check resv_init(struct resv *r, u64 max_bytes, u64 step);
void resv_fini(struct resv *r);
/* Make the first @bytes usable. 0, -ENOMEM, or -ENOSPC beyond the end. */
int __must_check resv_grow(struct resv *r, u64 bytes);

#endif /* CORE_RESV_H */
