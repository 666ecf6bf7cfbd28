// SPDX-License-Identifier: BSD-2-Clause
/* publish.c - statistics where slabinfo finds them; see publish.h. */
#include <slabdev/segment.h>

#include "slab/publish.h"

int publish_segment(size_t size, void **addr)
{
	return os_shared_segment(SLABDEV_SEG_NAME, size, addr);
}
