// SPDX-License-Identifier: BSD-2-Clause
/*
 * ours_debug.c - libslabdev with letters of SLABDEV_DEBUG: what each costs.
 *
 * The letters have to be known when a space is opened, and a process measures
 * one subject only: so they are put into its environment. Objects of the guard
 * have no account: each has a mapping of its own, and few can be had.
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ours.h"
#include "subject.h"

/* What comes behind the "+" of the name. */
static bool set_letters(const struct subject *s, char *why)
{
	if (!setenv("SLABDEV_DEBUG", strchr(s->name, '+') + 1, 1))
		return true;
	snprintf(why, SUBJECT_TEXT, "no memory");
	return false;
}

static bool debug_open(const struct subject *s, struct calls *c, size_t size,
		       uint64_t limit, char *why)
{
	return set_letters(s, why) &&
	       ours_general.open(&ours_general, c, size, limit, why);
}

static bool cache_open(const struct subject *s, struct calls *c, size_t size,
		       uint64_t limit, char *why)
{
	return set_letters(s, why) &&
	       ours_cache.open(&ours_cache, c, size, limit, why);
}

#define DEBUG(letters, words, account_)					\
	{								\
		.name = "+" letters,					\
		.what = "slabdev with " words,				\
		.kind = KIND_OURS,					\
		.group = SUBJECT_GROUP,					\
		.beside = "slabdev",					\
		.open = debug_open,					\
		.account = (account_),					\
		.version = ours_version,				\
	}

#define CACHE(letters, words)						\
	{								\
		.name = "c+" letters,					\
		.what = "cache with " words,				\
		.kind = KIND_OURS,					\
		.one_size = true,					\
		.group = SUBJECT_GROUP,					\
		.beside = "cache",					\
		.open = cache_open,					\
		.account = ours_cache_account,				\
		.version = ours_version,				\
	}

const struct subject ours_debug[NR_OURS_DEBUG] = {
	DEBUG("F", "consistency checks", ours_account),
	DEBUG("Z", "red zones", ours_account),
	DEBUG("P", "poison", ours_account),
	DEBUG("U", "user tracking", ours_account),
	DEBUG("FZPU", "all of these", ours_account),
	DEBUG("Q", "quarantine", ours_account),
	DEBUG("G", "guard mode", NULL),
	CACHE("F", "consistency checks"),
	CACHE("Z", "red zones"),
	CACHE("P", "poison"),
	CACHE("U", "user tracking"),
	CACHE("FZPU", "all of these"),
	CACHE("Q", "quarantine"),
};
