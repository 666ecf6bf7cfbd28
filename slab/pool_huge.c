// SPDX-License-Identifier: BSD-2-Clause
/*
 * pool_huge.c - objects with a handle of their own: huge ones, and those
 * between guards.
 *
 * Their slices are one allocated run, which ends with the object: then the run
 * leaves the pool, and its handle goes back to the vmm as a whole. So none of
 * their slices is ever free in the pool, and no chunk of theirs is vacant.
 *
 * A huge object is its handle. A guarded one is the end of it, up to the
 * address that faults; the slices before it are not in the pool at all.
 */
#include <errno.h>

#include "core/log.h"
#include "slab/pool_private.h"
#include "slab/probe.h"

static int add_huge(struct slabdev *sd, u32 chunk, u32 nr, u32 *first)
{
	int err = pool_add_chunks(sd, chunk, nr, 0);

	if (err)
		vmm_unmap(&sd->vmm, chunk, VMM_KEEP_MAPPED);
	else
		*first = chunk * sd->chunk_slices;
	return err;
}

int pool_reuse_huge(struct slabdev *sd, u32 n, u32 *first)
{
	u64 nr = div_round_up(n, sd->chunk_slices);
	u32 chunk;
	int err;

	if (nr > sd->pool.max_chunks)
		return -ENOENT;
	err = vmm_reuse(&sd->vmm, (u32)nr, (u32)nr, &chunk);
	return err ? err : add_huge(sd, chunk, (u32)nr, first);
}

int pool_alloc_huge(struct slabdev *sd, u32 n, enum pool_need need, u32 *first)
{
	u64 nr = div_round_up(n, sd->chunk_slices);
	u32 chunk;
	int err;

	if (nr > sd->pool.max_chunks)
		return error_set(-ENOMEM, "%llu bytes are more than a space "
				 "can address",
				 (unsigned long long)slice_offset(n));
	err = pool_map_chunks(sd, (u32)nr, (u32)nr, need, &chunk);
	return err ? err : add_huge(sd, chunk, (u32)nr, first);
}

int pool_alloc_guarded(struct slabdev *sd, u32 n, u32 *first)
{
	u32 nr = (u32)div_round_up(n, sd->chunk_slices), chunk;
	int err = vmm_map_guarded(&sd->vmm, nr, &chunk);

	if (err)
		return err;
	err = pool_add_guarded(sd, chunk, nr, n, first);
	if (err)
		vmm_unmap_guarded(&sd->vmm, chunk, VMM_KEEP_HANDLE);
	else
		probe_grow(sd, chunk_bytes(sd, nr),
			   READ_ONCE(sd->vmm.cnt->created));
	return err;
}

/* How many chunks it has from the first one on. */
static u32 remove_run(struct slabdev *sd, u32 first)
{
	struct pool *p = &sd->pool;
	u32 n;

	lock_acquire(&p->lock);
	n = range_len(&p->slices, first);
	range_free(&p->slices, first, n);
	range_remove(&p->slices, first, n);
	publish_free_locked(sd);
	lock_release(&p->lock);
	return (u32)div_round_up(n, p->chunk_slices);
}

void pool_free_guarded(struct slabdev *sd, u32 first, enum vmm_giveback how)
{
	u32 nr = remove_run(sd, first);

	(void)nr;	/* where there are no probes */
	probe_trim(sd, chunk_bytes(sd, nr), READ_ONCE(sd->vmm.cnt->created));
	vmm_unmap_guarded(&sd->vmm, first / sd->chunk_slices, how);
}

void pool_free_huge(struct slabdev *sd, u32 first)
{
	u32 nr = remove_run(sd, first);

	(void)pool_give_back(sd, first / sd->chunk_slices, nr,
			     gives_back_at_once(sd) ? VMM_RELEASE :
						      VMM_KEEP_MAPPED);
}
