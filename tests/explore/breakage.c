// SPDX-License-Identifier: BSD-2-Clause
/*
 * breakage.c - mistakes, made below the library; see explore.h, 7.
 *
 * None of them is in the library: a primitive that it relies on does less than
 * it should, just as if the library had not used it.
 */
#include <string.h>

#include "slab/slab.h"
#include "slab/visit.h"
#include "tests/explore/explore.h"
#include "tests/explore/wrap.h"

enum breakage breakage;

static const char *const names[NR_BREAKAGES] = {
	[BREAK_NOTHING] = "nothing",
	[BREAK_BARRIER] = "barrier",
	[BREAK_BUSY] = "busy",
	[BREAK_SENTINEL] = "sentinel",
	[BREAK_EXCHANGE] = "exchange",
	[BREAK_TAG] = "tag",
	[BREAK_BYPASS] = "bypass",
	[BREAK_BARN] = "barn",
	[BREAK_CLASS] = "class",
	[BREAK_HEAPS] = "heaps",
	[BREAK_REGISTRY] = "registry",
	[BREAK_VISIT] = "visit",
};

static const void *hidden[NR_BREAKAGES];
static int owner_of[NR_BREAKAGES];

enum breakage breakage_find(const char *name)
{
	enum breakage b = BREAK_NOTHING;

	while (b < NR_BREAKAGES && strcmp(names[b], name))
		b++;
	return b;
}

void breakage_word(enum breakage b, const void *word, int owner)
{
	hidden[b] = word;
	owner_of[b] = owner;
}

bool breakage_hides(const volatile void *addr)
{
	return addr == hidden[breakage] && running != owner_of[breakage];
}

bool breakage_tears(u32 size)
{
	return (breakage == BREAK_EXCHANGE && size == sizeof(void *)) ||
	       (breakage == BREAK_TAG && size == sizeof(tag_t));
}

bool breakage_leaves(u32 size, u64 value)
{
	return breakage == BREAK_SENTINEL && running != 0 &&
	       size == sizeof(void *) &&
	       value == (u64)(uintptr_t)&sheaf_none;
}

bool breakage_opens(const void *lock)
{
	enum lock_rank rank = ((const struct lock *)lock)->rank;

	switch (breakage) {
	case BREAK_BARN:
		return rank == LOCK_BARN;
	case BREAK_CLASS:
		return rank == LOCK_CLASS;
	case BREAK_HEAPS:
		return rank == LOCK_HEAPS;
	case BREAK_REGISTRY:
		return rank == LOCK_REGISTRY;
	default:
		return false;
	}
}

void __wrap_visit_wait(struct slabdev *sd)
{
	if (breakage != BREAK_VISIT)
		__real_visit_wait(sd);
}
