/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ratelimit.h - so many in a stretch of time, and a count of the others.
 *
 * As the kernel's: a stretch begins with the first that comes when none is
 * running, and lets @nr pass. What comes beyond them is left out and counted,
 * until the first that comes after the stretch begins another one and is told
 * how many were left out.
 *
 * Locking: the caller's.
 */
#ifndef CORE_RATELIMIT_H
#define CORE_RATELIMIT_H

struct ratelimit {
	u64 begin_ns;
	u32 passed;
	u32 left_out;
	bool running;
};

/*
 * ratelimit_pass - may one more pass at the time @now_ns?
 * @nr: in a stretch; at least 1
 * @stretch_ns: how long it is; 0: all may pass
 * @left_out: set to how many were left out: when true, in the stretch before;
 *            when false, in this one so far, this one included
 */
bool ratelimit_pass(struct ratelimit *r, u32 nr, u64 stretch_ns, u64 now_ns,
		    u32 *left_out);

#endif /* CORE_RATELIMIT_H */
