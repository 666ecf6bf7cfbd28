// SPDX-License-Identifier: BSD-2-Clause
/*
 * view_devices.c - what a space can be opened on, as the library discovers it.
 *
 * The one view that shows no process: it asks the library that slabinfo is
 * linked with, which loads the CUDA driver, and makes no context. Where there
 * is no driver, that is an answer and no failure: the entry says why.
 */
#include <inttypes.h>

#include <slabdev/device.h>

#include "json.h"
#include "text.h"
#include "view.h"

#define JSON_VERSION 1

static const struct {
	uint32_t bit;
	const char *name;
} features[] = {
	{ SLABDEV_DEVICE_VMM, "vmm" },
	{ SLABDEV_DEVICE_POOLS, "pools" },
	{ SLABDEV_DEVICE_MANAGED, "managed" },
	{ SLABDEV_DEVICE_FD, "fd" },
	{ SLABDEV_DEVICE_FABRIC, "fabric" },
	{ SLABDEV_DEVICE_RDMA, "rdma" },
	{ SLABDEV_DEVICE_INTEGRATED, "integrated" },
	{ SLABDEV_DEVICE_MIG, "mig" },
	{ SLABDEV_DEVICE_MPS, "mps" },
};

/* ---- For people ------------------------------------------------------- */

static void print_memory(FILE *out, const struct slabdev_device_info *info,
			 const struct options *opt)
{
	if (!info->memory_total)
		return;
	fprintf(out, "  memory       %s",
		size_text(info->memory_total, opt->bytes).text);
	if (info->memory_free)
		fprintf(out, ", %s free",
			size_text(info->memory_free, opt->bytes).text);
	fputc('\n', out);
}

static void print_cuda(FILE *out, const struct slabdev_device_info *info)
{
	size_t i;

	if (*info->uuid)
		fprintf(out, "  uuid         %s\n", escaped(info->uuid).text);
	if (*info->pci)
		fprintf(out, "  pci          %s\n", escaped(info->pci).text);
	if (info->compute_major)
		fprintf(out, "  compute      %" PRIu32 ".%" PRIu32 "\n",
			info->compute_major, info->compute_minor);
	if (info->driver)
		fprintf(out, "  driver       CUDA %" PRIu32 ".%" PRIu32 "\n",
			info->driver / 1000, info->driver % 1000 / 10);
	if (!info->features)
		return;
	fputs("  features    ", out);
	for (i = 0; i < ARRAY_SIZE(features); i++)
		if (info->features & features[i].bit)
			fprintf(out, " %s", features[i].name);
	fputc('\n', out);
}

static void print_device(FILE *out, const struct slabdev_device_info *info,
			 const struct options *opt)
{
	fprintf(out, "%s: %s\n", escaped(info->spec).text,
		escaped(info->name).text);
	if (info->usable)
		fputs("  usable       yes\n", out);
	else
		fprintf(out, "  usable       no: %s\n",
			escaped(info->reason).text);
	print_memory(out, info, opt);
	if (info->granularity)
		fprintf(out, "  granularity  %s\n",
			size_text(info->granularity, opt->bytes).text);
	print_cuda(out, info);
}

/* ---- For programs ----------------------------------------------------- */

static void put_device(struct json *j, const struct slabdev_device_info *info)
{
	size_t i;

	json_open(j, NULL, '{');
	json_string(j, "spec", info->spec);
	json_string(j, "name", info->name);
	json_bool(j, "usable", info->usable);
	json_string(j, "reason", info->reason);
	json_u64(j, "memory_total", info->memory_total);
	json_u64(j, "memory_free", info->memory_free);
	json_u64(j, "granularity", info->granularity);
	json_string(j, "uuid", info->uuid);
	json_string(j, "pci", info->pci);
	json_u64(j, "compute_major", info->compute_major);
	json_u64(j, "compute_minor", info->compute_minor);
	json_u64(j, "driver", info->driver);
	json_open(j, "features", '[');
	for (i = 0; i < ARRAY_SIZE(features); i++)
		if (info->features & features[i].bit)
			json_string(j, NULL, features[i].name);
	json_close(j, ']');
	json_close(j, '}');
}

/* ---- Both ------------------------------------------------------------- */

int view_devices(FILE *out, const struct options *opt)
{
	struct slabdev_device_info info;
	struct json j = { .out = out };
	bool json = opt->view == VIEW_JSON;
	int i, count = slabdev_device_count(), err = 0;

	if (json) {
		json_open(&j, NULL, '{');
		json_u64(&j, "version", JSON_VERSION);
		json_open(&j, "devices", '[');
	}
	for (i = 0; i < count && !err; i++) {
		err = slabdev_device_get(i, &info, sizeof(info));
		if (!err && json)
			put_device(&j, &info);
		else if (!err)
			print_device(out, &info, opt);
	}
	if (json) {
		json_close(&j, ']');
		json_close(&j, '}');
		fputc('\n', out);
	}
	return err;
}
