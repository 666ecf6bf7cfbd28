// SPDX-License-Identifier: BSD-2-Clause
/*
 * streams.c - a pipeline of three streams, and a ring of buffers
 *
 *	streams			upload, compute and download, each in a stream
 *	streams --device SPEC	on host queues ("host"), or on a GPU ("cuda:0")
 *	streams --broken	the same with one order dropped
 *
 * Each step goes through the three streams, which work on different steps at
 * the same time. Its memory comes from slabdev_alloc_async() in the stream that
 * uses it first and goes by slabdev_free_async() in the one that uses it last,
 * while the work is still waiting. What keeps that right:
 *
 * - compute waits for upload, and download for compute, before each step;
 * - an object is freed in a stream behind all of its uses;
 * - the ring is used again after download is done with the lap before.
 *
 * The broken twin frees the input in the stream that allocated it, though
 * another one reads it: the next step may write over it. It has the streams
 * come to an end after each step, as a program does that is being looked at, so
 * that by luck nothing goes wrong. SLABDEV_DEBUG=H finds it all the same.
 */
#include <stdio.h>
#include <string.h>

#include "device.h"

#define RING 8
#define STEPS 64

struct pipeline {
	const struct device *dev;
	const char *spec;
	struct slabdev *sd;
	slabdev_stream_t stream[NR_STREAMS];
	struct step ring[RING];
	unsigned long sum;
	bool broken;
};

static unsigned long expected(void)
{
	unsigned long sum = 0, n;

	for (n = 0; n < STEPS; n++)
		sum += n * COUNT;
	return sum;
}

/* Hazard mode is told what the work uses; otherwise this is next to nothing. */
static int submit(struct pipeline *p, int stream, struct step *s,
		  const void *uses)
{
	if (slabdev_hazard_access(p->sd, uses, p->stream[stream]) < 0)
		return -1;
	return p->dev->work[stream](p->stream[stream], s);
}

static int upload_step(struct pipeline *p, struct step *s)
{
	s->in = slabdev_alloc_async(p->sd, BYTES, p->stream[UPLOAD]);
	if (!s->in)
		return -1;
	return submit(p, UPLOAD, s, s->in);
}

static int compute_step(struct pipeline *p, struct step *s)
{
	int last = p->broken ? UPLOAD : COMPUTE;

	if (p->dev->order(p->stream[COMPUTE], p->stream[UPLOAD]))
		return -1;
	s->out = slabdev_alloc_async(p->sd, BYTES, p->stream[COMPUTE]);
	if (!s->out ||
	    slabdev_hazard_access(p->sd, s->in, p->stream[COMPUTE]) < 0 ||
	    submit(p, COMPUTE, s, s->out))
		return -1;
	return slabdev_free_async(p->sd, s->in, p->stream[last]);
}

static int download_step(struct pipeline *p, struct step *s)
{
	if (p->dev->order(p->stream[DOWNLOAD], p->stream[COMPUTE]) ||
	    submit(p, DOWNLOAD, s, s->out))
		return -1;
	return slabdev_free_async(p->sd, s->out, p->stream[DOWNLOAD]);
}

/* The lap is done, and its results are there. */
static int end_lap(struct pipeline *p)
{
	unsigned int i, k;

	if (p->dev->synchronize(p->stream[DOWNLOAD]))
		return -1;
	for (i = 0; i < RING; i++)
		for (k = 0; k < COUNT; k++)
			p->sum += p->ring[i].result[k];
	return 0;
}

/* The twin's streams do one thing after another. */
static int run_by_hand(struct pipeline *p)
{
	int i;

	for (i = 0; i < NR_STREAMS; i++)
		if (p->dev->run(p->stream[i]))
			return -1;
	return 0;
}

static int run_step(struct pipeline *p, unsigned int number)
{
	struct step *s = &p->ring[number % RING];

	s->number = number;
	if (upload_step(p, s) || compute_step(p, s) || download_step(p, s) ||
	    (p->broken && run_by_hand(p)))
		return -1;
	return (number + 1) % RING ? 0 : end_lap(p);
}

static int start(struct pipeline *p)
{
	int i;

	if (p->dev->open(p->spec) || slabdev_open(&p->sd, p->spec, NULL))
		return -1;
	for (i = 0; i < NR_STREAMS; i++)
		if (p->dev->create(&p->stream[i], p->broken) ||
		    slabdev_stream_attach(p->sd, p->stream[i]))
			return -1;
	return 0;
}

/* Detach first: what a stream freed comes back by an event in it. */
static int stop(struct pipeline *p)
{
	int i;

	for (i = 0; i < NR_STREAMS; i++)
		if (slabdev_stream_detach(p->sd, p->stream[i]))
			return -1;
	for (i = 0; i < NR_STREAMS; i++)
		if (p->dev->destroy(p->stream[i]))
			return -1;
	return slabdev_close(p->sd, 0);
}

static bool read_options(struct pipeline *p, char **argv)
{
	while (*++argv) {
		if (!strcmp(*argv, "--broken"))
			p->broken = true;
		else if (!strcmp(*argv, "--device") && argv[1])
			p->spec = *++argv;
		else
			return false;
	}
	if (!strncmp(p->spec, "cuda", 4))
		p->dev = &cuda_device;
	return true;
}

int main(int argc, char **argv)
{
	static struct pipeline p = { .spec = "host", .dev = &host_device };
	unsigned int i;

	(void)argc;
	if (!read_options(&p, argv)) {
		fputs("usage: streams [--broken] [--device SPEC]\n", stderr);
		return 2;
	}
	if (start(&p))
		goto failed;
	for (i = 0; i < STEPS; i++)
		if (run_step(&p, i))
			goto failed;
	if (stop(&p))
		goto failed;
	printf("%u steps, the sum is %s\n", (unsigned int)STEPS,
	       p.sum == expected() ? "right" : "WRONG");
	return p.sum != expected();

failed:
	fprintf(stderr, "streams: %s\n", device_error());
	return 1;
}
