// SPDX-License-Identifier: BSD-2-Clause
/* host.c - the pipeline's work on host queues. */
#include <string.h>

#include "device.h"

static void upload(void *arg)
{
	const struct step *s = arg;
	unsigned int i;

	for (i = 0; i < COUNT; i++)
		s->in[i] = s->number;
}

static void compute(void *arg)
{
	const struct step *s = arg;

	memcpy(s->out, s->in, BYTES);
}

static void download(void *arg)
{
	struct step *s = arg;

	memcpy(s->result, s->out, BYTES);
}

static int submit_upload(slabdev_stream_t stream, struct step *s)
{
	return slabdev_queue_submit(stream, upload, s);
}

static int submit_compute(slabdev_stream_t stream, struct step *s)
{
	return slabdev_queue_submit(stream, compute, s);
}

static int submit_download(slabdev_stream_t stream, struct step *s)
{
	return slabdev_queue_submit(stream, download, s);
}

static int open_host(const char *spec)
{
	(void)spec;
	return 0;
}

static int create(slabdev_stream_t *stream, bool by_hand)
{
	return slabdev_queue_create(stream, by_hand ? SLABDEV_QUEUE_MANUAL : 0);
}

static int run(slabdev_stream_t stream)
{
	return slabdev_queue_run(stream, ~0u) < 0 ? -1 : 0;
}

const struct device host_device = {
	.open = open_host,
	.create = create,
	.destroy = slabdev_queue_destroy,
	.order = slabdev_queue_wait,
	.synchronize = slabdev_queue_synchronize,
	.run = run,
	.work = { submit_upload, submit_compute, submit_download },
};
