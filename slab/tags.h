/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tags.h - sixteen bits for every 256-byte granule.
 *
 *   15     14 .. 8      7 .. 0
 *   live   code         rounding, low byte
 *
 * The tag of an object's first granule says that it is live, which class it
 * has, and how many bytes it has beyond what its user asked for. A byte counts
 * them in the class of 256 bytes; the others, which for the sake of an
 * alignment can waste almost all they have, have more than one granule, and
 * the tag of the second holds the rest. No other granule's tag is looked at.
 *
 * Invariant: the live bit is set exactly from the moment an allocation has
 * chosen the object until its free. It is cleared by exchange, so that of two
 * frees at the same time one sees it set and the other does not.
 *
 * This is twice the byte that the design note foresaw: that byte has no room
 * for the requested size, without which neither the ledgers of live bytes nor
 * a red zone behind the last requested byte can be exact. See
 * Documentation/design.rst, "Deviations".
 */
#ifndef SLAB_TAGS_H
#define SLAB_TAGS_H

#define GRANULE_SHIFT 8
#define GRANULE ((u64)1 << GRANULE_SHIFT)

typedef u16 tag_t;

#define TAG_LIVE 0x8000u

enum tag_code {
	CODE_NONE = 0,
	/* 1 .. NR_GENERAL: general classes; their number is their code. */
	CODE_CACHE_FIRST = 81,	/* caches with a code of their own */
	CODE_CACHE_LAST = 119,
	CODE_SHARED = 120,	/* other caches: the slab knows which */
	CODE_LARGE = 121,
};
/* Codes up to here are class numbers, and have a bin. */
#define CODE_DIRECT_LAST CODE_CACHE_LAST

static inline tag_t tag_make(unsigned int code, u32 rounding)
{
	return (tag_t)(TAG_LIVE | code << 8 | (rounding & 0xff));
}

static inline bool tag_is_live(u32 tag)
{
	return tag & TAG_LIVE;
}

static inline unsigned int tag_code(u32 tag)
{
	return (tag >> 8) & 0x7f;
}

/* Is it live, and of a class with a bin? One comparison for both. */
static inline bool tag_has_bin(u32 tag)
{
	return (tag >> 8) - (TAG_LIVE >> 8) - 1 < CODE_DIRECT_LAST;
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

/* End the object's life; false when somebody else did so before. */
static inline bool tag_take(tag_t *tag)
{
	return tag_is_live(__atomic_exchange_n(tag, 0, __ATOMIC_RELAXED));
}

#endif /* SLAB_TAGS_H */
