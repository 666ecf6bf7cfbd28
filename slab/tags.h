/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tags.h - eight bits for every 256-byte granule, and the rounding beside it.
 *
 *   7      6 .. 0
 *   live   code
 *
 * The tag of an object's first granule says that it is live and which class it
 * has; every other tag is 0. A line of tags covers exactly one slice, so that
 * threads refilled from different slabs never write the same line.
 *
 * Invariant: the live bit is set exactly from the moment an allocation has
 * chosen the object until its free, which takes the tag by exchange: of two
 * frees at the same time one gets it. slabdev_free() does so before it has
 * looked: what an address without an object loses by that is a 0.
 *
 * The *rounding* of a live object of a general class, the bytes that its user
 * did not ask for, is less than 64 KiB (layout.h). It lies in a second array of
 * a byte a granule, at the same index but for this:
 * - An object of two or more granules has the aligned pair of bytes that its
 *   first granule is in. Objects of a slab begin at least two granules apart,
 *   and a slab begins at an even one, so that a pair is one object's.
 * - An object of one granule has a byte in the other half of the line. A free
 *   reads the pair before it knows the class; a load of two bytes, of which one
 *   was just stored, would wait for the store.
 * - Objects of one granule write their byte only when it is not 0 and clear it
 *   in the free: where sizes are exact the array never takes host memory. A new
 *   slab of theirs clears what others left.
 *
 * The design note has the same byte of tag and no rounding; without it neither
 * the ledgers of live bytes nor a red zone behind the last requested byte could
 * be exact. See Documentation/design.rst, "Deviations".
 */
#ifndef SLAB_TAGS_H
#define SLAB_TAGS_H

#define GRANULE_SHIFT 8
#define GRANULE ((u64)1 << GRANULE_SHIFT)

/*
 * A rounding is read soon after a tag was written, by the allocation before: at
 * the same place of a page, a processor would take the one for the other and
 * wait.
 */
#define ROUNDING_SKEW 2048

typedef u8 tag_t;

#define TAG_LIVE 0x80u

enum tag_code {
	CODE_NONE = 0,
	/* 1 .. NR_GENERAL: general classes; their number is their code. */
	CODE_CACHE_FIRST = 81,	/* caches with a code of their own */
	CODE_CACHE_LAST = 119,
	CODE_SHARED = 120,	/* other caches: the slab knows which */
	CODE_LARGE = 121,
	CODE_NOTED = 122,	/* any object with a note (note.h) */
	CODE_DEBUG = 123,	/* any object of a debugged class (debug.h) */
};
/* Codes up to here are class numbers, and have a bin. */
#define CODE_DIRECT_LAST CODE_CACHE_LAST

static inline tag_t tag_make(size_t code)
{
	return (tag_t)(TAG_LIVE | code);
}

static inline bool tag_is_live(u32 tag)
{
	return tag & TAG_LIVE;
}

/* Of a live object; of others, something beyond every code. */
static inline size_t tag_code(u32 tag)
{
	return (size_t)tag - TAG_LIVE;
}

static inline bool code_has_bin(size_t code)
{
	return code - 1 < CODE_DIRECT_LAST;
}

/* Relaxed: whoever passes an object to another thread orders it. */
static inline u32 tag_load(const tag_t *tag)
{
	return READ_ONCE(*tag);
}

static inline void tag_store(tag_t *tag, tag_t value)
{
	WRITE_ONCE(*tag, value);
}

/* End the object's life: its tag; not live when somebody else did so. */
static inline u32 tag_take(tag_t *tag)
{
	return __atomic_exchange_n(tag, 0, __ATOMIC_RELAXED);
}

#endif /* SLAB_TAGS_H */
