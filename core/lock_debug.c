// SPDX-License-Identifier: BSD-2-Clause
/*
 * lock_debug.c - checks the order of locks while the program runs.
 *
 * Each thread keeps a stack of the locks that it holds and of the code that
 * took them. A lock must rank above the top one, and so ranks above all:
 * releasing from the middle leaves the rest in order. A breach is reported
 * before the thread waits, since it may wait for ever; the lock is then entered
 * like any other, so that one mistake gives one report.
 *
 * A report takes LOCK_LOG itself, and may run the user's sink. While it does,
 * the checks of its thread are off.
 *
 * Locking: none, everything belongs to one thread. Limits: locks beyond
 * MAX_HELD are taken and released unchecked; with a correct order a thread
 * holds at most one of each rank.
 */
#include <dlfcn.h>

#include "core/lock.h"
#include "core/log.h"

#define MAX_HELD (2 * LOCK_NR_RANKS)

struct held {
	const struct lock *lock;
	const void *place;	/* return address into the code that took it */
};

static __thread struct {
	struct held held[MAX_HELD];
	unsigned int nr;
	unsigned int nr_unchecked;
	bool reporting;
} self;

/* A place in the form that addr2line -e FILE takes. */
static void report_place(struct report *r, const char *what,
			 const struct lock *l, const void *place)
{
	Dl_info info = { 0 };

	if (dladdr(place, &info) && info.dli_fname)
		report_line(r, "%s '%s' (rank %d) at %s+%#tx", what, l->name,
			    (int)l->rank, info.dli_fname,
			    (const char *)place - (const char *)info.dli_fbase);
	else
		report_line(r, "%s '%s' (rank %d) at %p", what, l->name,
			    (int)l->rank, place);
}

static void report_breach(const char *headline, const struct lock *l,
			  const void *place)
{
	struct report r;
	unsigned int i;

	self.reporting = true;
	report_start(&r, REPORT_LOCK, "lock", "%s", headline);
	if (l)
		report_place(&r, "Lock", l, place);
	for (i = self.nr; i-- > 0;)
		report_place(&r, "Held", self.held[i].lock, self.held[i].place);
	report_line(&r, "The order of locks is enum lock_rank in core/lock.h");
	report_end(&r);
	self.reporting = false;
}

static int find(const struct lock *l)
{
	int i;

	for (i = (int)self.nr - 1; i >= 0; i--)
		if (self.held[i].lock == l)
			return i;
	return -1;
}

static void check_order(const struct lock *l, const void *place)
{
	if (find(l) >= 0)
		report_breach("lock acquired twice", l, place);
	else if (self.nr && self.held[self.nr - 1].lock->rank >= l->rank)
		report_breach("lock acquired out of order", l, place);
}

void lock_debug_acquire(const struct lock *l)
{
	const void *place = __builtin_return_address(0);

	if (self.reporting)
		return;
	check_order(l, place);
	if (self.nr < MAX_HELD)
		self.held[self.nr++] = (struct held){ l, place };
	else
		self.nr_unchecked++;
}

void lock_debug_release(const struct lock *l)
{
	int i;

	if (self.reporting)
		return;
	i = find(l);
	if (i >= 0) {
		for (self.nr--; (unsigned int)i < self.nr; i++)
			self.held[i] = self.held[i + 1];
	} else if (self.nr_unchecked) {
		self.nr_unchecked--;
	} else {
		report_breach("lock released that is not held", l,
			      __builtin_return_address(0));
	}
}

void lock_debug_assert_held(const struct lock *l)
{
	if (self.reporting || self.nr_unchecked || find(l) >= 0)
		return;
	report_breach("lock needed that is not held", l,
		      __builtin_return_address(0));
}

void lock_debug_assert_none(void)
{
	if (!self.reporting && self.nr)
		report_breach("lock held where none may be", NULL, NULL);
}
