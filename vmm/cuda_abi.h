/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuda_abi.h - the subset of the CUDA driver interface that is used here
 *
 * Declared anew, so that neither the backend nor the driver model needs the
 * CUDA toolkit to be built. These are facts of a binary interface: names,
 * numbers, and layouts are the driver's own and never change; later drivers
 * add enumerators, so that a value which is not listed here is "another error"
 * or "another attribute", and never an index. Where a toolkit is installed,
 * the suite cuda_abi compares everything here with its cuda.h.
 *
 * Linux with 64-bit pointers; x86-64 and arm64 have the same layouts.
 */
#ifndef VMM_CUDA_ABI_H
#define VMM_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "vmm/cuda_funcs.h"

/* The newest interface that was compared with what is declared here. */
#define SLABDEV_CUDA_ABI_VERSION 13000

typedef uint64_t cuuint64_t;
typedef unsigned long long CUdeviceptr;	/* 0 is never an address */
typedef int CUdevice;			/* an ordinal */
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUevent_st *CUevent;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUarray_st *CUarray;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUlogsCallbackEntry_st *CUlogsCallbackHandle;
/* Opaque; no value is documented as invalid. */
typedef unsigned long long CUmemGenericAllocationHandle;

#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

/* ---- Results ---------------------------------------------------------- */

/** SLABDEV_CUDA_ERRORS - E(name, value) for each, without CUDA_SUCCESS */
#define SLABDEV_CUDA_ERRORS(E)						\
	E(INVALID_VALUE, 1)						\
	E(OUT_OF_MEMORY, 2)						\
	E(NOT_INITIALIZED, 3)						\
	E(DEINITIALIZED, 4)						\
	E(PROFILER_DISABLED, 5)						\
	E(PROFILER_NOT_INITIALIZED, 6)					\
	E(PROFILER_ALREADY_STARTED, 7)					\
	E(PROFILER_ALREADY_STOPPED, 8)					\
	E(STUB_LIBRARY, 34)						\
	E(CALL_REQUIRES_NEWER_DRIVER, 36)				\
	E(DEVICE_UNAVAILABLE, 46)					\
	E(NO_DEVICE, 100)						\
	E(INVALID_DEVICE, 101)						\
	E(DEVICE_NOT_LICENSED, 102)					\
	E(INVALID_IMAGE, 200)						\
	E(INVALID_CONTEXT, 201)						\
	E(CONTEXT_ALREADY_CURRENT, 202)					\
	E(MAP_FAILED, 205)						\
	E(UNMAP_FAILED, 206)						\
	E(ARRAY_IS_MAPPED, 207)						\
	E(ALREADY_MAPPED, 208)						\
	E(NO_BINARY_FOR_GPU, 209)					\
	E(ALREADY_ACQUIRED, 210)					\
	E(NOT_MAPPED, 211)						\
	E(NOT_MAPPED_AS_ARRAY, 212)					\
	E(NOT_MAPPED_AS_POINTER, 213)					\
	E(ECC_UNCORRECTABLE, 214)					\
	E(UNSUPPORTED_LIMIT, 215)					\
	E(CONTEXT_ALREADY_IN_USE, 216)					\
	E(PEER_ACCESS_UNSUPPORTED, 217)					\
	E(INVALID_PTX, 218)						\
	E(INVALID_GRAPHICS_CONTEXT, 219)				\
	E(NVLINK_UNCORRECTABLE, 220)					\
	E(JIT_COMPILER_NOT_FOUND, 221)					\
	E(UNSUPPORTED_PTX_VERSION, 222)					\
	E(JIT_COMPILATION_DISABLED, 223)				\
	E(UNSUPPORTED_EXEC_AFFINITY, 224)				\
	E(UNSUPPORTED_DEVSIDE_SYNC, 225)				\
	E(CONTAINED, 226)						\
	E(INVALID_SOURCE, 300)						\
	E(FILE_NOT_FOUND, 301)						\
	E(SHARED_OBJECT_SYMBOL_NOT_FOUND, 302)				\
	E(SHARED_OBJECT_INIT_FAILED, 303)				\
	E(OPERATING_SYSTEM, 304)					\
	E(INVALID_HANDLE, 400)						\
	E(ILLEGAL_STATE, 401)						\
	E(LOSSY_QUERY, 402)						\
	E(NOT_FOUND, 500)						\
	E(NOT_READY, 600)						\
	E(ILLEGAL_ADDRESS, 700)						\
	E(LAUNCH_OUT_OF_RESOURCES, 701)					\
	E(LAUNCH_TIMEOUT, 702)						\
	E(LAUNCH_INCOMPATIBLE_TEXTURING, 703)				\
	E(PEER_ACCESS_ALREADY_ENABLED, 704)				\
	E(PEER_ACCESS_NOT_ENABLED, 705)					\
	E(PRIMARY_CONTEXT_ACTIVE, 708)					\
	E(CONTEXT_IS_DESTROYED, 709)					\
	E(ASSERT, 710)							\
	E(TOO_MANY_PEERS, 711)						\
	E(HOST_MEMORY_ALREADY_REGISTERED, 712)				\
	E(HOST_MEMORY_NOT_REGISTERED, 713)				\
	E(HARDWARE_STACK_ERROR, 714)					\
	E(ILLEGAL_INSTRUCTION, 715)					\
	E(MISALIGNED_ADDRESS, 716)					\
	E(INVALID_ADDRESS_SPACE, 717)					\
	E(INVALID_PC, 718)						\
	E(LAUNCH_FAILED, 719)						\
	E(COOPERATIVE_LAUNCH_TOO_LARGE, 720)				\
	E(TENSOR_MEMORY_LEAK, 721)					\
	E(NOT_PERMITTED, 800)						\
	E(NOT_SUPPORTED, 801)						\
	E(SYSTEM_NOT_READY, 802)					\
	E(SYSTEM_DRIVER_MISMATCH, 803)					\
	E(COMPAT_NOT_SUPPORTED_ON_DEVICE, 804)				\
	E(MPS_CONNECTION_FAILED, 805)					\
	E(MPS_RPC_FAILURE, 806)						\
	E(MPS_SERVER_NOT_READY, 807)					\
	E(MPS_MAX_CLIENTS_REACHED, 808)					\
	E(MPS_MAX_CONNECTIONS_REACHED, 809)				\
	E(MPS_CLIENT_TERMINATED, 810)					\
	E(CDP_NOT_SUPPORTED, 811)					\
	E(CDP_VERSION_MISMATCH, 812)					\
	E(STREAM_CAPTURE_UNSUPPORTED, 900)				\
	E(STREAM_CAPTURE_INVALIDATED, 901)				\
	E(STREAM_CAPTURE_MERGE, 902)					\
	E(STREAM_CAPTURE_UNMATCHED, 903)				\
	E(STREAM_CAPTURE_UNJOINED, 904)					\
	E(STREAM_CAPTURE_ISOLATION, 905)				\
	E(STREAM_CAPTURE_IMPLICIT, 906)					\
	E(CAPTURED_EVENT, 907)						\
	E(STREAM_CAPTURE_WRONG_THREAD, 908)				\
	E(TIMEOUT, 909)							\
	E(GRAPH_EXEC_UPDATE_FAILURE, 910)				\
	E(EXTERNAL_DEVICE, 911)						\
	E(INVALID_CLUSTER_SIZE, 912)					\
	E(FUNCTION_NOT_LOADED, 913)					\
	E(INVALID_RESOURCE_TYPE, 914)					\
	E(INVALID_RESOURCE_CONFIGURATION, 915)				\
	E(KEY_ROTATION, 916)						\
	E(UNKNOWN, 999)
#define SLABDEV_CUDA_ERROR_ENUM(name, value) CUDA_ERROR_##name = value,
typedef enum {
	CUDA_SUCCESS = 0,
	SLABDEV_CUDA_ERRORS(SLABDEV_CUDA_ERROR_ENUM)
} CUresult;

/* ---- Flags, modes, and kinds ------------------------------------------ */

typedef enum {
	CU_GET_PROC_ADDRESS_DEFAULT = 0,
	CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1,
	CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2,
} CUdriverProcAddress_flags;

typedef enum {
	CU_GET_PROC_ADDRESS_SUCCESS = 0,
	CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
	CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
} CUdriverProcAddressQueryResult;

typedef enum {
	CU_CTX_SCHED_AUTO = 0x00,
	CU_CTX_SCHED_SPIN = 0x01,
	CU_CTX_SCHED_YIELD = 0x02,
	CU_CTX_SCHED_BLOCKING_SYNC = 0x04,
	CU_CTX_SCHED_MASK = 0x07,
	CU_CTX_MAP_HOST = 0x08,
	CU_CTX_LMEM_RESIZE_TO_MAX = 0x10,
	CU_CTX_COREDUMP_ENABLE = 0x20,
	CU_CTX_USER_COREDUMP_ENABLE = 0x40,
	CU_CTX_SYNC_MEMOPS = 0x80,
	CU_CTX_FLAGS_MASK = 0xff,
} CUctx_flags;

typedef enum {
	CU_COMPUTEMODE_DEFAULT = 0,
	CU_COMPUTEMODE_PROHIBITED = 2,
	CU_COMPUTEMODE_EXCLUSIVE_PROCESS = 3,
} CUcomputemode;

typedef enum {
	CU_STREAM_DEFAULT = 0x0,
	CU_STREAM_NON_BLOCKING = 0x1,
} CUstream_flags;

typedef enum {
	CU_EVENT_DEFAULT = 0x0,
	CU_EVENT_BLOCKING_SYNC = 0x1,
	CU_EVENT_DISABLE_TIMING = 0x2,
	CU_EVENT_INTERPROCESS = 0x4,
} CUevent_flags;

typedef enum {
	CU_EVENT_WAIT_DEFAULT = 0x0,
	CU_EVENT_WAIT_EXTERNAL = 0x1,
} CUevent_wait_flags;

typedef enum {
	CU_STREAM_CAPTURE_STATUS_NONE = 0,
	CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
	CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
} CUstreamCaptureStatus;

typedef enum {
	CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
	CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
	CU_STREAM_CAPTURE_MODE_RELAXED = 2,
} CUstreamCaptureMode;

typedef enum {
	CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH = 0x1,
	CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD = 0x2,
	CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH = 0x4,
	CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY = 0x8,
} CUgraphInstantiate_flags;

typedef enum {
	CU_MEM_ATTACH_GLOBAL = 0x1,
	CU_MEM_ATTACH_HOST = 0x2,
	CU_MEM_ATTACH_SINGLE = 0x4,
} CUmemAttach_flags;

typedef enum {
	CU_MEMORYTYPE_HOST = 1,
	CU_MEMORYTYPE_DEVICE = 2,
	CU_MEMORYTYPE_ARRAY = 3,
	CU_MEMORYTYPE_UNIFIED = 4,
} CUmemorytype;

typedef enum {
	CU_LOG_LEVEL_ERROR = 0,
	CU_LOG_LEVEL_WARNING = 1,
} CUlogLevel;

#define CU_MEMHOSTALLOC_PORTABLE 0x01
#define CU_MEMHOSTALLOC_DEVICEMAP 0x02
#define CU_MEMHOSTALLOC_WRITECOMBINED 0x04
#define CU_MEMHOSTREGISTER_PORTABLE 0x01
#define CU_MEMHOSTREGISTER_DEVICEMAP 0x02
#define CU_MEMHOSTREGISTER_IOMEMORY 0x04
#define CU_MEMHOSTREGISTER_READ_ONLY 0x08

/* ---- Virtual memory management ---------------------------------------- */

/* A mask: one allocation may ask for several. */
typedef enum {
	CU_MEM_HANDLE_TYPE_NONE = 0x0,
	CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 0x1,
	CU_MEM_HANDLE_TYPE_WIN32 = 0x2,
	CU_MEM_HANDLE_TYPE_WIN32_KMT = 0x4,
	CU_MEM_HANDLE_TYPE_FABRIC = 0x8,
	CU_MEM_HANDLE_TYPE_MAX = 0x7fffffff,
} CUmemAllocationHandleType;

typedef enum {
	CU_MEM_ACCESS_FLAGS_PROT_NONE = 0x0,
	CU_MEM_ACCESS_FLAGS_PROT_READ = 0x1,
	CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 0x3,
	CU_MEM_ACCESS_FLAGS_PROT_MAX = 0x7fffffff,
} CUmemAccess_flags;

typedef enum {
	CU_MEM_LOCATION_TYPE_INVALID = 0x0,
	CU_MEM_LOCATION_TYPE_DEVICE = 0x1,
	CU_MEM_LOCATION_TYPE_HOST = 0x2,
	CU_MEM_LOCATION_TYPE_HOST_NUMA = 0x3,
	CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = 0x4,
	CU_MEM_LOCATION_TYPE_MAX = 0x7fffffff,
} CUmemLocationType;

typedef enum {
	CU_MEM_ALLOCATION_TYPE_INVALID = 0x0,
	CU_MEM_ALLOCATION_TYPE_PINNED = 0x1,
	CU_MEM_ALLOCATION_TYPE_MANAGED = 0x2,
	CU_MEM_ALLOCATION_TYPE_MAX = 0x7fffffff,
} CUmemAllocationType;

typedef enum {
	CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0x0,
	CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 0x1,
} CUmemAllocationGranularity_flags;

typedef enum {
	CU_MEM_ALLOCATION_COMP_NONE = 0x0,
	CU_MEM_ALLOCATION_COMP_GENERIC = 0x1,
} CUmemAllocationCompType;

typedef enum {
	CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD = 0x1,
	CU_MEM_RANGE_HANDLE_TYPE_MAX = 0x7fffffff,
} CUmemRangeHandleType;

/* The first three are int, the others cuuint64_t. */
typedef enum {
	CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
	CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
	CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
	CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
	CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
	CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
	CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
	CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8,
} CUmemPool_attribute;

/*
 * The comments say what is written through the pointer. The width of a boolean
 * is not documented: give it eight zeroed bytes.
 */
typedef enum {
	CU_POINTER_ATTRIBUTE_CONTEXT = 1,	/* CUcontext */
	CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,	/* unsigned int */
	CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3, /* CUdeviceptr */
	CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,	/* void * */
	CU_POINTER_ATTRIBUTE_P2P_TOKENS = 5,	/* two 64-bit numbers */
	CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,	/* boolean */
	CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,	/* unsigned long long */
	CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,	/* boolean */
	CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9, /* int */
	CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10, /* boolean */
	/* Of a reservation. */
	CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11, /* CUdeviceptr */
	CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,	/* size_t */
	CU_POINTER_ATTRIBUTE_MAPPED = 13,	/* boolean */
	CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14, /* a mask */
	CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15, /* boolean */
	CU_POINTER_ATTRIBUTE_ACCESS_FLAGS = 16,	/* CUmemAccess_flags */
	CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17, /* CUmemoryPool */
	/* Of one mapping. */
	CU_POINTER_ATTRIBUTE_MAPPING_SIZE = 18,	/* size_t */
	CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR = 19, /* CUdeviceptr */
	CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID = 20, /* unsigned long long */
} CUpointer_attribute;

/* Each is one int. */
typedef enum {
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
	CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
	CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
	CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
	CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
	CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
	CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
	CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
	CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
	CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
	CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
	CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
	CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
	CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD = 84,
	CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID = 85,
	CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
	CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
	CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
	CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES = 98,
	CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
	CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100,
	CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 101,
	CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
	CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
	CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED = 104,
	CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED = 105,
	CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED = 107,
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110,
	CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED = 113,
	CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED = 116,
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS = 117,
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING = 118,
	CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES = 119,
	CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 124,
	CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED = 128,
	CU_DEVICE_ATTRIBUTE_NUMA_CONFIG = 130,
	CU_DEVICE_ATTRIBUTE_NUMA_ID = 131,
	CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED = 132,
	CU_DEVICE_ATTRIBUTE_MPS_ENABLED = 133,
	CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID = 134,
	CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID = 139,
	CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID = 140,
	CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 141,
	CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED = 142,
	CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED = 143,
	CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED = 144,
	CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 145,
	CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED = 146,
} CUdevice_attribute;

/* ---- Structures ------------------------------------------------------- */

typedef struct {
	char bytes[16];
} CUuuid;

typedef struct {
	char reserved[64];
} CUipcMemHandle;

typedef struct {
	unsigned char data[64];
} CUmemFabricHandle;

typedef struct {
	CUmemLocationType type;
	int id;
} CUmemLocation;

/* Everything that is not given must be zero: clear the whole first. */
typedef struct {
	CUmemAllocationType type;
	CUmemAllocationHandleType requestedHandleTypes;
	CUmemLocation location;
	void *win32HandleMetaData;
	struct {
		unsigned char compressionType;
		unsigned char gpuDirectRDMACapable;
		unsigned short usage;
		unsigned char reserved[4];
	} allocFlags;
} CUmemAllocationProp;

typedef struct {
	CUmemLocation location;
	CUmemAccess_flags flags;
} CUmemAccessDesc;

typedef struct {
	CUmemAllocationType allocType;
	CUmemAllocationHandleType handleTypes;
	CUmemLocation location;
	void *win32SecurityAttributes;
	size_t maxSize;
	unsigned short usage;
	unsigned char reserved[54];
} CUmemPoolProps;

typedef struct {
	size_t srcXInBytes;
	size_t srcY;
	CUmemorytype srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	size_t srcPitch;
	size_t dstXInBytes;
	size_t dstY;
	CUmemorytype dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	size_t dstPitch;
	size_t WidthInBytes;
	size_t Height;
} CUDA_MEMCPY2D;

_Static_assert(sizeof(CUuuid) == 16, "CUuuid");
_Static_assert(sizeof(CUipcMemHandle) == 64, "CUipcMemHandle");
_Static_assert(sizeof(CUmemFabricHandle) == 64, "CUmemFabricHandle");
_Static_assert(sizeof(CUmemLocation) == 8, "CUmemLocation");
_Static_assert(sizeof(CUmemAllocationProp) == 32, "CUmemAllocationProp");
_Static_assert(sizeof(CUmemAccessDesc) == 12, "CUmemAccessDesc");
_Static_assert(sizeof(CUmemPoolProps) == 88, "CUmemPoolProps");
_Static_assert(sizeof(CUDA_MEMCPY2D) == 128, "CUDA_MEMCPY2D");

/* ---- Functions -------------------------------------------------------- */

typedef void (*CUhostFn)(void *userData);
typedef void (*CUlogsCallback)(void *data, CUlogLevel logLevel, char *message,
			       size_t length);

/** cuda_pfn_NAME - a pointer to function NAME, named without its suffix */
#define SLABDEV_CUDA_PFN(need, base, suffix, version, args, names) \
	typedef CUresult (*cuda_pfn_##base) args;
SLABDEV_CUDA_FUNCS(SLABDEV_CUDA_PFN)

#endif /* VMM_CUDA_ABI_H */
