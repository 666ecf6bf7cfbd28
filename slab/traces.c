// SPDX-License-Identifier: BSD-2-Clause
/*
 * traces.c - see traces.h.
 *
 * The origins (origin.h) have sums, but no least and highest age: those go with
 * the objects. So all tracks are walked, shard by shard, and summed up by the
 * number of their origin. Origins that come during the walk count as unknown.
 */
#include <errno.h>
#include <stdio.h>

#include "core/depot.h"
#include "core/log.h"
#include "core/overflow.h"
#include "core/report_json.h"
#include "core/symbol.h"
#include "slab/traces.h"
#include "slab/track.h"

#define JSON_VERSION 1

struct sum {
	u32 origin;
	u32 tid_low, tid_high;
	u64 objects, bytes;
	u64 age_sum, age_min, age_max;
};

struct listing {
	const struct origins *origins;
	u32 kind;		/* enum slabdev_seg_trace_kind */
	u32 nr;			/* of .sum, by origin until they are sorted */
	u64 now;
	struct sum *sum;
	size_t size;		/* bytes of memory at .sum */
};

/* ---- Summing up ---------------------------------------------------------- */

static void add_track(const struct track *t, void *arg)
{
	struct listing *l = arg;
	bool live = l->kind == SLABDEV_SEG_TRACE_ALLOC;
	const struct track_event *e = live ? &t->alloc : &t->free;
	u64 age = l->now > e->time ? l->now - e->time : 0;
	struct sum *s;
	u32 origin;

	if (t->live != live)
		return;
	origin = origin_find(l->origins, e->stack, l->kind);
	s = &l->sum[origin < l->nr ? origin : origin_find(l->origins, 0,
							  l->kind)];
	s->age_min = s->objects ? min(s->age_min, age) : age;
	s->age_max = max(s->age_max, age);
	s->age_sum += age;
	s->tid_low = s->objects ? min(s->tid_low, e->tid) : e->tid;
	s->tid_high = max(s->tid_high, e->tid);
	s->bytes += t->size;
	s->objects++;
}

static bool comes_first(const struct sum *a, const struct sum *b)
{
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes;
	return a->objects != b->objects ? a->objects > b->objects :
					  a->origin < b->origin;
}

/* Below @i the last comes first: a heap. */
static void sift_down(struct sum *sum, u32 i, u32 nr)
{
	struct sum moved = sum[i];
	u32 child;

	for (; (child = 2 * i + 1) < nr; i = child) {
		if (child + 1 < nr && comes_first(&sum[child], &sum[child + 1]))
			child++;
		if (!comes_first(&moved, &sum[child]))
			break;
		sum[i] = sum[child];
	}
	sum[i] = moved;
}

/* The C library's qsort() may call malloc(). */
static void sort(struct sum *sum, u32 nr)
{
	struct sum last;
	u32 i;

	for (i = nr / 2; i-- > 0; )
		sift_down(sum, i, nr);
	for (i = nr; i-- > 1; ) {
		last = sum[i];
		sum[i] = sum[0];
		sum[0] = last;
		sift_down(sum, 0, i);
	}
}

static int collect(struct slabdev *sd, struct listing *l)
{
	void *addr;
	u32 i, nr = 0;
	int err;

	l->nr = READ_ONCE(l->origins->nr);
	l->size = align_up(l->nr * sizeof(*l->sum), os_page_size());
	l->now = track_now();
	err = os_reserve(l->size, &addr);
	if (err)
		return err;
	l->sum = addr;
	err = os_commit(addr, l->size);
	if (err) {
		os_unreserve(addr, l->size);
		return err;
	}
	for (i = 0; i < l->nr; i++)
		l->sum[i].origin = i;
	track_each(sd, add_track, l);
	for (i = 0; i < l->nr; i++)
		if (l->sum[i].objects)
			l->sum[nr++] = l->sum[i];
	l->nr = nr;
	sort(l->sum, nr);
	return 0;
}

/* ---- For people ---------------------------------------------------------- */

static u32 frames_of(const struct listing *l, const struct sum *s,
		     const void *const **pc)
{
	return depot_fetch(l->origins->handle[s->origin], pc);
}

static void print_age(FILE *out, u64 age)
{
	fprintf(out, "%llu.%03llu", (unsigned long long)age / 1000,
		(unsigned long long)age % 1000);
}

static void print_ages(FILE *out, const struct sum *s)
{
	fputs(" age=", out);
	print_age(out, s->age_min);
	fputc('/', out);
	print_age(out, s->age_sum / s->objects);
	fputc('/', out);
	print_age(out, s->age_max);
}

static void print_sum(FILE *out, const struct listing *l, const struct sum *s)
{
	char name[SYMBOL_TEXT_MAX] = "unknown";
	const void *const *pc = NULL;
	u32 i, n = frames_of(l, s, &pc);

	if (n)
		symbol_describe(pc[0], name, sizeof(name));
	fprintf(out, "%7llu %s bytes=%llu", (unsigned long long)s->objects,
		name, (unsigned long long)s->bytes);
	print_ages(out, s);
	fprintf(out, " pid=%u", s->tid_low);
	if (s->tid_high != s->tid_low)
		fprintf(out, "-%u", s->tid_high);
	fputc('\n', out);
	for (i = 0; i < n; i++) {
		symbol_describe(pc[i], name, sizeof(name));
		fprintf(out, "        %s\n", name);
	}
	fputc('\n', out);
}

/* ---- For programs -------------------------------------------------------- */

static void put_string(FILE *out, const char *text)
{
	char json[JSON_STRING_MAX(SYMBOL_TEXT_MAX)];

	report_json_string(json, sizeof(json), text);
	fputs(json, out);
}

static void put_age(FILE *out, const char *key, u64 age)
{
	fprintf(out, ",\"%s\":", key);
	print_age(out, age);
}

static void put_sum(FILE *out, const struct listing *l, const struct sum *s)
{
	char name[SYMBOL_TEXT_MAX];
	const void *const *pc = NULL;
	u32 i, n = frames_of(l, s, &pc);

	fprintf(out, "{\"objects\":%llu,\"bytes\":%llu",
		(unsigned long long)s->objects, (unsigned long long)s->bytes);
	put_age(out, "age_min", s->age_min);
	put_age(out, "age", s->age_sum / s->objects);
	put_age(out, "age_max", s->age_max);
	fprintf(out, ",\"tid_low\":%u,\"tid_high\":%u,\"stack\":[", s->tid_low,
		s->tid_high);
	for (i = 0; i < n; i++) {
		if (i)
			fputc(',', out);
		symbol_describe(pc[i], name, sizeof(name));
		put_string(out, name);
	}
	fputs("]}", out);
}

static void put_all(FILE *out, const struct slabdev *sd,
		    const struct listing *l)
{
	u32 i;

	fprintf(out, "{\"version\":%d,\"space\":", JSON_VERSION);
	put_string(out, sd->name);
	fprintf(out, ",\"kind\":\"%s\",\"traces\":[",
		l->kind == SLABDEV_SEG_TRACE_ALLOC ? "alloc" : "free");
	for (i = 0; i < l->nr; i++) {
		if (i)
			fputc(',', out);
		put_sum(out, l, &l->sum[i]);
	}
	fputs("]}\n", out);
}

int traces_print(struct slabdev *sd, enum slabdev_trace_kind kind, bool json,
		 FILE *out)
{
	struct listing l = {
		.kind = kind == SLABDEV_TRACE_FREE ? SLABDEV_SEG_TRACE_FREE :
						     SLABDEV_SEG_TRACE_ALLOC,
	};
	u32 i;
	int err;

	l.origins = tracks_origins(sd);
	if (!l.origins)
		return error_set(-ENODATA, "space %s: no object was ever "
				 "tracked: SLABDEV_DEBUG=U does that",
				 sd->name);
	err = collect(sd, &l);
	if (err)
		return error_set(-ENOMEM, "no host memory to sort traces");
	if (json)
		put_all(out, sd, &l);
	for (i = 0; !json && i < l.nr; i++)
		print_sum(out, &l, &l.sum[i]);
	os_unreserve(l.sum, l.size);
	return 0;
}
