// SPDX-License-Identifier: BSD-2-Clause
/*
 * incident.c - telling what went wrong, once no lock is held.
 *
 * A failure is noticed under the lock, where nothing may be printed (the sink
 * is the user's, and may call the library). The steps of a call therefore only
 * note what they saw in vmm->incident; vmm_leave() takes the note with it out
 * of the lock and turns it into a report of lost memory and an error text.
 * The last failing step is the one that failed the call; for lost memory the
 * first is kept, being the cause of those that follow.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/os.h"
#include "vmm/internal.h"

#define LIMIT_TEXT_MAX 128

/* What the backend said of the operation that just failed. */
static void note_detail(const struct vmm *v, char *detail, size_t len)
{
	snprintf(detail, len, "%s", v->ops->explains ? error_get() : "");
}

void vmm_incident_op(struct vmm *v, enum vmm_op op, u64 size)
{
	note_detail(v, v->incident.detail, sizeof(v->incident.detail));
	v->incident.op = op;
	v->incident.size = size;
	v->incident.what = NULL;
}

void vmm_incident_lack(struct vmm *v, const char *what)
{
	v->incident.op = VMM_NR_OPS;
	v->incident.what = what;
}

void vmm_incident_lost(struct vmm *v, const struct vmm_handle *h,
		       enum vmm_op op, int err)
{
	struct vmm_incident *in = &v->incident;

	if (!in->nr_lost++) {
		in->lost_op = op;
		in->lost_err = err;
		note_detail(v, in->lost_detail, sizeof(in->lost_detail));
		in->lost_addr = h->first == VMM_NO_CHUNK ?
				0 : vmm_chunk_addr(v, h->first);
	}
	in->lost_bytes += vmm_bytes(v, h->nr);
}

void vmm_enter(struct vmm *v)
{
	lock_acquire(&v->lock);
	v->incident = (struct vmm_incident){ .op = VMM_NR_OPS };
}

/*
 * Which limit refused @size bytes, with a separator in front, or "". Memory
 * that a child of fork() gets a copy of is under the limits of the process;
 * so are the library's own tables, whatever the backend. A backend asks the
 * system for a little more than it was asked for.
 */
static const char *limit_text(const struct vmm *v, const char *lack, u64 size,
			      int err, char *text)
{
	static const char separator[] = "; ";
	const size_t skip = sizeof(separator) - 1;

	*text = '\0';
	if (err != -ENOMEM || !(lack || v->ops->survives_fork))
		return text;
	os_memory_limit(size + 2 * v->chunk_size, text + skip,
			LIMIT_TEXT_MAX - skip);
	if (text[skip])
		memcpy(text, separator, skip);
	return text;
}

static void report_lost(const struct vmm *v, const struct vmm_incident *in)
{
	char buf[64], limit[LIMIT_TEXT_MAX];
	struct report r;

	report_start(&r, REPORT_LOST, v->name, "%" PRIu64 " KiB are lost: %s",
		     in->lost_bytes / KIB,
		     "the backend did not take them back");
	report_line(&r, "%s: %s (error %d) on the first of %" PRIu32
		    " handles%s", vmm_op_name(in->lost_op),
		    strerror_r(-in->lost_err, buf, sizeof(buf)),
		    in->lost_err, in->nr_lost,
		    limit_text(v, NULL, v->chunk_size, in->lost_err, limit));
	if (*in->lost_detail)
		report_line(&r, "%s", in->lost_detail);
	if (in->lost_addr)
		report_line(&r, "still mapped at 0x%" PRIx64
			    ", an address that is not used again",
			    in->lost_addr);
	if (!in->closing)
		report_line(&r, "they count against the limit; slabdev_trim() "
			    "and slabdev_close() try again");
	report_end(&r);
}

static void explain(const struct vmm *v, const struct vmm_incident *in,
		    int err)
{
	u64 size = in->what ? v->chunk_size : in->size;
	char buf[64], limit[LIMIT_TEXT_MAX];

	limit_text(v, in->what, size, err, limit);
	if (err == -EDQUOT)
		error_set(err, "%s: limit %" PRIu64 " KiB, in use %" PRIu64
			  " KiB, asked for %" PRIu64 " KiB more", v->name,
			  vmm_bytes(v, v->limit_chunks) / KIB,
			  in->in_use / KIB, in->size / KIB);
	else if (in->what)
		error_set(err, "%s: %s%s", v->name, in->what, limit);
	else if (in->op < VMM_NR_OPS)
		error_set(err, "%s: %s of %" PRIu64 " KiB by backend %s: %s%s"
			  "%s%s", v->name, vmm_op_name(in->op), in->size / KIB,
			  v->ops->name, strerror_r(-err, buf, sizeof(buf)),
			  limit, *in->detail ? ": " : "", in->detail);
	else
		error_set(err, "%s: memory could not be given back and is "
			  "lost%s%s", v->name, *in->lost_detail ? ": " : "",
			  in->lost_detail);
}

int vmm_leave(struct vmm *v, int err)
{
	struct vmm_incident in = v->incident;

	lock_release(&v->lock);
	/* Of a device that is gone no more is to be said. */
	if (in.nr_lost && !vmm_health(v))
		report_lost(v, &in);
	if (err)
		explain(v, &in, err);
	return err;
}
