// SPDX-License-Identifier: BSD-2-Clause
/*
 * device.c - the device, and its streams.
 *
 * The library takes streams and makes none, but for queues. So a stream of a
 * GPU comes from the driver, which is loaded here as the library loads it, from
 * the same file. It is one of the device's primary context, without an order
 * between it and the default stream, and lives as long as the process.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "subject.h"

#define NON_BLOCKING 1u		/* CU_STREAM_NON_BLOCKING */

struct driver {
	int (*init)(unsigned int flags);
	int (*get_device)(int *device, int ordinal);
	int (*retain)(void **context, int device);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*create_stream)(slabdev_stream_t *stream, unsigned int flags);
};

static const char *device = "host";
static struct driver driver;

void device_choose(const char *spec)
{
	device = spec;
}

const char *device_spec(void)
{
	return device;
}

/* "cuda-host:0" is memory of this machine, but the device is "cuda:0". */
void device_name(char *name, size_t size)
{
	const char *which = strchr(device, ':');
	struct slabdev_device_info info;
	int i, nr = slabdev_device_count();
	const char *known;

	*name = '\0';
	for (i = 0; which && i < nr && !*name; i++) {
		if (slabdev_device_get(i, &info, sizeof(info)))
			continue;
		known = strchr(info.spec, ':');
		if (known && !strcmp(known, which))
			snprintf(name, size, "%s", info.name);
	}
}

/* ---- Streams ---------------------------------------------------------- */

static bool find(void *library, const char *name, void *to)
{
	void *function = dlsym(library, name);

	memcpy(to, &function, sizeof(function));
	return function;
}

static bool load_driver(char *why)
{
	const char *path = getenv("SLABDEV_LIBCUDA");
	void *library = dlopen(path && *path ? path : "libcuda.so.1",
			       RTLD_NOW | RTLD_LOCAL);
	struct driver *d = &driver;

	if (!library) {
		snprintf(why, SUBJECT_TEXT, "%s", dlerror());
		return false;
	}
	if (find(library, "cuInit", &d->init) &&
	    find(library, "cuDeviceGet", &d->get_device) &&
	    find(library, "cuDevicePrimaryCtxRetain", &d->retain) &&
	    find(library, "cuCtxPushCurrent_v2", &d->push) &&
	    find(library, "cuCtxPopCurrent_v2", &d->pop) &&
	    find(library, "cuStreamCreate", &d->create_stream))
		return true;
	snprintf(why, SUBJECT_TEXT, "the CUDA driver lacks a function");
	return false;
}

/* In the primary context of device @ordinal: 0, or the driver's error. */
static int create_stream(slabdev_stream_t *stream, int ordinal)
{
	const struct driver *d = &driver;
	void *context;
	int err, which;

	err = d->init(0);
	if (!err)
		err = d->get_device(&which, ordinal);
	if (!err)
		err = d->retain(&context, which);
	if (!err)
		err = d->push(context);
	if (err)
		return err;
	err = d->create_stream(stream, NON_BLOCKING);
	d->pop(&context);
	return err;
}

static bool driver_stream(slabdev_stream_t *stream, char *why)
{
	const char *number = strchr(device, ':') + 1;
	char *end;
	long ordinal = strtol(number, &end, 10);
	int err;

	if (*end || end == number) {
		snprintf(why, SUBJECT_TEXT, "%s: streams need the number of "
			 "the device", device);
		return false;
	}
	if (!driver.init && !load_driver(why))
		return false;
	err = create_stream(stream, (int)ordinal);
	if (err)
		snprintf(why, SUBJECT_TEXT, "no stream: the driver says %d",
			 err);
	return !err;
}

bool device_stream(slabdev_stream_t *stream, char *why)
{
	if (strchr(device, ':'))
		return driver_stream(stream, why);
	if (!slabdev_queue_create(stream, SLABDEV_QUEUE_MANUAL))
		return true;
	snprintf(why, SUBJECT_TEXT, "%s", slabdev_last_error());
	return false;
}
