// SPDX-License-Identifier: BSD-2-Clause
/*
 * heap.c - the slow paths of a heap's owner: an empty or a full sheaf, and the
 * budget; see heap.h. How heaps begin and end is in heap_life.c.
 */
#include "slab/barn.h"
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/heap_private.h"
#include "slab/pending.h"
#include "slab/visit.h"

#define EVICT_EVERY 8u

/* ---- Bins --------------------------------------------------------------- */

static struct bin *get_bin(struct heap *h, struct class *c)
{
	struct bin *bins = h->bins[c->id / CLASS_WINDOW];

	if (!bins)
		bins = heap_add_window(h, c->id / CLASS_WINDOW);
	return bins ? &bins[c->id % CLASS_WINDOW] : NULL;
}

/* ---- Budget ----------------------------------------------------------- */

static u64 sheaf_charge(const struct class *c)
{
	return (u64)c->sheaf_cap * c->stride;
}

/* The budget is the thread's, for all its heaps. */
static void charge(struct heap *h, u64 bytes)
{
	struct heap *own = h->own;

	shared_add(&own->charged, bytes);
	shared_add(&own->sd->charged, bytes);
	WRITE_ONCE(own->block[0]->sheaf_bytes, READ_ONCE(own->charged));
}

static void uncharge(struct heap *h, u64 bytes)
{
	struct heap *own = h->own;

	shared_sub(&own->charged, bytes);
	shared_sub(&own->sd->charged, bytes);
	WRITE_ONCE(own->block[0]->sheaf_bytes, READ_ONCE(own->charged));
}

void heap_uncharge(struct heap *h, const struct sheaf *s)
{
	uncharge(h, sheaf_charge(h->sd->class[s->class]));
}

void sheaf_return(struct slabdev *sd, struct sheaf *s)
{
	struct class *c = sd->class[s->class];

	if (s->domain >= DOMAIN_STREAM) {
		pending_add_sheaf(sd, s);
		return;
	}
	if (s->n == s->cap && barn_put_full(c, s))
		return;
	class_put(c, s->slot, s->n, s->domain);
	s->n = 0;
	sheaf_drop(c, s);
}

/* A callback of the user, run meanwhile, may have left a sheaf there. */
static void bin_put(struct heap *h, struct sheaf **where, struct sheaf *s)
{
	discard(h, __atomic_exchange_n(where, s, __ATOMIC_ACQ_REL));
}

/* Objects too large, forbidden by the policy, or looked at one by one. */
static bool has_no_sheaves(const struct class *c)
{
	return READ_ONCE(c->sd->bypass) || !c->sheaf_cap ||
	       class_is_debugged(c);
}

/*
 * Sheaves go back into their bin, unless they have been forbidden since the
 * operation began: slabdev_set_policy() or _debug() found the bin empty then.
 */
static void put_sheaves(struct heap *h, const struct class *c, struct bin *b,
			struct sheaf *main, struct sheaf *spare)
{
	bin_put(h, &b->main, main);
	bin_put(h, &b->spare, spare);
	/* Pairs with the membarrier in take_back(). */
	barrier();
	if (likely(!has_no_sheaves(c)))
		return;
	discard(h, bin_take(&b->main));
	discard(h, bin_take(&b->spare));
}

static void note_gain(struct heap *h, u32 id)
{
	h->gained[h->head++ % GAINED_MAX] = (u16)id;
}

/*
 * Evict the sheaf gained longest ago, the spare one of its bin first. The bin
 * that is being worked on has none in it just now: its turn comes again.
 */
static void evict_oldest(struct heap *h, const struct class *working)
{
	u32 id = h->gained[h->tail++ % GAINED_MAX];
	struct bin *b = &h->bins[id / CLASS_WINDOW][id % CLASS_WINDOW];

	if (id == working->id)
		note_gain(h, id);
	else if (READ_ONCE(b->spare) != &sheaf_none)
		discard(h, bin_take(&b->spare));
	else
		discard(h, bin_take(&b->main));
}

static bool fits(struct heap *h, u64 bytes)
{
	return READ_ONCE(h->own->charged) + bytes <= h->sd->sheaf_bytes &&
	       READ_ONCE(h->sd->charged) + bytes <= h->sd->sheaf_total;
}

/*
 * A full budget moves to other classes slowly: most requests go without a
 * sheaf, and each EVICT_EVERY-th one evicts. Else many classes in turn would
 * evict each other all the time.
 */
static bool make_room(struct heap *h, const struct class *c, u64 bytes)
{
	u32 side, n;

	if (likely(fits(h, bytes)))
		return true;
	if (++h->refused % EVICT_EVERY)
		return false;
	side = visit_begin(h->sd);
	for (n = h->head - h->tail; n && !fits(h, bytes); n--)
		evict_oldest(h, c);
	visit_end(h->sd, side);
	return fits(h, bytes);
}

/*
 * Notes outlive sheaves that were stolen. If all of them are of class @c, which
 * has two sheaves at most, one of the others is old news.
 */
static void make_note_room(struct heap *h, const struct class *c)
{
	u32 side, n;

	if (likely(h->head - h->tail < GAINED_MAX))
		return;
	side = visit_begin(h->sd);
	for (n = GAINED_MAX; n && h->head - h->tail >= GAINED_MAX; n--)
		evict_oldest(h, c);
	visit_end(h->sd, side);
	if (h->head - h->tail >= GAINED_MAX)
		h->tail++;
}

/* In whose order the heap's objects are. */
static struct order order_of_heap(const struct heap *h)
{
	if (!h->stream)
		return (struct order){ 0 };
	return (struct order){ h->stream->handle, h->stream };
}

static u16 domain_of_heap(const struct heap *h)
{
	return h->stream ? h->stream->domain : h->sd->domain;
}

/* A new empty sheaf, paid for; sheaf_none: not to be had. */
static struct sheaf *gain_sheaf(struct heap *h, struct class *c)
{
	u64 bytes = sheaf_charge(c);
	struct sheaf *s;

	if (!make_room(h, c, bytes))
		return &sheaf_none;
	s = sheaf_new(c);
	if (!s)
		return &sheaf_none;
	s->domain = domain_of_heap(h);
	charge(h, bytes);
	make_note_room(h, c);
	note_gain(h, c->id);
	return s;
}

/* ---- Alloc ------------------------------------------------------------ */

/* Past the sheaves: nothing of this class may be kept at hand. */
static int get_one(struct heap *h, struct class *c, unsigned int flags,
		   slot_t *slot)
{
	struct order o = order_of_heap(h);
	int n;

	/* Debugged ones pass class_put() before they are used again. */
	if (h->stream && !class_is_debugged(c) &&
	    pending_take_slot(c, h->stream, slot))
		return 1;
	n = order_get(c, slot, 1, 1, flags, &o);
	return n < 0 ? n : 1;
}

static void put_one(struct heap *h, struct class *c, slot_t slot)
{
	struct order o = order_of_heap(h);

	shared_add(&c->rec->flushes, 1);
	if (h->stream)
		pending_add_slot(c, slot, &o, NULL, 0);
	else
		class_put(c, &slot, 1, c->sd->domain);
}

static void swap_sheaves(struct sheaf **a, struct sheaf **b)
{
	struct sheaf *t = *a;

	*a = *b;
	*b = t;
}

/* A sheaf with objects that the heap may have, for an empty one. */
static struct sheaf *trade(struct heap *h, struct class *c, struct sheaf *empty)
{
	struct sheaf *full = NULL;

	if (h->stream) {
		full = pending_take_sheaf(c, h->stream);
		if (full)
			sheaf_drop(c, empty);
	}
	if (!full)
		full = barn_take_full(c, empty, h->stream != NULL);
	if (full)
		full->domain = domain_of_heap(h);
	return full;
}

/*
 * Fill the main sheaf of a bin that was taken out: from the spare one (0), the
 * barn, or the slabs (1). Else 0 and main is sheaf_none: there is no sheaf to
 * be had; or the error of class_get().
 */
static int refill(struct heap *h, struct class *c, struct sheaf **main,
		  struct sheaf **spare, unsigned int flags)
{
	struct order o = order_of_heap(h);
	struct sheaf *full;
	int n;

	if ((*spare)->n) {
		swap_sheaves(main, spare);
		return 0;
	}
	if (*main == &sheaf_none)
		*main = gain_sheaf(h, c);
	if (*main == &sheaf_none)
		return 0;
	full = trade(h, c, *main);
	if (full) {
		*main = full;
	} else {
		n = order_get(c, (*main)->slot, (c->sheaf_cap + 1) / 2,
			      c->sheaf_cap, flags, &o);
		if (n < 0)
			return n;
		(*main)->n = (u32)n;
	}
	return 1;
}

int heap_alloc_slow(struct heap *h, struct class *c, unsigned int flags,
		    slot_t *slot)
{
	struct sheaf *main, *spare;
	struct bin *b;
	int from;

	if (h == &heap_none || has_no_sheaves(c))
		return get_one(h, c, flags, slot);
	b = get_bin(h, c);
	if (!b)
		return get_one(h, c, flags, slot);
	main = bin_take(&b->main);
	spare = bin_take(&b->spare);
	from = main->n ? 0 : refill(h, c, &main, &spare, flags);
	if (from >= 0 && main != &sheaf_none)
		*slot = main->slot[--main->n];
	else if (from >= 0)
		from = get_one(h, c, flags, slot);
	put_sheaves(h, c, b, main, spare);
	return from;
}

/* ---- Free ------------------------------------------------------------- */

/* A full sheaf for everybody; false: it is to be emptied. */
static bool leave_full(struct heap *h, struct class *c, struct sheaf *full)
{
	if (!h->stream)
		return barn_put_full(c, full);
	pending_add_sheaf(c->sd, full);
	return true;
}

/*
 * Make room in the main sheaf of a bin that was taken out. main may be
 * sheaf_none afterwards.
 */
static void flush(struct heap *h, struct class *c, struct sheaf **main,
		  struct sheaf **spare)
{
	struct sheaf *fresh;
	u32 half;

	if ((*spare)->n < (*spare)->cap) {
		swap_sheaves(main, spare);
		return;
	}
	if (*main == &sheaf_none || *spare == &sheaf_none) {
		fresh = gain_sheaf(h, c);
		if (fresh != &sheaf_none) {
			if (*main != &sheaf_none)
				*spare = *main;
			*main = fresh;
			return;
		}
		if (*main == &sheaf_none)
			return;
	}
	shared_add(&c->rec->flushes, 1);
	fresh = sheaf_new(c);
	if (fresh && leave_full(h, c, *main)) {
		fresh->domain = domain_of_heap(h);
		*main = fresh;
		return;
	}
	if (fresh)
		sheaf_drop(c, fresh);
	if (h->stream) {
		discard(h, *main);
		*main = &sheaf_none;
		return;
	}
	half = ((*main)->n + 1u) / 2;
	class_put(c, (*main)->slot, half, (*main)->domain);
	(*main)->n -= half;
	__builtin_memmove((*main)->slot, (*main)->slot + half,
			  (*main)->n * sizeof(slot_t));
}

void heap_free_slow(struct heap *h, struct class *c, slot_t slot)
{
	struct sheaf *main, *spare;
	struct bin *b = NULL;

	if (h != &heap_none && !has_no_sheaves(c))
		b = get_bin(h, c);
	if (!b) {
		put_one(h, c, slot);
		return;
	}
	main = bin_take(&b->main);
	spare = bin_take(&b->spare);
	if (main->n == main->cap)
		flush(h, c, &main, &spare);
	if (main != &sheaf_none)
		main->slot[main->n++] = slot;
	else
		put_one(h, c, slot);
	put_sheaves(h, c, b, main, spare);
}

/* ---- Counting --------------------------------------------------------- */

/*
 * Add to the thread's own counter; a thread that could have no heap shares the
 * retired ones.
 */
static void count(struct heap *h, const struct class *c, size_t field, u64 n)
{
	u32 window = c->id / CLASS_WINDOW, i = c->id % CLASS_WINDOW;
	struct slabdev_seg_thread *block = h->block[window];
	char *counters = block ? (char *)&block->c[i] :
			 (char *)&c->sd->window[window]->retired[i];
	u64 *counter = (u64 *)(void *)(counters + field);

	if (likely(block))
		count_add(counter, n);
	else
		shared_add(counter, n);
}

#define COUNTER(name) offsetof(struct slabdev_seg_counters, name)

void heap_count_alloc(struct heap *h, struct class *c, u64 size)
{
	count(h, c, COUNTER(allocs), 1);
	count(h, c, COUNTER(alloc_bytes), size);
}

void heap_count_free(struct heap *h, struct class *c, u64 size)
{
	count(h, c, COUNTER(frees), 1);
	count(h, c, COUNTER(free_bytes), size);
}

void heap_uncount(struct heap *h, struct class *c, u64 size)
{
	count(h, c, COUNTER(allocs), (u64)-1);
	count(h, c, COUNTER(frees), (u64)-1);
	count(h, c, COUNTER(alloc_bytes), -size);
	count(h, c, COUNTER(free_bytes), -size);
}

void heap_count_resize(struct heap *h, struct class *c, u64 from, u64 to)
{
	count(h, c, COUNTER(alloc_bytes), to);
	count(h, c, COUNTER(free_bytes), from);
}
