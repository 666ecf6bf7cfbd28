// SPDX-License-Identifier: BSD-2-Clause
/* visit.c - see visit.h. */
#include "core/os.h"
#include "slab/visit.h"

#define WAIT_US 50u

u32 visit_begin(struct slabdev *sd)
{
	u32 side;

	lock_acquire(&sd->lock);
	side = sd->visit_side;
	sd->visitors[side]++;
	lock_release(&sd->lock);
	return side;
}

void visit_end(struct slabdev *sd, u32 side)
{
	lock_acquire(&sd->lock);
	sd->visitors[side]--;
	lock_release(&sd->lock);
}

/* Until nobody is at @side. The space lock is held, but for the waiting. */
static void wait_locked(struct slabdev *sd, u32 side)
{
	while (sd->visitors[side]) {
		lock_release(&sd->lock);
		os_sleep_us(WAIT_US);
		lock_acquire(&sd->lock);
	}
}

void visit_wait(struct slabdev *sd)
{
	u32 side;

	lock_acquire(&sd->lock);
	for (;;) {
		side = sd->visit_side;
		if (!sd->visitors[!side])
			break;
		wait_locked(sd, !side);
	}
	sd->visit_side = !side;
	wait_locked(sd, side);
	lock_release(&sd->lock);
}
