/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * driver.h - a GPU as far as the driver alone can use it: a stream, copies
 */
#ifndef DMRG_DRIVER_H
#define DMRG_DRIVER_H

#include <stddef.h>

#include "device.h"

int driver_open(const char *spec);
void driver_close(void);
slabdev_stream_t driver_stream(void);

/* Make the device current for this thread, which others may have set before. */
void driver_enter(void);

void driver_zero(void *p, size_t bytes);
void driver_copy(void *to, const void *from, size_t bytes);
void driver_read(void *to, const void *from, size_t bytes);
void driver_write(void *to, const void *from, size_t bytes);
void driver_counts(struct device_counts *c);

/* The first failure since driver_open(), or "". */
const char *driver_error(void);
void driver_failed(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* Look up @symbol of @lib, and put its address into *@fn. */
int driver_find(void *lib, const char *symbol, void *fn);

#endif
