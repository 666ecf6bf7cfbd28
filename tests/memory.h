/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h - the bytes of objects, wherever they are.
 *
 * Tests reach the memory of a space by these only: where the CPU can touch it
 * they are memset() and memcpy(), else they ask the driver. Not the library,
 * so that what it fills and copies is looked at by somebody else. All of it has
 * happened when they return. What the driver refuses ends the process.
 *
 * Safe in any thread, and in a constructor.
 */
#ifndef TESTS_MEMORY_H
#define TESTS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <slabdev/slabdev.h>

/* Can the CPU touch it? */
bool mem_is_reachable(const struct slabdev *sd);
/* And what spaces of test_spec() have? What a test does a million times it does
 * less often where it cannot. */
bool mem_is_cheap(void);

void mem_fill(const struct slabdev *sd, void *p, size_t size, int byte);
void mem_write(const struct slabdev *sd, void *p, const void *from,
	       size_t size);
void mem_read(const struct slabdev *sd, void *to, const void *p, size_t size);
/* Is each of the bytes @byte? */
bool mem_is(const struct slabdev *sd, const void *p, size_t size, int byte);

/* One word, at any address. */
static inline void mem_put(const struct slabdev *sd, void *p, uint32_t word)
{
	mem_write(sd, p, &word, sizeof(word));
}

static inline uint32_t mem_get(const struct slabdev *sd, const void *p)
{
	uint32_t word;

	mem_read(sd, &word, p, sizeof(word));
	return word;
}

#endif /* TESTS_MEMORY_H */
