// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_open.c - from the name of a kind of CUDA memory to its backend.
 *
 * "cuda:N" takes the backing that was asked for. Where none was, the first that
 * the device has, in the order VMM, pool, cuMemAlloc; that it is not the first
 * is said in the log, since such a space cannot do all that the header says.
 */
#include <errno.h>
#include <string.h>

#include "core/os.h"
#include "core/overflow.h"
#include "core/param.h"
#include "vmm/backends.h"
#include "vmm/cuda_dev.h"

/* ---- Backings --------------------------------------------------------- */

/* What the caller wants, or the environment. */
static u32 wanted_backing(const struct slabdev_attr *attr)
{
	const struct params *p;

	return attr->backing || params_get(&p) ? attr->backing : p->backing;
}

static int choose_backing(const struct cuda_dev *d, u32 wanted)
{
	static const char *const names[] = {
		[SLABDEV_BACKING_VMM] = "virtual memory management",
		[SLABDEV_BACKING_POOL] = "stream-ordered pools",
		[SLABDEV_BACKING_MALLOC] = "cuMemAlloc",
	};
	const bool has[] = {
		[SLABDEV_BACKING_VMM] = cuda_has_vmm(d->drv, d->device),
		[SLABDEV_BACKING_POOL] = cuda_has_pools(d->drv, d->device),
		[SLABDEV_BACKING_MALLOC] = true,
	};
	int backing = SLABDEV_BACKING_VMM;

	if (wanted)
		return has[wanted] ? (int)wanted :
		       error_set(-ENOTSUP, "CUDA device %d has no %s",
				 (int)d->device, names[wanted]);
	while (!has[backing])
		backing++;
	if (backing != SLABDEV_BACKING_VMM)
		pr_warn("CUDA device %d has no virtual memory management: "
			"memory comes from %s, region by region",
			(int)d->device, names[backing]);
	return backing;
}

/* The first that the device has may be another one elsewhere. */
static int check_same_layout(const struct slabdev_attr *attr)
{
	if (!(attr->flags & SLABDEV_OPEN_SAME_LAYOUT) || attr->backing)
		return 0;
	return error_set(-EINVAL, "SLABDEV_OPEN_SAME_LAYOUT: attr.backing must "
			 "not be SLABDEV_BACKING_AUTO: name one");
}

static int check_regions_attr(const struct slabdev_attr *attr)
{
	const char *what = NULL;

	if (attr->nr_peers)
		what = "attr.peers";
	else if (attr->handle_type && attr->handle_type != SLABDEV_HANDLE_AUTO)
		what = "attr.handle_type";
	return what ? error_set(-ENOTSUP, "%s: only memory of a device with "
				"virtual memory management has that (backing "
				"vmm)", what) : 0;
}

static int init_device(struct cuda_dev *d, const struct slabdev_attr *attr,
		       int backing, const struct vmm_ops **ops)
{
	int err;

	if (backing == SLABDEV_BACKING_VMM) {
		*ops = &vmm_cuda_ops;
		return cuda_vmm_init(d, attr);
	}
	err = check_regions_attr(attr);
	if (err)
		return err;
	if (backing == SLABDEV_BACKING_MALLOC) {
		*ops = &vmm_cuda_malloc_ops;
		return 0;
	}
	*ops = &vmm_cuda_pool_ops;
	return cuda_pool_init(d, attr->pool_threshold);
}

static int init_shared(struct cuda_dev *d, const struct slabdev_attr *attr,
		       const struct vmm_ops **ops)
{
	bool can;

	if (attr->backing > SLABDEV_BACKING_AUTO)
		return error_set(-ENOTSUP, "attr.backing is for 'cuda:' only");
	if (d->kind == CUDA_PINNED) {
		*ops = &vmm_cuda_pinned_ops;
		can = d->drv->cuMemHostAlloc && d->drv->cuMemFreeHost &&
		      cuda_attribute(d->drv, d->device,
				     CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
	} else {
		*ops = &vmm_cuda_managed_ops;
		can = d->drv->cuMemAllocManaged &&
		      cuda_attribute(d->drv, d->device,
				     CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
	}
	if (!can)
		return error_set(-ENOTSUP, "CUDA device %d has no %s",
				 (int)d->device, d->kind == CUDA_PINNED ?
				 "unified addresses for pinned memory" :
				 "managed memory");
	return check_regions_attr(attr);
}

/* ---- The device ------------------------------------------------------- */

static int retain_context(struct cuda_dev *d)
{
	int err = CUDA_CALL(d, cuDevicePrimaryCtxRetain, &d->ctx, d->device);

	if (err)
		return err;
	if (d->drv->cuCtxGetId &&
	    d->drv->cuCtxGetId(d->ctx, &d->ctx_id))
		d->ctx_id = 0;
	return 0;
}

static int check_bound(struct cuda_dev *d)
{
	int err = cuda_check_stream(d, d->bound);

	return err ? error_set(err, "attr.stream %p: %s", (void *)d->bound,
			       error_get()) : 0;
}

/* Outside of the scope: whoever receives it finds the thread as it was. */
static void tell_what_is_missing(const struct cuda_dev *d,
				 const struct slabdev_attr *attr)
{
	if (attr->handle_type == SLABDEV_HANDLE_AUTO &&
	    !d->prop.requestedHandleTypes)
		pr_warn("CUDA device %d: no memory that can be shared can be "
			"had; the space is opened without", (int)d->device);
	if ((attr->flags & SLABDEV_OPEN_RDMA) &&
	    !d->prop.allocFlags.gpuDirectRDMACapable)
		pr_warn("CUDA device %d: no memory that network cards reach "
			"(RDMA) can be had; the space is opened without",
			(int)d->device);
}

static int init(struct cuda_dev *d, const char *spec,
		const struct slabdev_attr *attr, const struct vmm_ops **ops)
{
	const char *name = vmm_parse_cuda(spec, &d->kind);
	struct cuda_scope scope;
	int err, backing = 0;

	d->bound = attr->stream ? attr->stream : CU_STREAM_LEGACY;
	err = cuda_driver_get(&d->drv);
	if (!err)
		err = cuda_find_device(d->drv, spec, name, &d->device);
	if (!err && d->kind == CUDA_DEVICE)
		err = check_same_layout(attr);
	if (!err && d->kind == CUDA_DEVICE)
		backing = choose_backing(d, wanted_backing(attr));
	if (!err)
		err = backing < 0 ? backing : retain_context(d);
	if (err)
		return err;
	err = cuda_enter(d, &scope);
	if (err)
		goto release_context;
	err = check_bound(d);
	if (!err)
		err = d->kind == CUDA_DEVICE ?
		      init_device(d, attr, backing, ops) :
		      init_shared(d, attr, ops);
	cuda_leave(d, &scope);
	if (err)
		goto release_context;
	tell_what_is_missing(d, attr);
	return 0;

release_context:
	(void)d->drv->cuDevicePrimaryCtxRelease(d->device);
	return err;
}

int vmm_cuda_get(const char *spec, const struct slabdev_attr *attr,
		 const struct vmm_ops **ops, void **dev)
{
	size_t bytes = align_up(sizeof(struct cuda_dev), os_page_size());
	const struct vmm_ops *found = NULL;
	struct cuda_dev *d;
	void *page;
	int err;

	if (attr->flags & SLABDEV_OPEN_HUGE_PAGES)
		return error_set(-ENOTSUP, "device '%.64s': huge pages are for "
				 "'host' only", spec);
	if (os_reserve(bytes, &page))
		return error_set(-ENOMEM, "no host memory for a CUDA device");
	if (os_commit(page, bytes)) {
		err = error_set(-ENOMEM, "no host memory for a CUDA device");
		goto unreserve;
	}
	d = page;
	d->bytes = bytes;
	err = init(d, spec, attr, &found);
	if (err)
		goto unreserve;
	*ops = found;
	*dev = d;
	return 0;

unreserve:
	(void)os_unreserve(page, bytes);
	return err;
}

/* What fails once may not fail again, and this is the end. */
static int enter_at_last(struct cuda_dev *d, struct cuda_scope *scope)
{
	return cuda_enter(d, scope) ? cuda_enter(d, scope) : 0;
}

void cuda_put(void *dev)
{
	struct cuda_dev *d = dev;
	struct cuda_scope scope;

	if ((d->pool || d->checker.module) && !enter_at_last(d, &scope)) {
		cuda_check_fini(d);
		if (d->pool)
			cuda_pool_fini(d);
		cuda_leave(d, &scope);
	}
	(void)d->drv->cuDevicePrimaryCtxRelease(d->device);
	(void)os_unreserve(d, d->bytes);
}
