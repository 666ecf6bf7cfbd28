/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bank.h - a backend whose reservations are memory.
 *
 * A bank has address numbers in regions, each of which costs what it is long,
 * and no memory at all. It knows what is mapped where, and looks at each call:
 * whatever a case is about, nothing is mapped outside of a region or twice, and
 * no region goes under a mapping.
 */
#ifndef TESTS_BANK_H
#define TESTS_BANK_H

#include "tests/vmm_space.h"

#define REGIONS_MAX 512u
#define CHUNKS_MAX 65536u

struct region {
	u64 addr, size;		/* size 0: none */
};

/* Of the case; one at a time. */
struct bank {
	struct kunit *test;
	u64 capacity, used;	/* bytes */
	u64 next;		/* address of the next region */
	u64 shift;		/* from an aligned address */
	int unreserve_err;
	u64 nr_handles;
	struct region regions[REGIONS_MAX];
	bool mapped[CHUNKS_MAX];
};

extern struct bank bank;
extern struct vmm_ops bank_ops;

/* Of a suite: test->priv is a struct space, not open yet. At the end nothing is
 * left in the bank. */
int bank_init(struct kunit *test);
void bank_exit(struct kunit *test);

/* The case's space, open. Numbers of chunks, as of space_open(). */
struct space *bank_space(struct kunit *test, u64 limit, u64 reserve);

u32 nr_regions(void);
u64 used_chunks(void);

#define EXPECT_BANK(s, regions, chunks)					\
do {									\
	KUNIT_EXPECT_EQ((s)->test, nr_regions(), regions);		\
	KUNIT_EXPECT_EQ((s)->test, used_chunks(), chunks);		\
	KUNIT_EXPECT_EQ((s)->test, (s)->cnt.reserved, bank.used);	\
	EXPECT_VALID(s);						\
} while (0)

#endif /* TESTS_BANK_H */
