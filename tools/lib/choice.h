/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choice.h - which caches to show, in which order.
 */
#ifndef SLABINFO_CHOICE_H
#define SLABINFO_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "model.h"
#include "options.h"

/**
 * struct choice - pointers to caches of a snapshot
 * @caches: the pointers, in the order to print them in
 * @nr: how many
 */
struct choice {
	const struct cache **caches;
	size_t nr;
};

bool space_is_chosen(const struct space *space, const struct options *opt);

/* Adds the caches of @space that @opt asks for, whatever their order. */
void choice_add(struct choice *choice, const struct space *space,
		const struct options *opt);
/* Sorts them, and forgets all but the first ones that were asked for. */
void choice_sort(struct choice *choice, const struct options *opt);
void choice_fini(struct choice *choice);

/* How many caches of all chosen spaces match the pattern, empty or not. */
size_t choice_count_matches(const struct snapshot *snap,
			    const struct options *opt);

#endif /* SLABINFO_CHOICE_H */
