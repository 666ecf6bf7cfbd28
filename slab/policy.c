// SPDX-License-Identifier: BSD-2-Clause
/* policy.c - retention at run time: policy, trim, prime, poll; see policy.h. */
#include <errno.h>

#include "core/log.h"
#include "core/os.h"
#include "core/overflow.h"
#include "core/usercopy.h"
#include "slab/alloc.h"
#include "slab/health.h"
#include "slab/pending.h"
#include "slab/policy.h"
#include "slab/reclaim.h"
#include "slab/steal.h"

/*
 * Which fast paths there may be. Sheaves keep a free object from others, and
 * a free that pushes into one does not ask whose order it is in.
 */
static void choose_paths_locked(struct slabdev *sd)
{
	struct pool *p = &sd->pool;
	bool slow = sd->host_order || sd->bound_captured || sd->hazard;

	WRITE_ONCE(sd->bypass, !sd->use_sheaves || sd->dead ||
			       sd->policy == SLABDEV_AGGRESSIVE ||
			       sd->bound_captured);
	lock_acquire(&p->lock);
	sd->slow_frees = slow;
	WRITE_ONCE(sd->free_slots, slow ? 0 : sd->high_slots);
	lock_release(&p->lock);
}

void policy_apply(struct slabdev *sd, const struct slabdev_policy *policy)
{
	lock_acquire(&sd->lock);
	WRITE_ONCE(sd->policy_keep, policy->keep_bytes);
	WRITE_ONCE(sd->policy_flags, policy->flags);
	WRITE_ONCE(sd->policy, policy->mode);
	choose_paths_locked(sd);
	WRITE_ONCE(sd->rec->policy_mode, policy->mode);
	WRITE_ONCE(sd->rec->policy_keep, policy->keep_bytes);
	lock_release(&sd->lock);
}

static void set_captured(struct slabdev *sd, bool captured, struct stream *st)
{
	lock_acquire(&sd->lock);
	sd->bound_captured = captured;
	WRITE_ONCE(sd->bound, st);
	choose_paths_locked(sd);
	lock_release(&sd->lock);
}

void policy_begin_capture(struct slabdev *sd, struct stream *st)
{
	set_captured(sd, true, st);
	/* Pairs with put_sheaves(). */
	if (sd->use_sheaves)
		os_membarrier();
	take_back(sd, NULL);
}

void policy_end_capture(struct slabdev *sd, struct stream *st)
{
	set_captured(sd, false, sd->host_order ? st : NULL);
}

int slabdev_set_policy(struct slabdev *sd, const struct slabdev_policy *user)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	int err;

	err = space_check(sd, "slabdev_set_policy");
	if (err)
		return err;
	if (!user)
		return error_set(-EINVAL, "slabdev_set_policy: policy is NULL");
	err = copy_struct_from_user(&policy, sizeof(policy), user, "policy");
	if (err)
		return err;
	if (policy.mode < SLABDEV_RETAIN || policy.mode > SLABDEV_AGGRESSIVE)
		return error_set(-EINVAL, "policy.mode %u is none of the enum "
				 "slabdev_policy_mode", policy.mode);
	if (policy.flags & ~SLABDEV_POLICY_STREAM_WAITS)
		return error_set(-EINVAL, "policy.flags %#x has bits that this "
				 "version does not know", policy.flags);
	policy_apply(sd, &policy);
	if (policy.mode == SLABDEV_AGGRESSIVE) {
		/* Pairs with put_sheaves(): whoever has not seen the change
		 * has put its sheaves where they are found now. */
		if (sd->use_sheaves)
			os_membarrier();
		return space_failed(sd, reclaim_trim(sd, 0));
	}
	if (policy.mode == SLABDEV_TRIM)
		reclaim_kept(sd);
	return space_failed(sd, reclaim_poll(sd));
}

int slabdev_trim(struct slabdev *sd, uint64_t keep_bytes)
{
	int err = space_check(sd, "slabdev_trim");

	return err ? err : space_failed(sd, reclaim_trim(sd, keep_bytes));
}

int slabdev_prime(struct slabdev *sd, uint64_t bytes)
{
	int err = space_check(sd, "slabdev_prime");
	u64 have, chunks;

	if (err)
		return err;
	if (pool_free_bytes(sd) < bytes)
		reclaim_kept(sd);
	have = pool_free_bytes(sd);
	if (have >= bytes)
		return 0;
	chunks = div_round_up(bytes - have, sd->vmm.chunk_size);
	change_begin(sd);
	err = pool_prime(sd, chunks);
	change_end(sd);
	return space_failed(sd, err);
}

int slabdev_poll(struct slabdev *sd)
{
	int err = space_check(sd, "slabdev_poll");

	if (err)
		return err;
	pending_poll(sd);
	return space_failed(sd, reclaim_poll(sd));
}
