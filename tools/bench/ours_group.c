// SPDX-License-Identifier: BSD-2-Clause
/*
 * ours_group.c - libslabdev: many objects in one call, as a group.
 *
 * It can do no other workload: it has no single objects.
 */
#include "ours.h"
#include "subject.h"

static bool group_open(const struct subject *s, struct calls *c, size_t size,
		       uint64_t limit, char *why)
{
	(void)s;
	(void)size;
	c->shape = SHAPE_GROUP;
	c->group.alloc = slabdev_group_alloc;
	c->group.free = slabdev_group_free;
	return ours_open_space(&c->group.sd, limit, why);
}

const struct subject ours_group = {
	.name = "group",
	.what = "slabdev_group_alloc() and slabdev_group_free(), once for all",
	.kind = KIND_OURS,
	.groups = true,
	.beside = "slabdev",
	.open = group_open,
	.version = ours_version,
};
