/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kind.h - kinds of memory, and the specs of their spaces: the one table
 * of slab/.
 */
#ifndef SLAB_KIND_H
#define SLAB_KIND_H

#include <slabdev/slabdev.h>

#define NR_MEMORY_KINDS (SLABDEV_MEMORY_MANAGED + 1)

struct memory_kind {
	const char *what;	/* NULL: no kind has this number */
	const char *spec;	/* with a device: the part in front of it */
};

/* By enum slabdev_memory_kind. */
extern const struct memory_kind memory_kinds[NR_MEMORY_KINDS];

/* The kind of a space's spec; *@device is set to what follows, "" for none. */
u32 memory_kind_of(const char *spec, const char **device);

#endif /* SLAB_KIND_H */
