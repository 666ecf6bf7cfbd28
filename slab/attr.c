// SPDX-License-Identifier: BSD-2-Clause
/* attr.c - see attr.h. */
#include <errno.h>

#include "core/log.h"
#include "core/param.h"
#include "core/usercopy.h"
#include "slab/attr.h"
#include "slab/rank.h"

#define OPEN_FLAGS (SLABDEV_OPEN_PRIVATE_STATS | SLABDEV_OPEN_HUGE_PAGES | \
		    SLABDEV_OPEN_NO_SHEAVES | SLABDEV_OPEN_RDMA | \
		    SLABDEV_OPEN_COMM | SLABDEV_OPEN_SAME_LAYOUT)

static int check_limit(const struct slabdev_attr *attr)
{
	if (attr->limit && attr->limit_permille)
		return error_set(-EINVAL, "attr.limit and attr.limit_permille "
				 "are both given; one of them must be 0");
	if (attr->limit_permille > 1000)
		return error_set(-EINVAL, "attr.limit_permille %u is more than "
				 "1000, all of the device",
				 attr->limit_permille);
	return 0;
}

static int check_cuda_attr(const struct slabdev_attr *attr)
{
	if (attr->backing > SLABDEV_BACKING_MALLOC)
		return error_set(-EINVAL, "attr.backing %u is none of the enum "
				 "slabdev_backing", attr->backing);
	if (attr->handle_type > SLABDEV_HANDLE_AUTO)
		return error_set(-EINVAL, "attr.handle_type %u is none of the "
				 "enum slabdev_handle_type",
				 attr->handle_type);
	if (attr->nr_peers && !attr->peers)
		return error_set(-EINVAL, "attr.peers is NULL, but "
				 "attr.nr_peers is %u", attr->nr_peers);
	if (attr->ordering > SLABDEV_ORDER_HOST)
		return error_set(-EINVAL, "attr.ordering %u is none of the "
				 "enum slabdev_ordering", attr->ordering);
	if (attr->reserved)
		return error_set(-EINVAL, "attr.reserved %u is not 0",
				 attr->reserved);
	if (attr->stream == SLABDEV_STREAM_PER_THREAD)
		return error_set(-EINVAL, "attr.stream: a space cannot be "
				 "bound to the default stream of each thread, "
				 "since threads share its memory");
	return 0;
}

int attr_check_name(const char *name, const char *what)
{
	size_t i;

	for (i = 0; name && name[i]; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
			return error_set(-EINVAL, "%s: character %zu is a "
					 "control character, and would garble "
					 "reports", what, i + 1);
	return 0;
}

static int check_attr(const struct slabdev_attr *attr)
{
	int err;

	if (attr->flags & ~OPEN_FLAGS)
		return error_set(-EINVAL, "attr.flags %#x has bits that this "
				 "version does not know", attr->flags);
	if (attr->policy.mode > SLABDEV_AGGRESSIVE)
		return error_set(-EINVAL, "attr.policy.mode %u is none of the "
				 "enum slabdev_policy_mode",
				 attr->policy.mode);
	if (attr->policy.flags & ~SLABDEV_POLICY_STREAM_WAITS)
		return error_set(-EINVAL, "attr.policy.flags %#x has bits that "
				 "this version does not know",
				 attr->policy.flags);
	err = attr_check_name(attr->name, "attr.name");
	if (!err)
		err = check_limit(attr);
	if (!err)
		err = rank_check_attr(attr);
	return err ? err : check_cuda_attr(attr);
}

/* The environment fills what the program left to the default. */
static void apply_params(struct slabdev_attr *attr, const struct params *p)
{
	if (!p->stats)
		attr->flags |= SLABDEV_OPEN_PRIVATE_STATS;
	/* All else would move objects. */
	if (attr->flags & SLABDEV_OPEN_SAME_LAYOUT)
		return;
	if (!attr->limit && !attr->limit_permille) {
		attr->limit = p->limit;
		attr->limit_permille = p->limit_permille;
	}
	if (!attr->ranks)
		attr->ranks = p->ranks;
	if (!attr->ordering)
		attr->ordering = p->ordering;
	if (!attr->reserve)
		attr->reserve = p->reserve;
	if (!attr->sheaf_bytes)
		attr->sheaf_bytes = p->sheaf_bytes;
	if (!attr->policy.mode && p->policy) {
		attr->policy.mode = p->policy;
		attr->policy.keep_bytes = p->keep_bytes;
	}
}

int attr_read(struct slabdev_attr *attr, const struct params **p,
		     const struct slabdev_attr *user_attr)
{
	int err;

	err = copy_struct_from_user(attr, sizeof(*attr), user_attr, "attr");
	if (!err)
		err = check_attr(attr);
	if (!err)
		err = params_get(p);
	if (!err)
		apply_params(attr, *p);
	return err;
}
