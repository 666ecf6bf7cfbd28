// SPDX-License-Identifier: BSD-2-Clause
/*
 * figure.c - what is counted instead of timed.
 *
 * libslabdev keeps accounts of the memory it hands out, and its objects are not
 * touched. Of a malloc() only the resident memory of the process can be known,
 * so there every page of an object is written; what the objects themselves have
 * is subtracted where the figure is what lies beside them. The tables of the
 * benchmark are resident before it begins to look.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "figure.h"
#include "random.h"
#include "subject.h"
#include "workload.h"

#define PAGE 4096u
#define MIB ((uint64_t)1 << 20)

/* ---- What the system knows -------------------------------------------- */

/* A line of /proc/self/status, in bytes; 0: there is none. */
static uint64_t status_bytes(const char *key)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kib = strtoull(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return kib * 1024;
}

static void touch(void *p, size_t size)
{
	volatile char *byte = p;
	size_t i;

	for (i = 0; i < size; i += PAGE)
		byte[i] = 1;
	byte[size - 1] = 1;
}

/* Room for @n pointers, resident. */
static void **pointers(size_t n)
{
	void **p = malloc(n * sizeof(*p));

	if (p)
		memset(p, 1, n * sizeof(*p));
	return p;
}

/* ---- Metadata --------------------------------------------------------- */

int figure_metadata(struct run *run, double *value)
{
	const struct calls *c = &run->calls;
	size_t n = workload_live(run), size = run->cell.variant->min, i;
	bool touches = run->subject->memory == MEMORY_RESIDENT;
	uint64_t before, after;
	void **object = pointers(n);

	if (!object)
		return -ENOMEM;
	before = status_bytes("VmRSS:");
	for (i = 0; i < n; i++) {
		object[i] = call_alloc(c, c->shape, size);
		if (!object[i])
			break;
		if (touches)
			touch(object[i], size);
	}
	after = status_bytes("VmRSS:") - (touches ? n * (uint64_t)size : 0);
	*value = ((double)after - (double)before) / (double)n;
	free(object);
	return i < n ? -ENOMEM : 0;
}

/* ---- Accounts --------------------------------------------------------- */

/* What @n objects add to them. */
static int grow_account(struct run *run, size_t n, struct account *a)
{
	const struct calls *c = &run->calls;
	size_t size = run->cell.variant->min, i;
	struct account before = { 0 };

	(void)run->subject->account(c, &before);
	for (i = 0; i < n; i++)
		if (!call_alloc(c, c->shape, size))
			return -ENOMEM;
	if (!run->subject->account(c, a))
		return -EIO;
	a->device -= before.device;
	a->host -= before.host;
	return 0;
}

int figure_device(struct run *run, double *value)
{
	size_t n = workload_live(run);
	struct account a = { 0 };
	int err = grow_account(run, n, &a);

	*value = (double)a.device / (double)n;
	return err;
}

int figure_host(struct run *run, double *value)
{
	size_t n = workload_live(run);
	struct account a = { 0 };
	int err = grow_account(run, n, &a);

	*value = (double)a.host / (double)n;
	return err;
}

/* ---- Events ----------------------------------------------------------- */

#define BATCHES 20u

/* Allocates and frees @n objects at once, again and again. */
static bool churn(const struct calls *c, size_t size, void **object, size_t n)
{
	unsigned int batch;
	size_t i;

	for (batch = 0; batch < BATCHES; batch++) {
		for (i = 0; i < n; i++) {
			object[i] = call_alloc(c, c->shape, size);
			if (!object[i])
				return false;
		}
		for (i = 0; i < n; i++)
			call_free(c, c->shape, object[i]);
	}
	return true;
}

static int count_events(struct run *run, struct events *e, double *nr_sheaves)
{
	size_t n = workload_live(run), size = run->cell.variant->min;
	struct events before = { 0 };
	void **object = pointers(n);
	bool good;

	if (!object)
		return -ENOMEM;
	good = run->subject->events(&run->calls, size, &before) &&
	       churn(&run->calls, size, object, n) &&
	       run->subject->events(&run->calls, size, e);
	free(object);
	if (!good)
		return -ENOMEM;
	e->records -= before.records;
	e->queries -= before.queries;
	*nr_sheaves = (double)(BATCHES * n) / (double)e->sheaf;
	return 0;
}

int figure_events(struct run *run, double *value)
{
	struct events e = { 0 };
	double nr_sheaves = 1;
	int err = count_events(run, &e, &nr_sheaves);

	*value = (double)e.records / nr_sheaves;
	return err;
}

int figure_queries(struct run *run, double *value)
{
	struct events e = { 0 };
	double nr_sheaves = 1;
	int err = count_events(run, &e, &nr_sheaves);

	*value = (double)e.queries / nr_sheaves;
	return err;
}

/* ---- Phases ----------------------------------------------------------- */

#define PHASES 20u
#define BANDS 4u
#define BAND_SHIFT 3u		/* each band is 8 times the one before */
#define LIVE_BYTES (256 * MIB)
#define MOST_OBJECTS ((size_t)1 << 21)

struct held {
	void *p;
	uint32_t size;
};

struct phases {
	struct run *run;
	struct calls calls;
	bool touches;
	struct held *held;
	uint32_t nr;
	uint64_t live;
	uint64_t most_live;
	uint64_t live_bytes;	/* a phase ends here */
	uint64_t random;
};

static int fill(struct phases *s, size_t min)
{
	const struct calls *c = &s->calls;
	struct held *h;

	while (s->live < s->live_bytes && s->nr < MOST_OBJECTS) {
		h = &s->held[s->nr];
		workload_draw_sizes(&h->size, 1, min, min << BAND_SHIFT,
				    &s->random);
		h->p = call_alloc(c, c->shape, h->size);
		if (!h->p)
			return -ENOMEM;
		if (s->touches)
			touch(h->p, h->size);
		s->live += h->size;
		s->nr++;
	}
	if (s->live > s->most_live)
		s->most_live = s->live;
	return 0;
}

/* Frees a random half. */
static void halve(struct phases *s)
{
	const struct calls *c = &s->calls;
	uint32_t i, keep = s->nr / 2;

	while (s->nr > keep) {
		i = random_below(&s->random, s->nr);
		call_free(c, c->shape, s->held[i].p);
		s->live -= s->held[i].size;
		s->held[i] = s->held[--s->nr];
	}
}

static int phases_run(struct phases *s)
{
	unsigned int i;
	int err = 0;

	s->random = 1;
	s->nr = 0;
	s->live = s->most_live = 0;
	for (i = 0; i < PHASES && !err; i++) {
		err = fill(s, (size_t)256 << (i % BANDS * BAND_SHIFT));
		halve(s);
	}
	return err;
}

static int phases_peak(struct phases *s, double *value)
{
	const struct subject *subject = s->run->subject;
	uint64_t before = status_bytes("VmRSS:"), peak;
	int err;

	s->touches = subject->memory == MEMORY_RESIDENT;
	err = phases_run(s);
	peak = s->touches ? status_bytes("VmHWM:") - before :
			    subject->peak(&s->calls);
	*value = (double)peak / (double)s->most_live;
	return err;
}

/* Do the phases pass in a space of @limit bytes? */
static bool phases_fit(struct phases *s, uint64_t limit)
{
	char why[SUBJECT_TEXT];
	int err;

	if (!s->run->subject->open(s->run->subject, &s->calls, 0, limit, why))
		return false;
	err = phases_run(s);
	s->run->subject->close(&s->calls);
	return !err;
}

/* A space that is too small is what is looked for: no report of it. */
static void ignore(int level, const char *text, void *arg)
{
	(void)level;
	(void)text;
	(void)arg;
}

/* Halves the interval between a limit that fails and one that suffices. */
static int phases_limit(struct phases *s, double *value)
{
	uint64_t low = s->live_bytes / MIB, high = 8 * low, mid;

	slabdev_set_log(ignore, NULL);
	if (!phases_fit(s, high * MIB))
		return -ENOMEM;
	while (high - low > low / 64 + 1) {
		mid = (low + high) / 2;
		if (phases_fit(s, mid * MIB))
			high = mid;
		else
			low = mid;
	}
	*value = (double)(high * MIB) / (double)s->most_live;
	return 0;
}

int figure_phases(struct run *run, double *value)
{
	struct phases s = {
		.run = run,
		.calls = run->calls,
		.held = malloc(MOST_OBJECTS * sizeof(*s.held)),
		.live_bytes = LIVE_BYTES / run->divisor,
	};
	int err;

	if (!s.held)
		return -ENOMEM;
	memset(s.held, 1, MOST_OBJECTS * sizeof(*s.held));
	if (run->cell.variant->finds_limit)
		err = phases_limit(&s, value);
	else
		err = phases_peak(&s, value);
	free(s.held);
	return err;
}
