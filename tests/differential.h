/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * differential.h - what the files of the suite differential share:
 * differential_test.c, with its calls that come and go all the time, and
 * differential_rare.c, with those that come now and then.
 */
#ifndef TESTS_DIFFERENTIAL_H
#define TESTS_DIFFERENTIAL_H

#include <stdio.h>

#include "slab/slab.h"
#include "tests/kunit/kunit.h"
#include "tests/random.h"
#include "tests/shadow.h"

#define CACHES 8u
#define KEPT 512u
#define DESKS 64u

struct object {
	unsigned char *p;	/* NULL: none */
	u64 size;		/* asked for */
	u64 usable;
	u64 word;		/* written at both ends */
	u32 cache;		/* CACHES: none */
};

struct differential {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache[CACHES];
	u64 stride[CACHES];
	struct shadow shadow;
	struct object *desk[DESKS];	/* atomic: handed over here */
	struct object spare[DESKS];
	FILE *null;
	u64 reports;		/* atomic: of mistakes */
	bool stop;		/* relaxed: something was wrong */
};

struct worker {
	struct differential *d;
	struct slabdev_cache *own;	/* nobody else uses it */
	u32 me;
	u64 random;
	u64 calm_at;		/* AGGRESSIVE until so many ops */
	u64 ops, todo;
	u64 next_word;
	u64 allocs, frees, failed, mistakes;
	struct object *kept[KEPT];
	struct object object[KEPT];
};

static inline u32 pick(struct worker *w, u32 n)
{
	return random_below(&w->random, n);
}

/* Workers must not end by an ASSERT: who waits for them would wait for ever. */
#define CHECK(w, condition, fmt, ...)					\
do {									\
	if (unlikely(!(condition))) {					\
		KUNIT_FAIL((w)->d->test, "thread %u, op %llu: %s: " fmt, \
			   (w)->me, (unsigned long long)(w)->ops,	\
			   #condition, ##__VA_ARGS__);			\
		WRITE_ONCE((w)->d->stop, true);				\
	}								\
} while (0)

/*
 * The rare calls. Mistakes around @o, which may be none; questions about it;
 * and all that is done to a space and its caches, 0 or what it returned.
 */
void rare_mistake(struct worker *w, const struct object *o);
void rare_question(struct worker *w, const struct object *o);
int rare_management(struct worker *w);
/* Sets the policy: AGGRESSIVE is slow, and w->calm_at says until when. */
int rare_policy(struct worker *w, u32 mode);

#endif /* TESTS_DIFFERENTIAL_H */
