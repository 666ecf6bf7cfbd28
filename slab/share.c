// SPDX-License-Identifier: BSD-2-Clause
/*
 * share.c - exporting objects, and importing those of other processes.
 *
 * An export is a count in the note of the object (note.h): as long as it is not
 * 0 no free takes the object, so that its slab is not empty, its handle is in
 * use, and its mapping stays, whatever trim, the policy or a lack of memory
 * want. The other process's reference to the handle is the driver's business,
 * or the kernel's.
 *
 * An import has a device of its own, opened for it, and no space: what is
 * mapped is not ours to hand out. It lies in pages of its own; the caller
 * serialises.
 *
 * What is to be imported came from somebody else. Here the numbers are checked
 * against each other; whether the descriptor is what it claims is checked by
 * the backend, which knows what could hurt.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "core/overflow.h"
#include "core/param.h"
#include "core/usercopy.h"
#include "slab/alloc.h"
#include "slab/note.h"
#include "slab/share.h"

struct slabdev_import {
	struct vmm_import map;
	u64 offset, size;	/* of the object */
	size_t bytes;		/* of this structure */
	pid_t pid;
	bool is_host;
};

/* ---- Exports ------------------------------------------------------------ */

/* The object becomes one that is exported, or is none any more. */
static void book_locked(struct slabdev *sd, const struct place *at, bool is)
{
	WRITE_ONCE(sd->rec->nr_exported, sd->rec->nr_exported + (is ? 1 : -1u));
	WRITE_ONCE(sd->rec->exported_bytes, sd->rec->exported_bytes +
		   (is ? at->usable : -at->usable));
}

static int count_export(struct slabdev *sd, const struct place *at)
{
	struct note *n;

	lock_acquire(&sd->notes.lock);
	n = note_get_locked(sd, at->object);
	if (n && !n->exports++)
		book_locked(sd, at, true);
	lock_release(&sd->notes.lock);
	return n ? 0 : error_set(-ENOMEM, "slabdev_export: %s: no host memory "
				 "for a note on an object", sd->name);
}

static int uncount_export(struct slabdev *sd, const struct place *at)
{
	int err = -EINVAL;
	struct note *n;

	lock_acquire(&sd->notes.lock);
	n = note_find_locked(sd, at->object);
	if (n && n->exports) {
		if (!--n->exports)
			book_locked(sd, at, false);
		note_put_locked(sd, n);
		err = 0;
	}
	lock_release(&sd->notes.lock);
	return err;
}

static int find_object(struct slabdev *sd, const void *p, const char *call,
		       struct place *at)
{
	int err = space_check(sd, call);

	if (err)
		return err;
	return lookup_live(sd, p, at) ? 0 :
	       error_set(-EINVAL, "%s: no live object of %s begins at %p", call,
			 sd->name, p);
}

int share_check_out(const struct slabdev_share *share, const char *call)
{
	if (!share)
		return error_set(-EINVAL, "%s: share is NULL", call);
	if (share->size < sizeof(*share) || share->size > SHARE_SIZE_MAX)
		return error_set(-EINVAL, "%s: share.size is %zu: initialise "
				 "the structure with SLABDEV_SHARE_INIT", call,
				 share->size);
	return 0;
}

void share_copy_out(struct slabdev_share *to, const struct slabdev_share *from)
{
	size_t size = to->size;

	memset(to, 0, size);
	*to = *from;
	to->size = size;
}

int slabdev_export(struct slabdev *sd, void *p, struct slabdev_share *share)
{
	struct slabdev_share made = SLABDEV_SHARE_INIT;
	struct place at;
	int err;

	err = share_check_out(share, "slabdev_export");
	if (!err)
		err = find_object(sd, p, "slabdev_export", &at);
	if (!err)
		err = count_export(sd, &at);
	if (err)
		return err;
	err = vmm_share(&sd->vmm, at.object, at.size, &made);
	if (err) {
		(void)uncount_export(sd, &at);
		return space_failed(sd, err);
	}
	share_copy_out(share, &made);
	return 0;
}

int slabdev_export_end(struct slabdev *sd, void *p, struct slabdev_share *share)
{
	struct place at;
	int err;

	err = share ? share_check_out(share, "slabdev_export_end") : 0;
	if (!err)
		err = find_object(sd, p, "slabdev_export_end", &at);
	if (!err && uncount_export(sd, &at))
		err = error_set(-EINVAL, "slabdev_export_end: the object at %p "
				"in %s is not exported", p, sd->name);
	if (err)
		return err;
	if (share && share->fd >= 0) {
		(void)os_close(share->fd);
		share->fd = -1;
	}
	return 0;
}

/* ---- Imports ------------------------------------------------------------ */

/* No text without an end, and nothing that a name of a device has not. */
static bool is_uuid(const char uuid[48])
{
	static const char allowed[] = "0123456789abcdefABCDEFGIMPU-";

	return memchr(uuid, '\0', 48) && strspn(uuid, allowed) == strlen(uuid);
}

static const char *what_is_wrong(const struct slabdev_share *share)
{
	u64 end;

	if (share->kind != SLABDEV_SHARE_HOST &&
	    share->kind != SLABDEV_SHARE_CUDA)
		return "kind is none of the enum slabdev_share_kind";
	if (share->type != SLABDEV_HANDLE_FD &&
	    (share->type != SLABDEV_HANDLE_FABRIC ||
	     share->kind != SLABDEV_SHARE_CUDA))
		return "type is none that memory of that kind has";
	if ((share->type == SLABDEV_HANDLE_FD) != (share->fd >= 0))
		return "fd does not go with the type";
	if (share->reserved)
		return "reserved is not 0";
	if (!share->handle_bytes || share->handle_bytes > VMM_MAX_OFFSET)
		return "handle_bytes is not plausible";
	if (!share->bytes || add_overflows(share->offset, share->bytes, &end) ||
	    end > share->handle_bytes)
		return "the object is not within the handle";
	return is_uuid(share->uuid) ? NULL : "uuid is no name of a device";
}

int share_check_in(struct slabdev_share *to, const struct slabdev_share *from,
		   const char *call)
{
	const char *wrong;
	int err;

	if (!from)
		return error_set(-EINVAL, "%s: share is NULL", call);
	err = copy_struct_from_user(to, sizeof(*to), from, "share");
	if (err)
		return err;
	wrong = what_is_wrong(to);
	return wrong ? error_set(-EINVAL, "%s: share: %s", call, wrong) : 0;
}

/* A device that can use the memory, for this import alone. */
static int open_device(struct slabdev_import *im, const char *spec,
		       const struct slabdev_share *share)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	char of_share[64] = "host";
	const struct params *p;
	int err = params_get(&p);

	if (err)
		return err;
	im->is_host = share->kind == SLABDEV_SHARE_HOST;
	if (im->is_host) {
		attr.handle_type = SLABDEV_HANDLE_FD;
	} else {
		attr.backing = SLABDEV_BACKING_VMM;
		snprintf(of_share, sizeof(of_share), "cuda:%s", share->uuid);
	}
	if (!spec)
		spec = of_share;
	if (im->is_host != !strcmp(spec, "host"))
		return error_set(-EINVAL, "slabdev_import: '%.64s' cannot use "
				 "the memory of %s", spec,
				 im->is_host ? "the host" : "a device");
	return vmm_backend_find(spec, &attr, &im->map.ops, &im->map.dev);
}

static int open_import(struct slabdev_import *im, const char *spec,
		       const struct slabdev_share *share)
{
	const struct vmm_ops *ops;
	void *dev;
	int err = open_device(im, spec, share);

	if (err)
		return err;
	ops = im->map.ops;
	dev = im->map.dev;
	err = vmm_import_open(&im->map, ops, dev, share);
	if (err)
		vmm_backend_put(ops, dev);
	return err;
}

int slabdev_import(struct slabdev_import **import, const char *spec,
		   const struct slabdev_share *user_share)
{
	size_t bytes = align_up(sizeof(struct slabdev_import), os_page_size());
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct slabdev_import *im;
	void *page = NULL;
	int err;

	if (!import)
		return error_set(-EINVAL, "slabdev_import: import is NULL");
	err = share_check_in(&share, user_share, "slabdev_import");
	if (err)
		return err;
	if (os_reserve(bytes, &page))
		return error_set(-ENOMEM, "no host memory for an import");
	err = os_commit(page, bytes);
	if (err) {
		error_set(err, "no host memory for an import");
		goto unreserve;
	}
	im = page;
	im->offset = share.offset;
	im->size = share.bytes;
	im->bytes = bytes;
	im->pid = getpid();
	err = open_import(im, spec, &share);
	if (err)
		goto unreserve;
	*import = im;
	return 0;

unreserve:
	(void)os_unreserve(page, bytes);
	return err;
}

void *slabdev_import_ptr(const struct slabdev_import *im)
{
	return im ? to_ptr(im->map.addr + im->offset) : NULL;
}

size_t slabdev_import_size(const struct slabdev_import *im)
{
	return im ? im->size : 0;
}

int slabdev_import_close(struct slabdev_import *im)
{
	int err = 0;

	if (!im)
		return 0;
	/* In the child of a fork a driver is not to be called. */
	if (im->is_host || im->pid == getpid()) {
		err = vmm_import_close(&im->map);
		if (err)
			return err;
		vmm_backend_put(im->map.ops, im->map.dev);
	}
	(void)os_unreserve(im, im->bytes);
	return 0;
}
