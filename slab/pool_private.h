/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_private.h - what the files pool*.c share.
 */
#ifndef SLAB_POOL_PRIVATE_H
#define SLAB_POOL_PRIVATE_H

#include "core/overflow.h"
#include "slab/slab.h"

static inline struct pool_chunk *chunk_of(struct pool *p, u32 chunk)
{
	return (struct pool_chunk *)(void *)p->chunks.base + chunk;
}

static inline u64 *vacant_map(struct pool *p)
{
	return (u64 *)(void *)p->vacant.base;
}

static inline void publish_free_locked(struct slabdev *sd)
{
	WRITE_ONCE(sd->rec->pool_free,
		   (u64)sd->pool.slices.nr_free << SLICE_SHIFT);
}

static inline u64 chunk_bytes(const struct slabdev *sd, u32 nr)
{
	return vmm_chunk_offset(&sd->vmm, nr);
}

/* Nothing is unmapped while a capture runs. */
static inline bool gives_back_at_once(const struct slabdev *sd)
{
	return READ_ONCE(sd->policy) == SLABDEV_AGGRESSIVE &&
	       !READ_ONCE(sd->streams.nr_captures);
}

/* Have the vmm map chunks; a miss, unless they were mapped all the time. They
 * are the caller's, and not yet in the pool. */
int __must_check pool_map_chunks(struct slabdev *sd, u32 nr, u32 handle_chunks,
				 enum pool_need need, u32 *first);
/* Bring mapped chunks into the pool. @handle_chunks 0: one huge handle, whose
 * slices become an allocated run. On failure they are still the caller's. */
int __must_check pool_add_chunks(struct slabdev *sd, u32 first, u32 nr,
				 u32 handle_chunks);
/* The last @n slices of mapped chunks, as an allocated run. */
int __must_check pool_add_guarded(struct slabdev *sd, u32 first, u32 nr, u32 n,
				  u32 *slice);
/* What was taken out goes back. */
int pool_give_back(struct slabdev *sd, u32 first, u32 nr,
		   enum vmm_giveback how);

#endif /* SLAB_POOL_PRIVATE_H */
