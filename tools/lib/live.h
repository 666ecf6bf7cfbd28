/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live.h - reading memory that another process writes.
 *
 * The writer stores whole words, relaxed; so do we load them. A structure is
 * copied word by word: each word is one that was written, and which words
 * belong together is for the caller to find out.
 */
#ifndef SLABINFO_LIVE_H
#define SLABINFO_LIVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t live_u32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline uint64_t live_u64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* Pairs with the release that publishes a record or ends a fold. */
static inline uint32_t live_acquire_u32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Orders the loads before it against the sequence that is loaded after it. */
static inline uint32_t live_recheck_u32(const uint32_t *p)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return live_u32(p);
}

/* @size is a multiple of 8, and @from is aligned to 8. */
static inline void live_copy(void *to, const void *from, size_t size)
{
	const uint64_t *words = from;
	size_t i;

	for (i = 0; i < size / sizeof(uint64_t); i++) {
		uint64_t word = live_u64(&words[i]);

		memcpy((char *)to + i * sizeof(word), &word, sizeof(word));
	}
}

#endif /* SLABINFO_LIVE_H */
