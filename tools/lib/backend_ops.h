/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * backend_ops.h - names of the backend calls, as segment.h numbers them.
 */
#ifndef SLABINFO_BACKEND_OPS_H
#define SLABINFO_BACKEND_OPS_H

#include <slabdev/segment.h>

/* Those up to "unmap" manage memory; a steady state makes none of them. */
#define NR_MANAGEMENT_OPS 7

static const char *const backend_ops[] = {
	"reserve", "unreserve", "create", "release", "map", "set_access",
	"unmap",
	"fill", "read", "copy", "event", "meminfo",
};

_Static_assert(sizeof(backend_ops) / sizeof(backend_ops[0]) ==
	       SLABDEV_SEG_NR_OPS, "each operation has a name");

#endif /* SLABINFO_BACKEND_OPS_H */
