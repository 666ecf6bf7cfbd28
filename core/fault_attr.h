/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault_attr.h - when something that is asked for is made to fail.
 *
 * The kernel's fault attributes, and its questions in their order. A call
 *
 * 1. that is the @nth from when that was set fails, whatever follows; none
 *    before it does. Then @nth is 0;
 * 2. passes when @probability is 0, or no more @times are left;
 * 3. passes while @space is more than its size, which is taken off it;
 * 4. passes unless it is an @interval-th of those that get here;
 * 5. fails with @probability per cent.
 *
 * A fault takes one of the @times off, unless they have no end. Chance is a
 * sequence that begins with @seed, so that the same calls fail in each run.
 *
 * Locking: the caller's.
 */
#ifndef CORE_FAULT_ATTR_H
#define CORE_FAULT_ATTR_H

struct fault_attr {
	u32 probability;	/* per cent */
	u32 verbose;		/* 0: silent, 1: a line, 2: with the stack */
	u64 interval;		/* 0 and 1: each */
	s64 times;		/* -1: no end */
	u64 space;		/* bytes */
	u64 nth;		/* 0: none */
	u64 seed;
	u64 asked;		/* calls so far */
	u64 fired;		/* of those, failed */
	u64 counted;		/* of those, got to the interval */
	u64 drawn;		/* of those, left to chance */
};
#define FAULT_ATTR_INIT { .interval = 1, .times = -1 }

#define FAULT_NAME_MAX 64

/* Faults, and of what: the parameter SLABDEV_FAILSLAB. */
struct fault_setup {
	struct fault_attr attr;
	bool marked_only;		/* caches with the letter A */
	char cache[FAULT_NAME_MAX];	/* a name, or the begin of some with *
					 * behind it; "": all */
};
#define FAULT_SETUP_INIT { .attr = FAULT_ATTR_INIT }

/* May any call fail? */
bool fault_is_on(const struct fault_attr *a);
/* A call for @size bytes: does it fail? */
bool fault_should_fail(struct fault_attr *a, u64 size);
/* Is it a cache that the faults are for? */
bool fault_is_for(const struct fault_setup *f, const char *cache);

/*
 * fault_parse - the kernel's four numbers, pairs, or both
 * @f: initialised; half changed when false is returned
 * @text: INTERVAL,PROBABILITY,SPACE,TIMES, and KEY=VALUE with one of the keys
 *        interval, probability, space, times, nth, verbose, seed, cache,
 *        cache-filter; with , between
 */
bool fault_parse(struct fault_setup *f, const char *text);

#endif /* CORE_FAULT_ATTR_H */
