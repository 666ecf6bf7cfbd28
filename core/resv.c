// SPDX-License-Identifier: BSD-2-Clause
/*
 * resv.c - host arrays that grow in place (core/resv.h).
 *
 * base .. base + committed is readable and writable, the rest of the reserved
 * bytes is PROT_NONE. Both ends are multiples of the page size; only the last
 * step may be shorter than the others.
 */
#include <errno.h>

#include "core/os.h"
#include "core/overflow.h"
#include "core/resv.h"

int resv_init(struct resv *r, u64 max_bytes, u64 step)
{
	u64 page = os_page_size();
	u64 reserved, rounded;
	void *addr;
	int err;

	if (!max_bytes || !step)
		return -EINVAL;
	if (align_up_overflows(max_bytes, page, &reserved) ||
	    align_up_overflows(step, page, &rounded))
		return -ENOMEM;
	err = os_reserve(reserved, &addr);
	if (err)
		return err;
	r->base = addr;
	r->reserved = reserved;
	r->committed = 0;
	r->step = min(rounded, reserved);
	return 0;
}

void resv_fini(struct resv *r)
{
	if (r->base)
		os_unreserve(r->base, r->reserved);
	*r = (struct resv){ 0 };
}

int resv_grow(struct resv *r, u64 bytes)
{
	u64 steps, target;

	if (bytes <= r->committed)
		return 0;
	if (bytes > r->reserved)
		return -ENOSPC;
	steps = div_round_up(bytes, r->step);
	if (mul_overflows(steps, r->step, &target))
		target = r->reserved;
	target = min(target, (u64)r->reserved);
	if (os_commit(r->base + r->committed, target - r->committed))
		return -ENOMEM;
	/* Statistics read it without the lock. */
	WRITE_ONCE(r->committed, target);
	return 0;
}
