/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * damage.h - objects to be written beside, and what must be said of it.
 *
 * A *victim* is a kind of object: how it is asked for, its size, its alignment.
 * Bytes are written by tests/memory.h, so that the same cases run on a device.
 * Reports are matched by kind and text; one that nobody expects fails the case.
 */
#ifndef TESTS_DAMAGE_H
#define TESTS_DAMAGE_H

#include "slab/alloc.h"
#include "slab/class.h"
#include "slab/zone.h"
#include "tests/open_space.h"

#define DAMAGE_BYTE 0x5a

enum victim_how {
	VICTIM_GENERAL,
	VICTIM_ZEROED,
	VICTIM_ALIGNED,
	VICTIM_ASYNC,		/* on the bound stream, said so */
	VICTIM_COMM,
	VICTIM_CACHE,
	VICTIM_BULK,		/* of a cache, by the bulk calls */
	VICTIM_COMM_CACHE,
};

struct victim {
	enum victim_how how;
	size_t size, align;
};

/* Where it is, and the cache that it is of, or NULL. */
struct victims {
	struct kunit *test;
	struct slabdev *sd;
	const struct victim *victim;
	struct slabdev_cache *cache;
};

extern const struct victim victims[];
extern const size_t nr_victims;
const void *victim_gen_params(const void *prev, char *desc);

/* The letters of the spaces that are opened from now on. */
void debug_letters_are(const char *letters);
/* A space where a free is over when it returns, whatever its memory is. */
struct slabdev *debug_space(struct kunit *test);
/* Skips the case in a build without the checks. */
void need_debug(struct kunit *test);

/* A space, and the victims of it that the case has as its parameter. */
void victims_open(struct victims *v, struct kunit *test);
/* Nothing is live; @sound: and nothing was damaged. */
void victims_close(struct victims *v);
void *victim_get(struct victims *v);
int victim_free(struct victims *v, void *p);

/* Its class; NULL: a large object. */
struct class *victim_class(const struct victims *v, const void *p);
/* Bytes from one victim to the next. */
u64 victim_stride(const struct victims *v, const void *p);
/* Is there a zone behind the object, and before it; poison in it when it is
 * free? */
bool has_zone_behind(const struct victims *v, const void *p);
bool has_zone_before(const struct victims *v, const void *p);
bool has_poison_in(const struct victims *v, const void *p);

/* @n bytes at @offset from @p are written by somebody else. */
void smear(struct slabdev *sd, void *p, s64 offset, size_t n);

/* The youngest report has that text. */
void expect_told(struct kunit *test, const char *fmt, ...) __printf(2, 3);

/* @call brings one report of @kind, and no other. */
#define EXPECT_TOLD(test, kind, call)					\
do {									\
	unsigned int told_ = kunit_report_count(test, kind);		\
									\
	kunit_expect_report(test, kind);				\
	call;								\
	KUNIT_EXPECT_EQ(test, kunit_report_count(test, kind), told_ + 1); \
} while (0)

/* A walk finds @n damaged objects; those of @kind are expected already. */
void expect_damaged(struct kunit *test, struct slabdev *sd, u32 n);
/* It is given to nobody, however many ask. */
void expect_kept(struct victims *v, const void *bad);

/* A cache with these letters, whatever SLABDEV_DEBUG says, of debug.h's flags;
 * without any that of a plain build. */
struct slabdev_cache *lettered_cache(struct kunit *test, struct slabdev *sd,
				     size_t size, u32 flags);
/* Two of its objects that lie side by side, the first one first. */
void get_neighbours(struct kunit *test, struct slabdev_cache *cache,
		    void *p[2]);

#endif /* TESTS_DAMAGE_H */
