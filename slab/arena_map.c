// SPDX-License-Identifier: BSD-2-Clause
/*
 * arena_map.c - the memory of arenas: it comes as the top rises, and goes when
 * it is not used.
 *
 * A growth first takes all that is mapped into the reach, so that nobody else
 * takes it away meanwhile; then it maps behind, without the claim, by the same
 * steps as any request for memory (reclaim.h); then it raises reach_end, no
 * further than one step beyond what was asked for.
 */
#include <errno.h>
#include <pthread.h>

#include "core/log.h"
#include "core/os.h"
#include "core/overflow.h"
#include "slab/arena.h"
#include "slab/class.h"
#include "slab/probe.h"
#include "slab/reclaim.h"

#define CLAIM_US 20u

/* ---- The claim ----------------------------------------------------------- */

u64 arena_claimant(void)
{
	return (u64)pthread_self();
}

bool arena_try_claim(struct arena *a)
{
	u64 nobody = 0;

	/* Pairs with arena_unclaim(). */
	return __atomic_compare_exchange_n(&a->claim, &nobody, arena_claimant(),
					   false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

void arena_claim_again(struct arena *a)
{
	while (!arena_try_claim(a))
		os_sleep_us(CLAIM_US);
}

int arena_claim(struct arena *a)
{
	if (READ_ONCE(a->claim) == arena_claimant())
		return error_set(-EBUSY, "arena '%s' is used by what is called "
				 "back while it is being changed", a->name);
	arena_claim_again(a);
	return 0;
}

void arena_unclaim(struct arena *a)
{
	store_release(&a->claim, 0);
}

/* ---- Units --------------------------------------------------------------- */

static u64 chunk_size(const struct arena *a)
{
	return a->h.sd->vmm.chunk_size;
}

/* Only the owner adds to them, when nobody else would take any away. */
static u32 mapped_chunks(const struct arena *a)
{
	return READ_ONCE(a->mapped);
}

/* Chunks that lie before the address, in part or as a whole. */
static u32 chunks_before(const struct arena *a, u64 addr)
{
	return (u32)div_round_up(addr - a->base, chunk_size(a));
}

static u64 chunk_end(const struct arena *a, u32 chunks)
{
	return a->base + vmm_chunk_offset(&a->h.sd->vmm, chunks);
}

u64 arena_mapped_end(const struct arena *a)
{
	u64 held = a->base + a->held_bytes;

	return a->is_object ? held : min(held, chunk_end(a, mapped_chunks(a)));
}

/* ---- The reach ----------------------------------------------------------- */

/* Where it ends with so many chunks of memory in it. */
static u64 reach_of(const struct arena *a, u32 chunks)
{
	return min(chunk_end(a, chunks), a->base + a->held_bytes);
}

/* Whoever declares a space dead clears .fast after that. Both exchange it: who
 * comes second sees what the other did before. */
void arena_set_fast(struct arena *a)
{
	void *name = token_name(&arena_tokens, &a->h);
	u64 end = min(a->reach_end, a->top + ARENA_FAST_SPAN);

	arena_fold(a);
	a->fast_end = align_down(end, a->mask + 1);
	(void)__atomic_exchange_n(&a->fast,
				  a->letters || a->h.sd->hazard ||
				  a->top > a->fast_end ?
				  arena_no_name(a) : (u64)(uintptr_t)name,
				  __ATOMIC_ACQ_REL);
	if (READ_ONCE(a->h.sd->dead))
		WRITE_ONCE(a->fast, arena_no_name(a));
}

void arena_lower(struct arena *a)
{
	u64 to = reach_of(a, chunks_before(a, a->top));

	if (!a->is_object && to < a->reach_end) {
		WRITE_ONCE(a->stamp, vmm_clock(&a->h.sd->vmm));
		WRITE_ONCE(a->lowered, a->lowered + 1);
		/* Pairs with arena_give(). */
		store_release(&a->reach_end, to);
	}
	arena_set_fast(a);
}

static void raise_reach(struct arena *a, u64 end)
{
	u64 to = max(end, a->reach_end + max(a->grow_bytes, chunk_size(a)));
	u32 chunks = min(chunks_before(a, to), mapped_chunks(a));

	store_release(&a->reach_end, reach_of(a, chunks));
}

/* ---- Booking ------------------------------------------------------------- */

static void book(struct arena *a, u32 mapped)
{
	struct slabdev *sd = a->h.sd;
	u64 before = vmm_chunk_offset(&sd->vmm, mapped_chunks(a));
	u64 now = vmm_chunk_offset(&sd->vmm, mapped);

	WRITE_ONCE(a->mapped, mapped);
	shared_add(&sd->rec->arena_bytes, now - before);
	if (now > before)
		space_count_out(sd, now - before);
	else
		shared_sub(&sd->rec->out_bytes, before - now);
}

/* From the end of what is mapped down to @to chunks. Claim held. */
static int unmap_down(struct arena *a, u32 to, enum vmm_giveback how)
{
	struct slabdev *sd = a->h.sd;
	u32 nr = mapped_chunks(a) - to;
	int err;

	probe_trim(sd, vmm_chunk_offset(&sd->vmm, nr),
		   READ_ONCE(sd->vmm.cnt->created));
	change_begin(sd);
	err = vmm_unmap_held(&sd->vmm, a->first_chunk + to, &nr, how);
	book(a, to + nr);
	change_end(sd);
	return err;
}

/* ---- Growth -------------------------------------------------------------- */

static int map_more(struct arena *a, u32 nr, unsigned int flags)
{
	struct slabdev *sd = a->h.sd;
	struct held_run run = { a->first_chunk + mapped_chunks(a), nr };
	int err;

	change_begin(sd);
	err = reclaim_held(sd, &run, flags);
	if (!err) {
		a->grows++;
		book(a, mapped_chunks(a) + nr);
		probe_grow(sd, vmm_chunk_offset(&sd->vmm, nr),
			   READ_ONCE(sd->vmm.cnt->created));
	}
	change_end(sd);
	return err;
}

/* At least up to @least chunks; a whole step if it is there for the asking. */
static int grow(struct arena *a, u32 least)
{
	u64 step = max(div_round_up(a->grow_bytes, chunk_size(a)), (u64)1);
	u64 most = arena_nr_held(a);
	u64 to = min(max((u64)least, mapped_chunks(a) + step), most);
	char text[ERROR_TEXT_MAX];
	int err;

	if (to > least) {
		error_save(text);
		err = map_more(a, (u32)to - mapped_chunks(a), GET_STILL);
		if (!err || (err != -ENOMEM && err != -EDQUOT))
			return err;
		error_restore(text);
	}
	return map_more(a, least - mapped_chunks(a), 0);
}

int arena_reach(struct arena *a, u64 end)
{
	u32 wanted = chunks_before(a, end);
	int err = arena_claim(a);

	if (err)
		return err;
	/* Before it has the claim again, others may have taken what is new. */
	while (wanted > mapped_chunks(a)) {
		a->poisoned = min(a->poisoned, chunk_end(a, mapped_chunks(a)));
		store_release(&a->reach_end, reach_of(a, mapped_chunks(a)));
		arena_unclaim(a);
		err = grow(a, wanted);
		if (!err)
			err = arena_claim(a);
		if (err) {
			arena_lower(a);
			return err;
		}
	}
	raise_reach(a, end);
	arena_unclaim(a);
	return 0;
}

/* ---- Giving back --------------------------------------------------------- */

u64 arena_give(struct arena *a, u64 most, enum vmm_giveback how, int *err)
{
	u64 most_chunks = div_round_up(most, chunk_size(a));
	u32 before = mapped_chunks(a), to;
	int give_err;

	if (a->is_object)
		return 0;
	/* Pairs with arena_lower(): what was lowered up to now is asked for. */
	to = chunks_before(a, load_acquire(&a->reach_end));
	if (!arena_is_done(a))
		return 0;
	to = max(to, before - (u32)min(most_chunks, (u64)before));
	if (to >= before)
		return 0;
	give_err = unmap_down(a, to, how);
	if (give_err)
		*err = give_err;
	return vmm_chunk_offset(&a->h.sd->vmm, before - mapped_chunks(a));
}

/* ---- Begin and end ------------------------------------------------------- */

/*
 * Addresses that begin where the alignment says: as many more are held at
 * first, and given back on both sides.
 */
static int hold_aligned(struct arena *a)
{
	struct vmm *v = &a->h.sd->vmm;
	u32 more = (u32)(a->mask / v->chunk_size), first, skip;
	u32 nr = arena_nr_held(a);
	u64 addr;
	int err = vmm_hold(v, nr + more, &first);

	if (err)
		return err;
	addr = vmm_addr(v, vmm_chunk_offset(v, first));
	WRITE_ONCE(a->base, align_up(addr, a->mask + 1));
	skip = (u32)((a->base - addr) >> v->chunk_shift);
	a->first_chunk = first + skip;
	if (skip)
		vmm_unhold(v, first, skip);
	if (skip < more)
		vmm_unhold(v, a->first_chunk + nr, more - skip);
	return 0;
}

/* Where nobody said how much, less will do. */
static int hold(struct arena *a, bool exact)
{
	u64 bytes = min(a->max_bytes, READ_ONCE(a->h.sd->vmm.cnt->limit));
	int err;

	for (;;) {
		WRITE_ONCE(a->held_bytes, bytes);
		err = hold_aligned(a);
		if (!err || exact || bytes <= chunk_size(a))
			break;
		a->max_bytes = bytes = bytes / 2;
	}
	a->grow_bytes = min(a->grow_bytes, bytes);
	return err;
}

int arena_map_begin(struct arena *a, u64 first_bytes, bool exact)
{
	struct slabdev *sd = a->h.sd;
	int err;

	if (sd->comm_only)
		return error_set(-ENOTSUP, "%s: memory of an arena above 1 MiB "
				 "comes and goes, and that of a space with "
				 "SLABDEV_OPEN_COMM stays", sd->name);
	err = hold(a, exact);
	if (err)
		return err;
	a->top = a->reach_end = a->base;
	if (!first_bytes)
		return 0;
	if (first_bytes > a->held_bytes) {
		err = error_set(-EDQUOT, "%s: attr.first_bytes %llu is more "
				"than the %llu that the arena can have",
				sd->name, (unsigned long long)first_bytes,
				(unsigned long long)a->held_bytes);
		goto unhold;
	}
	err = map_more(a, chunks_before(a, a->base + first_bytes), 0);
	if (err)
		goto unhold;
	return 0;

unhold:
	vmm_unhold(&sd->vmm, a->first_chunk, arena_nr_held(a));
	return err;
}

int arena_map_end(struct arena *a)
{
	enum vmm_giveback how = READ_ONCE(a->h.sd->policy) == SLABDEV_RETAIN ?
				VMM_KEEP_HANDLE : VMM_RELEASE;
	u32 before = mapped_chunks(a);
	int err = 0;

	/* What is lost leaves too; if nothing does, nothing will. */
	while (before) {
		if (unmap_down(a, 0, how))
			err = -EIO;
		if (mapped_chunks(a) == before)
			break;
		before = mapped_chunks(a);
	}
	vmm_unhold(&a->h.sd->vmm, a->first_chunk, arena_nr_held(a));
	return err;
}
