// SPDX-License-Identifier: BSD-2-Clause
/* guard_api.c - the public calls of guard mode, in every configuration. */
#include "core/usercopy.h"
#include "slab/guard.h"
#include "slab/health.h"

int slabdev_guard_stats(struct slabdev *sd, struct slabdev_guard_stats *st,
			size_t size)
{
	int err = space_check(sd, "slabdev_guard_stats");
	struct slabdev_guard_stats own;

	if (err)
		return err;
	own = (struct slabdev_guard_stats){
		.guarded = READ_ONCE(sd->guards.nr_made),
		.refused = READ_ONCE(sd->guards.nr_refused),
		.live = READ_ONCE(sd->guards.nr_mapped),
		.bytes = READ_ONCE(sd->guards.bytes),
	};
	return copy_struct_to_user(st, size, &own, sizeof(own), "st");
}

int slabdev_guard_handler(int on)
{
	return guard_handler(on);
}
