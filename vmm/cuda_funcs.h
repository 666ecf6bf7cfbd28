/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuda_funcs.h - the functions of the CUDA driver that are used here
 *
 * F(need, base, suffix, version, args, names): one row a function. Base and
 * suffix together are its name for dlsym(); base with version is what
 * cuGetProcAddress() finds it by. Where a name has several versions this is
 * the one whose arguments are meant: asked for with a higher version,
 * cuCtxGetDevice and others are functions of another type.
 *
 * need: E without it there is no device, O a feature is off without it, T for
 * tests and tools.
 *
 * The file is nothing but macros, so that a test can put it beside the
 * toolkit's own cuda.h and compare every row.
 */
#ifndef VMM_CUDA_FUNCS_H
#define VMM_CUDA_FUNCS_H

#define SLABDEV_CUDA_DRIVER_FUNCS(F)					\
	F(E, cuInit, , 2000,						\
	  (unsigned int Flags),						\
	  (Flags))							\
	F(E, cuDriverGetVersion, , 2020,				\
	  (int *driverVersion),						\
	  (driverVersion))						\
	F(O, cuGetProcAddress, _v2, 12000,				\
	  (const char *symbol, void **pfn, int cudaVersion,		\
	   cuuint64_t flags,						\
	   CUdriverProcAddressQueryResult *symbolStatus),		\
	  (symbol, pfn, cudaVersion, flags, symbolStatus))		\
	F(E, cuGetErrorName, , 6000,					\
	  (CUresult error, const char **pStr),				\
	  (error, pStr))						\
	F(E, cuGetErrorString, , 6000,					\
	  (CUresult error, const char **pStr),				\
	  (error, pStr))						\
	F(E, cuDeviceGetCount, , 2000,					\
	  (int *count),							\
	  (count))							\
	F(E, cuDeviceGet, , 2000,					\
	  (CUdevice *device, int ordinal),				\
	  (device, ordinal))						\
	F(E, cuDeviceGetName, , 2000,					\
	  (char *name, int len, CUdevice dev),				\
	  (name, len, dev))						\
	F(O, cuDeviceGetUuid, _v2, 11040,				\
	  (CUuuid *uuid, CUdevice dev),					\
	  (uuid, dev))							\
	F(E, cuDeviceTotalMem, _v2, 3020,				\
	  (size_t *bytes, CUdevice dev),				\
	  (bytes, dev))							\
	F(E, cuDeviceGetAttribute, , 2000,				\
	  (int *pi, CUdevice_attribute attrib, CUdevice dev),		\
	  (pi, attrib, dev))						\
	F(O, cuDeviceGetPCIBusId, , 4010,				\
	  (char *pciBusId, int len, CUdevice dev),			\
	  (pciBusId, len, dev))						\
	F(T, cuDeviceGetByPCIBusId, , 4010,				\
	  (CUdevice *dev, const char *pciBusId),			\
	  (dev, pciBusId))

#define SLABDEV_CUDA_CONTEXT_FUNCS(F)					\
	F(E, cuDevicePrimaryCtxRetain, , 7000,				\
	  (CUcontext *pctx, CUdevice dev),				\
	  (pctx, dev))							\
	F(E, cuDevicePrimaryCtxRelease, _v2, 11000,			\
	  (CUdevice dev),						\
	  (dev))							\
	F(T, cuDevicePrimaryCtxReset, _v2, 11000,			\
	  (CUdevice dev),						\
	  (dev))							\
	F(O, cuDevicePrimaryCtxGetState, , 7000,			\
	  (CUdevice dev, unsigned int *flags, int *active),		\
	  (dev, flags, active))						\
	F(T, cuCtxCreate, _v2, 3020,					\
	  (CUcontext *pctx, unsigned int flags, CUdevice dev),		\
	  (pctx, flags, dev))						\
	F(T, cuCtxDestroy, _v2, 4000,					\
	  (CUcontext ctx),						\
	  (ctx))							\
	F(E, cuCtxGetCurrent, , 4000,					\
	  (CUcontext *pctx),						\
	  (pctx))							\
	F(E, cuCtxSetCurrent, , 4000,					\
	  (CUcontext ctx),						\
	  (ctx))							\
	F(E, cuCtxPushCurrent, _v2, 4000,				\
	  (CUcontext ctx),						\
	  (ctx))							\
	F(E, cuCtxPopCurrent, _v2, 4000,				\
	  (CUcontext *pctx),						\
	  (pctx))							\
	F(E, cuCtxGetDevice, , 2000,					\
	  (CUdevice *device),						\
	  (device))							\
	F(E, cuCtxSynchronize, , 2000,					\
	  (void),							\
	  ())								\
	F(O, cuCtxGetId, , 12000,					\
	  (CUcontext ctx, unsigned long long *ctxId),			\
	  (ctx, ctxId))

#define SLABDEV_CUDA_VMM_FUNCS(F)					\
	F(E, cuMemGetInfo, _v2, 3020,					\
	  (size_t *free, size_t *total),				\
	  (free, total))						\
	F(E, cuMemGetAllocationGranularity, , 10020,			\
	  (size_t *granularity, const CUmemAllocationProp *prop,	\
	   CUmemAllocationGranularity_flags option),			\
	  (granularity, prop, option))					\
	F(E, cuMemAddressReserve, , 10020,				\
	  (CUdeviceptr *ptr, size_t size, size_t alignment,		\
	   CUdeviceptr addr, unsigned long long flags),			\
	  (ptr, size, alignment, addr, flags))				\
	F(E, cuMemAddressFree, , 10020,					\
	  (CUdeviceptr ptr, size_t size),				\
	  (ptr, size))							\
	F(E, cuMemCreate, , 10020,					\
	  (CUmemGenericAllocationHandle *handle, size_t size,		\
	   const CUmemAllocationProp *prop, unsigned long long flags),	\
	  (handle, size, prop, flags))					\
	F(E, cuMemRelease, , 10020,					\
	  (CUmemGenericAllocationHandle handle),			\
	  (handle))							\
	F(E, cuMemMap, , 10020,						\
	  (CUdeviceptr ptr, size_t size, size_t offset,			\
	   CUmemGenericAllocationHandle handle, unsigned long long flags), \
	  (ptr, size, offset, handle, flags))				\
	F(E, cuMemUnmap, , 10020,					\
	  (CUdeviceptr ptr, size_t size),				\
	  (ptr, size))							\
	F(E, cuMemSetAccess, , 10020,					\
	  (CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,	\
	   size_t count),						\
	  (ptr, size, desc, count))					\
	F(E, cuMemGetAccess, , 10020,					\
	  (unsigned long long *flags, const CUmemLocation *location,	\
	   CUdeviceptr ptr),						\
	  (flags, location, ptr))					\
	F(O, cuMemExportToShareableHandle, , 10020,			\
	  (void *shareableHandle, CUmemGenericAllocationHandle handle,	\
	   CUmemAllocationHandleType handleType,			\
	   unsigned long long flags),					\
	  (shareableHandle, handle, handleType, flags))			\
	F(O, cuMemImportFromShareableHandle, , 10020,			\
	  (CUmemGenericAllocationHandle *handle, void *osHandle,	\
	   CUmemAllocationHandleType shHandleType),			\
	  (handle, osHandle, shHandleType))				\
	F(O, cuMemRetainAllocationHandle, , 11000,			\
	  (CUmemGenericAllocationHandle *handle, void *addr),		\
	  (handle, addr))						\
	F(E, cuMemGetAllocationPropertiesFromHandle, , 10020,		\
	  (CUmemAllocationProp *prop,					\
	   CUmemGenericAllocationHandle handle),			\
	  (prop, handle))						\
	F(O, cuMemGetHandleForAddressRange, , 11070,			\
	  (void *handle, CUdeviceptr dptr, size_t size,			\
	   CUmemRangeHandleType handleType, unsigned long long flags),	\
	  (handle, dptr, size, handleType, flags))

#define SLABDEV_CUDA_MEMORY_FUNCS(F)					\
	F(E, cuPointerGetAttribute, , 4000,				\
	  (void *data, CUpointer_attribute attribute, CUdeviceptr ptr),	\
	  (data, attribute, ptr))					\
	F(E, cuPointerGetAttributes, , 7000,				\
	  (unsigned int numAttributes, CUpointer_attribute *attributes,	\
	   void **data, CUdeviceptr ptr),				\
	  (numAttributes, attributes, data, ptr))			\
	F(O, cuMemGetAddressRange, _v2, 3020,				\
	  (CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr),	\
	  (pbase, psize, dptr))						\
	F(E, cuMemAlloc, _v2, 3020,					\
	  (CUdeviceptr *dptr, size_t bytesize),				\
	  (dptr, bytesize))						\
	F(E, cuMemFree, _v2, 3020,					\
	  (CUdeviceptr dptr),						\
	  (dptr))							\
	F(O, cuMemHostAlloc, , 2020,					\
	  (void **pp, size_t bytesize, unsigned int Flags),		\
	  (pp, bytesize, Flags))					\
	F(O, cuMemFreeHost, , 2000,					\
	  (void *p),							\
	  (p))								\
	F(O, cuMemHostRegister, _v2, 6050,				\
	  (void *p, size_t bytesize, unsigned int Flags),		\
	  (p, bytesize, Flags))						\
	F(O, cuMemHostUnregister, , 4000,				\
	  (void *p),							\
	  (p))								\
	F(O, cuMemHostGetDevicePointer, _v2, 3020,			\
	  (CUdeviceptr *pdptr, void *p, unsigned int Flags),		\
	  (pdptr, p, Flags))						\
	F(O, cuMemAllocManaged, , 6000,					\
	  (CUdeviceptr *dptr, size_t bytesize, unsigned int flags),	\
	  (dptr, bytesize, flags))

#define SLABDEV_CUDA_POOL_FUNCS(F)					\
	F(O, cuMemAllocAsync, , 11020,					\
	  (CUdeviceptr *dptr, size_t bytesize, CUstream hStream),	\
	  (dptr, bytesize, hStream))					\
	F(O, cuMemFreeAsync, , 11020,					\
	  (CUdeviceptr dptr, CUstream hStream),				\
	  (dptr, hStream))						\
	F(O, cuMemAllocFromPoolAsync, , 11020,				\
	  (CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,	\
	   CUstream hStream),						\
	  (dptr, bytesize, pool, hStream))				\
	F(O, cuMemPoolCreate, , 11020,					\
	  (CUmemoryPool *pool, const CUmemPoolProps *poolProps),	\
	  (pool, poolProps))						\
	F(O, cuMemPoolDestroy, , 11020,					\
	  (CUmemoryPool pool),						\
	  (pool))							\
	F(O, cuMemPoolTrimTo, , 11020,					\
	  (CUmemoryPool pool, size_t minBytesToKeep),			\
	  (pool, minBytesToKeep))					\
	F(O, cuMemPoolSetAttribute, , 11020,				\
	  (CUmemoryPool pool, CUmemPool_attribute attr, void *value),	\
	  (pool, attr, value))						\
	F(O, cuMemPoolGetAttribute, , 11020,				\
	  (CUmemoryPool pool, CUmemPool_attribute attr, void *value),	\
	  (pool, attr, value))						\
	F(O, cuMemPoolSetAccess, , 11020,				\
	  (CUmemoryPool pool, const CUmemAccessDesc *map, size_t count), \
	  (pool, map, count))						\
	F(O, cuMemPoolGetAccess, , 11020,				\
	  (CUmemAccess_flags *flags, CUmemoryPool memPool,		\
	   CUmemLocation *location),					\
	  (flags, memPool, location))					\
	F(O, cuDeviceGetDefaultMemPool, , 11020,			\
	  (CUmemoryPool *pool_out, CUdevice dev),			\
	  (pool_out, dev))						\
	F(O, cuDeviceGetMemPool, , 11020,				\
	  (CUmemoryPool *pool, CUdevice dev),				\
	  (pool, dev))							\
	F(O, cuDeviceSetMemPool, , 11020,				\
	  (CUdevice dev, CUmemoryPool pool),				\
	  (dev, pool))

#define SLABDEV_CUDA_COPY_FUNCS(F)					\
	F(E, cuMemsetD8, _v2, 3020,					\
	  (CUdeviceptr dstDevice, unsigned char uc, size_t N),		\
	  (dstDevice, uc, N))						\
	F(O, cuMemsetD16, _v2, 3020,					\
	  (CUdeviceptr dstDevice, unsigned short us, size_t N),		\
	  (dstDevice, us, N))						\
	F(E, cuMemsetD32, _v2, 3020,					\
	  (CUdeviceptr dstDevice, unsigned int ui, size_t N),		\
	  (dstDevice, ui, N))						\
	F(E, cuMemsetD8Async, , 3020,					\
	  (CUdeviceptr dstDevice, unsigned char uc, size_t N,		\
	   CUstream hStream),						\
	  (dstDevice, uc, N, hStream))					\
	F(O, cuMemsetD16Async, , 3020,					\
	  (CUdeviceptr dstDevice, unsigned short us, size_t N,		\
	   CUstream hStream),						\
	  (dstDevice, us, N, hStream))					\
	F(E, cuMemsetD32Async, , 3020,					\
	  (CUdeviceptr dstDevice, unsigned int ui, size_t N,		\
	   CUstream hStream),						\
	  (dstDevice, ui, N, hStream))					\
	F(O, cuMemsetD2D8, _v2, 3020,					\
	  (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,	\
	   size_t Width, size_t Height),				\
	  (dstDevice, dstPitch, uc, Width, Height))			\
	F(O, cuMemsetD2D16, _v2, 3020,					\
	  (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,	\
	   size_t Width, size_t Height),				\
	  (dstDevice, dstPitch, us, Width, Height))			\
	F(O, cuMemsetD2D32, _v2, 3020,					\
	  (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,	\
	   size_t Width, size_t Height),				\
	  (dstDevice, dstPitch, ui, Width, Height))			\
	F(O, cuMemsetD2D8Async, , 3020,					\
	  (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,	\
	   size_t Width, size_t Height, CUstream hStream),		\
	  (dstDevice, dstPitch, uc, Width, Height, hStream))		\
	F(O, cuMemsetD2D16Async, , 3020,				\
	  (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,	\
	   size_t Width, size_t Height, CUstream hStream),		\
	  (dstDevice, dstPitch, us, Width, Height, hStream))		\
	F(O, cuMemsetD2D32Async, , 3020,				\
	  (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,	\
	   size_t Width, size_t Height, CUstream hStream),		\
	  (dstDevice, dstPitch, ui, Width, Height, hStream))		\
	F(E, cuMemcpyHtoD, _v2, 3020,					\
	  (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount), \
	  (dstDevice, srcHost, ByteCount))				\
	F(E, cuMemcpyDtoH, _v2, 3020,					\
	  (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount),	\
	  (dstHost, srcDevice, ByteCount))				\
	F(E, cuMemcpyDtoD, _v2, 3020,					\
	  (CUdeviceptr dstDevice, CUdeviceptr srcDevice,		\
	   size_t ByteCount),						\
	  (dstDevice, srcDevice, ByteCount))				\
	F(O, cuMemcpyHtoDAsync, _v2, 3020,				\
	  (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, \
	   CUstream hStream),						\
	  (dstDevice, srcHost, ByteCount, hStream))			\
	F(E, cuMemcpyDtoHAsync, _v2, 3020,				\
	  (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,	\
	   CUstream hStream),						\
	  (dstHost, srcDevice, ByteCount, hStream))			\
	F(E, cuMemcpyDtoDAsync, _v2, 3020,				\
	  (CUdeviceptr dstDevice, CUdeviceptr srcDevice,		\
	   size_t ByteCount, CUstream hStream),				\
	  (dstDevice, srcDevice, ByteCount, hStream))			\
	F(O, cuMemcpy2D, _v2, 3020,					\
	  (const CUDA_MEMCPY2D *pCopy),					\
	  (pCopy))							\
	F(O, cuMemcpy2DUnaligned, _v2, 3020,				\
	  (const CUDA_MEMCPY2D *pCopy),					\
	  (pCopy))							\
	F(O, cuMemcpy2DAsync, _v2, 3020,				\
	  (const CUDA_MEMCPY2D *pCopy, CUstream hStream),		\
	  (pCopy, hStream))

#define SLABDEV_CUDA_STREAM_FUNCS(F)					\
	F(E, cuStreamCreate, , 2000,					\
	  (CUstream *phStream, unsigned int Flags),			\
	  (phStream, Flags))						\
	F(E, cuStreamDestroy, _v2, 4000,				\
	  (CUstream hStream),						\
	  (hStream))							\
	F(E, cuStreamSynchronize, , 2000,				\
	  (CUstream hStream),						\
	  (hStream))							\
	F(E, cuStreamQuery, , 2000,					\
	  (CUstream hStream),						\
	  (hStream))							\
	F(E, cuStreamWaitEvent, , 3020,					\
	  (CUstream hStream, CUevent hEvent, unsigned int Flags),	\
	  (hStream, hEvent, Flags))					\
	F(E, cuStreamIsCapturing, , 10000,				\
	  (CUstream hStream, CUstreamCaptureStatus *captureStatus),	\
	  (hStream, captureStatus))					\
	F(O, cuStreamGetCaptureInfo, _v2, 11030,			\
	  (CUstream hStream, CUstreamCaptureStatus *captureStatus_out,	\
	   cuuint64_t *id_out, CUgraph *graph_out,			\
	   const CUgraphNode **dependencies_out,			\
	   size_t *numDependencies_out),				\
	  (hStream, captureStatus_out, id_out, graph_out,		\
	   dependencies_out, numDependencies_out))			\
	F(O, cuStreamGetCtx, , 9020,					\
	  (CUstream hStream, CUcontext *pctx),				\
	  (hStream, pctx))						\
	F(O, cuStreamGetDevice, , 12080,				\
	  (CUstream hStream, CUdevice *device),				\
	  (hStream, device))						\
	F(O, cuStreamGetId, , 12000,					\
	  (CUstream hStream, unsigned long long *streamId),		\
	  (hStream, streamId))						\
	F(T, cuStreamBeginCapture, _v2, 10010,				\
	  (CUstream hStream, CUstreamCaptureMode mode),			\
	  (hStream, mode))						\
	F(T, cuStreamEndCapture, , 10000,				\
	  (CUstream hStream, CUgraph *phGraph),				\
	  (hStream, phGraph))						\
	F(T, cuGraphDestroy, , 10000,					\
	  (CUgraph hGraph),						\
	  (hGraph))							\
	F(T, cuGraphInstantiateWithFlags, , 11040,			\
	  (CUgraphExec *phGraphExec, CUgraph hGraph,			\
	   unsigned long long flags),					\
	  (phGraphExec, hGraph, flags))					\
	F(T, cuGraphLaunch, , 10000,					\
	  (CUgraphExec hGraphExec, CUstream hStream),			\
	  (hGraphExec, hStream))					\
	F(T, cuGraphExecDestroy, , 10000,				\
	  (CUgraphExec hGraphExec),					\
	  (hGraphExec))							\
	F(E, cuThreadExchangeStreamCaptureMode, , 10010,		\
	  (CUstreamCaptureMode *mode),					\
	  (mode))							\
	F(E, cuEventCreate, , 2000,					\
	  (CUevent *phEvent, unsigned int Flags),			\
	  (phEvent, Flags))						\
	F(E, cuEventRecord, , 2000,					\
	  (CUevent hEvent, CUstream hStream),				\
	  (hEvent, hStream))						\
	F(E, cuEventQuery, , 2000,					\
	  (CUevent hEvent),						\
	  (hEvent))							\
	F(E, cuEventSynchronize, , 2000,				\
	  (CUevent hEvent),						\
	  (hEvent))							\
	F(E, cuEventDestroy, _v2, 4000,					\
	  (CUevent hEvent),						\
	  (hEvent))							\
	F(T, cuEventElapsedTime, , 2000,				\
	  (float *pMilliseconds, CUevent hStart, CUevent hEnd),		\
	  (pMilliseconds, hStart, hEnd))				\
	F(O, cuLaunchHostFunc, , 10000,					\
	  (CUstream hStream, CUhostFn fn, void *userData),		\
	  (hStream, fn, userData))

#define SLABDEV_CUDA_PEER_FUNCS(F)					\
	F(O, cuDeviceCanAccessPeer, , 4000,				\
	  (int *canAccessPeer, CUdevice dev, CUdevice peerDev),		\
	  (canAccessPeer, dev, peerDev))				\
	F(O, cuCtxEnablePeerAccess, , 4000,				\
	  (CUcontext peerContext, unsigned int Flags),			\
	  (peerContext, Flags))						\
	F(O, cuCtxDisablePeerAccess, , 4000,				\
	  (CUcontext peerContext),					\
	  (peerContext))						\
	F(O, cuModuleLoadData, , 2000,					\
	  (CUmodule *module, const void *image),			\
	  (module, image))						\
	F(O, cuModuleUnload, , 2000,					\
	  (CUmodule hmod),						\
	  (hmod))							\
	F(O, cuModuleGetFunction, , 2000,				\
	  (CUfunction *hfunc, CUmodule hmod, const char *name),		\
	  (hfunc, hmod, name))						\
	F(O, cuLaunchKernel, , 4000,					\
	  (CUfunction f, unsigned int gridDimX, unsigned int gridDimY,	\
	   unsigned int gridDimZ, unsigned int blockDimX,		\
	   unsigned int blockDimY, unsigned int blockDimZ,		\
	   unsigned int sharedMemBytes, CUstream hStream,		\
	   void **kernelParams, void **extra),				\
	  (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY,	\
	   blockDimZ, sharedMemBytes, hStream, kernelParams, extra))	\
	F(T, cuIpcGetMemHandle, , 4010,					\
	  (CUipcMemHandle *pHandle, CUdeviceptr dptr),			\
	  (pHandle, dptr))						\
	F(T, cuLogsRegisterCallback, , 12090,				\
	  (CUlogsCallback callbackFunc, void *userData,			\
	   CUlogsCallbackHandle *callback_out),				\
	  (callbackFunc, userData, callback_out))			\
	F(T, cuLogsUnregisterCallback, , 12090,				\
	  (CUlogsCallbackHandle callback),				\
	  (callback))
/** SLABDEV_CUDA_FUNCS - all of them, in the order of the lists above */
#define SLABDEV_CUDA_FUNCS(F)						\
	SLABDEV_CUDA_DRIVER_FUNCS(F)					\
	SLABDEV_CUDA_CONTEXT_FUNCS(F)					\
	SLABDEV_CUDA_VMM_FUNCS(F)					\
	SLABDEV_CUDA_MEMORY_FUNCS(F)					\
	SLABDEV_CUDA_POOL_FUNCS(F)					\
	SLABDEV_CUDA_COPY_FUNCS(F)					\
	SLABDEV_CUDA_STREAM_FUNCS(F)					\
	SLABDEV_CUDA_PEER_FUNCS(F)

#endif /* VMM_CUDA_FUNCS_H */
