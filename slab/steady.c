// SPDX-License-Identifier: BSD-2-Clause
/* steady.c - see steady.h. */
#include "core/log.h"
#include "slab/steady.h"

static u64 management_calls(struct slabdev *sd)
{
	u64 calls = 0;
	u32 op;

	for (op = 0; op < VMM_NR_MANAGEMENT_OPS; op++)
		calls += READ_ONCE(sd->vmm.cnt->calls[op]);
	return calls;
}

struct steady steady_note(struct slabdev *sd)
{
	return (struct steady){
		.calls = management_calls(sd),
		.peak = READ_ONCE(sd->vmm.cnt->peak_created),
	};
}

void steady_check(struct slabdev *sd, struct steady before)
{
	u64 created = READ_ONCE(sd->vmm.cnt->created);
	u64 calls = management_calls(sd) - before.calls;
	struct report r;

	if (!calls || created > before.peak)
		return;
	report_start(&r, REPORT_STEADY, sd->name,
		     "memory-management calls in a steady state");
	report_line(&r, "%llu calls to have %llu bytes mapped, after %llu had "
		    "been mapped before", (unsigned long long)calls,
		    (unsigned long long)created,
		    (unsigned long long)before.peak);
	report_line(&r, "policy: see slabdev_set_policy(); asked for by "
		    "SLABDEV_ASSERT_STEADY=1");
	report_end(&r);
}
