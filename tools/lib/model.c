// SPDX-License-Identifier: BSD-2-Clause
/*
 * model.c - the memory of a snapshot.
 */
#include <stdlib.h>

#include "memory.h"
#include "model.h"

struct space *space_new(void)
{
	return zalloc(sizeof(struct space));
}

void space_free(struct space *space)
{
	while (space->nr_modules)
		free(space->modules[--space->nr_modules]);
	free(space->modules);
	free(space->origins);
	free(space->caches);
	free(space);
}

struct cache *space_add_cache(struct space *space)
{
	struct cache *cache;

	space->caches = grow_array(space->caches, space->nr_caches,
				   sizeof(*space->caches));
	cache = &space->caches[space->nr_caches++];
	*cache = (struct cache){ .space = space };
	return cache;
}

struct origin *space_add_origin(struct space *space)
{
	space->origins = grow_array(space->origins, space->nr_origins,
				    sizeof(*space->origins));
	return &space->origins[space->nr_origins++];
}

struct slabdev_seg_module *space_add_modules(struct space *space)
{
	struct slabdev_seg_module *modules =
		zalloc(SLABDEV_SEG_MODULES * sizeof(*modules));

	space->modules = grow_array(space->modules, space->nr_modules,
				    sizeof(struct slabdev_seg_module *));
	space->modules[space->nr_modules++] = modules;
	return modules;
}

void snapshot_add(struct snapshot *snap, struct space *space)
{
	snap->spaces = grow_array(snap->spaces, snap->nr_spaces,
				  sizeof(struct space *));
	snap->spaces[snap->nr_spaces++] = space;
}

void snapshot_truncate(struct snapshot *snap, size_t nr_spaces)
{
	while (snap->nr_spaces > nr_spaces)
		space_free(snap->spaces[--snap->nr_spaces]);
}

void snapshot_fini(struct snapshot *snap)
{
	snapshot_truncate(snap, 0);
	free(snap->spaces);
	problems_fini(&snap->absent);
	problems_fini(&snap->problems);
}
