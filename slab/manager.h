/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * manager.h - managers: which space a kind of memory and a device mean, and the
 * books that no space keeps for itself.
 *
 * A manager is an entry of a table of tokens (token.h). It lists its spaces
 * in the order of opening, and a place in the list is for one pair of kind and
 * device for ever: pairs are added, never taken out, so that looking one up
 * takes no lock.
 *
 * Opening calls the log, which is the user's: no lock can be held meanwhile. A
 * thread that opens, or destroys, has the *turn* instead, a word with its own
 * identity. Others wait for it. The thread itself is told that it has it
 * already; and in the child of a fork the turn of a thread that is not there is
 * nobody's.
 *
 * The figures of a ledger are those of the space (stats.h), which follow the
 * memory. Only its high water no space can know without a shared counter on
 * its fast path: so the manager's own calls have one, for each space and for
 * all. An operation is where its addition is in the order of all additions, so
 * that the peak is that of a history that could have been.
 *
 * A user may close a manager's space all the same. Descriptors of spaces are
 * type-stable, and the number of the opening tells: each call that finds such a
 * space says so, and the space is skipped at the end.
 */
#ifndef SLAB_MANAGER_H
#define SLAB_MANAGER_H

#include <slabdev/slabdev.h>

#include "slab/token.h"
#include "slab/slab.h"

/* What is live, and was at most, by the manager's calls. Atomic. A program that
 * frees by other calls than it allocates by makes .live wrong, never negative.
 */
struct high_water {
	s64 live, peak;
};

/* One space of a manager. */
struct managed {
	struct slabdev *sd;	/* released; NULL: not open */
	u64 open_id;		/* const while it is: sd->open_id */
	u32 kind;		/* const: enum slabdev_memory_kind */
	int device;		/* const */
	u64 refused;		/* atomic: requests that the space never saw */
	struct high_water water;
} __aligned_to(CACHE_LINE);

struct manager {
	struct token token;
	u64 turn;		/* atomic: who has it; 0: nobody */
	u32 nr;			/* released; grows only, with the turn */
	bool named;		/* const: spaces have the name in theirs */
	char name[SLABDEV_NAME_MAX + 1];	/* const */
	u64 refused;		/* atomic: requests that reached no space */
	struct high_water water __aligned_to(CACHE_LINE);
	struct managed space[SPACE_MAX];
};

/* The manager of a token, or NULL: see token_find(). */
struct manager *manager_find(const struct slabdev_manager *token,
			     const char *call, int *err) __must_check;
/* 0; -EINVAL, -ENODEV: there can be no such pair. */
int __must_check manager_check_pair(u32 kind, int device);
/* The place of a pair, or NULL: it was never opened. */
struct managed *manager_place(struct manager *m, u32 kind, int device);
/* 0; -ENOENT it is not open, -EINVAL the user has closed it. */
int __must_check managed_check(const struct managed *s);

static inline const char *managed_spec(const struct managed *s)
{
	return s->sd->spec;
}

#endif /* SLAB_MANAGER_H */
