// SPDX-License-Identifier: BSD-2-Clause
/*
 * driver.c - initialisation, versions, names of errors, devices.
 *
 * cuInit() makes the devices of the profile. From then on the model belongs to
 * that process: in the child of a fork nothing works, as with the driver.
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/model/internal.h"

struct model model = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
};

/* ---- Initialisation ------------------------------------------------- */

static CUresult first_init(void)
{
	const char *name = getenv("SLABDEV_MODEL_PROFILE");
	int i;

	rule_read_environment();
	model.profile = profile_find(name);
	if (!model.profile) {
		fprintf(stderr, "driver model: SLABDEV_MODEL_PROFILE=%s: no "
			"such profile\n", name);
		return CUDA_ERROR_UNKNOWN;
	}
	REFUSE_IF(!model.profile->nr_devices, 0, NO_DEVICE, "the profile");
	model.page = (u64)sysconf(_SC_PAGESIZE);
	WRITE_ONCE(model.pid, getpid());
	context_init();
	for (i = 0; i < model.profile->nr_devices; i++) {
		model.devices[i].ordinal = i;
		pool_init_device(&model.devices[i]);
	}
	atexit(leak_at_exit);
	model.initialised = true;
	return CUDA_SUCCESS;
}

CUresult do_cuInit(unsigned int flags)
{
	REFUSE_IF(flags, 2, INVALID_VALUE, "cuInit takes no flags");
	if (!model.initialised)
		return first_init();
	REFUSE_IF(broken(3), 0, UNKNOWN, "cuInit was called before");
	return CUDA_SUCCESS;
}

CUresult do_cuDriverGetVersion(int *version)
{
	REFUSE_IF(!version, 5, INVALID_VALUE, "no place for the version");
	if (version)
		*version = broken(4) ? 9000 : model_version;
	return CUDA_SUCCESS;
}

/* ---- Errors --------------------------------------------------------- */

struct error_text {
	int code;
	const char *name;
};

#define ERROR_TEXT(name, value) { value, "CUDA_ERROR_" #name },
static const struct error_text errors[] = {
	{ 0, "CUDA_SUCCESS" },
	SLABDEV_CUDA_ERRORS(ERROR_TEXT)
};

static const char *find_error(CUresult code)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i].code == (int)code)
			return errors[i].name;
	return NULL;
}

const char *error_name(CUresult code)
{
	const char *name = find_error(code);

	return name ? name : "unknown error";
}

CUresult do_cuGetErrorName(CUresult error, const char **text)
{
	static char moving[3][40];
	static int turn;

	REFUSE_IF(!text, 0, INVALID_VALUE, "no place for the text");
	REFUSE_IF(model.initialised && broken(193) && sticky_of(-1), 0,
		  UNKNOWN, "an earlier operation made the device fail");
	*text = find_error(error);
	if (!*text && broken(7))
		return CUDA_SUCCESS;
	REFUSE_IF(!*text, 7, INVALID_VALUE, "no such error");
	if (broken(6)) {
		turn = (turn + 1) % 3;
		snprintf(moving[turn], sizeof(moving[turn]), "%s", *text);
		*text = moving[turn];
	}
	return CUDA_SUCCESS;
}

CUresult do_cuGetErrorString(CUresult error, const char **text)
{
	return do_cuGetErrorName(error, text);
}

/* ---- Functions by name ---------------------------------------------- */

static CUresult not_found(CUdriverProcAddressQueryResult why,
			  CUdriverProcAddressQueryResult *status)
{
	if (status)
		*status = why;
	return CUDA_SUCCESS;
}

/* From 13.0 on these names have other arguments: what a caller would get. */
static CUresult newer_signature(void)
{
	undefined(13, "a function of another signature was called: it was "
		  "asked for with too high a version");
}

static bool has_newer(int id, int version)
{
	return version >= 13000 && !broken(13) &&
	       (id == CALL_cuCtxGetDevice || id == CALL_cuCtxSynchronize);
}

static int find_base(const char *symbol)
{
	int i;

	for (i = 0; i < NR_CALLS; i++)
		if (!strcmp(call_table[i].base, symbol))
			return i;
	return broken(12) ? call_find(symbol) : -1;
}

CUresult do_cuGetProcAddress(const char *symbol, void **pfn, int version,
			     cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	int id;

	REFUSE_IF(!symbol || !pfn || flags > 2, 0, INVALID_VALUE,
		  "no name, no place for the function, or unknown flags");
	REFUSE_IF(version > model_version, 11, INVALID_VALUE,
		  "the version is newer than the driver");
	*pfn = NULL;
	id = find_base(symbol);
	if (id < 0 || call_table[id].version > model_version) {
		REFUSE_IF(broken(9), 0, NOT_FOUND, "no such function");
		return not_found(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, status);
	}
	if (call_table[id].version > version && !broken(10))
		return not_found(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
				 status);
	*pfn = call_table[id].fn;
	if (broken(8))
		*pfn = call_table[CALL_cuMemFree].fn;
	if (has_newer(id, version))
		*pfn = (void *)(uintptr_t)newer_signature;
	if (status)
		*status = CU_GET_PROC_ADDRESS_SUCCESS;
	return CUDA_SUCCESS;
}

/* ---- Devices -------------------------------------------------------- */

CUresult do_cuDeviceGetCount(int *count)
{
	REFUSE_IF(!count, 0, INVALID_VALUE, "no place for the count");
	*count = model.profile->nr_devices;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGet(CUdevice *device, int ordinal)
{
	REFUSE_IF(!device, 0, INVALID_VALUE, "no place for the device");
	REFUSE_IF(!device_is_valid(ordinal), 14, INVALID_DEVICE,
		  "the ordinal is not below the number of devices");
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetName(char *name, int len, CUdevice dev)
{
	REFUSE_IF(!name || len <= 0, 0, INVALID_VALUE, "no place for it");
	REFUSE_IF(!device_is_valid(dev), 0, INVALID_DEVICE, "no such device");
	snprintf(name, (size_t)len + (broken(16) ? 2 : 0), "%s",
		 model.profile->device_name);
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	REFUSE_IF(!uuid, 0, INVALID_VALUE, "no place for it");
	REFUSE_IF(!device_is_valid(dev), 0, INVALID_DEVICE, "no such device");
	memcpy(uuid->bytes, "MODEL\0\0\0\x40\0\x80", 12);
	memset(uuid->bytes + 12, 0, 4);
	uuid->bytes[14] = (char)model.profile->mig;
	uuid->bytes[15] = (char)dev;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceTotalMem(size_t *bytes, CUdevice dev)
{
	REFUSE_IF(!bytes, 0, INVALID_VALUE, "no place for it");
	REFUSE_IF(!device_is_valid(dev), 0, INVALID_DEVICE, "no such device");
	*bytes = profile_bytes(model.profile, dev);
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
				 CUdevice dev)
{
	int v = 0;

	REFUSE_IF(!value, 0, INVALID_VALUE, "no place for it");
	REFUSE_IF(!device_is_valid(dev), 0, INVALID_DEVICE, "no such device");
	REFUSE_IF(profile_attribute(model.profile, dev, (int)attribute, &v),
		  0, INVALID_VALUE, "no such attribute");
	*value = v;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetPCIBusId(char *text, int len, CUdevice dev)
{
	REFUSE_IF(!text || len < 13, 0, INVALID_VALUE,
		  "an id takes 13 bytes with its zero");
	REFUSE_IF(!device_is_valid(dev), 0, INVALID_DEVICE, "no such device");
	snprintf(text, (size_t)len, "0000:%02x:00.0", 0x1b + dev);
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetByPCIBusId(CUdevice *dev, const char *text)
{
	char own[24];
	int i;

	REFUSE_IF(!dev || !text, 0, INVALID_VALUE, "no place or no text");
	for (i = 0; i < model.profile->nr_devices; i++) {
		snprintf(own, sizeof(own), "0000:%02x:00.0", 0x1b + i);
		if (!strcasecmp(own, text)) {
			*dev = i;
			return CUDA_SUCCESS;
		}
	}
	return refuse(0, CUDA_ERROR_INVALID_DEVICE, "no such device");
}
