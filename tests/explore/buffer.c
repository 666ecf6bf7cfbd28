// SPDX-License-Identifier: BSD-2-Clause
/*
 * buffer.c - stores that other routines cannot see yet; see explore.h, 5.
 *
 * When exactly a buffered store reaches memory matters to nobody but the one
 * who looks there, so that is when it is decided.
 */
#include <string.h>

#include "tests/explore/explore.h"

#define ENTRIES_MAX 16u

struct entry {
	volatile void *addr;
	u32 size;
	u64 value;
	bool release;
};

static struct buffer {
	struct entry entry[ENTRIES_MAX];	/* [0] is the oldest */
	u32 nr;
} buffers[ROUTINES_MAX];

static void store(volatile void *addr, u32 size, u64 value, bool release)
{
	model_forget_releases(addr);
	if (release)
		model_release(addr);
	/* Little-endian: the low bytes come first. */
	memcpy((void *)(uintptr_t)addr, &value, size);
	routine_progress();
}

static bool overlaps(const struct entry *e, const volatile void *addr, u32 size)
{
	uintptr_t a = (uintptr_t)addr, b = (uintptr_t)e->addr;

	return a < b + e->size && b < a + size;
}

static void drain(int routine, u32 n)
{
	struct buffer *b = &buffers[routine];
	struct entry *e;
	int self = running;

	/* It releases what the routine knows, whoever looks. */
	running = routine;
	for (e = b->entry; e < b->entry + n; e++)
		store(e->addr, e->size, e->value, e->release);
	running = self;
	b->nr -= n;
	memmove(b->entry, b->entry + n, b->nr * sizeof(*e));
}

void buffer_flush(int routine)
{
	drain(routine, buffers[routine].nr);
}

void buffer_flush_others(void)
{
	int i;

	for (i = 0; i < ROUTINES_MAX; i++)
		if (i != running)
			buffer_flush(i);
}

void buffer_store(volatile void *addr, u32 size, u64 value, bool release)
{
	struct buffer *b = &buffers[running];


	if (!b->nr && !(is_point(addr) && decide(DECIDE_DELAY, 2, NULL))) {
		store(addr, size, value, release);
		return;
	}
	if (b->nr == ENTRIES_MAX)
		drain(running, 1);
	b->entry[b->nr++] = (struct entry){ addr, size, value, release };
}

bool buffer_forward(const volatile void *addr, u32 size, u64 *value)
{
	struct buffer *b = &buffers[running];
	u32 i = b->nr;

	while (i--) {
		if (!overlaps(&b->entry[i], addr, size))
			continue;
		if (b->entry[i].addr != addr || b->entry[i].size != size) {
			buffer_flush(running);
			return false;
		}
		*value = b->entry[i].value;
		return true;
	}
	return false;
}

static void see(int routine, const volatile void *addr, u32 size)
{
	struct buffer *b = &buffers[routine];
	u32 i = 0;

	while (i < b->nr) {
		if (!overlaps(&b->entry[i++], addr, size))
			continue;
		if (!decide(DECIDE_SEE, 2, NULL))
			return;
		drain(routine, i);
		i = 0;
	}
}

void buffer_see(const volatile void *addr, u32 size)
{
	int i;

	for (i = 0; i < ROUTINES_MAX; i++)
		if (i != running)
			see(i, addr, size);
}
