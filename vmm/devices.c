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

const char *vmm_parse_cuda(const char *spec, enum vmm_cuda_kind *kind)
{
	static const char *const prefixes[] = {
		[CUDA_DEVICE] = "cuda:",
		[CUDA_PINNED] = "cuda-host:",
		[CUDA_MANAGED] = "cuda-managed:",
	};
	size_t len;

	for (u32 i = 0; i < ARRAY_SIZE(prefixes); i++) {
		len = strlen(prefixes[i]);
		if (!strncmp(spec, prefixes[i], len)) {
			*kind = (enum vmm_cuda_kind)i;
			return spec + len;
		}
	}
	return NULL;
}

static int no_host_backend(int err)
{
	char limit[128];

	os_memory_limit(HOST_TABLES_BYTES, limit, sizeof(limit));
	return error_set(err, "no host memory for the host backend%s%s",
			 *limit ? "; " : "", limit);
}

/* Can memory be had that other processes can map? */
static bool have_shared_memory(void)
{
	int fd = os_shared_file("slabdev memory", os_page_size());

	if (fd >= 0)
		os_close(fd);
	return fd >= 0;
}

static int host_get(const struct slabdev_attr *attr, const struct vmm_ops **ops,
		    void **dev)
{
	bool shared = attr->handle_type == SLABDEV_HANDLE_FD;
	int err;

	if (attr->stream || attr->backing || attr->nr_peers ||
	    (attr->flags & SLABDEV_OPEN_RDMA))
		return error_set(-ENOTSUP, "device 'host' has no bound stream, "
				 "backings, peers or RDMA: leave these "
				 "attributes zero");
	if (attr->handle_type == SLABDEV_HANDLE_FABRIC)
		return error_set(-ENOTSUP, "device 'host' has no fabric "
				 "handles: attr.handle_type may be "
				 "SLABDEV_HANDLE_FD");
	if (attr->handle_type == SLABDEV_HANDLE_AUTO) {
		shared = have_shared_memory();
		if (!shared)
			pr_warn("no memfd with seals: the space is opened "
				"without memory that can be shared");
	}
	err = vmm_host_get(attr->flags, shared, dev);
	if (err)
		return no_host_backend(err);
	*ops = shared ? &vmm_host_shared_ops : &vmm_host_ops;
	return 0;
}

int vmm_backend_find(const char *spec, const struct slabdev_attr *attr,
		     const struct vmm_ops **ops, void **dev)
{
	static const struct slabdev_attr defaults = SLABDEV_ATTR_INIT;
	enum vmm_cuda_kind kind;

	if (!spec)
		return error_set(-EINVAL, "no device given; 'host' is "
				 "available");
	if (!attr)
		attr = &defaults;
	if (vmm_parse_cuda(spec, &kind))
		return vmm_cuda_get(spec, attr, ops, dev);
	if (strcmp(spec, "host"))
		return error_set(-EINVAL, "device '%.64s' is not known; it "
				 "must be 'host', or 'cuda:', 'cuda-host:' or "
				 "'cuda-managed:' with a device behind it",
				 spec);
	return host_get(attr, ops, dev);
}

void vmm_backend_put(const struct vmm_ops *ops, void *dev)
{
	if (ops->put)
		ops->put(dev);
}

static void host_info(struct slabdev_device_info *info)
{
	struct utsname machine;

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
}

int vmm_device_count(void)
{
	return 1 + vmm_cuda_count();
}

int vmm_device_get(int index, struct slabdev_device_info *info)
{
	int count = vmm_device_count();

	if (index < 0 || index >= count)
		return error_set(-EINVAL, "there is no device number %d, only "
				 "0 to %d", index, count - 1);
	if (index)
		vmm_cuda_info(index - 1, info);
	else
		host_info(info);
	return 0;
}
