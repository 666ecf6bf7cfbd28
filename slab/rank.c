// SPDX-License-Identifier: BSD-2-Clause
/* rank.c - what the same layout in every process takes; see rank.h. */
#include <errno.h>

#include "core/log.h"
#include "slab/alloc.h"
#include "slab/rank.h"

int rank_check_attr(const struct slabdev_attr *attr)
{
	const char *wrong = NULL;

	if (!(attr->flags & SLABDEV_OPEN_SAME_LAYOUT))
		return 0;
	if (!attr->limit)
		wrong = "attr.limit must be given, in bytes";
	else if (!attr->reserve)
		wrong = "attr.reserve must be given";
	else if (attr->ranks > 1)
		wrong = "attr.ranks must be 0: give each process its limit";
	else if (attr->handle_type == SLABDEV_HANDLE_AUTO)
		wrong = "attr.handle_type must not be SLABDEV_HANDLE_AUTO: "
			"name one";
	else if (attr->ordering == SLABDEV_ORDER_HOST)
		wrong = "attr.ordering must not be SLABDEV_ORDER_HOST, which "
			"goes by when the device is done";
	return wrong ? error_set(-EINVAL, "SLABDEV_OPEN_SAME_LAYOUT: %s",
				 wrong) : 0;
}

int rank_check_space(const struct slabdev *sd, const struct slabdev_attr *attr)
{
	if (!sd->same_layout)
		return 0;
	if (!sd->use_sheaves && !(attr->flags & SLABDEV_OPEN_NO_SHEAVES))
		return error_set(-ENOTSUP, "SLABDEV_OPEN_SAME_LAYOUT: this "
				 "process works without sheaves (%s): open the "
				 "space with SLABDEV_OPEN_NO_SHEAVES in all "
				 "processes", sd->hazard ? "SLABDEV_DEBUG=H" :
				 "no membarrier");
	if (sd->ops->for_cpu && !sd->ops->synchronous && !attr->ordering)
		return error_set(-EINVAL, "SLABDEV_OPEN_SAME_LAYOUT: "
				 "attr.ordering must be SLABDEV_ORDER_STREAM "
				 "for '%s'", sd->spec);
	return 0;
}

int rank_check_align(const struct slabdev *sd, size_t align)
{
	if (!sd->same_layout || align <= sd->vmm.chunk_size)
		return 0;
	return error_set(-EINVAL, "%s: an alignment of %zu is above the %llu "
			 "of SLABDEV_OPEN_SAME_LAYOUT", sd->name, align,
			 (unsigned long long)sd->vmm.chunk_size);
}

/* ---- Offsets ------------------------------------------------------------ */

void *slabdev_base(struct slabdev *sd)
{
	int err = space_check(sd, "slabdev_base");

	if (!err)
		return to_ptr(sd->base);
	errno = -err;
	return NULL;
}

uint64_t slabdev_offset(struct slabdev *sd, const void *p)
{
	int err = space_check(sd, "slabdev_offset");
	u64 offset = err ? 0 : (u64)(uintptr_t)p - sd->base;

	if (!err && offset >= sd->vmm.base_bytes)
		err = error_set(-EINVAL, "slabdev_offset: %p is not in the "
				"reservation that %s begins with", p, sd->name);
	if (!err)
		return offset;
	errno = -err;
	return UINT64_MAX;
}
