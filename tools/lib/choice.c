// SPDX-License-Identifier: BSD-2-Clause
/*
 * choice.c - which caches to show, in which order.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "memory.h"

bool space_is_chosen(const struct space *space, const struct options *opt)
{
	return !opt->space || !strcmp(opt->space, space->rec.name);
}

static bool matches(const struct cache *c, const struct options *opt)
{
	return !opt->has_pattern ||
	       !regexec(&opt->pattern, c->rec.name, 0, NULL, 0);
}

static bool is_empty(const struct cache *c)
{
	return !c->memory && !c->fig.live_objects;
}

static bool is_shown(const struct cache *c, const struct options *opt)
{
	if (opt->show == SHOW_USED)
		return !is_empty(c);
	return opt->show == SHOW_ALL || is_empty(c);
}

void choice_add(struct choice *choice, const struct space *space,
		const struct options *opt)
{
	size_t i;

	if (!space_is_chosen(space, opt))
		return;
	for (i = 0; i < space->nr_caches; i++) {
		const struct cache *c = &space->caches[i];

		if (!matches(c, opt) || !is_shown(c, opt))
			continue;
		choice->caches = grow_array(choice->caches, choice->nr,
					    sizeof(struct cache *));
		choice->caches[choice->nr++] = c;
	}
}

static uint64_t activity(const struct cache *c)
{
	uint64_t sum;

	if (__builtin_add_overflow(c->sum.allocs, c->sum.frees, &sum))
		return UINT64_MAX;
	return sum;
}

static uint64_t weight(const struct cache *c, enum sort sort)
{
	switch (sort) {
	case SORT_SIZE: return c->memory;
	case SORT_LOSS: return c->loss;
	case SORT_PARTIAL: return c->rec.partial;
	case SORT_ACTIVITY: return activity(c);
	default: return 0;
	}
}

/* Heaviest first; then names, numbers in them by value: 512 before 1024. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct cache *x = *(const struct cache *const *)a;
	const struct cache *y = *(const struct cache *const *)b;
	const struct options *opt = arg;
	uint64_t wx = weight(x, opt->sort), wy = weight(y, opt->sort);
	int order;

	if (wx != wy)
		order = wx > wy ? -1 : 1;
	else
		order = strverscmp(x->rec.name, y->rec.name);
	return opt->inverted ? -order : order;
}

void choice_sort(struct choice *choice, const struct options *opt)
{
	if (choice->nr)
		qsort_r(choice->caches, choice->nr, sizeof(struct cache *),
			compare, (void *)opt);
	if (opt->first && choice->nr > opt->first)
		choice->nr = opt->first;
}

void choice_fini(struct choice *choice)
{
	free(choice->caches);
	*choice = (struct choice){ 0 };
}

size_t choice_count_matches(const struct snapshot *snap,
			    const struct options *opt)
{
	size_t s, i, nr = 0;

	for (s = 0; s < snap->nr_spaces; s++) {
		const struct space *space = snap->spaces[s];

		if (!space_is_chosen(space, opt))
			continue;
		for (i = 0; i < space->nr_caches; i++)
			nr += matches(&space->caches[i], opt);
	}
	return nr;
}
