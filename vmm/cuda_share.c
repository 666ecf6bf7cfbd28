// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_share.c - handles of device memory that go from process to process.
 *
 * A handle can be exported as what it was created for, and as nothing else
 * (cuda_vmm.c decides that when the space is opened). Each export of the driver
 * is a new descriptor that holds the memory; a fabric handle is 64 bytes that
 * hold nothing. An import is a handle of its own, which holds the memory and is
 * released by itself.
 *
 * What is not a descriptor of device memory the driver refuses. It does not say
 * how long the memory is; a mapping longer than that it refuses too.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "vmm/cuda_dev.h"

u32 cuda_share_type(void *dev)
{
	const struct cuda_dev *d = dev;

	if (!d->drv->cuMemExportToShareableHandle)
		return SLABDEV_HANDLE_NONE;
	switch (d->prop.requestedHandleTypes) {
	case CU_MEM_HANDLE_TYPE_FABRIC:
		return SLABDEV_HANDLE_FABRIC;
	case CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR:
		return SLABDEV_HANDLE_FD;
	default:
		return SLABDEV_HANDLE_NONE;
	}
}

static int export_fd(struct cuda_dev *d, u64 handle,
		     struct slabdev_share *share)
{
	int fd = -1;
	int err = CUDA_CALL(d, cuMemExportToShareableHandle, &fd, handle,
			    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);

	if (err)
		return err;
	/* What the driver gives is not promised to be closed on exec. */
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	share->fd = fd;
	return 0;
}

static int export_fabric(struct cuda_dev *d, u64 handle,
			 struct slabdev_share *share)
{
	CUmemFabricHandle fabric = { .data = { 0 } };
	int err = CUDA_CALL(d, cuMemExportToShareableHandle, &fabric, handle,
			    CU_MEM_HANDLE_TYPE_FABRIC, 0);

	if (!err)
		memcpy(share->fabric, fabric.data, sizeof(share->fabric));
	return err;
}

int cuda_share(void *dev, u64 handle, struct slabdev_share *share)
{
	struct cuda_dev *d = dev;
	u32 type = cuda_share_type(d);
	int err;

	if (type == SLABDEV_HANDLE_FABRIC)
		err = CUDA_SCOPED(d, export_fabric(d, handle, share));
	else
		err = CUDA_SCOPED(d, export_fd(d, handle, share));
	if (err)
		return err;
	share->kind = SLABDEV_SHARE_CUDA;
	share->type = type;
	cuda_uuid(d->drv, d->device, share->uuid, sizeof(share->uuid));
	return 0;
}

int cuda_import(void *dev, const struct slabdev_share *share, u64 *handle)
{
	struct cuda_dev *d = dev;
	CUmemGenericAllocationHandle made = 0;
	CUmemAllocationHandleType type =
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	CUmemFabricHandle fabric;
	void *from = (void *)(intptr_t)share->fd;
	int err;

	if (!d->drv->cuMemImportFromShareableHandle)
		return error_set(-ENOTSUP, "the CUDA driver has no "
				 "cuMemImportFromShareableHandle");
	if (share->type == SLABDEV_HANDLE_FABRIC) {
		memcpy(fabric.data, share->fabric, sizeof(fabric.data));
		type = CU_MEM_HANDLE_TYPE_FABRIC;
		from = &fabric;
	}
	err = CUDA_SCOPED(d, CUDA_CALL(d, cuMemImportFromShareableHandle, &made,
				       from, type));
	if (!err)
		*handle = made;
	return err;
}
