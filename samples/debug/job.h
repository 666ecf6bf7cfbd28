/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.h - a job with a fault in it, on the host and on a GPU.
 *
 * A job has rows of bytes on a device. Its kernels write to them, each in a
 * phase of its own, and at the end all rows are added up.
 */
#ifndef SAMPLES_DEBUG_JOB_H
#define SAMPLES_DEBUG_JOB_H

#include <stdbool.h>

#include <slabdev/slabdev.h>

/* All return 0, or -1 with the reason in device_error(). */
struct device {
	int (*open)(const char *spec);
	/* A kernel: @to to @to + @n become @value. Waits for it. */
	int (*fill)(void *to, unsigned char value, size_t n);
	/* @n bytes of the device. */
	int (*fetch)(void *to, const void *from, size_t n);
};

struct job {
	const struct device *dev;
	struct slabdev *sd;
	bool right;		/* the twin without the fault */
	bool validate;		/* look at all memory after each phase */
	bool wrong;		/* the sum of the rows */
};

struct fault {
	const char *name;
	const char *what;
	const char *letters;	/* of SLABDEV_DEBUG by which it is found */
	int (*run)(struct job *j);
};

/* The last one has no name. */
extern const struct fault faults[];

extern const struct device host_device, cuda_device;

/* A phase of the job ends. */
void end_phase(struct job *j, const char *name);

const char *device_error(void);

#endif /* SAMPLES_DEBUG_JOB_H */
