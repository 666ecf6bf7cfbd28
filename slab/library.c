// SPDX-License-Identifier: BSD-2-Clause
/* library.c - calls that need no space: version, errors, log, devices. */
#include <errno.h>

#include "core/log.h"
#include "core/report_policy.h"
#include "core/usercopy.h"
#include "vmm/vmm.h"

const char *slabdev_version(void)
{
	return SLABDEV_VERSION;
}

const char *slabdev_last_error(void)
{
	return error_get();
}

void slabdev_set_log(slabdev_log_fn fn, void *arg)
{
	log_set_user(fn, arg);
}

static int call_report_fn(const struct report_facts *facts, void (*fn)(void),
			  void *arg)
{
	const struct slabdev_report report = {
		.size = sizeof(report),
		.kind = facts->kind,
		.space = facts->space,
		.headline = facts->headline,
		.text = facts->text,
		.json = facts->json,
	};

	return ((slabdev_report_fn)fn)(&report, arg);
}

void slabdev_set_report(slabdev_report_fn fn, void *arg)
{
	report_set_user(fn ? call_report_fn : NULL, (void (*)(void))fn, arg);
}

int slabdev_device_count(void)
{
	return vmm_device_count();
}

int slabdev_device_get(int index, struct slabdev_device_info *info,
		       size_t size)
{
	struct slabdev_device_info own = { .spec = "" };
	int err = vmm_device_get(index, &own);

	if (err)
		return err;
	return copy_struct_to_user(info, size, &own, sizeof(own), "info");
}
