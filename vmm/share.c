// SPDX-License-Identifier: BSD-2-Clause
/*
 * share.c - handles that leave the process, and those of others.
 *
 * Giving one away costs the vmm nothing: what is shared is in use, so that it
 * stays where it is, and the other process's reference keeps the memory alive
 * whatever becomes of ours.
 *
 * An import belongs to no vmm. It is one handle at addresses of its own, made
 * and unmade by the operations of a backend, in the order that ops.h rules. It
 * counts what was done, so that undoing can stop where the backend refuses, and
 * go on later: nothing is lost.
 */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "core/overflow.h"
#include "core/thread.h"
#include "vmm/internal.h"

/* ---- Ours, for others -------------------------------------------------- */

u32 vmm_share_type(const struct vmm *v)
{
	return v->ops->share_type ? v->ops->share_type(v->dev) :
				    SLABDEV_HANDLE_NONE;
}

/* The handle in use that has all of it; false: several have. */
static bool find_handle(struct vmm *v, u64 offset, u64 bytes, u64 *id,
			u64 *begin, u64 *handle_bytes)
{
	u32 chunk = (u32)(offset >> v->chunk_shift);
	const struct vmm_handle *h = NULL;
	bool whole = false;

	lock_acquire(&v->lock);
	if (vmm_reservation_of(v, chunk))
		h = *vmm_chunk(v, chunk);
	if (h && h->state == VMM_ACCESSIBLE) {
		*id = h->id;
		*begin = vmm_chunk_offset(v, h->first);
		*handle_bytes = vmm_bytes(v, h->nr);
		whole = offset - *begin + bytes <= *handle_bytes;
	}
	lock_release(&v->lock);
	return whole;
}

bool vmm_in_one_handle(struct vmm *v, u64 offset, u64 bytes)
{
	u64 id, begin, handle_bytes;

	return find_handle(v, offset, bytes, &id, &begin, &handle_bytes);
}

void vmm_describe_ways(struct vmm *v, u64 offset, char *buf, size_t len)
{
	const struct vmm_reservation *res;
	u64 begin = 0;

	if (!v->ops->describe_ways)
		return;
	lock_acquire(&v->lock);
	res = vmm_reservation_of(v, (u32)(offset >> v->chunk_shift));
	if (res)
		begin = res->raw_addr;
	lock_release(&v->lock);
	v->ops->describe_ways(v->dev, begin, buf, len);
}

int vmm_share(struct vmm *v, u64 offset, u64 bytes, struct slabdev_share *share)
{
	u64 id, begin, handle_bytes;
	char buf[64];
	int err;

	if (vmm_share_type(v) == SLABDEV_HANDLE_NONE)
		return error_set(-ENOTSUP, "%s: memory of this space cannot be "
				 "shared: open 'host', or 'cuda:N' with VMM, "
				 "with attr.handle_type", v->name);
	if (!find_handle(v, offset, bytes, &id, &begin, &handle_bytes))
		return error_set(-EXDEV, "%s: the object lies in more than one "
				 "physical handle", v->name);
	err = v->ops->share(v->dev, id, share);
	if (err)
		return v->ops->explains ? err :
		       error_set(err, "%s: exporting a handle: %s", v->name,
				 strerror_r(-err, buf, sizeof(buf)));
	share->offset = offset - begin;
	share->bytes = bytes;
	share->handle_bytes = handle_bytes;
	return 0;
}

/* ---- Others', for us --------------------------------------------------- */

static int reserve(struct vmm_import *m)
{
	u64 granularity;
	int err = m->ops->granularity(m->dev, &granularity);

	if (err)
		return err;
	if (!is_aligned(m->bytes, granularity))
		return error_set(-EINVAL, "share.handle_bytes is no multiple "
				 "of %llu", (unsigned long long)granularity);
	return m->ops->reserve(m->dev, m->bytes,
			       max(granularity, VMM_MIN_CHUNK), &m->addr);
}

static int import_step(struct vmm_import *m, const struct slabdev_share *share)
{
	const struct vmm_ops *ops = m->ops;

	switch (m->done) {
	case VMM_IMPORT_NOTHING:
		return reserve(m);
	case VMM_IMPORT_RESERVED:
		return ops->import(m->dev, share, &m->handle);
	case VMM_IMPORT_HANDLE:
		return ops->map(m->dev, m->addr, m->bytes, m->handle);
	case VMM_IMPORT_MAPPED:
		return ops->set_access(m->dev, m->addr, m->bytes);
	case VMM_IMPORT_ACCESSIBLE:
		break;
	}
	return 0;
}

static int undo_step(struct vmm_import *m)
{
	const struct vmm_ops *ops = m->ops;

	switch (m->done) {
	case VMM_IMPORT_ACCESSIBLE:
	case VMM_IMPORT_MAPPED:
		return ops->unmap(m->dev, m->addr, m->bytes);
	case VMM_IMPORT_HANDLE:
		return ops->release(m->dev, m->handle, m->bytes);
	case VMM_IMPORT_RESERVED:
		return ops->unreserve(m->dev, m->addr, m->bytes);
	case VMM_IMPORT_NOTHING:
		break;
	}
	return 0;
}

static int undo(struct vmm_import *m)
{
	int err;

	while (m->done != VMM_IMPORT_NOTHING) {
		err = undo_step(m);
		if (err)
			return err;
		m->done = m->done == VMM_IMPORT_ACCESSIBLE ?
			  VMM_IMPORT_HANDLE : m->done - 1;
	}
	return 0;
}

/* What fails once may not fail again, and there is no later. */
static void undo_at_last(struct vmm_import *m)
{
	char text[ERROR_TEXT_MAX];
	bool lost;

	error_save(text);
	lost = undo(m);
	if (lost)
		lost = undo(m);
	if (lost)
		pr_warn("an import of %llu KiB failed, and the backend did not "
			"take all of it back: it is lost",
			(unsigned long long)m->bytes / KIB);
	error_restore(text);
}

int vmm_import_open(struct vmm_import *m, const struct vmm_ops *ops, void *dev,
		    const struct slabdev_share *share)
{
	char buf[64];
	int err;

	*m = (struct vmm_import){ .ops = ops, .dev = dev,
				  .bytes = share->handle_bytes };
	if (!ops->import)
		return error_set(-ENOTSUP, "memory of backend %s cannot be "
				 "imported", ops->name);
	do {
		err = import_step(m, share);
		if (!err)
			m->done++;
	} while (!err && m->done != VMM_IMPORT_ACCESSIBLE);
	if (!err)
		return 0;
	if (!ops->explains)
		error_set(err, "import by backend %s: %s", ops->name,
			  strerror_r(-err, buf, sizeof(buf)));
	undo_at_last(m);
	return err;
}

int vmm_import_close(struct vmm_import *m)
{
	const struct vmm_ops *ops = m->ops;
	int err = ops->quiesce ? ops->quiesce(m->dev) : 0;

	if (err == -EAGAIN)
		return error_set(-EBUSY, "a stream is being captured: it "
				 "cannot be told whether the device is done "
				 "with an import");
	/* Of a device that is gone nothing is in use. */
	if (err && !(ops->health && ops->health(m->dev)))
		return err;
	return undo(m) ? -EIO : 0;
}
