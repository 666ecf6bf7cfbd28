/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard_report.h - what is said of guarded objects, outside of signals.
 */
#ifndef SLAB_GUARD_REPORT_H
#define SLAB_GUARD_REPORT_H

#include "slab/slab.h"

/* From the first byte that is not as it was filled to the last. */
struct guard_damage {
	u64 first;		/* address */
	u64 bytes;		/* 0: none */
	u8 found, wanted;	/* of the first */
};

/* @where: "Right Redzone", .. of the object that record @i is of. */
void guard_report_damage(struct slabdev *sd, u32 i,
			 const struct guard_damage *d, const char *where);

#endif /* SLAB_GUARD_REPORT_H */
