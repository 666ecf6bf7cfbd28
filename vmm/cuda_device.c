// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_device.c - which devices there are, and which one a name means.
 *
 * Everything asked here works without a context, so discovery costs no device
 * memory; but for free memory, which is told only where the process uses the
 * device already.
 *
 * An attribute that a driver does not know is a feature that it does not have:
 * errors of cuDeviceGetAttribute() count as 0.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "vmm/backends.h"
#include "vmm/cuda_dev.h"

#define UUID_TEXT 37		/* without the prefix, with the zero */

int cuda_attribute(const struct cuda_driver *drv, CUdevice device,
		   CUdevice_attribute attribute)
{
	int value = 0;

	return drv->cuDeviceGetAttribute(&value, attribute, device) ? 0 : value;
}

static void device_name(const struct cuda_driver *drv, CUdevice device,
			char *name, size_t len)
{
	if (drv->cuDeviceGetName(name, (int)len, device))
		snprintf(name, len, "CUDA device %d", (int)device);
}

static bool is_mig(const struct cuda_driver *drv, CUdevice device)
{
	char name[128] = "";

	device_name(drv, device, name, sizeof(name));
	return strstr(name, " MIG ");
}

/* ---- Names ------------------------------------------------------------ */

/* The digits of the uuid, with dashes; false where the driver tells none. */
static bool uuid_text(const struct cuda_driver *drv, CUdevice device,
		      char text[UUID_TEXT])
{
	static const u8 dash_before[] = { 4, 6, 8, 10 };
	CUuuid uuid = { .bytes = { 0 } };
	u32 dash = 0, at = 0;

	if (!drv->cuDeviceGetUuid || drv->cuDeviceGetUuid(&uuid, device))
		return false;
	for (u32 i = 0; i < sizeof(uuid.bytes); i++) {
		if (dash < ARRAY_SIZE(dash_before) && i == dash_before[dash]) {
			text[at++] = '-';
			dash++;
		}
		at += (u32)snprintf(text + at, UUID_TEXT - at, "%02x",
				    (u8)uuid.bytes[i]);
	}
	return true;
}

void cuda_uuid(const struct cuda_driver *drv, CUdevice device, char *buf,
	       size_t len)
{
	char text[UUID_TEXT];

	*buf = '\0';
	if (uuid_text(drv, device, text))
		snprintf(buf, len, "%s-%s", is_mig(drv, device) ? "MIG" : "GPU",
			 text);
}

static int find_uuid(const struct cuda_driver *drv, const char *spec,
		     bool mig, const char *uuid, CUdevice *device)
{
	char text[UUID_TEXT];
	CUdevice at;
	int count = 0;

	(void)drv->cuDeviceGetCount(&count);
	for (int i = 0; i < count; i++) {
		if (drv->cuDeviceGet(&at, i) || !uuid_text(drv, at, text) ||
		    strcasecmp(text, uuid) || is_mig(drv, at) != mig)
			continue;
		*device = at;
		return 0;
	}
	return error_set(-ENODEV, "device '%.64s': no CUDA device has that "
			 "uuid; slabinfo --devices lists them", spec);
}

/* Digits only, without a zero in front. */
static bool parse_ordinal(const char *text, int *ordinal)
{
	size_t len = strlen(text);

	if (!len || len > 4 || strspn(text, "0123456789") != len ||
	    (*text == '0' && len > 1))
		return false;
	return sscanf(text, "%d", ordinal) == 1;
}

static int find_ordinal(const struct cuda_driver *drv, const char *spec,
			int ordinal, CUdevice *device)
{
	int count = 0;
	CUresult result = drv->cuDeviceGetCount(&count);

	if (result)
		return error_set(cuda_errno(result), "device '%.64s': "
				 "cuDeviceGetCount: %s (%d)", spec,
				 cuda_error_name(result), (int)result);
	if (ordinal >= count)
		return error_set(-ENODEV, "device '%.64s': there %s %d CUDA "
				 "device%s; see CUDA_VISIBLE_DEVICES", spec,
				 count == 1 ? "is" : "are", count,
				 count == 1 ? "" : "s");
	result = drv->cuDeviceGet(device, ordinal);
	if (result)
		return error_set(-ENODEV, "device '%.64s': cuDeviceGet: %s "
				 "(%d)", spec, cuda_error_name(result),
				 (int)result);
	return 0;
}

int cuda_find_device(const struct cuda_driver *drv, const char *spec,
		     const char *name, CUdevice *device)
{
	int ordinal;

	if (!strncasecmp(name, "GPU-", 4))
		return find_uuid(drv, spec, false, name + 4, device);
	if (!strncasecmp(name, "MIG-", 4))
		return find_uuid(drv, spec, true, name + 4, device);
	if (!parse_ordinal(name, &ordinal))
		return error_set(-EINVAL, "device '%.64s': '%.48s' is neither "
				 "the number of a device nor 'GPU-' or 'MIG-' "
				 "with a uuid", spec, name);
	return find_ordinal(drv, spec, ordinal, device);
}

bool cuda_has_vmm(const struct cuda_driver *drv, CUdevice device)
{
	return drv->has_vmm && cuda_attribute(drv, device,
		CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
}

bool cuda_has_pools(const struct cuda_driver *drv, CUdevice device)
{
	return drv->has_pools && cuda_attribute(drv, device,
		CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
}

/* ---- Information ------------------------------------------------------ */

static u32 features(const struct cuda_driver *drv, CUdevice device)
{
	static const struct {
		u32 feature;
		CUdevice_attribute attribute;
	} any[] = {
		{ SLABDEV_DEVICE_MANAGED, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY },
		{ SLABDEV_DEVICE_INTEGRATED, CU_DEVICE_ATTRIBUTE_INTEGRATED },
		{ SLABDEV_DEVICE_MPS, CU_DEVICE_ATTRIBUTE_MPS_ENABLED },
	}, of_vmm[] = {
		{ SLABDEV_DEVICE_FD,
	CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED },
		{ SLABDEV_DEVICE_FABRIC,
	CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED },
		{ SLABDEV_DEVICE_RDMA,
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED },
	};
	bool vmm = cuda_has_vmm(drv, device);
	u32 found = vmm ? SLABDEV_DEVICE_VMM : 0;

	for (u32 i = 0; i < ARRAY_SIZE(any); i++)
		if (cuda_attribute(drv, device, any[i].attribute))
			found |= any[i].feature;
	for (u32 i = 0; vmm && i < ARRAY_SIZE(of_vmm); i++)
		if (cuda_attribute(drv, device, of_vmm[i].attribute))
			found |= of_vmm[i].feature;
	if (cuda_has_pools(drv, device))
		found |= SLABDEV_DEVICE_POOLS;
	if (is_mig(drv, device))
		found |= SLABDEV_DEVICE_MIG;
	return found;
}

static u64 granularity(const struct cuda_driver *drv, CUdevice device)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {
			.type = CU_MEM_LOCATION_TYPE_DEVICE,
			.id = device,
		},
	};
	size_t bytes = 0;

	if (!cuda_has_vmm(drv, device) ||
	    drv->cuMemGetAllocationGranularity(&bytes, &prop,
				CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
		return 0;
	return bytes;
}

/* Only where the process has a context: one costs device memory. */
static u64 free_memory(const struct cuda_driver *drv, CUdevice device)
{
	struct cuda_dev d = { .drv = drv, .device = device };
	u64 free_bytes = 0, total;
	unsigned int flags;
	int active = 0;

	if (!drv->cuDevicePrimaryCtxGetState ||
	    drv->cuDevicePrimaryCtxGetState(device, &flags, &active) ||
	    !active || drv->cuDevicePrimaryCtxRetain(&d.ctx, device))
		return 0;
	if (cuda_meminfo(&d, &free_bytes, &total))
		free_bytes = 0;
	(void)drv->cuDevicePrimaryCtxRelease(device);
	return free_bytes;
}

static void describe(const struct cuda_driver *drv, CUdevice device,
		     struct slabdev_device_info *info)
{
	size_t total = 0;

	device_name(drv, device, info->name, sizeof(info->name));
	info->features = features(drv, device);
	cuda_uuid(drv, device, info->uuid, sizeof(info->uuid));
	(void)drv->cuDeviceTotalMem(&total, device);
	info->memory_total = total;
	info->memory_free = free_memory(drv, device);
	info->granularity = granularity(drv, device);
	if (drv->cuDeviceGetPCIBusId &&
	    drv->cuDeviceGetPCIBusId(info->pci, sizeof(info->pci), device))
		*info->pci = '\0';
	info->compute_major = (u32)cuda_attribute(drv, device,
			CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	info->compute_minor = (u32)cuda_attribute(drv, device,
			CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	info->driver = (u32)drv->version;
	if (cuda_attribute(drv, device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) ==
	    CU_COMPUTEMODE_PROHIBITED)
		snprintf(info->reason, sizeof(info->reason), "its compute mode "
			 "is prohibited; see nvidia-smi -c");
	else
		info->usable = 1;
}

/* Devices that can be asked for, or 0 with the error text set. */
static int count_devices(const struct cuda_driver **drv)
{
	CUresult result;
	int count = 0;

	if (cuda_driver_get(drv))
		return 0;
	result = (*drv)->cuDeviceGetCount(&count);
	if (result)
		error_set(cuda_errno(result), "the CUDA driver does not count "
			  "its devices: %s (%d)", cuda_error_name(result),
			  (int)result);
	else if (!count)
		error_set(-ENODEV, "the CUDA driver sees no device; see "
			  "CUDA_VISIBLE_DEVICES and nvidia-smi");
	return result ? 0 : count;
}

int vmm_cuda_count(void)
{
	const struct cuda_driver *drv;

	return max(count_devices(&drv), 1);
}

void vmm_cuda_info(int index, struct slabdev_device_info *info)
{
	const struct cuda_driver *drv;
	CUdevice device;

	*info = (struct slabdev_device_info){ .spec = "cuda" };
	if (!count_devices(&drv)) {
		snprintf(info->name, sizeof(info->name), "CUDA devices");
		snprintf(info->reason, sizeof(info->reason), "%s",
			 error_get());
		return;
	}
	snprintf(info->spec, sizeof(info->spec), "cuda:%d", index);
	if (drv->cuDeviceGet(&device, index))
		snprintf(info->reason, sizeof(info->reason),
			 "the driver does not give it");
	else
		describe(drv, device, info);
}
