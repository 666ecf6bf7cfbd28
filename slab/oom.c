// SPDX-License-Identifier: BSD-2-Clause
/* oom.c - see oom.h. */
#include <errno.h>

#include "core/log.h"
#include "slab/oom.h"
#include "slab/stats.h"
#include "slab/visit.h"

#define TOP_CLASSES 8u

struct top {
	struct class_figures cf[TOP_CLASSES];
	u32 n;
};

static u64 class_bytes(const struct class_figures *cf)
{
	return cf->f.live + cf->f.rounding + cf->f.cached + cf->f.slack;
}

/* Insertion into a short list: largest first. */
static void keep_largest(const struct class_figures *cf, void *arg)
{
	struct top *t = arg;
	u32 i;

	if (!cf->class || !class_bytes(cf))
		return;
	if (t->n < TOP_CLASSES)
		t->n++;
	else if (class_bytes(cf) <= class_bytes(&t->cf[TOP_CLASSES - 1]))
		return;
	for (i = t->n - 1; i && class_bytes(&t->cf[i - 1]) < class_bytes(cf);
	     i--)
		t->cf[i] = t->cf[i - 1];
	t->cf[i] = *cf;
}

static void print_classes(struct report *r, const struct top *t)
{
	u32 i;

	report_line(r, "%-31s %10s %14s %14s %10s", "the largest classes",
		    "objects", "live bytes", "cached bytes", "slabs");
	for (i = 0; i < t->n; i++) {
		const struct class_figures *cf = &t->cf[i];

		report_line(r, "%-31s %10llu %14llu %14llu %10llu",
			    cf->class->rec->name,
			    (unsigned long long)cf->f.live_objects,
			    (unsigned long long)cf->f.live,
			    (unsigned long long)cf->f.cached,
			    (unsigned long long)
				    READ_ONCE(cf->class->rec->slabs));
	}
}

#define LINE(name, value, what)                                             \
	report_line(r, "%-10s %16lld  %s", name, (long long)(value), what)

static void print_bytes(struct report *r, const struct slabdev_stats *st)
{
	LINE("mapped", st->mapped, "bytes, the sum of:");
	LINE(" live", st->live, "asked for by live objects");
	LINE(" rounding", st->rounding, "that live objects have beyond that");
	LINE(" cached", st->cached, "free objects in slabs, sheaves, barns");
	LINE(" pending", st->pending, "freed, device work not done");
	LINE(" retained", st->retained, "free slices and idle handles");
	LINE(" slack", st->slack, "tails of slabs and large mappings");
	LINE(" lost", st->lost, "could not be given back");
	LINE(" in flight", st->in_flight, "operations running just now");
	LINE("limit", st->limit, "bytes may be mapped");
	LINE("reserved", st->reserved, "bytes of addresses");
}

void oom_report(struct slabdev *sd, const struct class *c, u64 bytes, int err)
{
	struct slabdev_stats st;
	struct top top = { .n = 0 };
	u32 side = visit_begin(sd);
	struct report r;

	stats_collect(sd, &st);
	stats_each_class(sd, keep_largest, &top);
	report_start(&r, REPORT_OUT_OF_MEMORY, sd->name, "Out of memory: %llu "
		     "bytes for %s%s: they %s", (unsigned long long)bytes,
		     c ? "a slab of " : "an object", c ? c->rec->name : "",
		     err == -EDQUOT ? "do not fit the limit" :
				      "were refused by the device");
	report_line(&r, "%s", error_get());
	print_bytes(&r, &st);
	print_classes(&r, &top);
	visit_end(sd, side);
	report_line(&r, "sheaves of %llu threads were taken back, shrinkers "
		    "asked, idle memory reused; raise the limit or free "
		    "objects", (unsigned long long)st.threads);
	report_end(&r);
}
