// SPDX-License-Identifier: BSD-2-Clause
/*
 * devices.c - what there is, and from the name of a device to its backend.
 *
 * A name means one thing: what was asked for is what is opened, or the error
 * text says why not. Names of memory that another build would have are told
 * from names that no build knows.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/log.h"
#include "core/os.h"
#include "vmm/backends.h"
#include "vmm/vmm.h"

/* About what the tables of the host backend reserve. */
#define HOST_TABLES_BYTES (16 * MIB)

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool is_cuda(const char *spec)
{
	return has_prefix(spec, "cuda:") || has_prefix(spec, "cuda-host:") ||
	       has_prefix(spec, "cuda-managed:");
}

static int no_host_backend(int err)
{
	char limit[128];

	os_memory_limit(HOST_TABLES_BYTES, limit, sizeof(limit));
	return error_set(err, "no host memory for the host backend%s%s",
			 *limit ? "; " : "", limit);
}

int vmm_backend_find(const char *spec, unsigned int flags,
		     const struct vmm_ops **ops, void **dev)
{
	int err;

	if (!spec)
		return error_set(-EINVAL, "no device given; 'host' is "
				 "available");
	if (is_cuda(spec))
		return error_set(-ENOTSUP, "device '%.64s': this library was "
				 "built without CUDA (CONFIG_BACKEND_CUDA is "
				 "not built in this version); 'host' is "
				 "available", spec);
	if (strcmp(spec, "host"))
		return error_set(-EINVAL, "device '%.64s' is not known; it "
				 "must be 'host', or 'cuda:', 'cuda-host:' or "
				 "'cuda-managed:' with a device behind it",
				 spec);
	err = vmm_host_get(flags, dev);
	if (err)
		return no_host_backend(err);
	*ops = &vmm_host_ops;
	return 0;
}

void vmm_backend_put(const struct vmm_ops *ops, void *dev)
{
	if (ops == &vmm_host_ops)
		vmm_host_put(dev);
}

int vmm_device_count(void)
{
	return 1;
}

int vmm_device_get(int index, struct slabdev_device_info *info)
{
	struct utsname machine;

	if (index)
		return error_set(-EINVAL, "there is no device number %d, only "
				 "0", index);
	*info = (struct slabdev_device_info){
		.spec = "host",
		.memory_total = os_memory_total(),
		.memory_free = os_memory_free(),
		.usable = 1,
	};
	(void)vmm_host_ops.granularity(NULL, &info->granularity);
	if (uname(&machine))
		strcpy(machine.machine, "this machine");
	snprintf(info->name, sizeof(info->name), "host memory (%s)",
		 machine.machine);
	return 0;
}
