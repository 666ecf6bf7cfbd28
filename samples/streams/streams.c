// SPDX-License-Identifier: BSD-2-Clause
/*
 * streams.c - a pipeline of three streams, and a ring of buffers
 *
 *	streams			upload, compute and download, each in a stream
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
 * another one reads it: the next step may write over it. Its queues are run by
 * the program itself, step by step, so that by luck nothing goes wrong, as it
 * may in a test. SLABDEV_DEBUG=H finds it all the same.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <slabdev/slabdev.h>

#define RING 8
#define STEPS 64
#define COUNT 4096
#define BYTES (COUNT * sizeof(unsigned int))

enum { UPLOAD, COMPUTE, DOWNLOAD, NR_STREAMS };

struct step {
	unsigned int number;
	unsigned int *in, *out;
	unsigned long *sum;
};

struct pipeline {
	struct slabdev *sd;
	slabdev_stream_t stream[NR_STREAMS];
	struct step ring[RING];
	unsigned long sum;
	bool broken;
};

static void upload(void *arg)
{
	const struct step *s = arg;
	unsigned int i;

	for (i = 0; i < COUNT; i++)
		s->in[i] = s->number + i;
}

static void compute(void *arg)
{
	const struct step *s = arg;
	unsigned int i;

	for (i = 0; i < COUNT; i++)
		s->out[i] = 2 * s->in[i];
}

static void download(void *arg)
{
	const struct step *s = arg;
	unsigned int i;

	for (i = 0; i < COUNT; i++)
		*s->sum += s->out[i];
}

static unsigned long expected(void)
{
	unsigned long sum = 0, n, i;

	for (n = 0; n < STEPS; n++)
		for (i = 0; i < COUNT; i++)
			sum += 2 * (n + i);
	return sum;
}

/* Hazard mode is told what the work uses; otherwise this is next to nothing. */
static int submit(struct pipeline *p, int stream, slabdev_queue_fn fn,
		  struct step *s, const void *uses)
{
	if (slabdev_hazard_access(p->sd, uses, p->stream[stream]) < 0)
		return -1;
	return slabdev_queue_submit(p->stream[stream], fn, s);
}

static int upload_step(struct pipeline *p, struct step *s)
{
	s->in = slabdev_alloc_async(p->sd, BYTES, p->stream[UPLOAD]);
	if (!s->in)
		return -1;
	return submit(p, UPLOAD, upload, s, s->in);
}

static int compute_step(struct pipeline *p, struct step *s)
{
	int last = p->broken ? UPLOAD : COMPUTE;

	if (slabdev_queue_wait(p->stream[COMPUTE], p->stream[UPLOAD]))
		return -1;
	s->out = slabdev_alloc_async(p->sd, BYTES, p->stream[COMPUTE]);
	if (!s->out ||
	    slabdev_hazard_access(p->sd, s->in, p->stream[COMPUTE]) < 0 ||
	    submit(p, COMPUTE, compute, s, s->out))
		return -1;
	return slabdev_free_async(p->sd, s->in, p->stream[last]);
}

static int download_step(struct pipeline *p, struct step *s)
{
	if (slabdev_queue_wait(p->stream[DOWNLOAD], p->stream[COMPUTE]) ||
	    submit(p, DOWNLOAD, download, s, s->out))
		return -1;
	return slabdev_free_async(p->sd, s->out, p->stream[DOWNLOAD]);
}

/* The twin's queues have no threads. */
static int run_by_hand(struct pipeline *p)
{
	int i;

	for (i = 0; i < NR_STREAMS; i++)
		if (slabdev_queue_run(p->stream[i], RING) < 0)
			return -1;
	return 0;
}

static int run_step(struct pipeline *p, unsigned int number)
{
	struct step *s = &p->ring[number % RING];

	if (number && number % RING == 0 &&
	    slabdev_queue_synchronize(p->stream[DOWNLOAD]))
		return -1;
	*s = (struct step){ .number = number, .sum = &p->sum };
	if (upload_step(p, s) || compute_step(p, s) || download_step(p, s))
		return -1;
	return p->broken ? run_by_hand(p) : 0;
}

static int start(struct pipeline *p)
{
	unsigned int flags = p->broken ? SLABDEV_QUEUE_MANUAL : 0;
	int i;

	if (slabdev_open(&p->sd, "host", NULL))
		return -1;
	for (i = 0; i < NR_STREAMS; i++)
		if (slabdev_queue_create(&p->stream[i], flags) ||
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
		if (slabdev_queue_destroy(p->stream[i]))
			return -1;
	return slabdev_close(p->sd, 0);
}

int main(int argc, char **argv)
{
	struct pipeline p = { 0 };
	unsigned int i;

	p.broken = argc == 2 && !strcmp(argv[1], "--broken");
	if (argc > 2 || (argc == 2 && !p.broken)) {
		fputs("usage: streams [--broken]\n", stderr);
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
	fprintf(stderr, "streams: %s\n", slabdev_last_error());
	return 1;
}
