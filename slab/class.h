/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * class.h - the slabs of one class: where sheaves are filled and emptied.
 *
 * Slabs with free objects hang in lists by the logarithm of how many they
 * have; objects are taken from the fullest, so that the emptier ones get the
 * chance to become empty.
 *
 * Empty slabs are *kept*, since the next refill is likely to want them: all of
 * them under SLABDEV_RETAIN, where nothing goes back by itself, until somebody
 * finds no free slices (reclaim.h); one under SLABDEV_TRIM, so that vacant
 * chunks show; none under SLABDEV_AGGRESSIVE. New slabs, made for a refill or a
 * prefill, are not among them. Comm classes keep all (comm.h).
 *
 * Locking: class lock inside. A new slab is made, and its objects constructed,
 * without it; whoever makes one adds it whether or not others were faster.
 */
#ifndef SLAB_CLASS_H
#define SLAB_CLASS_H

#include "slab/slab.h"

/* How an allocation may get what is not there. */
#define GET_NO_GROW SLABDEV_REQ_NO_GROW
#define GET_NO_REPORT SLABDEV_REQ_NO_REPORT
/* Internal: from free slices only; a failure is no error. */
#define GET_IF_FREE 0x80000000u
/* Internal: free objects of the class do not do, there has to be a slab. */
#define GET_NEW_SLAB 0x40000000u
/* Internal: only memory that no work uses any more (stamp.h). */
#define GET_QUIET 0x20000000u
/* Internal: fail rather than wait for the device. */
#define GET_NO_WAIT 0x10000000u
/* Internal: fail rather than unmap anything, or take it from others. */
#define GET_STILL 0x08000000u

/* Set up a class whose const fields id .. sheaf_cap are filled in. */
void class_init(struct class *c);
void class_fini(struct class *c);

/*
 * class_get - take free objects out of slabs
 * @to: room for @most of them
 * @least: make slabs until there are this many
 *
 * Return how many, @least or more; fewer only if growing failed after some
 * were found; or a negative errno when there is not one.
 */
int __must_check class_get(struct class *c, slot_t *to, u32 least, u32 most,
			   unsigned int flags);
/* Put @n free objects of @domain back into their slabs: complete ones, or the
 * bound stream's. Those of a debugged class are looked at on the way. */
void class_put(struct class *c, const slot_t *from, u32 n, u16 domain);
/* The same, past its quarantine. */
void class_put_now(struct class *c, const slot_t *from, u32 n, u16 domain);
/* The free objects of a slab, at most @most, taken out: how many. */
u32 class_take_free(struct class *c, struct slab *s, slot_t *to, u32 most);
/* While a class is pinned none of its slabs goes. */
void class_pin(struct class *c);
void class_unpin(struct class *c);
/* Make slabs until @n objects are free in slabs. 0, or a negative errno and no
 * slab was added. */
int __must_check class_prefill(struct class *c, u64 n);
/* Slabs all of whose objects have come back go to the pool, unless the class
 * keeps them in any case. */
void class_drop_kept(struct class *c);
/* The same, and new slabs that nothing was taken from. */
void class_drop_empty(struct class *c);
/* True when class_get() would find an object without a new slab. */
bool class_has_free(struct class *c, unsigned int flags);

/* After a fork: no slab is known; then each slab as its objects are, free
 * where they are not live. Not @sure: zones and poison of what was not in its
 * slab are filled anew. */
void class_forget(struct class *c);
void class_adopt(struct class *c, u32 slice, bool sure);

/*
 * For walks: the class of the slab that @s describes, locked, so that the slab
 * stays; NULL when it describes none, or no more. The caller is a visitor.
 */
struct class *class_lock_slab(struct slabdev *sd, struct slab *s);
/* Is object number @i of a slab live? */
bool object_is_live(const struct class *c, const struct slab *s, u32 i);

/* The slab that holds a slot of the class. */
static inline struct slab *slab_of(const struct class *c, slot_t slot)
{
	struct slab *s = c->sd->slabs +
			 ((u64)slot << c->shift >> SLICE_SHIFT);

	return s - s->back;
}

/* The class of an object that is live or held; NULL: it is a large one. */
static inline struct class *class_at(const struct slabdev *sd, u64 offset)
{
	const struct slab *s = sd->slabs + (offset >> SLICE_SHIFT);

	s -= READ_ONCE(s->back);
	if (slab_state(s) >= SLAB_LARGE)
		return NULL;
	return load_acquire(&sd->class[slab_class(s)]);
}

static inline u64 slot_offset(const struct class *c, slot_t slot)
{
	return (u64)slot << c->shift;
}

static inline void *slot_ptr(const struct class *c, slot_t slot)
{
	return to_ptr(space_addr(c->sd, slot_offset(c, slot)));
}

/* Offset of object number @i of a slab. */
static inline u64 slab_object(const struct class *c, const struct slab *s,
			      u64 i)
{
	return slab_offset(c->sd, s) + c->lead + i * c->stride;
}

/*
 * The number of the object that has a byte of a slab, and how far into it the
 * byte is; a number beyond the slab's: none has it.
 */
static inline u64 slab_index(const struct class *c, u64 in_slab, u64 *into)
{
	if (in_slab < c->lead)
		return (u64)-1;
	*into = (in_slab - c->lead) % c->stride;
	return (in_slab - c->lead) / c->stride;
}

static inline slot_t slab_first_slot(const struct class *c,
				     const struct slab *s)
{
	return (slot_t)(slab_object(c, s, 0) >> c->shift);
}

/* Number in its slab of the object that holds a slot. */
static inline u32 slot_index(const struct class *c, const struct slab *s,
			     slot_t slot)
{
	if (c->nr == 1)
		return 0;
	return (u32)((slot - slab_first_slot(c, s)) * c->inverse >> 32);
}

#endif /* SLAB_CLASS_H */
