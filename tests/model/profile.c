// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile.c - which machine the model is: SLABDEV_MODEL_PROFILE.
 *
 * Figures of real parts where they are public: an H200 has 132 multiprocessors
 * and reports 139.8 GiB, in chunks of 2 MiB. How old the driver is is no part
 * of a profile: what a library exports cannot be changed while it runs, so
 * that each age is a library of its own.
 */
#include "tests/model/internal.h"

static const struct profile profiles[] = {
	{
		.name = "h200",
		.device_name = "MODEL H200",
		.nr_devices = 1, .sms = 132,
		.vmm = true, .pools = true, .host_numa = true,
		.total_bytes = 71578 * (2 * MIB), .granularity = 2 * MIB,
		.va_bytes = 64 * TIB,
	}, {
		.name = "two",
		.device_name = "MODEL H200",
		.nr_devices = 2, .sms = 132,
		.peers = true, .vmm = true, .pools = true, .host_numa = true,
		.total_bytes = 71578 * (2 * MIB), .granularity = 2 * MIB,
		.va_bytes = 64 * TIB,
	}, {
		.name = "unequal",
		.device_name = "MODEL H200",
		.nr_devices = 2, .sms = 132,
		.peers = true, .vmm = true, .pools = true, .host_numa = true,
		.total_bytes = 71578 * (2 * MIB), .granularity = 2 * MIB,
		.last_bytes = 11 * (2 * GIB),
		.va_bytes = 64 * TIB,
	}, {
		.name = "twonopeer",
		.device_name = "MODEL L4",
		.nr_devices = 2, .sms = 58,
		.vmm = true, .pools = true,
		.total_bytes = 11 * (2 * GIB), .granularity = 2 * MIB,
		.va_bytes = 64 * TIB,
	}, {
		.name = "novmm",
		.device_name = "MODEL vGPU",
		.nr_devices = 1, .sms = 40,
		.pools = true,
		.total_bytes = 8 * GIB, .granularity = 2 * MIB,
		.va_bytes = 64 * TIB,
	}, {
		.name = "plain",
		.device_name = "MODEL vGPU without pools",
		.nr_devices = 1, .sms = 40,
		.total_bytes = 8 * GIB, .granularity = 2 * MIB,
		.va_bytes = 64 * TIB,
	}, {
		.name = "smallva",
		.device_name = "MODEL Jetson",
		.nr_devices = 1, .sms = 16,
		.vmm = true, .pools = true, .integrated = true,
		.total_bytes = 30 * GIB, .granularity = 2 * MIB,
		.va_bytes = 24 * GIB,
	}, {
		.name = "wsl",
		.device_name = "MODEL RTX on WSL",
		.nr_devices = 1, .sms = 76,
		.vmm = true, .pools = true, .wsl = true,
		.total_bytes = 16 * GIB, .granularity = 2 * MIB,
		.va_bytes = 64 * TIB,
	}, {
		.name = "mig",
		.device_name = "MODEL H200 MIG 1g.18gb",
		.nr_devices = 1, .sms = 16,
		.vmm = true, .pools = true, .mig = true,
		.total_bytes = 8 * (2 * GIB), .granularity = 2 * MIB,
		.va_bytes = 64 * TIB,
	}, {
		.name = "nodevice",
		.device_name = "MODEL",
	},
};

const struct profile *profile_find(const char *name)
{
	size_t i;

	if (!name || !*name)
		return &profiles[0];
	for (i = 0; i < ARRAY_SIZE(profiles); i++)
		if (!strcmp(profiles[i].name, name))
			return &profiles[i];
	return NULL;
}

u64 profile_bytes(const struct profile *p, int ordinal)
{
	return p->last_bytes && ordinal == p->nr_devices - 1 ? p->last_bytes :
							       p->total_bytes;
}

/* ---- Attributes ----------------------------------------------------- */

#define ATTRIBUTE_LIMIT 148	/* first that a 13.0 driver does not know */

struct attribute {
	int id;
	int value;
};

#define A(name, value) { CU_DEVICE_ATTRIBUTE_##name, value }

/* The same in every profile; what is in neither table is 0. */
static const struct attribute constant[] = {
	A(MAX_THREADS_PER_BLOCK, 1024), A(WARP_SIZE, 32),
	A(CAN_MAP_HOST_MEMORY, 1), A(COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT),
	A(ECC_ENABLED, 1), A(GLOBAL_MEMORY_BUS_WIDTH, 6144),
	A(L2_CACHE_SIZE, 60 << 20), A(ASYNC_ENGINE_COUNT, 3),
	A(UNIFIED_ADDRESSING, 1), A(COMPUTE_CAPABILITY_MAJOR, 9),
	A(MANAGED_MEMORY, 1), A(HOST_REGISTER_SUPPORTED, 1),
	A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1),
	A(READ_ONLY_HOST_REGISTER_SUPPORTED, 1),
	A(GPU_PCI_DEVICE_ID, 0x233510de), A(MAX_PITCH, 0x7fffffff),
};

static const struct attribute of_vmm[] = {
	A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1),
	A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1),
	A(GENERIC_COMPRESSION_SUPPORTED, 1),
	A(GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 1),
	A(HANDLE_TYPE_FABRIC_SUPPORTED, 1), A(DMA_BUF_SUPPORTED, 1),
};

static bool look_up(const struct attribute *a, size_t n, int id, int *value)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (a[i].id == id) {
			*value = a[i].value;
			return true;
		}
	}
	return false;
}

int profile_attribute(const struct profile *p, int ordinal, int id, int *value)
{
	if ((id <= 0 || id >= ATTRIBUTE_LIMIT) && !broken(15))
		return -1;
	*value = 0;
	if (look_up(constant, ARRAY_SIZE(constant), id, value))
		return 0;
	if (p->vmm && look_up(of_vmm, ARRAY_SIZE(of_vmm), id, value))
		return 0;
	switch (id) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*value = p->sms;
		break;
	case CU_DEVICE_ATTRIBUTE_INTEGRATED:
		*value = p->integrated;
		break;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*value = 0x1b + ordinal;
		break;
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
		*value = !p->wsl;
		break;
	case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
		*value = p->pools;
		break;
	case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
		*value = !p->integrated;
		break;
	case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
		*value = p->host_numa ? 0 : -1;
		break;
	case CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
		*value = p->host_numa;
		break;
	default:
		break;
	}
	return 0;
}
