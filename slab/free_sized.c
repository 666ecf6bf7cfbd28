// SPDX-License-Identifier: BSD-2-Clause
/*
 * free_sized.c - a free that knows the size that was asked for.
 *
 * The caller's size is compared with the books before anything is changed; all
 * else is slabdev_free().
 */
#include <errno.h>

#include "core/log.h"
#include "slab/alloc.h"
#include "slab/badfree.h"
#include "slab/hazard_watch.h"
#include "slab/track.h"

static int refuse(struct slabdev *sd, const void *p,
		  const struct place *at, size_t size)
{
	char text[PLACE_TEXT_MAX];
	struct report r;

	describe_place(sd, p, at, text, sizeof(text));
	report_start(&r, REPORT_SIZE, sd->name, "Size mismatch: freed as %zu "
		     "bytes", size);
	report_line(&r, "%s", text);
	track_tell(&r, sd, at->object);
	report_line(&r, "nothing was changed");
	report_end(&r);
	return error_set(-EINVAL, "slabdev_free_sized: %zu bytes are not what "
			 "was asked for: %s", size, text);
}

int slabdev_free_sized(struct slabdev *sd, void *p, size_t size)
{
	struct order o;
	struct place at;
	int err;

	watch_site(sd);
	if (!p)
		return 0;
	err = space_check(sd, "slabdev_free_sized");
	if (err)
		return err;
	if (lookup_live(sd, p, &at) && at.size != size)
		return refuse(sd, p, &at, size);
	o = order_plain(sd);
	return free_in_order(sd, p, &o);
}
