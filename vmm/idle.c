// SPDX-License-Identifier: BSD-2-Clause
/*
 * idle.c - memory that nobody uses: idle mappings and spare handles.
 *
 * Giving memory back and taking it again costs hundreds of microseconds on a
 * device, so what the caller need not give back is kept, in the form that is
 * cheapest to use again:
 *
 *   idle mappings of one chunk    a range of their own (idle_runs): adjacent
 *                                 ones serve a longer request together;
 *   idle mappings of several      lists by log2 of their chunks, most recently
 *                                 used first: only a request of exactly that
 *                                 length takes one, since a mapping is whole;
 *   spare handles                 one chunk each, without an address, to be
 *                                 mapped wherever a hole needs filling.
 *
 * Giving back. One call of vmm_idle_give() gives one handle back, the one that
 * serves best: the smallest that covers by itself what is wanted, else the
 * largest, so that few calls are made and no more memory goes than must; of
 * equals the least recently used. It looks through one list or two; what
 * follows is a backend call, which costs more than all of them.
 *
 * Only what is quiet (fence.c) is unmapped. Lists are in the order of stamps,
 * so what is quiet is at one end.
 *
 * Locking: vmm->lock.
 */
#include <errno.h>

#include "core/bitmap.h"
#include "vmm/internal.h"

/* ---- Spare handles ---------------------------------------------------- */

void vmm_spare_put(struct vmm *v, struct vmm_handle *h)
{
	list_add(&h->node, &v->spare);
	vmm_count(&v->cnt->spare_handles, 1);
	vmm_count(&v->cnt->idle, (s64)v->chunk_size);
}

struct vmm_handle *vmm_spare_take(struct vmm *v)
{
	struct vmm_handle *h;

	if (list_empty(&v->spare))
		return NULL;
	h = list_first_entry(&v->spare, struct vmm_handle, node);
	list_del(&h->node);
	vmm_count(&v->cnt->spare_handles, -1);
	vmm_count(&v->cnt->idle, -(s64)v->chunk_size);
	return h;
}

/* ---- Idle mappings ---------------------------------------------------- */

static void set_state(struct vmm *v, struct vmm_handle *h,
		      enum vmm_state state)
{
	s64 bytes = (s64)vmm_bytes(v, h->nr);

	h->state = state;
	vmm_count(&v->cnt->idle, state == VMM_IDLE ? bytes : -bytes);
}

void vmm_idle_put(struct vmm *v, struct vmm_handle *h)
{
	set_state(v, h, VMM_IDLE);
	if (h->nr > 1) {
		list_add(&h->node, &v->idle[ilog2(h->nr)]);
		v->nr_idle++;
		return;
	}
	list_add_tail(&h->node, &v->idle_singles);
	/* The number is part of a longer allocation: cut it out first. */
	range_split(&v->idle_runs, h->first);
	range_split(&v->idle_runs, h->first + 1);
	range_free(&v->idle_runs, h->first, 1);
}

static void take_single(struct vmm *v, struct vmm_handle *h)
{
	list_del(&h->node);
	set_state(v, h, VMM_ACCESSIBLE);
}

static bool run_is_quiet(struct vmm *v, u32 first, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		if (!vmm_is_quiet(v, *vmm_chunk(v, first + i)))
			return false;
	return true;
}

static bool take_singles(struct vmm *v, u32 nr, bool quiet, u32 *first)
{
	u32 run = range_alloc(&v->idle_runs, nr, 1);

	if (run == RANGE_NONE)
		return false;
	if (quiet && !run_is_quiet(v, run, nr)) {
		range_free(&v->idle_runs, run, nr);
		return false;
	}
	for (u32 i = 0; i < nr; i++)
		take_single(v, *vmm_chunk(v, run + i));
	*first = run;
	return true;
}

/* The idle single chunk that was used least recently, if it is quiet. */
static struct vmm_handle *take_quiet_single(struct vmm *v)
{
	struct vmm_handle *h;

	if (list_empty(&v->idle_singles))
		return NULL;
	h = list_first_entry(&v->idle_singles, struct vmm_handle, node);
	if (!vmm_is_quiet(v, h))
		return NULL;
	range_alloc_at(&v->idle_runs, h->first, 1);
	take_single(v, h);
	return h;
}

static void take_long(struct vmm *v, struct vmm_handle *h)
{
	list_del(&h->node);
	v->nr_idle--;
	set_state(v, h, VMM_ACCESSIBLE);
}

bool vmm_idle_take(struct vmm *v, u32 nr, u32 handle_chunks, bool quiet,
		   u32 *first)
{
	struct vmm_handle *h;

	if (handle_chunks == 1)
		return take_singles(v, nr, quiet, first);
	if (handle_chunks != nr)
		return false;
	list_for_each_entry(h, &v->idle[ilog2(nr)], node) {
		if (h->nr == nr && (!quiet || vmm_is_quiet(v, h))) {
			take_long(v, h);
			*first = h->first;
			return true;
		}
	}
	return false;
}

void vmm_spare_gather(struct vmm *v, u64 nr)
{
	struct vmm_handle *h;

	while (v->cnt->spare_handles < nr && (h = take_quiet_single(v)))
		if (!vmm_handle_unmap(v, h))
			vmm_spare_put(v, h);
}

/* ---- Giving back ------------------------------------------------------ */

/* The best that is quiet of one list: the smallest that covers @chunks, else
 * the largest; of equals the least recently used. NULL when there is none. */
static struct vmm_handle *best_in(const struct vmm *v, u32 bin, u64 chunks)
{
	struct vmm_handle *best = NULL;
	struct vmm_handle *h;

	list_for_each_entry(h, &v->idle[bin], node) {
		if (!vmm_is_quiet(v, h))
			continue;
		if (!best || (best->nr < chunks ? h->nr >= best->nr :
			      h->nr >= chunks && h->nr <= best->nr))
			best = h;
	}
	return best;
}

static struct vmm_handle *best_long(const struct vmm *v, u64 chunks)
{
	u32 own = ilog2(min(chunks, (u64)VMM_NO_CHUNK));
	struct vmm_handle *h;

	if (!v->nr_idle)
		return NULL;
	for (u32 bin = own; bin < VMM_IDLE_BINS; bin++) {
		h = best_in(v, bin, chunks);
		if (h && h->nr >= chunks)
			return h;
	}
	for (h = NULL; !h && own; own--)
		h = best_in(v, own, chunks);
	return h;
}

static bool give_long(struct vmm *v, u64 chunks, int *err)
{
	struct vmm_handle *h = best_long(v, chunks);

	if (!h)
		return false;
	take_long(v, h);
	*err = vmm_handle_destroy(v, h);
	return true;
}

static bool give_single(struct vmm *v, u64 keep_spare, int *err)
{
	struct vmm_handle *h;

	if (v->cnt->spare_handles > keep_spare) {
		*err = vmm_handle_release(v, vmm_spare_take(v));
		return true;
	}
	h = take_quiet_single(v);
	if (!h)
		return false;
	*err = vmm_handle_destroy(v, h);
	return true;
}

bool vmm_idle_give(struct vmm *v, u64 chunks, u64 keep_spare, int *err)
{
	if (chunks > 1)
		return give_long(v, chunks, err) ||
		       give_single(v, keep_spare, err);
	return give_single(v, keep_spare, err) || give_long(v, chunks, err);
}

bool vmm_idle_give_all(struct vmm *v, u64 keep_spare)
{
	bool any = false;
	int err = 0;

	while (vmm_idle_give(v, VMM_NO_CHUNK, keep_spare, &err))
		if (!err)
			any = true;
	return any;
}

bool vmm_idle_is_busy(const struct vmm *v)
{
	return !vmm_all_quiet(v) && (v->nr_idle || vmm_nr_idle_singles(v));
}
