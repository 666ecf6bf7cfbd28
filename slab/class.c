// SPDX-License-Identifier: BSD-2-Clause
/* class.c - refill and flush of sheaves at the slabs; see class.h. */
#include <errno.h>

#include "core/bitmap.h"
#include "core/log.h"
#include "core/overflow.h"
#include "slab/alloc.h"
#include "slab/annotate.h"
#include "slab/class.h"
#include "slab/class_list.h"
#include "slab/comm.h"
#include "slab/debug.h"
#include "slab/heap.h"
#include "slab/quarantine.h"
#include "slab/slab_make.h"
#include "slab/tiny.h"

/* Slabs of one list that are looked at for a quiet one. */
#define QUIET_TRIES 16u

void class_init(struct class *c)
{
	struct slabdev_seg_class *r = c->rec;
	u32 i;

	c->step = c->stride >> c->shift;
	c->inverse = (((u64)1 << 32) + c->step - 1) / c->step;
	for (i = 0; i < NR_LISTS; i++)
		c->list[i] = RANGE_NONE;
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
	quarantine_fini(c);
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

/* Wanted at once, or by a prefill: not among those that anybody may have. */
static void list_new_slab_locked(struct class *c, u32 slice)
{
	struct slab *s = c->sd->slabs + slice;

	class_list_add_locked(c, s, ilog2(s->nr_free));
}

/* The first quiet slab of a list; one is as good as another, so the search is
 * short. */
static struct slab *quiet_slab_locked(const struct class *c, u32 list)
{
	u32 slice = c->list[list], i;
	struct slab *s;

	for (i = 0; i < QUIET_TRIES && slice != RANGE_NONE; i++) {
		s = c->sd->slabs + slice;
		if (stamp_is_quiet(s->stamp, &c->sd->vmm))
			return s;
		slice = s->next;
	}
	return NULL;
}

/* The fullest slab with a free object; NULL: none. */
static struct slab *find_slab_locked(const struct class *c, unsigned int flags)
{
	struct slab *s = NULL;
	u32 lists;

	if (!(flags & GET_QUIET))
		return c->lists ? c->sd->slabs +
				  c->list[__builtin_ctz(c->lists)] : NULL;
	for (lists = c->lists; lists && !s; lists &= lists - 1)
		s = quiet_slab_locked(c, (u32)__builtin_ctz(lists));
	return s;
}

/* The same, in no list any more. */
static struct slab *pick_slab_locked(struct class *c, unsigned int flags)
{
	struct slab *s = find_slab_locked(c, flags);

	if (s)
		class_list_del_locked(c, s);
	return s;
}

/* ---- Slabs come and go ------------------------------------------------- */

/* May one more empty slab stay? */
static bool keeps_empty_locked(const struct class *c)
{
	if (comm_keeps(c) || c->pins)
		return true;
	switch (READ_ONCE(c->sd->policy)) {
	case SLABDEV_RETAIN:
		return true;
	case SLABDEV_TRIM:
		return c->list[LIST_EMPTY] == RANGE_NONE;
	default:
		return false;
	}
}

static int add_slab(struct class *c, unsigned int flags)
{
	u32 slice;
	int err;

	err = slab_make(c, flags, &slice);
	if (err)
		return err;
	lock_acquire(&c->lock);
	list_new_slab_locked(c, slice);
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
		class_list_add_locked(c, s, class_list_of(s));
	return n;
}

static u32 take_locked(struct class *c, slot_t *to, u32 least, u32 most,
		       unsigned int flags)
{
	struct slab *s;
	u32 n = 0;

	while (n < least && (s = pick_slab_locked(c, flags)))
		n += take_from_slab_locked(c, s, to + n, most - n);
	return n;
}

static int get_now(struct class *c, slot_t *to, u32 least, u32 most,
		   unsigned int flags)
{
	bool made = false;
	u32 n = 0;
	int err = 0;

	for (;;) {
		lock_acquire(&c->lock);
		n += take_locked(c, to + n, least - n, most - n, flags);
		lock_release(&c->lock);
		if (n >= least)
			break;
		/* What was found serves the caller: neither map nor take from
		 * others to have more. */
		err = slab_may_be_new(c, flags);
		if (!err)
			err = add_slab(c, n ? flags | GET_IF_FREE : flags);
		if (!err)
			err = slab_settle_new(c, flags);
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

int class_get(struct class *c, slot_t *to, u32 least, u32 most,
	      unsigned int flags)
{
	u32 good = 0;
	int n;

	do {
		n = get_now(c, to + good, least - good, most - good, flags);
		if (n <= 0)
			return good ? (int)good : n;
		if (likely(!class_is_debugged(c)))
			return (int)good + n;
		good += debug_got(c, to + good, (u32)n, flags);
	} while (good < least);
	return (int)good;
}

/* A new slab is in no list for a moment. */
static bool is_listed_locked(const struct class *c, const struct slab *s)
{
	u32 slice = (u32)(s - c->sd->slabs);

	if (s->list >= NR_LISTS)
		return false;
	if (s->prev == RANGE_NONE)
		return c->list[s->list] == slice;
	return c->sd->slabs[s->prev].next == slice;
}

u32 class_take_free(struct class *c, struct slab *s, slot_t *to, u32 most)
{
	u32 n = 0;

	if (class_lock_slab(c->sd, s) != c)
		return 0;
	if (s->nr_free && is_listed_locked(c, s)) {
		class_list_del_locked(c, s);
		n = take_from_slab_locked(c, s, to, most);
	}
	lock_release(&c->lock);
	space_count_out(c->sd, (u64)n * c->stride);
	return n;
}

bool class_has_free(struct class *c, unsigned int flags)
{
	bool has;

	lock_acquire(&c->lock);
	has = find_slab_locked(c, flags) != NULL;
	lock_release(&c->lock);
	return has;
}

/* ---- Flush ------------------------------------------------------------ */

/*
 * Set the bits of the objects from @from on that are of slab @s, up to one
 * whose bit is set already. How many.
 */
static u32 set_bits_locked(struct class *c, struct slab *s, const slot_t *from,
			   u32 n)
{
	slot_t first = slab_first_slot(c, s);
	u64 *bits = slab_bits(s), bit;
	u32 i, at;

	for (i = 0; i < n && from[i] - first < c->nr * c->step; i++) {
		at = slot_index(c, s, from[i]);
		bit = (u64)1 << (at % 64);
		if (unlikely(bits[at / 64] & bit))
			break;
		WRITE_ONCE(bits[at / 64], bits[at / 64] | bit);
	}
	return i;
}

/*
 * Put the first objects of @from, those of one slab, back: how many, 0 when the
 * first one is there already. @surplus: the slab, if it is to be freed.
 */
static u32 put_run_locked(struct class *c, const slot_t *from, u32 n,
			  u16 domain, u32 *surplus)
{
	struct slab *s = slab_of(c, from[0]);
	u16 before = s->nr_free;
	u32 done = set_bits_locked(c, s, from, n);

	s->nr_free = (u16)(before + done);
	if (domain == DOMAIN_BOUND)
		s->stamp = stamp_now(&c->sd->vmm);
	if (!done || (before && class_list_of(s) == s->list))
		return done;
	if (before)
		class_list_del_locked(c, s);
	if (s->nr_free < s->nr || keeps_empty_locked(c)) {
		class_list_add_locked(c, s, class_list_of(s));
		return done;
	}
	*surplus = (u32)(s - c->sd->slabs);
	slab_give_up_locked(c, *surplus);
	return done;
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

static void tell_free(struct class *c, const slot_t *slot, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		annotate_free(c->sd, slot_ptr(c, slot[i]), c->stride);
}

void class_put(struct class *c, const slot_t *from, u32 n, u16 domain)
{
	if (unlikely(c->sd->annotated))
		tell_free(c, from, n);
	if (unlikely(class_quarantine(c)))
		quarantine_put(c, from, n);
	else
		class_put_now(c, from, n, domain);
}

void class_put_now(struct class *c, const slot_t *from, u32 n, u16 domain)
{
	u32 surplus, done, i = 0;

	if (!n)
		return;
	shared_sub(&c->sd->rec->out_bytes, (u64)n * c->stride);
	lock_acquire(&c->lock);
	while (i < n) {
		surplus = RANGE_NONE;
		done = put_run_locked(c, from + i, n - i, domain, &surplus);
		i += done ? done : 1;
		if (likely(done && surplus == RANGE_NONE))
			continue;
		lock_release(&c->lock);
		if (done)
			slab_give_back(c, surplus);
		else
			report_twice(c, from[i - 1]);
		lock_acquire(&c->lock);
	}
	lock_release(&c->lock);
}

/* The empty slabs of a list, given up and chained by .next before @chain. */
static u32 detach_empty_locked(struct class *c, u32 list, u32 chain)
{
	struct slab *slabs = c->sd->slabs;
	u32 slice, next;

	for (slice = c->list[list]; slice != RANGE_NONE; slice = next) {
		next = slabs[slice].next;
		if (slabs[slice].nr_free < c->nr)
			continue;
		class_list_del_locked(c, &slabs[slice]);
		slab_give_up_locked(c, slice);
		WRITE_ONCE(slabs[slice].next, chain);
		chain = slice;
	}
	return chain;
}

static void free_chain(struct class *c, u32 slice)
{
	u32 next;

	for (; slice != RANGE_NONE; slice = next) {
		next = c->sd->slabs[slice].next;
		slab_give_back(c, slice);
	}
}

static void drop_lists(struct class *c, bool new_ones)
{
	u32 chain = RANGE_NONE;

	if (comm_keeps(c))
		return;
	lock_acquire(&c->lock);
	if (!c->pins)
		chain = detach_empty_locked(c, LIST_EMPTY, RANGE_NONE);
	if (!c->pins && new_ones)
		chain = detach_empty_locked(c, ilog2(c->nr), chain);
	lock_release(&c->lock);
	free_chain(c, chain);
}

void class_drop_kept(struct class *c)
{
	drop_lists(c, false);
}

void class_drop_empty(struct class *c)
{
	drop_lists(c, true);
}

void class_pin(struct class *c)
{
	lock_acquire(&c->lock);
	c->pins++;
	lock_release(&c->lock);
}

/* What had to stay meanwhile goes now. */
void class_unpin(struct class *c)
{
	lock_acquire(&c->lock);
	c->pins--;
	lock_release(&c->lock);
	if (READ_ONCE(c->sd->policy) != SLABDEV_RETAIN)
		class_drop_kept(c);
}

static u64 nr_free_locked(struct class *c)
{
	u64 n = 0;
	u32 list, slice;

	for (list = 0; list < NR_LISTS; list++)
		for (slice = c->list[list]; slice != RANGE_NONE;
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
			slab_give_up_locked(c, slice);
		else
			list_new_slab_locked(c, slice);
		lock_release(&c->lock);
		if (err)
			slab_give_back(c, slice);
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
		return error_set(-EDQUOT, "%llu objects of %llu bytes are more "
				 "than the limit of %llu bytes",
				 (unsigned long long)n,
				 (unsigned long long)c->stride,
				 (unsigned long long)limit);
	while (!err && (have = nr_free(c) + made) < n)
		for (; have < n; have += c->nr, made += c->nr) {
			err = slab_make(c, GET_NEW_SLAB, &slice);
			if (err)
				break;
			WRITE_ONCE(c->sd->slabs[slice].next, chain);
			chain = slice;
		}
	end_prefill(c, chain, err);
	return err;
}

/* ---- After a fork ----------------------------------------------------- */

void class_forget(struct class *c)
{
	u32 i;

	for (i = 0; i < NR_LISTS; i++)
		c->list[i] = RANGE_NONE;
	c->lists = 0;
	if (!c->comm)
		shared_sub(&c->sd->empty_slices, c->rec->empty * c->span);
	WRITE_ONCE(c->rec->empty, 0);
	WRITE_ONCE(c->rec->partial, 0);
	WRITE_ONCE(c->rec->slabs, 0);
}

/* Count a live object again, as this thread's. */
static void count_again(struct class *c, slot_t slot)
{
	heap_count_alloc(heap_get(c->sd), c, object_size(c, slot));
}

/* Whoever was about to fill what is not in its slab is not here, nor are the
 * queues that were told to. */
static void renew(struct class *c, struct slab *s, u32 i)
{
	slot_t slot = slab_first_slot(c, s) + i * c->step;
	struct order cpu = { 0 };

	if (bitmap_test(slab_bits(s), i))
		return;
	debug_prepare(c, slot, object_size(c, slot), &cpu);
	if (!object_is_live(c, s, i))
		debug_poison(c, slot);
}

void class_adopt(struct class *c, u32 slice, bool sure)
{
	struct slab *s = c->sd->slabs + slice;
	u64 *bits = slab_bits(s);
	u32 i;

	s->nr_free = 0;
	for (i = 0; i < s->nr; i++) {
		if (!sure && class_is_debugged(c))
			renew(c, s, i);
		if (object_is_live(c, s, i)) {
			bitmap_clear(bits, i);
			count_again(c, slab_first_slot(c, s) + i * c->step);
			continue;
		}
		/* A free may have stopped before it cleared the rounding. */
		if (c->code == CLASS_GRANULE && !keeps_sizes(c))
			WRITE_ONCE(*rounding_byte(c->sd, slab_first_slot(c, s) +
						  i), 0);
		bitmap_set(bits, i);
		s->nr_free++;
	}
	lock_acquire(&c->lock);
	count_add(&c->rec->slabs, 1);
	if (s->nr_free)
		class_list_add_locked(c, s, class_list_of(s));
	lock_release(&c->lock);
	shared_add(&c->sd->rec->out_bytes,
		   (u64)(s->nr - s->nr_free) * c->stride);
}
