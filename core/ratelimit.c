// SPDX-License-Identifier: BSD-2-Clause
/* ratelimit.c - see ratelimit.h. */
#include "core/ratelimit.h"

bool ratelimit_pass(struct ratelimit *r, u32 nr, u64 stretch_ns, u64 now_ns,
		    u32 *left_out)
{
	*left_out = 0;
	if (!r->running || now_ns - r->begin_ns >= stretch_ns) {
		*left_out = r->left_out;
		*r = (struct ratelimit){ .begin_ns = now_ns, .running = true };
	}
	if (r->passed < nr) {
		r->passed++;
		return true;
	}
	*left_out = ++r->left_out;
	return false;
}
