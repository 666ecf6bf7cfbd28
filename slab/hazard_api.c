// SPDX-License-Identifier: BSD-2-Clause
/* hazard_api.c - the public calls of hazard mode, in every configuration. */
#include <errno.h>

#include "core/log.h"
#include "slab/hazard.h"
#include "slab/stream.h"

static slabdev_stream_t stream_of(const struct slabdev *sd,
				  slabdev_stream_t stream)
{
	if (stream != SLABDEV_HAZARD_HOST)
		stream = stream_canonical(sd, stream);
	return stream ? stream : SLABDEV_HAZARD_HOST;
}

#undef slabdev_hazard_access
int slabdev_hazard_access(struct slabdev *sd, const void *p,
			  slabdev_stream_t stream)
{
	struct hazard_call by = { .site = __builtin_return_address(0) };

	if (!sd)
		return error_set(-EINVAL, "slabdev_hazard_access: the space "
				 "is NULL");
	if (!sd->hazard)
		return 0;
	by.space = sd;
	by.name = sd->name;
	by.stream = stream_of(sd, stream);
	return hazard_access(&by, (u64)(uintptr_t)p);
}

#undef slabdev_hazard_record
void slabdev_hazard_record(uint64_t event, slabdev_stream_t stream)
{
	if (hazard_is_active())
		hazard_record(event, stream);
}

#undef slabdev_hazard_wait
void slabdev_hazard_wait(slabdev_stream_t stream, uint64_t event)
{
	if (hazard_is_active())
		hazard_wait(stream, event);
}

#undef slabdev_hazard_sync
void slabdev_hazard_sync(slabdev_stream_t stream)
{
	if (hazard_is_active())
		hazard_sync(stream);
}
