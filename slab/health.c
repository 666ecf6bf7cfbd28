// SPDX-License-Identifier: BSD-2-Clause
/* health.c - see health.h. */
#include <errno.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/arena.h"
#include "slab/guard.h"
#include "slab/health.h"
#include "slab/steal.h"

/* ---- Is it alive? ----------------------------------------------------- */

static int explain_orphan(const struct slabdev *sd, const char *call)
{
	return error_set(-EOWNERDEAD, "%s: space %s did not survive the fork: "
			 "%s", call, sd->name, vmm_survives_fork(&sd->vmm) ?
			 "open a new one in this process" :
			 "its memory is the parent's; open devices after the "
			 "fork, or start this process with exec");
}

int space_check(const struct slabdev *sd, const char *call)
{
	int err;

	if (!sd)
		return error_set(-EINVAL, "%s: the space is NULL", call);
	if (likely(!READ_ONCE(sd->dead)))
		return 0;
	if (sd->orphaned)
		return explain_orphan(sd, call);
	err = vmm_health(&sd->vmm);
	return error_set(err, "%s: space %s: %s", call, sd->name, error_get());
}

/* ---- Death ------------------------------------------------------------ */

void space_orphan(struct slabdev *sd)
{
	WRITE_ONCE(sd->high_slots, 0);
	WRITE_ONCE(sd->free_slots, 0);
	sd->orphaned = true;
	WRITE_ONCE(sd->dead, true);
	arenas_stop(sd);
}

static bool die(struct slabdev *sd)
{
	bool first;

	lock_acquire(&sd->lock);
	first = !sd->dead;
	WRITE_ONCE(sd->dead, true);
	WRITE_ONCE(sd->bypass, true);
	/* Against a thread that is growing the tables just now. */
	lock_acquire(&sd->pool.lock);
	WRITE_ONCE(sd->high_slots, 0);
	WRITE_ONCE(sd->free_slots, 0);
	lock_release(&sd->pool.lock);
	lock_release(&sd->lock);
	return first;
}

static void report_death(const struct slabdev *sd)
{
	struct report r;

	report_start(&r, REPORT_DEAD, sd->name, "%s", error_get());
	report_line(&r, "%llu KiB were mapped; every call on the space fails "
		    "from now on", (unsigned long long)
		    READ_ONCE(sd->vmm.cnt->created) / KIB);
	report_end(&r);
}

int space_failed(struct slabdev *sd, int err)
{
	char text[ERROR_TEXT_MAX];

	if (likely(err != -EIO && err != -EOWNERDEAD))
		return err;
	error_save(text);
	if (vmm_health(&sd->vmm) && die(sd)) {
		arenas_stop(sd);
		report_death(sd);
		guard_report_suspects(sd);
		/* Pairs with put_sheaves(): whoever has not seen the change
		 * has put its sheaves where they are found now. */
		if (sd->use_sheaves)
			os_membarrier();
		take_back(sd, NULL);
	}
	error_restore(text);
	return err;
}
