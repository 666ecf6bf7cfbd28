// SPDX-License-Identifier: BSD-2-Clause
/*
 * subject.c - the list of subjects, and what each of them can do.
 */
#include <errno.h>
#include <string.h>

#include "subject.h"
#include "workload.h"

#define PEER(name_, path_)                                                 \
	{                                                                  \
		.name = (name_), .what = "malloc() of " path_,             \
		.kind = KIND_PEER, .memory = MEMORY_RESIDENT,              \
		.path = (path_), .open = peer_open,                        \
		.version = peer_version,                                   \
	}

static struct subject list[SUBJECT_MAX];
static unsigned int nr_subjects;

static void fill_list(void)
{
	const struct subject *const own[] = {
		&ours_general, &ours_cache, &ours_group, &ours_arena,
		&ours_stream, &ours_across, &ours_loose, &floor_null,
		&floor_bump, &floor_bare, &floor_lifo, &floor_mag,
		&floor_cursor, &peer_glibc,
	};
	const struct subject libraries[] = {
		PEER("jemalloc", "libjemalloc.so.2"),
		PEER("mimalloc", "libmimalloc.so.2"),
		PEER("tcmalloc", "libtcmalloc_minimal.so.4"),
	};
	size_t i;

	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		list[nr_subjects++] = *own[i];
	for (i = 0; i < NR_OURS_DEBUG; i++)
		list[nr_subjects++] = ours_debug[i];
	for (i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		list[nr_subjects++] = libraries[i];
}

const struct subject *subjects(unsigned int *nr)
{
	if (!nr_subjects)
		fill_list();
	*nr = nr_subjects;
	return list;
}

static struct subject *find(const char *name)
{
	unsigned int i, nr;

	subjects(&nr);
	for (i = 0; i < nr; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

const struct subject *subject_find(const char *name)
{
	return find(name);
}

int subject_add_library(const char *name, const char *path)
{
	struct subject *s = find(name);

	if (s && s->kind != KIND_PEER)
		return -EEXIST;
	if (!s && nr_subjects == SUBJECT_MAX)
		return -ENOSPC;
	if (!s)
		s = &list[nr_subjects++];
	*s = (struct subject)PEER(name, "");
	s->what = s->path = path;
	return 0;
}

bool subject_can(const struct subject *s, const struct cell *cell)
{
	const struct variant *v = cell->variant;

	if (s->one_size && v->min != v->max)
		return false;
	if (s->groups && (!cell->workload->body ||
			  !cell->workload->body[SHAPE_GROUP]))
		return false;
	if (s->one_way && cell->workload->one_way)
		return false;
	if (cell->workload->counts_events)
		return s->events;
	if (cell->workload->counts_bytes)
		return s->account;
	if (cell->workload->figure && s->memory == MEMORY_NONE)
		return false;
	return !v->finds_limit || s->close;
}
