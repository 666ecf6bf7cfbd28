// SPDX-License-Identifier: BSD-2-Clause
/*
 * device.c - which device computes on the memory of a space
 *
 * The CPU reaches all but "cuda:N": pinned and managed memory, too.
 */
#include <string.h>

#include "driver.h"
#include "device.h"

const struct device *device_find(const char *spec)
{
	return strncmp(spec, "cuda:", 5) ? &device_cpu : &device_cuda;
}

const char *device_error(void)
{
	return driver_error();
}
