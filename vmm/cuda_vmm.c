// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_vmm.c - memory that is mapped piece by piece under reserved addresses.
 *
 * The operations are the driver's, one to one: struct vmm keeps the rules
 * between them. What is decided here is how memory is created: for which
 * device, how it can be shared, whether network cards reach it, and which other
 * devices do.
 *
 * What a driver grants of that is not known before it is tried. Fabric handles
 * need a service that runs on the machine; on some systems the attribute
 * promises RDMA and set_access then fails. So where anything was asked for, one
 * chunk is created, mapped and made accessible when the space is opened, and
 * if that fails, again with less: "auto" handles become file descriptors, or
 * none, and RDMA is left out, which the opener tells.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/overflow.h"
#include "vmm/cuda_dev.h"

#define SET_ACCESS_TRIES 20000
#define SET_ACCESS_PAUSE_NS 100000

/* ---- Operations ------------------------------------------------------- */

static int map_granularity(void *dev, u64 *bytes)
{
	const struct cuda_dev *d = dev;

	*bytes = d->granularity;
	return 0;
}

static int map_reserve(void *dev, u64 size, u64 align, u64 *addr)
{
	struct cuda_dev *d = dev;
	CUdeviceptr ptr = 0;
	int err;

	err = CUDA_SCOPED(d, CUDA_CALL(d, cuMemAddressReserve, &ptr, size,
				       align, 0, 0));
	if (!err)
		*addr = ptr;
	return err;
}

static int map_create(void *dev, u64 size, u64 *handle)
{
	struct cuda_dev *d = dev;
	CUmemGenericAllocationHandle made = 0;
	int err;

	err = CUDA_SCOPED(d, CUDA_CALL(d, cuMemCreate, &made, size, &d->prop,
				       0));
	if (!err)
		*handle = made;
	return err;
}

static int map_map(void *dev, u64 addr, u64 size, u64 handle)
{
	struct cuda_dev *d = dev;

	return CUDA_SCOPED(d, CUDA_CALL(d, cuMemMap, addr, size, 0, handle, 0));
}

/*
 * Under WSL the driver says that it is not ready while the device works. There
 * is nothing to wait for but time: some seconds in all, in short pauses, since
 * the device may be at rest for a moment only.
 */
static CUresult set_access_patiently(struct cuda_dev *d, u64 addr, u64 size)
{
	const struct timespec pause = { .tv_nsec = SET_ACCESS_PAUSE_NS };
	CUresult result;

	for (u32 i = 1;; i++) {
		result = d->drv->cuMemSetAccess(addr, size, d->access,
						d->nr_access);
		if (result != CUDA_ERROR_NOT_READY || i == SET_ACCESS_TRIES)
			return result;
		(void)nanosleep(&pause, NULL);
	}
}

static int map_set_access(void *dev, u64 addr, u64 size)
{
	struct cuda_dev *d = dev;

	return CUDA_SCOPED(d,
			   cuda_check(d, "cuMemSetAccess",
				      set_access_patiently(d, addr, size)));
}

static int map_unmap(void *dev, u64 addr, u64 size)
{
	struct cuda_dev *d = dev;

	return CUDA_SCOPED_FREE(d, CUDA_FREE(d, cuMemUnmap, addr, size));
}

static int map_release(void *dev, u64 handle, u64 size)
{
	struct cuda_dev *d = dev;

	(void)size;
	return CUDA_SCOPED_FREE(d, CUDA_FREE(d, cuMemRelease, handle));
}

static int map_unreserve(void *dev, u64 addr, u64 size)
{
	struct cuda_dev *d = dev;

	return CUDA_SCOPED_FREE(d, CUDA_FREE(d, cuMemAddressFree, addr, size));
}

static void map_describe(void *dev, char *buf, size_t len)
{
	const struct cuda_dev *d = dev;
	const char *handles = "";

	if (d->prop.requestedHandleTypes == CU_MEM_HANDLE_TYPE_FABRIC)
		handles = ", fabric handles";
	else if (d->prop.requestedHandleTypes)
		handles = ", fd handles";
	snprintf(buf, len, "CUDA VMM%s%s", handles,
		 d->prop.allocFlags.gpuDirectRDMACapable ? ", RDMA" : "");
	if (d->nr_access > 1)
		snprintf(buf + strlen(buf), len - strlen(buf), ", %u peers",
			 d->nr_access - 1);
}

static void say_peers(const struct cuda_dev *d, char *buf, size_t len)
{
	size_t n = (size_t)snprintf(buf, len, "\n  peers: %s",
				    d->nr_access > 1 ? "devices" :
						       "none (attr.peers)");

	for (u32 i = 1; i < d->nr_access && n < len; i++)
		n += (size_t)snprintf(buf + n, len - n, "%s %d",
				      i > 1 ? "," : "",
				      (int)d->access[i].location.id);
}

static void map_describe_ways(void *dev, u64 addr, char *buf, size_t len)
{
	const struct cuda_dev *d = dev;
	const char *rdma = "no, the space was opened without SLABDEV_OPEN_RDMA";
	size_t n;

	(void)addr;
	if (d->prop.allocFlags.gpuDirectRDMACapable)
		rdma = "yes, the driver has created it for that";
	else if (d->rdma_asked)
		rdma = "no, it was asked for, and the driver has refused";
	n = (size_t)snprintf(buf, len, "\n  CUDA IPC: no, mapped memory has no "
			     "legacy handle; export it\n  RDMA: %s", rdma);
	if (n < len)
		say_peers(d, buf + n, len - n);
}

const struct vmm_ops vmm_cuda_ops = {
	.name = "cuda",
	.explains = true,
	.dear_handles = true,
	.granularity = map_granularity,
	.reserve = map_reserve,
	.unreserve = map_unreserve,
	.create = map_create,
	.release = map_release,
	.map = map_map,
	.set_access = map_set_access,
	.unmap = map_unmap,
	.meminfo = cuda_meminfo,
	.describe = map_describe,
	.describe_ways = map_describe_ways,
	.share_type = cuda_share_type,
	.share = cuda_share,
	.import = cuda_import,
	.check = cuda_check_ranges,
	CUDA_SHARED_OPS,
};

/* ---- Opening ---------------------------------------------------------- */

static void add_access(struct cuda_dev *d, CUdevice device)
{
	d->access[d->nr_access++] = (CUmemAccessDesc){
		.location = {
			.type = CU_MEM_LOCATION_TYPE_DEVICE,
			.id = device,
		},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
}

static int add_peer(struct cuda_dev *d, int ordinal)
{
	CUdevice peer = 0;
	int can = 0;
	int err;

	err = CUDA_CALL(d, cuDeviceGet, &peer, ordinal);
	if (err)
		return error_set(-ENODEV, "attr.peers: there is no CUDA device "
				 "%d", ordinal);
	if (peer == d->device)
		return error_set(-EINVAL, "attr.peers: device %d is the "
				 "space's own", ordinal);
	if (d->drv->cuDeviceCanAccessPeer)
		err = CUDA_CALL(d, cuDeviceCanAccessPeer, &can, peer,
				d->device);
	if (err)
		return err;
	if (!can)
		return error_set(-ENOTSUP, "attr.peers: device %d cannot "
				 "access memory of device %d", ordinal,
				 (int)d->device);
	add_access(d, peer);
	return 0;
}

static int add_peers(struct cuda_dev *d, const struct slabdev_attr *attr)
{
	int err = 0;

	if (attr->nr_peers > CUDA_MAX_PEERS)
		return error_set(-EINVAL, "attr.nr_peers %u is more than %d",
				 attr->nr_peers, CUDA_MAX_PEERS);
	add_access(d, d->device);
	for (u32 i = 0; !err && i < attr->nr_peers; i++)
		err = add_peer(d, attr->peers[i]);
	return err;
}

static int query_granularity(struct cuda_dev *d)
{
	size_t least = 0, best = 0;
	int err;

	err = CUDA_CALL(d, cuMemGetAllocationGranularity, &best, &d->prop,
			CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
	if (!err)
		err = CUDA_CALL(d, cuMemGetAllocationGranularity, &least,
				&d->prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	d->granularity = max(least, best);
	return err;
}

/* One chunk, as all later ones will be. The addresses are the caller's. */
static int try_chunk_at(struct cuda_dev *d, CUdeviceptr ptr, u64 size)
{
	CUmemGenericAllocationHandle handle = 0;
	int err, undo_err;

	err = CUDA_CALL(d, cuMemCreate, &handle, size, &d->prop, 0);
	if (err)
		return err;
	err = CUDA_CALL(d, cuMemMap, ptr, size, 0, handle, 0);
	if (err)
		goto release;
	err = cuda_check(d, "cuMemSetAccess",
			 set_access_patiently(d, ptr, size));
	undo_err = CUDA_FREE_AT_LAST(d, cuMemUnmap, ptr, size);
	if (!err)
		err = undo_err;
release:
	undo_err = CUDA_FREE_AT_LAST(d, cuMemRelease, handle);
	return err ? err : undo_err;
}

static int try_chunk(struct cuda_dev *d)
{
	CUdeviceptr ptr = 0;
	int err, undo_err;

	err = query_granularity(d);
	if (!err)
		err = CUDA_CALL(d, cuMemAddressReserve, &ptr, d->granularity,
				0, 0, 0);
	if (err)
		return err;
	err = try_chunk_at(d, ptr, d->granularity);
	undo_err = CUDA_FREE_AT_LAST(d, cuMemAddressFree, ptr, d->granularity);
	return err ? err : undo_err;
}

/* The kinds of handle to try, best first. */
static u32 handle_types(const struct cuda_dev *d, u32 wanted,
			CUmemAllocationHandleType types[2])
{
	bool fabric = cuda_attribute(d->drv, d->device,
	CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED);
	bool fd = cuda_attribute(d->drv, d->device,
	CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
	u32 n = 0;

	if (fabric && (wanted == SLABDEV_HANDLE_FABRIC ||
		       wanted == SLABDEV_HANDLE_AUTO))
		types[n++] = CU_MEM_HANDLE_TYPE_FABRIC;
	if (fd && (wanted == SLABDEV_HANDLE_FD ||
		   wanted == SLABDEV_HANDLE_AUTO))
		types[n++] = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	return n;
}

static int choose_handle_type(struct cuda_dev *d, u32 wanted)
{
	CUmemAllocationHandleType types[2];
	u32 n = handle_types(d, wanted, types);
	int err = -ENOTSUP;

	for (u32 i = 0; i < n && err; i++) {
		d->prop.requestedHandleTypes = types[i];
		err = try_chunk(d);
		if (err == -ENOMEM || cuda_health(d))
			return err;
	}
	if (err && wanted == SLABDEV_HANDLE_AUTO) {
		d->prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
		return 0;
	}
	if (err)
		return error_set(-ENOTSUP, "attr.handle_type: the device has "
				 "no memory that can be shared in this way%s",
				 n ? ", though it says so" : "");
	return 0;
}

static int try_rdma(struct cuda_dev *d)
{
	int err = -ENOTSUP;

	if (cuda_attribute(d->drv, d->device,
		CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED)) {
		d->prop.allocFlags.gpuDirectRDMACapable = 1;
		err = try_chunk(d);
	}
	if (!err || err == -ENOMEM || cuda_health(d))
		return err;
	d->prop.allocFlags.gpuDirectRDMACapable = 0;
	return 0;
}

int cuda_vmm_init(struct cuda_dev *d, const struct slabdev_attr *attr)
{
	int err;

	d->prop = (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {
			.type = CU_MEM_LOCATION_TYPE_DEVICE,
			.id = d->device,
		},
	};
	err = add_peers(d, attr);
	if (!err && attr->handle_type)
		err = choose_handle_type(d, attr->handle_type);
	d->rdma_asked = attr->flags & SLABDEV_OPEN_RDMA;
	if (!err && d->rdma_asked)
		err = try_rdma(d);
	return err ? err : query_granularity(d);
}
