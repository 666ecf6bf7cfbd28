// SPDX-License-Identifier: BSD-2-Clause
/* kind.c - see kind.h. */
#include <string.h>

#include "slab/kind.h"

const struct memory_kind memory_kinds[NR_MEMORY_KINDS] = {
	[SLABDEV_MEMORY_HOST] = { "host", "host" },
	[SLABDEV_MEMORY_DEVICE] = { "device", "cuda:" },
	[SLABDEV_MEMORY_PINNED] = { "pinned", "cuda-host:" },
	[SLABDEV_MEMORY_MANAGED] = { "managed", "cuda-managed:" },
};

u32 memory_kind_of(const char *spec, const char **device)
{
	size_t len;
	u32 i;

	for (i = SLABDEV_MEMORY_HOST; i < NR_MEMORY_KINDS; i++) {
		len = strlen(memory_kinds[i].spec);
		if (strncmp(spec, memory_kinds[i].spec, len))
			continue;
		*device = spec + len;
		return i;
	}
	*device = "";
	return SLABDEV_MEMORY_HOST;
}
