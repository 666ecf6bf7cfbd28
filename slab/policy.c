// SPDX-License-Identifier: BSD-2-Clause
/* policy.c - retention at run time: policy, trim, prime, poll; see policy.h. */
#include <errno.h>

#include "core/log.h"
#include "core/os.h"
#include "core/overflow.h"
#include "core/usercopy.h"
#include "slab/alloc.h"
#include "slab/health.h"
#include "slab/policy.h"
#include "slab/reclaim.h"

void policy_apply(struct slabdev *sd, u32 mode, u64 keep_bytes)
{
	lock_acquire(&sd->lock);
	WRITE_ONCE(sd->policy_keep, keep_bytes);
	WRITE_ONCE(sd->policy, mode);
	WRITE_ONCE(sd->bypass, !sd->use_sheaves || mode == SLABDEV_AGGRESSIVE ||
			       sd->dead);
	WRITE_ONCE(sd->rec->policy_mode, mode);
	WRITE_ONCE(sd->rec->policy_keep, keep_bytes);
	lock_release(&sd->lock);
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
	if (policy.mode < SLABDEV_RETAIN || policy.mode > SLABDEV_AGGRESSIVE ||
	    policy.reserved)
		return error_set(-EINVAL, "policy.mode %u is none of the enum "
				 "slabdev_policy_mode", policy.mode);
	policy_apply(sd, policy.mode, policy.keep_bytes);
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

	return err ? err : space_failed(sd, reclaim_poll(sd));
}
