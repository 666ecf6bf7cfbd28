/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quarantine.h - where freed objects of a debugged class wait.
 *
 *   class_put --> fresh ---looked at---> held ---looked at---> slab
 *               poisoned       |                    |
 *                              +-------> bad <------+
 *
 * *Fresh* objects have been freed and poisoned just now. They are looked at
 * together, since reading a device costs a wait: QUARANTINE_FRESH at a time, or
 * at once where reading waits for nothing (host memory) or F asks for it. Those
 * without damage are *held* with the letter Q: a second free of a held object
 * is still told from a free of its next owner, and a write to it is found when
 * it leaves. The oldest leave when there are more than the budget allows.
 *
 * *Bad* objects are in no place at all: they count as free and out of their
 * slab until the class or the space ends. A cache with more than QUARANTINE_BAD
 * of them cannot be destroyed.
 *
 * Close, shrink, trim and a lack of memory empty it.
 *
 * Locking: the barn lock of the class, whose barn is empty then; nothing is
 * called with it.
 */
#ifndef SLAB_QUARANTINE_H
#define SLAB_QUARANTINE_H

#include "slab/debug_report.h"
#include "slab/slab.h"

#define QUARANTINE_FRESH 32u
#define QUARANTINE_HELD 1024u
#define QUARANTINE_TOLD 32u
#define QUARANTINE_BAD 256u
/* Of a class, with Q. */
#define QUARANTINE_BYTES (8 * MIB)

/* Bytes of a zone that were told of; offsets. */
struct told {
	u64 zone;	/* where it ends; 0: none */
	u64 first, last;
};

struct quarantine {
	u32 nr_fresh;
	u32 first, nr_held;	/* a ring; the number relaxed too */
	u32 nr_bad;		/* relaxed */
	u32 nr_told;		/* relaxed */
	struct told told[QUARANTINE_TOLD];	/* the last ones */
	slot_t bad[QUARANTINE_BAD];	/* the first of them */
	slot_t fresh[QUARANTINE_FRESH];
	slot_t held[QUARANTINE_HELD];
};

#if IS_ENABLED(CONFIG_SLAB_DEBUG)
/* 0, or -ENOMEM. */
int __must_check quarantine_init(struct class *c);
void quarantine_fini(struct class *c);

/* What class_put() was given, of a class that has a quarantine. */
void quarantine_put(struct class *c, const slot_t *from, u32 n);
/* All but the bad ones go back to their slabs. */
void quarantine_empty(struct class *c);
/* All are looked at, and the good ones stay. How many were found bad. */
u32 quarantine_look(struct class *c);
/* Zones that end from @from to @to are new: what is found there is told. */
void quarantine_refilled(struct class *c, u64 from, u64 to);
/* The class ends: the bad ones too. */
void quarantine_release_bad(struct class *c);
/* After a fork: what is in it is known to be in the slabs. */
void quarantine_forget(struct class *c);

/*
 * quarantine_judge - what becomes of a free object that was looked at
 *
 * Tells of the damage, if there is any and it is new: bytes of a zone are told
 * of once, though two objects find them.
 * True: the object is bad, and the caller forgets it.
 */
bool quarantine_judge(struct peek *k, struct class *c, slot_t slot,
		      const struct damage *d, enum found found);

static inline struct quarantine *class_quarantine(const struct class *c)
{
	return load_acquire(&c->quarantine);
}
#else
static inline void quarantine_fini(struct class *c)
{
	(void)c;
}

static inline void quarantine_put(struct class *c, const slot_t *from, u32 n)
{
	(void)c;
	(void)from;
	(void)n;
}

static inline void quarantine_empty(struct class *c)
{
	(void)c;
}

static inline void quarantine_release_bad(struct class *c)
{
	(void)c;
}

static inline void quarantine_forget(struct class *c)
{
	(void)c;
}

static inline struct quarantine *class_quarantine(const struct class *c)
{
	(void)c;
	return NULL;
}
#endif

#endif /* SLAB_QUARANTINE_H */
