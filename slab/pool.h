/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool.h - runs of slices out of mapped chunks.
 *
 * The pool stands between slabs and chunks. It holds the slices of every chunk
 * that is shared, free or not, as a range of integers in which neighbours
 * merge, also across adjacent chunks. A chunk with all slices free is *vacant*;
 * a handle with all chunks vacant can be taken out and given back.
 *
 * Huge objects bring their own handle: their slices are known to the pool as
 * one allocated run, so that an address inside is found, and leave it whole.
 *
 * The tables that others index by slice and granule (slabs, tags) grow with
 * the pool, before any slice of a new chunk is handed out.
 *
 * Locking: pool lock, never held over a call of the vmm. Growing maps first,
 * then adds; giving back takes out first, then unmaps: a chunk on the way
 * belongs to the thread that moves it.
 */
#ifndef SLAB_POOL_H
#define SLAB_POOL_H

#include "core/lock.h"
#include "core/range.h"
#include "core/resv.h"
#include "slab/stamp.h"

struct slabdev;

struct pool_chunk {
	u32 first;	/* first chunk of the handle */
	u32 nr;		/* chunks of the handle; 0: not in the pool */
	u32 used;	/* slices that are allocated */
	stamp_t stamp;	/* of the others, the newest */
};

struct pool {
	struct lock lock;
	struct range slices;
	struct resv chunks;	/* struct pool_chunk, by chunk number */
	struct resv vacant;	/* u64: bitmap of vacant chunks */
	struct resv tags;	/* tag_t, by granule */
	struct resv rounding;	/* u8, by granule */
	struct resv slabs;	/* struct slab, by slice */
	u32 end_chunk;		/* tables reach to this chunk number */
	u32 max_chunks;		/* const */
	u32 chunk_slices;	/* const */
};

int __must_check pool_init(struct slabdev *sd);
void pool_fini(struct slabdev *sd);

/* A run of @n slices, its address a multiple of @align (a power of two, at
 * least SLICE_SIZE), from mapped chunks only; @quiet: that no work uses any
 * more. RANGE_NONE: there is none. */
u32 pool_alloc(struct slabdev *sd, u32 n, u64 align, bool quiet);
/* Exactly those slices, as a run. False: not all of them are free. */
bool pool_alloc_at(struct slabdev *sd, u32 first, u32 n);
/* Undo that: nothing has used them, and nothing is unmapped. */
void pool_put_back(struct slabdev *sd, u32 first, u32 n);
/* When a run that was just allocated was used last, or later. */
stamp_t pool_stamp(struct slabdev *sd, u32 first, u32 n);
/* Free a run that was used last at @stamp. Under SLABDEV_AGGRESSIVE gives
 * emptied handles back at once; what the backend refuses to take is lost, and
 * the vmm reports it. */
void pool_free(struct slabdev *sd, u32 first, u32 n, stamp_t stamp);

/* What kind of memory is to be mapped. */
enum pool_need {
	NEED_ANY,
	NEED_QUIET,	/* that no work uses any more */
	NEED_STILL,	/* the same, and nothing may be unmapped, or waited
			 * for */
};

/*
 * Chunks of a handle that a growth by @nr is made of. A single chunk can go
 * back by itself and fill any hole. Where handles are dear and memory is to be
 * kept anyway, one handle has them all, up to 64 MiB.
 */
u32 pool_growth_handle(const struct slabdev *sd, u32 nr);
/* Map chunks so that pool_alloc(@n, @align, @quiet) can succeed. */
int __must_check pool_grow(struct slabdev *sd, u32 n, u64 align,
			   enum pool_need need);
/* Map @chunks more, free, in handles of up to 1 GiB. */
int __must_check pool_prime(struct slabdev *sd, u64 chunks);
/* Give vacant handles back as long as @keep bytes of slices stay free. */
int pool_trim(struct slabdev *sd, u64 keep, enum vmm_giveback how);
/* Bytes of free slices. */
u64 pool_free_bytes(struct slabdev *sd);

/* A handle of its own for one huge object of @n slices. */
int __must_check pool_alloc_huge(struct slabdev *sd, u32 n, enum pool_need need,
				 u32 *first);
/* The same from idle mappings only, without any backend call; -ENOENT. */
int __must_check pool_reuse_huge(struct slabdev *sd, u32 n, u32 *first);
void pool_free_huge(struct slabdev *sd, u32 first);
/* A handle of its own between addresses that fault; the run is its last @n
 * slices. */
int __must_check pool_alloc_guarded(struct slabdev *sd, u32 n, u32 *first);
/* No work uses it any more, unless it is kept mapped. */
void pool_free_guarded(struct slabdev *sd, u32 first, enum vmm_giveback how);

/* The first slice of the allocation around @slice; RANGE_NONE when there is
 * none: free, or not mapped. */
u32 pool_run_of(struct slabdev *sd, u32 slice);
/*
 * Walk the allocations in order of address: the first slice of the next one at
 * or after @slice, RANGE_NONE at the end; @n set to its slices.
 */
u32 pool_next_run(struct slabdev *sd, u32 slice, u32 *n);

/* Is the allocation that begins at @slice a handle of its own? */
bool pool_is_huge(struct slabdev *sd, u32 slice);

const char *pool_validate(struct slabdev *sd);

#endif /* SLAB_POOL_H */
