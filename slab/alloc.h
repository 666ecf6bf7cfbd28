/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alloc.h - from the fast paths (alloc.c) to the slow ones (slow.c, large.c).
 *
 * An allocation ends with object_begin(), which makes the object live and
 * books it; a free begins by ending the object's life (tag_take, tiny_take),
 * which exactly one caller can do, and cannot fail after that. What fails
 * before has changed no figure but the failure counts.
 */
#ifndef SLAB_ALLOC_H
#define SLAB_ALLOC_H

#include "core/overflow.h"
#include "slab/health.h"
#include "slab/slab.h"
#include "slab/stream.h"

struct note;

/* Is it a general class with more than one granule an object? */
static inline bool code_has_pair(size_t code)
{
	return code - (CLASS_GRANULE + 1) < NR_GENERAL - CLASS_GRANULE;
}

/* Where the rounding of an object is, when its code has a pair. */
static inline u16 *rounding_pair(const struct slabdev *sd, slot_t slot)
{
	return (u16 *)(void *)sd->rounding + (slot >> 1);
}

/* The same, when it has one granule. */
static inline u8 *rounding_byte(const struct slabdev *sd, slot_t slot)
{
	return sd->rounding + (slot ^ CACHE_LINE / 2);
}

/* An object of a general class becomes live. */
static inline void begin_general(struct slabdev *sd, size_t class, slot_t slot,
				 u64 size)
{
	u32 rounding = sd->code_size[class] - (u32)size;

	if (likely(class > CLASS_GRANULE))
		WRITE_ONCE(*rounding_pair(sd, slot), (u16)rounding);
	else if (rounding)
		WRITE_ONCE(*rounding_byte(sd, slot), (u8)rounding);
	tag_store(&sd->tags[slot], tag_make(class));
}

/* Where the rounding of a comm object of the general calls is: it may be nearly
 * a chunk. */
static inline u32 *rounding_word(const struct slabdev *sd, slot_t slot)
{
	return (u32 *)(void *)(sd->rounding + slot);
}

/* A live object of a general class gets another size. */
static inline void resize_general(struct slabdev *sd, size_t class, slot_t slot,
				  u64 size)
{
	u32 rounding = sd->code_size[class] - (u32)size;

	if (class > CLASS_GRANULE)
		WRITE_ONCE(*rounding_pair(sd, slot), (u16)rounding);
	else
		WRITE_ONCE(*rounding_byte(sd, slot), (u8)rounding);
}

/* What the user asked for, of an object with @code, which has a bin. */
static inline u64 coded_size(const struct slabdev *sd, size_t code, slot_t slot)
{
	u32 rounding = 0;

	if (code_has_pair(code))
		rounding = READ_ONCE(*rounding_pair(sd, slot));
	else if (code == CLASS_GRANULE)
		rounding = READ_ONCE(*rounding_byte(sd, slot));
	return sd->code_size[code] - rounding;
}

/* The same when the object's life has ended, and its rounding does. */
static inline u64 end_coded(struct slabdev *sd, size_t code, slot_t slot)
{
	u64 size = coded_size(sd, code, slot);

	if (code == CLASS_GRANULE && size != GRANULE)
		WRITE_ONCE(*rounding_byte(sd, slot), 0);
	return size;
}

/* The same when its size was read before. */
static inline void end_rounding(struct slabdev *sd, size_t code, slot_t slot,
				u64 size)
{
	if (code == CLASS_GRANULE && size != GRANULE)
		WRITE_ONCE(*rounding_byte(sd, slot), 0);
}

/* The same for a live object of class @c, whatever its code. */
static inline u64 object_size(const struct class *c, slot_t slot)
{
	if (c->code <= NR_GENERAL)
		return coded_size(c->sd, c->code, slot);
	if (c->sized)
		return c->stride - READ_ONCE(*rounding_word(c->sd, slot));
	return c->object_size;
}

/* A live object of a class of the general calls gets another size. */
static inline void resize_object(struct class *c, slot_t slot, u64 size)
{
	if (c->sized)
		WRITE_ONCE(*rounding_word(c->sd, slot),
			   (u32)(c->stride - size));
	else
		resize_general(c->sd, c->code, slot, size);
}

/* ---- slow.c ----------------------------------------------------------- */

/* A free object becomes live, and is booked: its address. @noted: there is a
 * note on it. */
void *object_begin(struct heap *h, struct class *c, slot_t slot, u64 size,
		   bool noted);
/* A size above GENERAL_MAX, 0, or no space. */
void *alloc_unusual(struct slabdev *sd, size_t size) __cold;
/* An object for the general calls, of the kind that size, alignment and flags
 * (SLABDEV_REQ_, GET_) decide. */
void *alloc_any(struct slabdev *sd, u64 size, u64 align, unsigned int flags,
		const struct order *o);
/* The address of an object that the fast path has handed out, beyond the first
 * reservation. */
void *alloc_far(const struct slabdev *sd, slot_t slot) __cold;
/* A general class that misses its sheaf. */
void *alloc_general(struct slabdev *sd, size_t class, u64 size) __cold;
/* An object of a cache, in an order. */
void *cache_object(struct class *c, const struct order *o);
void *cache_alloc_unusual(struct class *c) __cold;
/* An object of a class in an order, whatever it takes, with GET_ flags. */
void *class_alloc(struct class *c, u64 size, unsigned int flags,
		  const struct order *o);

/*
 * Not a live object with a bin: find out what it is. @tag is what the fast path
 * took from its granule, 0 for nothing; when live, the object's life has ended.
 */
int free_unusual(struct slabdev *sd, void *p, u32 tag) __cold;
int cache_free_unusual(struct class *c, void *p) __cold;
/* The same, in an order; the fast path has not touched it. */
int free_in_order(struct slabdev *sd, void *p, const struct order *o);
int cache_free_in_order(struct class *c, void *p, const struct order *o);
/*
 * free_ended - an object's life has ended: it goes where the order says
 * @c: its class; NULL: a large one
 * @note: what note_take() returned; it goes too
 */
void free_ended(struct slabdev *sd, struct class *c, u64 offset,
		const struct order *o, struct note *note);
/* The object's life has ended, but its sheaf is full. */
int free_taken(struct class *c, slot_t slot, u64 size) __cold;

/* space_check() of the cache's space; -EINVAL when @c is NULL. */
int __must_check cache_check(const struct class *c, const char *call);
/* Book a failed allocation and set errno; NULL. @c may be NULL. */
void *alloc_failed(struct slabdev *sd, struct class *c, int err) __cold;

/* ---- api.c ------------------------------------------------------------ */

/* slabdev_alloc_ex() as @call. */
void *alloc_req(struct slabdev *sd, size_t size, const struct slabdev_req *req,
		const char *call);

/* ---- large.c ---------------------------------------------------------- */

/* A run of slices for @size bytes at @align. */
void *large_alloc(struct slabdev *sd, u64 size, u64 align, unsigned int flags,
		  const struct order *o);
/* The object that begins at @offset; its life has ended. @note: what was noted
 * of it, or NULL; it goes too. */
void large_free(struct slabdev *sd, u64 offset, const struct order *o,
		struct note *note);
/* Book the memory of one, whole chunks when @huge. */
void large_book(struct slabdev *sd, bool huge, u64 usable);
void large_unbook(struct slabdev *sd, bool huge, u64 usable);
/* A large object that nobody waits for any more becomes free slices. */
void large_give_back(struct slabdev *sd, u32 slice, u16 domain);
/* Is there a live large object that begins at @slice? */
bool large_is_live(struct slabdev *sd, u32 slice);
/* After a fork: book the live object that begins at @slice. */
void large_adopt(struct slabdev *sd, u32 slice);
/* Bytes that an object of @size has; 0: cannot be rounded. */
u64 large_roundup(u64 size);

/* The same with what the space keeps behind large objects (zone.h): the bytes
 * of one of @size. */
static inline u64 large_usable(const struct slabdev *sd, u64 size)
{
	u64 all;

	return add_overflows(size, sd->large_zone, &all) ? 0 :
							   large_roundup(all);
}

/* The same of one that exists: a guarded one has no more than its slices. */
static inline u64 large_span(const struct slabdev *sd, const struct slab *s)
{
	u64 size = READ_ONCE(s->size);

	return slab_state(s) == SLAB_GUARD ? large_roundup(size) :
					     large_usable(sd, size);
}

/* ---- lookup.c --------------------------------------------------------- */

enum place_kind {
	PLACE_FOREIGN,	/* no address of the space */
	PLACE_UNUSED,	/* of the space, but in no slab or object */
	PLACE_SLACK,	/* in a slab's tail */
	PLACE_ARENA,	/* in an arena that is no object */
	PLACE_OBJECT,	/* in an object of a class */
	PLACE_LARGE,	/* in a large object */
	PLACE_GONE,	/* where an object began whose slab or run is gone */
};

/* What is at an address: for errors, reports and questions. */
struct place {
	enum place_kind kind;
	bool live;
	bool start;		/* the address is the object's first byte */
	u64 offset;		/* of the address */
	u64 object;		/* offset of the object */
	u64 size;		/* bytes asked for, when live */
	u64 usable;		/* bytes of the object */
	struct class *class;	/* OBJECT, SLACK, GONE */
	struct slab *slab;
	slot_t slot;		/* OBJECT */
};
void lookup(struct slabdev *sd, const void *p, struct place *at);
/* The live object that begins at @p; false: there is none. */
bool lookup_live(struct slabdev *sd, const void *p, struct place *at);

#endif /* SLAB_ALLOC_H */
