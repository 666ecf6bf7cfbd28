// SPDX-License-Identifier: BSD-2-Clause
/* class.c - refill and flush of sheaves at the slabs; see class.h. */
#include <errno.h>

#include "core/bitmap.h"
#include "core/log.h"
#include "core/overflow.h"
#include "slab/alloc.h"
#include "slab/class.h"
#include "slab/heap.h"
#include "slab/reclaim.h"
#include "slab/tiny.h"

void class_init(struct class *c)
{
	struct slabdev_seg_class *r = c->rec;
	u32 i;

	c->step = c->stride >> c->shift;
	c->inverse = (((u64)1 << 32) + c->step - 1) / c->step;
	c->empty_slab = RANGE_NONE;
	for (i = 0; i < NR_PARTIAL; i++)
		c->partial[i] = RANGE_NONE;
	lock_init(&c->lock, LOCK_CLASS, "class");
	lock_init(&c->barn_lock, LOCK_BARN, "barn");
	r->per_slab = c->nr;
	r->sheaf_objects = c->sheaf_cap;
	r->object_size = c->object_size;
	r->stride = c->stride;
	r->align = c->align;
	r->slab_bytes = c->span * SLICE_SIZE;
	r->flags = c->ctor ? SLABDEV_SEG_CTOR : 0;
	WRITE_ONCE(r->generation, r->generation + 1);
}

void class_fini(struct class *c)
{
	lock_fini(&c->barn_lock);
	lock_fini(&c->lock);
}


bool object_is_live(const struct class *c, const struct slab *s, u32 i)
{
	slot_t slot = slab_first_slot(c, s) + i * c->step;

	if (class_is_tiny(c))
		return tiny_is_live(s, i);
	return tag_is_live(tag_load(&c->sd->tags[slot]));
}

static bool has_objects(const struct slab *s)
{
	enum slab_state state = slab_state(s);

	return state == SLAB_OBJECTS || state == SLAB_TINY;
}

struct class *class_lock_slab(struct slabdev *sd, struct slab *s)
{
	struct class *c = load_acquire(&sd->class[slab_class(s)]);

	if (!c || !has_objects(s))
		return NULL;
	lock_acquire(&c->lock);
	/* Meanwhile it may have gone to the pool, or the class may have left
	 * its number to another one. */
	if (has_objects(s) && slab_class(s) == c->id &&
	    load_acquire(&sd->class[c->id]) == c)
		return c;
	lock_release(&c->lock);
	return NULL;
}

/* ---- Lists ------------------------------------------------------------ */

static void list_slab_locked(struct class *c, struct slab *s)
{
	u32 slice = (u32)(s - c->sd->slabs);

	s->bin = (u8)ilog2(s->nr_free);
	s->prev = RANGE_NONE;
	s->next = c->partial[s->bin];
	if (s->next != RANGE_NONE)
		c->sd->slabs[s->next].prev = slice;
	c->partial[s->bin] = slice;
	c->partial_map |= 1u << s->bin;
	count_add(&c->rec->partial, 1);
}

static void unlist_slab_locked(struct class *c, struct slab *s)
{
	if (s->next != RANGE_NONE)
		c->sd->slabs[s->next].prev = s->prev;
	if (s->prev != RANGE_NONE)
		c->sd->slabs[s->prev].next = s->next;
	else
		c->partial[s->bin] = s->next;
	if (c->partial[s->bin] == RANGE_NONE)
		c->partial_map &= ~(1u << s->bin);
	count_add(&c->rec->partial, (u64)-1);
}

static void set_empty_locked(struct class *c, u32 slice)
{
	c->empty_slab = slice;
	WRITE_ONCE(c->rec->empty, slice != RANGE_NONE);
}

/* The fullest slab with a free object, in no list now; NULL: none. */
static struct slab *pick_slab_locked(struct class *c)
{
	struct slab *s;

	if (c->partial_map) {
		u32 bin = (u32)__builtin_ctz(c->partial_map);

		s = c->sd->slabs + c->partial[bin];
		unlist_slab_locked(c, s);
		return s;
	}
	if (c->empty_slab == RANGE_NONE)
		return NULL;
	s = c->sd->slabs + c->empty_slab;
	set_empty_locked(c, RANGE_NONE);
	return s;
}

/* ---- Making and dropping slabs ---------------------------------------- */

/* Constructors run once, before anybody can have an object. */
static int construct(struct class *c, u32 slice)
{
	void *base = to_ptr(space_addr(c->sd, slice_offset(slice)));
	int err;

	if (!c->ctor)
		return 0;
	err = c->ctor(base, c->stride, c->nr, NULL, c->ctor_arg);
	return err > 0 ? -EINVAL : err;
}

/* A walk may look at the descriptor meanwhile: what it reads without the class
 * lock (slab_publish) comes last. */
static void describe_slab(struct class *c, u32 slice, struct tiny_bits *tiny)
{
	struct slab *s = c->sd->slabs + slice;
	u64 *bits = tiny ? tiny->free : &s->free;
	u32 i, at;

	for (i = 0; i < c->nr; i += 64)
		WRITE_ONCE(bits[i / 64], bits_below(c->nr - i));
	if (tiny)
		WRITE_ONCE(s->tiny, tiny);
	s->nr = (u16)c->nr;
	s->nr_free = (u16)c->nr;
	s->span = (u16)c->span;
	WRITE_ONCE(s->back, 0);
	for (i = 1; c->span > 1 && i < c->nr; i++) {
		at = (u32)((u64)i * c->stride >> SLICE_SHIFT);
		if (at)
			WRITE_ONCE(s[at].back, (u16)at);
	}
	slab_publish(s, c->id, tiny ? SLAB_TINY : SLAB_OBJECTS);
}

/* 0 with a new slab, 1 when the class got free objects otherwise, or -errno. */
static int make_slab(struct class *c, unsigned int flags, u32 *slice)
{
	struct slabdev *sd = c->sd;
	struct tiny_bits *tiny = NULL;
	int err;

	err = reclaim_run(sd, c->span, max((u64)c->align, SLICE_SIZE),
			  flags & GET_NEW_SLAB ? NULL : c, flags, slice);
	if (err)
		return err;
	if (class_is_tiny(c)) {
		tiny = metapool_alloc(&sd->tiny_pool);
		if (!tiny) {
			err = error_set(-ENOMEM, "no host memory for the "
					"bitmaps of a slab");
			goto free_run;
		}
	}
	if (slice_offset(*slice + c->span) >> c->shift > UINT32_MAX) {
		err = error_set(-ENOMEM, "the free address is beyond what "
				"objects of %u bytes can have", c->stride);
		goto free_tiny;
	}
	err = construct(c, *slice);
	if (err) {
		error_set(err, "the constructor of the cache returned %d", err);
		goto free_tiny;
	}
	describe_slab(c, *slice, tiny);
	return 0;

free_tiny:
	if (tiny)
		metapool_free(&sd->tiny_pool, tiny);
free_run:
	pool_free(sd, *slice, c->span);
	return err;
}

/* Its descriptor was unpublished: nobody looks at it any more. */
static void free_slab(struct class *c, u32 slice)
{
	if (class_is_tiny(c))
		metapool_free(&c->sd->tiny_pool, c->sd->slabs[slice].tiny);
	pool_free(c->sd, slice, c->span);
}

/* The slab is the class's no more; walks that hold the lock do not see it. */
static void give_up_slab_locked(struct class *c, u32 slice)
{
	slab_unpublish(&c->sd->slabs[slice]);
	count_add(&c->rec->slabs, (u64)-1);
	count_add(&c->rec->slab_frees, 1);
}

/* Return the slab to be freed when none more is kept, else RANGE_NONE. */
static u32 keep_empty_locked(struct class *c, u32 slice)
{
	if (c->empty_slab == RANGE_NONE &&
	    READ_ONCE(c->sd->policy) != SLABDEV_AGGRESSIVE) {
		set_empty_locked(c, slice);
		return RANGE_NONE;
	}
	give_up_slab_locked(c, slice);
	return slice;
}

static void count_slab_locked(struct class *c)
{
	count_add(&c->rec->slabs, 1);
	count_add(&c->rec->slab_allocs, 1);
}

static int add_slab(struct class *c, unsigned int flags)
{
	u32 slice;
	int err;

	err = make_slab(c, flags, &slice);
	if (err)
		return err;
	lock_acquire(&c->lock);
	count_slab_locked(c);
	/* Wanted at once: listed although empty, so that several may be. */
	list_slab_locked(c, c->sd->slabs + slice);
	lock_release(&c->lock);
	return 0;
}

/* ---- Refill ----------------------------------------------------------- */

static u32 take_from_slab_locked(struct class *c, struct slab *s, slot_t *to,
				 u32 most)
{
	u64 *bits = slab_bits(s);
	slot_t first = slab_first_slot(c, s);
	u32 n = 0, word;

	for (word = 0; word * 64 < s->nr && n < most; word++) {
		while (bits[word] && n < most) {
			u32 i = word * 64 + (u32)__builtin_ctzll(bits[word]);

			WRITE_ONCE(bits[word], bits[word] & (bits[word] - 1));
			to[n++] = first + i * c->step;
		}
	}
	s->nr_free = (u16)(s->nr_free - n);
	if (s->nr_free)
		list_slab_locked(c, s);
	return n;
}

static u32 take_locked(struct class *c, slot_t *to, u32 least, u32 most)
{
	struct slab *s;
	u32 n = 0;

	while (n < least && (s = pick_slab_locked(c)))
		n += take_from_slab_locked(c, s, to + n, most - n);
	return n;
}

int class_get(struct class *c, slot_t *to, u32 least, u32 most,
	      unsigned int flags)
{
	bool made = false;
	u32 n = 0;
	int err = 0;

	for (;;) {
		lock_acquire(&c->lock);
		n += take_locked(c, to + n, least - n, most - n);
		lock_release(&c->lock);
		if (n >= least)
			break;
		/* What was found serves the caller; do not fight for more. */
		err = add_slab(c, n ? flags | GET_NO_RECLAIM | GET_NO_REPORT :
				      flags);
		if (err < 0)
			break;
		made = true;
	}
	/* Others may have given back meanwhile what it was made for. */
	if (made && READ_ONCE(c->sd->policy) == SLABDEV_AGGRESSIVE)
		class_drop_empty(c);
	if (!n)
		return err;
	space_count_out(c->sd, (u64)n * c->stride);
	return (int)n;
}

bool class_has_free(struct class *c)
{
	bool has;

	lock_acquire(&c->lock);
	has = c->partial_map || c->empty_slab != RANGE_NONE;
	lock_release(&c->lock);
	return has;
}

/* ---- Flush ------------------------------------------------------------ */

/* Return the slab to be freed, or RANGE_NONE. */
static u32 put_locked(struct class *c, slot_t slot, bool *twice)
{
	struct slab *s = slab_of(c, slot);
	u32 i = slot_index(c, s, slot);
	u64 *word = &slab_bits(s)[i / 64];
	u64 bit = (u64)1 << (i % 64);

	*twice = *word & bit;
	if (*twice)
		return RANGE_NONE;
	if (s->nr_free)
		unlist_slab_locked(c, s);
	WRITE_ONCE(*word, *word | bit);
	if (++s->nr_free == s->nr)
		return keep_empty_locked(c, (u32)(s - c->sd->slabs));
	list_slab_locked(c, s);
	return RANGE_NONE;
}

static void report_twice(struct class *c, slot_t slot)
{
	struct report r;

	report_start(&r, REPORT_CORRUPT, c->sd->name,
		     "object is in its slab and in a sheaf");
	report_line(&r, "object %p of %s: left where it is",
		    slot_ptr(c, slot), c->rec->name);
	report_end(&r);
}

void class_put(struct class *c, const slot_t *from, u32 n)
{
	u32 surplus, i;
	bool twice;

	if (!n)
		return;
	shared_sub(&c->sd->rec->out_bytes, (u64)n * c->stride);
	lock_acquire(&c->lock);
	for (i = 0; i < n; i++) {
		surplus = put_locked(c, from[i], &twice);
		if (likely(surplus == RANGE_NONE && !twice))
			continue;
		lock_release(&c->lock);
		if (twice)
			report_twice(c, from[i]);
		else
			free_slab(c, surplus);
		lock_acquire(&c->lock);
	}
	lock_release(&c->lock);
}

/*
 * Take every slab with all objects out of the lists, chained by .next: the
 * kept one, and those that were made for somebody who then found others.
 */
static u32 detach_empty_locked(struct class *c)
{
	struct slab *slabs = c->sd->slabs;
	u32 slice, next, chain = c->empty_slab;

	if (chain != RANGE_NONE) {
		set_empty_locked(c, RANGE_NONE);
		give_up_slab_locked(c, chain);
		slabs[chain].next = RANGE_NONE;
	}
	for (slice = c->partial[ilog2(c->nr)]; slice != RANGE_NONE;
	     slice = next) {
		next = slabs[slice].next;
		if (slabs[slice].nr_free < c->nr)
			continue;
		unlist_slab_locked(c, &slabs[slice]);
		give_up_slab_locked(c, slice);
		slabs[slice].next = chain;
		chain = slice;
	}
	return chain;
}

void class_drop_empty(struct class *c)
{
	u32 slice, next;

	lock_acquire(&c->lock);
	slice = detach_empty_locked(c);
	lock_release(&c->lock);
	for (; slice != RANGE_NONE; slice = next) {
		next = c->sd->slabs[slice].next;
		free_slab(c, slice);
	}
}

static u64 nr_free_locked(struct class *c)
{
	u64 n = 0;
	u32 bin, slice;

	if (c->empty_slab != RANGE_NONE)
		n += c->nr;
	for (bin = 0; bin < NR_PARTIAL; bin++)
		for (slice = c->partial[bin]; slice != RANGE_NONE;
		     slice = c->sd->slabs[slice].next)
			n += c->sd->slabs[slice].nr_free;
	return n;
}

static u64 nr_free(struct class *c)
{
	u64 n;

	lock_acquire(&c->lock);
	n = nr_free_locked(c);
	lock_release(&c->lock);
	return n;
}

/* A chain of new slabs: into the lists, or away again. */
static void end_prefill(struct class *c, u32 chain, int err)
{
	u32 slice;

	while ((slice = chain) != RANGE_NONE) {
		chain = c->sd->slabs[slice].next;
		lock_acquire(&c->lock);
		if (err)
			give_up_slab_locked(c, slice);
		else
			list_slab_locked(c, &c->sd->slabs[slice]);
		lock_release(&c->lock);
		if (err)
			free_slab(c, slice);
	}
}

/*
 * New slabs are in no list until all are there: finding memory for the next
 * one drops empty slabs. For the same reason those in lists are counted again.
 */
int class_prefill(struct class *c, u64 n)
{
	u64 limit = READ_ONCE(c->sd->vmm.cnt->limit);
	u32 slice, chain = RANGE_NONE;
	u64 have, made = 0;
	int err = 0;

	if (n > limit / c->stride)
		return error_set(-EDQUOT, "%llu objects of %u bytes are more "
				 "than the limit of %llu bytes",
				 (unsigned long long)n, c->stride,
				 (unsigned long long)limit);
	while (!err && (have = nr_free(c) + made) < n)
		for (; have < n; have += c->nr, made += c->nr) {
			err = make_slab(c, GET_NEW_SLAB, &slice);
			if (err)
				break;
			/* Counted at once: a report on the way adds up. */
			lock_acquire(&c->lock);
			count_slab_locked(c);
			lock_release(&c->lock);
			c->sd->slabs[slice].next = chain;
			chain = slice;
		}
	end_prefill(c, chain, err);
	return err;
}

/* ---- After a fork ----------------------------------------------------- */

void class_forget(struct class *c)
{
	u32 i;

	for (i = 0; i < NR_PARTIAL; i++)
		c->partial[i] = RANGE_NONE;
	c->partial_map = 0;
	set_empty_locked(c, RANGE_NONE);
	WRITE_ONCE(c->rec->partial, 0);
	WRITE_ONCE(c->rec->slabs, 0);
}

/* Count a live object again, as this thread's. */
static void count_again(struct class *c, slot_t slot)
{
	u64 size = c->object_size;

	if (c->code <= NR_GENERAL)
		size = object_size(c, slot);
	heap_count_alloc(heap_get(c->sd), c, size);
}

void class_adopt(struct class *c, u32 slice)
{
	struct slab *s = c->sd->slabs + slice;
	u64 *bits = slab_bits(s);
	u32 i;

	s->nr_free = 0;
	for (i = 0; i < s->nr; i++) {
		if (object_is_live(c, s, i)) {
			bitmap_clear(bits, i);
			count_again(c, slab_first_slot(c, s) + i * c->step);
			continue;
		}
		bitmap_set(bits, i);
		s->nr_free++;
	}
	lock_acquire(&c->lock);
	count_add(&c->rec->slabs, 1);
	if (s->nr_free)
		list_slab_locked(c, s);
	lock_release(&c->lock);
	shared_add(&c->sd->rec->out_bytes,
		   (u64)(s->nr - s->nr_free) * c->stride);
}
