/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bitmap.h - sets of small integers in arrays of 64-bit words.
 *
 * Bit i is bit i % 64 of word i / 64. Searches take the number of valid bits
 * and return it when nothing is found. No atomicity: the owner's lock covers
 * the words.
 */
#ifndef CORE_BITMAP_H
#define CORE_BITMAP_H

#define BITMAP_WORDS(nbits) (((nbits) + 63) / 64)

/* The lowest @n bits set; @n from 0 to 64. */
static inline u64 bits_below(unsigned int n)
{
	return n >= 64 ? ~(u64)0 : ((u64)1 << n) - 1;
}

static inline void bitmap_set(u64 *map, u64 i)
{
	map[i / 64] |= (u64)1 << (i % 64);
}

static inline void bitmap_clear(u64 *map, u64 i)
{
	map[i / 64] &= ~((u64)1 << (i % 64));
}

static inline bool bitmap_test(const u64 *map, u64 i)
{
	return map[i / 64] >> (i % 64) & 1;
}

/* The first set bit at or after @from and below @nbits, else @nbits. */
static inline u64 bitmap_next(const u64 *map, u64 nbits, u64 from)
{
	u64 word, i;

	if (from >= nbits)
		return nbits;
	word = map[from / 64] & ~bits_below((unsigned int)(from % 64));
	for (i = from / 64; !word;) {
		if (++i >= BITMAP_WORDS(nbits))
			return nbits;
		word = map[i];
	}
	i = i * 64 + (unsigned int)__builtin_ctzll(word);
	return i < nbits ? i : nbits;
}

/* The last set bit at or before @from; @none when there is none. */
static inline u64 bitmap_prev(const u64 *map, u64 from, u64 none)
{
	u64 i = from / 64;
	u64 word = map[i] & bits_below((unsigned int)(from % 64) + 1);

	while (!word) {
		if (!i--)
			return none;
		word = map[i];
	}
	return i * 64 + 63 - (unsigned int)__builtin_clzll(word);
}

#endif /* CORE_BITMAP_H */
