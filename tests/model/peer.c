// SPDX-License-Identifier: BSD-2-Clause
/*
 * peer.c - access between devices, as contexts have it.
 *
 * It is about memory of cuMemAlloc. Mappings and pools grant access to each
 * device on their own, whatever was enabled here.
 */
#include "tests/model/internal.h"

CUresult do_cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	REFUSE_IF(!can, 0, INVALID_VALUE, "no place for it");
	REFUSE_IF(!device_is_valid(dev) || !device_is_valid(peer), 0,
		  INVALID_DEVICE, "no such device");
	*can = dev != peer && model.profile->peers;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags)
{
	struct context *ctx = context_current(), *peer = context_find(handle);

	REFUSE_IF(flags, 187, INVALID_VALUE, "no flags are defined");
	REFUSE_IF(!peer || !peer->alive || peer == ctx, 187, INVALID_CONTEXT,
		  "not another live context");
	if (!peer || peer == ctx)
		return CUDA_SUCCESS;
	REFUSE_IF(!model.profile->peers || peer->device == ctx->device, 0,
		  PEER_ACCESS_UNSUPPORTED, "the devices are no peers");
	REFUSE_IF(ctx->peers & 1u << peer->device, 187,
		  PEER_ACCESS_ALREADY_ENABLED, "it is enabled already");
	ctx->peers |= 1u << peer->device;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxDisablePeerAccess(CUcontext handle)
{
	struct context *ctx = context_current(), *peer = context_find(handle);

	REFUSE_IF(!peer, 0, INVALID_CONTEXT, "not a context");
	REFUSE_IF(!(ctx->peers & 1u << peer->device), 0,
		  PEER_ACCESS_NOT_ENABLED, "it is not enabled");
	ctx->peers &= ~(1u << peer->device);
	return CUDA_SUCCESS;
}
