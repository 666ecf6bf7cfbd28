/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_yard.h - bytes on the model of the driver that ranges are looked at in,
 * and a copy of them to know what should be found.
 */
#ifndef TESTS_CHECK_YARD_H
#define TESTS_CHECK_YARD_H

#include "tests/damage.h"
#include "tests/stream_space.h"

#define YARD_BYTES (512u << 10)
#define YARD_GOOD 0x6b		/* what they are at first */
#define YARD_RANGES 2000u

/* One object of a space. */
struct yard {
	struct stream_space s;
	u8 *p;
	u8 copy[YARD_BYTES];
	struct vmm_check range[YARD_RANGES];
};

/* In memory of the case's kind; NULL: VMM. */
struct yard *yard_open(struct kunit *test);
void yard_close(struct yard *y);

void yard_put(struct yard *y, u64 at, u8 byte);
struct vmm_check yard_range(const struct yard *y, u64 at, u64 size);
/* Have the device look: 0, or what is not to be had. */
int yard_look(struct yard *y, struct vmm_check *range, u32 nr);
/* It finds what a loop over the copy does. */
void yard_expect(struct yard *y, struct vmm_check *range, u32 nr);

#endif /* TESTS_CHECK_YARD_H */
