// SPDX-License-Identifier: BSD-2-Clause
/*
 * call.c - the functions that the library exports.
 *
 * All are made from the list of vmm/cuda_funcs.h: enter, do, leave. What is
 * common to many calls is checked at the entrance, in the order in which the
 * driver would come to it: the process, the driver, the device, the context,
 * a capture, the feature. Which of it a call needs is in traits[].
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/model/internal.h"

#define NO_INIT 0x01u	/* works before cuInit */
#define CURRENT 0x02u	/* needs a current context */
#define EARLIER 0x04u	/* returns errors of earlier work */
#define UNSAFE 0x08u	/* not while a stream captures */
#define VMM 0x10u	/* needs virtual memory management */
#define POOLS 0x20u	/* needs pools */

#define ROW(need, base, suffix, version, args, names) \
	[CALL_##base] = { #base #suffix, #base, version, \
			  (void *)(uintptr_t)base##suffix },
const struct call_info call_table[NR_CALLS] = { SLABDEV_CUDA_FUNCS(ROW) };

static const unsigned char traits[NR_CALLS] = {
	[CALL_cuInit] = NO_INIT,
	[CALL_cuDriverGetVersion] = NO_INIT,
	[CALL_cuGetErrorName] = NO_INIT,
	[CALL_cuGetErrorString] = NO_INIT,
	[CALL_cuGetProcAddress] = NO_INIT,
	[CALL_cuDeviceGetCount] = EARLIER,
	[CALL_cuDeviceGet] = EARLIER,
	[CALL_cuDeviceGetName] = EARLIER,
	[CALL_cuDeviceGetUuid] = EARLIER,
	[CALL_cuDeviceTotalMem] = EARLIER,
	[CALL_cuDeviceGetAttribute] = EARLIER,
	[CALL_cuDeviceGetPCIBusId] = EARLIER,
	[CALL_cuDeviceGetByPCIBusId] = EARLIER,
	[CALL_cuDevicePrimaryCtxRetain] = EARLIER,
	[CALL_cuDevicePrimaryCtxRelease] = EARLIER,
	[CALL_cuDevicePrimaryCtxGetState] = EARLIER,
	[CALL_cuCtxCreate] = EARLIER,
	[CALL_cuCtxGetCurrent] = EARLIER,
	[CALL_cuCtxSetCurrent] = EARLIER,
	[CALL_cuCtxPushCurrent] = EARLIER,
	[CALL_cuCtxPopCurrent] = EARLIER,
	[CALL_cuCtxGetDevice] = CURRENT | EARLIER,
	[CALL_cuCtxSynchronize] = CURRENT | EARLIER,
	[CALL_cuMemGetInfo] = CURRENT | EARLIER,

	[CALL_cuMemGetAllocationGranularity] = VMM,
	[CALL_cuMemAddressReserve] = VMM | UNSAFE,
	[CALL_cuMemAddressFree] = VMM | UNSAFE,
	[CALL_cuMemCreate] = VMM | UNSAFE | EARLIER,
	[CALL_cuMemRelease] = VMM | UNSAFE | EARLIER,
	[CALL_cuMemMap] = VMM | UNSAFE | EARLIER,
	[CALL_cuMemUnmap] = VMM | UNSAFE | EARLIER,
	[CALL_cuMemSetAccess] = VMM | UNSAFE | EARLIER,
	[CALL_cuMemGetAccess] = VMM,
	[CALL_cuMemExportToShareableHandle] = VMM,
	[CALL_cuMemImportFromShareableHandle] = VMM | UNSAFE,
	[CALL_cuMemRetainAllocationHandle] = VMM,
	[CALL_cuMemGetAllocationPropertiesFromHandle] = VMM,
	[CALL_cuMemGetHandleForAddressRange] = VMM | CURRENT,

	[CALL_cuPointerGetAttribute] = EARLIER,
	[CALL_cuPointerGetAttributes] = EARLIER,
	[CALL_cuMemGetAddressRange] = CURRENT | EARLIER,
	[CALL_cuMemAlloc] = CURRENT | EARLIER | UNSAFE,
	[CALL_cuMemFree] = CURRENT | EARLIER | UNSAFE,
	[CALL_cuMemHostAlloc] = CURRENT | EARLIER | UNSAFE,
	[CALL_cuMemFreeHost] = CURRENT | EARLIER | UNSAFE,
	[CALL_cuMemHostRegister] = CURRENT | EARLIER | UNSAFE,
	[CALL_cuMemHostUnregister] = CURRENT | EARLIER | UNSAFE,
	[CALL_cuMemHostGetDevicePointer] = CURRENT | EARLIER,
	[CALL_cuMemAllocManaged] = CURRENT | EARLIER | UNSAFE,

	[CALL_cuMemAllocAsync] = POOLS | EARLIER,
	[CALL_cuMemAllocFromPoolAsync] = POOLS | EARLIER,
	[CALL_cuMemFreeAsync] = POOLS | EARLIER,
	[CALL_cuMemPoolCreate] = POOLS | UNSAFE,
	[CALL_cuMemPoolDestroy] = POOLS | UNSAFE,
	[CALL_cuMemPoolTrimTo] = POOLS | UNSAFE,
	[CALL_cuMemPoolSetAttribute] = POOLS | UNSAFE,
	[CALL_cuMemPoolGetAttribute] = POOLS | UNSAFE,
	[CALL_cuMemPoolSetAccess] = POOLS | UNSAFE,
	[CALL_cuMemPoolGetAccess] = POOLS,
	[CALL_cuDeviceGetDefaultMemPool] = POOLS | EARLIER,
	[CALL_cuDeviceGetMemPool] = POOLS | EARLIER,
	[CALL_cuDeviceSetMemPool] = POOLS,

	[CALL_cuMemsetD8] = CURRENT | EARLIER,
	[CALL_cuMemsetD16] = CURRENT | EARLIER,
	[CALL_cuMemsetD32] = CURRENT | EARLIER,
	[CALL_cuMemsetD8Async] = CURRENT | EARLIER,
	[CALL_cuMemsetD16Async] = CURRENT | EARLIER,
	[CALL_cuMemsetD32Async] = CURRENT | EARLIER,
	[CALL_cuMemsetD2D8] = CURRENT | EARLIER,
	[CALL_cuMemsetD2D16] = CURRENT | EARLIER,
	[CALL_cuMemsetD2D32] = CURRENT | EARLIER,
	[CALL_cuMemsetD2D8Async] = CURRENT | EARLIER,
	[CALL_cuMemsetD2D16Async] = CURRENT | EARLIER,
	[CALL_cuMemsetD2D32Async] = CURRENT | EARLIER,
	[CALL_cuMemcpyHtoD] = CURRENT | EARLIER,
	[CALL_cuMemcpyDtoH] = CURRENT | EARLIER,
	[CALL_cuMemcpyDtoD] = CURRENT | EARLIER,
	[CALL_cuMemcpyHtoDAsync] = CURRENT | EARLIER,
	[CALL_cuMemcpyDtoHAsync] = CURRENT | EARLIER,
	[CALL_cuMemcpyDtoDAsync] = CURRENT | EARLIER,
	[CALL_cuMemcpy2D] = CURRENT | EARLIER,
	[CALL_cuMemcpy2DUnaligned] = CURRENT | EARLIER,
	[CALL_cuMemcpy2DAsync] = CURRENT | EARLIER,

	[CALL_cuStreamCreate] = CURRENT | EARLIER,
	[CALL_cuStreamDestroy] = EARLIER,
	[CALL_cuStreamSynchronize] = EARLIER,
	[CALL_cuStreamQuery] = EARLIER,
	[CALL_cuStreamWaitEvent] = EARLIER,
	[CALL_cuStreamIsCapturing] = EARLIER,
	[CALL_cuStreamGetCaptureInfo] = EARLIER,
	[CALL_cuStreamGetId] = EARLIER,
	[CALL_cuStreamBeginCapture] = EARLIER,
	[CALL_cuStreamEndCapture] = EARLIER,
	[CALL_cuGraphInstantiateWithFlags] = EARLIER | UNSAFE,
	[CALL_cuGraphLaunch] = EARLIER,
	[CALL_cuGraphExecDestroy] = EARLIER,
	[CALL_cuThreadExchangeStreamCaptureMode] = EARLIER,
	[CALL_cuEventCreate] = CURRENT | EARLIER,
	[CALL_cuEventRecord] = EARLIER,
	[CALL_cuEventQuery] = EARLIER | UNSAFE,
	[CALL_cuEventSynchronize] = EARLIER | UNSAFE,
	[CALL_cuEventDestroy] = EARLIER,
	[CALL_cuLaunchHostFunc] = EARLIER,

	[CALL_cuDeviceCanAccessPeer] = EARLIER,
	[CALL_cuCtxEnablePeerAccess] = CURRENT | EARLIER,
	[CALL_cuCtxDisablePeerAccess] = CURRENT | EARLIER,
	[CALL_cuModuleLoadData] = CURRENT | EARLIER | UNSAFE,
	[CALL_cuModuleUnload] = CURRENT | EARLIER | UNSAFE,
	[CALL_cuModuleGetFunction] = CURRENT | EARLIER,
	[CALL_cuLaunchKernel] = CURRENT | EARLIER,
	[CALL_cuIpcGetMemHandle] = CURRENT | EARLIER,
};

static u64 counts[NR_CALLS];

/* ---- The entrance --------------------------------------------------- */

static CUresult check_driver(enum call_id id)
{
	if (traits[id] & NO_INIT)
		return CUDA_SUCCESS;
	REFUSE_IF(!model.initialised, 1, NOT_INITIALIZED,
		  "any call before cuInit returns this");
	return CUDA_SUCCESS;
}

static CUresult check_context(enum call_id id)
{
	/* The statement that has its own words for this call. */
	static const unsigned char statements[NR_CALLS] = {
		[CALL_cuCtxGetDevice] = 21, [CALL_cuMemGetInfo] = 26,
		[CALL_cuMemGetAddressRange] = 148, [CALL_cuMemAlloc] = 153,
		[CALL_cuMemcpyHtoD] = 167, [CALL_cuMemsetD8] = 167,
		[CALL_cuMemcpyDtoH] = 167,
	};
	struct context *ctx = context_current();

	REFUSE_IF(!ctx && traits[id] & VMM && (broken(197) || broken(198)), 0,
		  INVALID_CONTEXT, "broken");
	if (!ctx && (traits[id] & (VMM | UNSAFE)) == (VMM | UNSAFE))
		violation("%s while no context is current",
			  call_table[id].name);
	if (!(traits[id] & CURRENT))
		return CUDA_SUCCESS;
	REFUSE_IF(!ctx, statements[id], INVALID_CONTEXT,
		  "no context is current to this thread");
	REFUSE_IF(ctx && !ctx->alive, statements[id], CONTEXT_IS_DESTROYED,
		  "the current context was destroyed");
	return CUDA_SUCCESS;
}

static CUresult check_feature(enum call_id id)
{
	REFUSE_IF(traits[id] & VMM && !model.profile->vmm, 0, NOT_SUPPORTED,
		  "this device has no virtual memory management");
	REFUSE_IF(traits[id] & POOLS && !model.profile->pools, 0,
		  NOT_SUPPORTED, "this device has no memory pools");
	return CUDA_SUCCESS;
}

static CUresult check_earlier(enum call_id id)
{
	CUresult code = sticky_of(context_device());
	char why[WHY_MAX];

	if (!(traits[id] & EARLIER) || !code || broken(192))
		return CUDA_SUCCESS;
	snprintf(why, sizeof(why), "an earlier operation made the device "
		 "fail: %s", sticky_why(context_device()));
	return refuse(192, code, why);
}

static CUresult check_all(enum call_id id)
{
	CUresult ret = check_driver(id);

	if (ret)
		return ret;
	if (!(traits[id] & NO_INIT) && model.down)
		return refuse(195, CUDA_ERROR_DEINITIALIZED,
			      "the driver was taken down");
	if (fault_injected(id, &ret))
		return ret;
	if (traits[id] & NO_INIT)
		return CUDA_SUCCESS;
	ret = check_earlier(id);
	if (!ret)
		ret = check_context(id);
	if (!ret)
		ret = check_feature(id);
	if (!ret && traits[id] & UNSAFE)
		ret = capture_forbids(call_table[id].name);
	return ret;
}

/* In the child of a fork nothing of the driver is left, not even the lock. */
static bool is_fork_child(enum call_id id, CUresult *ret)
{
	if (!READ_ONCE(model.pid) || model.pid == getpid() || broken(194))
		return false;
	if (traits[id] & NO_INIT && id != CALL_cuInit)
		return false;
	*ret = CUDA_ERROR_NOT_INITIALIZED;
	violation("%s in the child of a fork", call_table[id].name);
	return true;
}

static bool call_enter(enum call_id id, CUresult *ret)
{
	rule_init();
	if (is_fork_child(id, ret))
		return false;
	if (thread_self()->runs_host_function) {
		violation("%s in a host function", call_table[id].name);
		*ret = CUDA_ERROR_NOT_PERMITTED;
		return false;
	}
	pthread_mutex_lock(&model.lock);
	counts[id]++;
	thread_self()->cost_bytes = 0;
	*ret = check_all(id);
	if (!*ret)
		return true;
	pthread_mutex_unlock(&model.lock);
	rule_tell_log();
	return false;
}

static void call_leave(enum call_id id)
{
	cost_charge(id, thread_self()->cost_bytes);
	pthread_mutex_unlock(&model.lock);
	rule_tell_log();
}

#define DEFINE(need, base, suffix, version, args, names)		\
	CUresult base##suffix args					\
	{								\
		CUresult ret;						\
									\
		if (call_enter(CALL_##base, &ret)) {			\
			ret = do_##base names;				\
			call_leave(CALL_##base);			\
		}							\
		return ret;						\
	}
SLABDEV_CUDA_FUNCS(DEFINE)

int call_find(const char *symbol)
{
	int i;

	for (i = 0; i < NR_CALLS; i++)
		if (!strcmp(call_table[i].name, symbol))
			return i;
	return -1;
}

u64 call_count(int id)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < NR_CALLS; i++)
		if (i == id || id == NR_CALLS)
			sum += counts[i];
	return sum;
}

void call_reset(void)
{
	memset(counts, 0, sizeof(counts));
}
