/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.h - the work of a pipeline, on host queues and on a GPU.
 *
 * Hazard mode knows of host queues what is ordered. Of a GPU's streams it has
 * to be told: that is done here, beside each event and each wait.
 */
#ifndef SAMPLES_STREAMS_DEVICE_H
#define SAMPLES_STREAMS_DEVICE_H

#include <stdbool.h>

#include <slabdev/slabdev.h>

#define COUNT 4096
#define BYTES (COUNT * sizeof(unsigned int))

enum { UPLOAD, COMPUTE, DOWNLOAD, NR_STREAMS };

struct step {
	unsigned int number;
	unsigned int *in, *out;		/* on the device */
	unsigned int result[COUNT];	/* on the host */
};

/* All return 0, or -1 with the reason in device_error(). */
struct device {
	int (*open)(const char *spec);
	/* @by_hand: run() runs it, and nobody else. */
	int (*create)(slabdev_stream_t *stream, bool by_hand);
	int (*destroy)(slabdev_stream_t stream);
	/* What is put into @later from now on comes after what @earlier has. */
	int (*order)(slabdev_stream_t later, slabdev_stream_t earlier);
	int (*synchronize)(slabdev_stream_t stream);
	/* Run all that the stream has; hazard mode is not told. */
	int (*run)(slabdev_stream_t stream);
	/* Put the step's work into the stream: in = number; out = in;
	 * result = out. */
	int (*work[NR_STREAMS])(slabdev_stream_t stream, struct step *s);
};

extern const struct device host_device, cuda_device;

const char *device_error(void);

#endif /* SAMPLES_STREAMS_DEVICE_H */
