/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.h - whose memory libslabdev hands out, and streams that go with it.
 *
 * "host", with queues for streams, or "cuda:N" and its kin, with streams of
 * the driver. A process has one device.
 */
#ifndef SLABBENCH_DEVICE_H
#define SLABBENCH_DEVICE_H

#include <stdbool.h>

#include <slabdev/slabdev.h>

/* As slabdev_open() takes it. */
void device_choose(const char *spec);
const char *device_spec(void);
/* What it is called; "" for the host, or when there is none. */
void device_name(char *name, size_t size);
/* A new stream, to which nobody submits anything; false: @why says why not. */
bool device_stream(slabdev_stream_t *stream, char *why);

#endif /* SLABBENCH_DEVICE_H */
