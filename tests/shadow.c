// SPDX-License-Identifier: BSD-2-Clause
/* shadow.c - see shadow.h. */
#include "tests/shadow.h"

#include <sys/mman.h>

#include "tests/memory.h"
#include "tests/open_space.h"

static void unmap_shadow(void *arg)
{
	struct shadow *s = arg;

	munmap(s->map, s->units / 8);
}

void shadow_init(struct kunit *test, struct shadow *s, struct slabdev *sd)
{
	s->sd = sd;
	s->units = max(sd->vmm.base_bytes, 8 * sd->vmm.cnt->limit) /
		   SHADOW_UNIT;
	s->map = mmap(NULL, s->units / 8, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	KUNIT_ASSERT_TRUE(test, s->map != MAP_FAILED);
	kunit_add_action(test, unmap_shadow, s);
}

/* Set or clear the bits of an object; true: each of them was the opposite. */
static bool flip(struct shadow *s, const void *p, u64 size, bool set)
{
	u64 at = space_offset(s->sd, p) / SHADOW_UNIT;
	u64 end = at + size / SHADOW_UNIT, was, mask;
	bool right = at < s->units && end <= s->units;
	u32 n;

	for (; at < end && right; at += n) {
		u64 *word = &s->map[at / 64];

		n = (u32)min(64 - at % 64, end - at);
		mask = bits_below(n) << at % 64;
		was = set ? __atomic_fetch_or(word, mask, __ATOMIC_ACQ_REL) :
			    __atomic_fetch_and(word, ~mask, __ATOMIC_ACQ_REL);
		right = ((set ? was : ~was) & mask) == 0;
	}
	return right;
}

bool shadow_claim(struct shadow *s, const void *p, u64 size)
{
	return flip(s, p, size, true);
}

bool shadow_release(struct shadow *s, const void *p, u64 size)
{
	return flip(s, p, size, false);
}

u64 shadow_claimed(const struct shadow *s)
{
	u64 units = 0, i;

	for (i = 0; i < s->units / 64; i++)
		units += (u64)__builtin_popcountll(s->map[i]);
	return units * SHADOW_UNIT;
}

void shadow_mark(const struct shadow *s, void *p, u64 size, u64 word)
{
	u64 n = min(size, (u64)sizeof(word));

	mem_write(s->sd, p, &word, n);
	mem_write(s->sd, (char *)p + size - n, &word, n);
}

static bool is_there(const struct shadow *s, const void *p, u64 word, u64 n)
{
	u64 there = 0;

	mem_read(s->sd, &there, p, n);
	return !memcmp(&there, &word, n);
}

bool shadow_is_marked(const struct shadow *s, const void *p, u64 size, u64 now,
		      u64 word)
{
	u64 n = min(size, (u64)sizeof(word));

	if (now >= size && !is_there(s, (const char *)p + size - n, word, n))
		return false;
	return size < 2 * sizeof(word) || is_there(s, p, word, min(now, n));
}
