// SPDX-License-Identifier: BSD-2-Clause
/*
 * ours_arena.c - libslabdev: objects of an arena, which end together.
 *
 * It can do no other workload: it frees no single objects.
 */
#include <stdio.h>

#include "ours.h"
#include "subject.h"

static bool arena_open(const struct subject *s, struct calls *c, size_t size,
		       uint64_t limit, char *why)
{
	struct slabdev *sd;

	(void)s;
	(void)size;
	c->shape = SHAPE_ARENA;
	c->arena.alloc = slabdev_arena_alloc;
	c->arena.reset = slabdev_arena_reset;
	if (!ours_open_space(&sd, limit, why))
		return false;
	if (!slabdev_arena_create(&c->arena.arena, sd, NULL))
		return true;
	snprintf(why, SUBJECT_TEXT, "%s", slabdev_last_error());
	return false;
}

const struct subject ours_arena = {
	.name = "arena",
	.what = "slabdev_arena_alloc(), and slabdev_arena_reset() for all",
	.kind = KIND_OURS,
	.groups = true,
	.beside = "bare",
	.open = arena_open,
	.version = ours_version,
};
