// SPDX-License-Identifier: BSD-2-Clause
/*
 * view_prometheus.c - the Prometheus text format, for its textfile collector.
 *
 * All samples of a metric stand together, below its help and type; there are
 * no time stamps, which the collector refuses. A space is told from others by
 * pid and open id, whatever its name is; a cache from a size class of the same
 * name by its type.
 */
#include <inttypes.h>

#include "backend_ops.h"
#include "text.h"
#include "view.h"

static void put_label(FILE *out, const char *key, const char *value)
{
	const struct escaped text = escaped(value);
	const char *p;

	fprintf(out, "%s=\"", key);
	for (p = text.text; *p; p++) {
		if (*p == '"' || *p == '\\')
			fputc('\\', out);
		fputc(*p, out);
	}
	fputc('"', out);
}

static void put_space_labels(FILE *out, const struct space *s)
{
	fprintf(out, "{pid=\"%d\",open_id=\"%" PRIu64 "\",", (int)s->pid,
		s->open_id);
	put_label(out, "command", s->command);
	fputc(',', out);
	put_label(out, "rank", s->rank.rank);
	fputc(',', out);
	put_label(out, "job", s->rank.job);
	fputc(',', out);
	put_label(out, "space", s->rec.name);
	fputc(',', out);
	put_label(out, "spec", s->rec.spec);
	fputc(',', out);
	put_label(out, "backing", s->rec.backing);
}

static void put_head(FILE *out, const char *name, const char *type,
		     const char *meaning)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, meaning, name,
		type);
}

static void put_kind(FILE *out, const struct space *s, const char *kind,
		     int64_t in_flight, uint64_t value)
{
	fputs("slabdev_memory_bytes", out);
	put_space_labels(out, s);
	fprintf(out, ",kind=\"%s\"} ", kind);
	if (in_flight < 0)
		fprintf(out, "%" PRId64 "\n", in_flight);
	else
		fprintf(out, "%" PRIu64 "\n", value);
}

static void put_memory(FILE *out, const struct space *s)
{
	const struct account *b = &s->bytes;

	put_kind(out, s, "live", 0, b->live);
	put_kind(out, s, "cached", 0, b->cached);
	put_kind(out, s, "pending", 0, b->pending);
	put_kind(out, s, "retained", 0, b->retained);
	put_kind(out, s, "rounding", 0, b->rounding);
	put_kind(out, s, "slack", 0, b->slack);
	put_kind(out, s, "lost", 0, b->lost);
	put_kind(out, s, "in_flight", b->in_flight, (uint64_t)b->in_flight);
}

static uint64_t mapped(const struct space *s)
{
	return s->bytes.mapped;
}

static uint64_t limit(const struct space *s)
{
	return s->rec.vmm.limit;
}

static uint64_t peak_mapped(const struct space *s)
{
	return s->rec.vmm.peak_created;
}

static uint64_t peak_live(const struct space *s)
{
	return s->rec.peak_out;
}

static uint64_t host_bytes(const struct space *s)
{
	return s->rec.host_bytes;
}

static uint64_t threads(const struct space *s)
{
	return s->rec.nr_threads;
}

static uint64_t failed(const struct space *s)
{
	return s->rec.failed;
}

static uint64_t held(const struct space *s)
{
	return s->rec.held_bytes;
}

static uint64_t streams(const struct space *s)
{
	return s->rec.nr_streams;
}

static uint64_t graphs(const struct space *s)
{
	return s->rec.nr_graphs;
}

static uint64_t exported(const struct space *s)
{
	return s->rec.nr_exported;
}

static uint64_t exported_bytes(const struct space *s)
{
	return s->rec.exported_bytes;
}

static uint64_t arenas(const struct space *s)
{
	return s->rec.nr_arenas;
}

static uint64_t arena_bytes(const struct space *s)
{
	return s->rec.arena_bytes;
}

static uint64_t buffers(const struct space *s)
{
	return s->rec.nr_buffers;
}

static uint64_t groups(const struct space *s)
{
	return s->rec.nr_groups;
}

static uint64_t misses(const struct space *s)
{
	return s->rec.misses;
}

static uint64_t miss_bytes(const struct space *s)
{
	return s->rec.miss_bytes;
}

static uint64_t event_records(const struct space *s)
{
	return s->rec.event_records;
}

static uint64_t event_queries(const struct space *s)
{
	return s->rec.event_queries;
}

static uint64_t stream_waits(const struct space *s)
{
	return s->rec.stream_waits;
}

static uint64_t host_waits(const struct space *s)
{
	return s->rec.host_waits;
}

static const struct {
	const char *name, *type, *meaning;
	uint64_t (*value)(const struct space *s);
} space_metrics[] = {
	{ "slabdev_mapped_bytes", "gauge",
	  "Physical memory held; the sum of slabdev_memory_bytes.", mapped },
	{ "slabdev_limit_bytes", "gauge", "Most memory that may be held.",
	  limit },
	{ "slabdev_peak_mapped_bytes", "gauge",
	  "Most memory held so far.", peak_mapped },
	{ "slabdev_peak_live_bytes", "gauge",
	  "Most memory handed to threads so far.", peak_live },
	{ "slabdev_host_bytes", "gauge", "Host memory for metadata.",
	  host_bytes },
	{ "slabdev_threads", "gauge", "Threads with sheaves.", threads },
	{ "slabdev_failed_total", "counter", "Allocations that failed.",
	  failed },
	{ "slabdev_held_bytes", "gauge",
	  "Pending memory that graphs hold.", held },
	{ "slabdev_streams", "gauge", "Streams that are attached.", streams },
	{ "slabdev_graphs", "gauge", "Graphs that were not released.",
	  graphs },
	{ "slabdev_exported", "gauge",
	  "Objects that other processes may have.", exported },
	{ "slabdev_exported_bytes", "gauge",
	  "Bytes of those objects.", exported_bytes },
	{ "slabdev_arenas", "gauge", "Arenas.", arenas },
	{ "slabdev_arena_bytes", "gauge",
	  "Memory that arenas have mapped.", arena_bytes },
	{ "slabdev_buffers", "gauge", "Buffers, without views.", buffers },
	{ "slabdev_groups", "gauge", "Groups.", groups },
	{ "slabdev_misses_total", "counter",
	  "Allocations for which a slab was made or memory mapped.", misses },
	{ "slabdev_miss_bytes_total", "counter",
	  "Bytes that those allocations asked for.", miss_bytes },
	{ "slabdev_event_records_total", "counter",
	  "Events recorded for frees.", event_records },
	{ "slabdev_event_queries_total", "counter",
	  "Queries of such events.", event_queries },
	{ "slabdev_stream_waits_total", "counter",
	  "Times a stream was made to wait for memory.", stream_waits },
	{ "slabdev_host_waits_total", "counter",
	  "Times the CPU waited for memory.", host_waits },
};

static uint64_t live_objects(const struct cache *c)
{
	return c->fig.live_objects;
}

static uint64_t cached_objects(const struct cache *c)
{
	return c->fig.cached_objects;
}

static uint64_t live_bytes(const struct cache *c)
{
	return c->fig.live;
}

static uint64_t memory(const struct cache *c)
{
	return c->memory;
}

static uint64_t pending_bytes(const struct cache *c)
{
	return c->fig.pending;
}

static uint64_t allocs(const struct cache *c)
{
	return c->sum.allocs;
}

static uint64_t frees(const struct cache *c)
{
	return c->sum.frees;
}

static uint64_t refills(const struct cache *c)
{
	return c->rec.refills;
}

static uint64_t flushes(const struct cache *c)
{
	return c->rec.flushes;
}

static const struct {
	const char *name, *type, *meaning;
	uint64_t (*value)(const struct cache *c);
} cache_metrics[] = {
	{ "slabdev_cache_objects", "gauge", "Objects handed out.",
	  live_objects },
	{ "slabdev_cache_cached_objects", "gauge", "Free objects.",
	  cached_objects },
	{ "slabdev_cache_pending_objects", "gauge",
	  "Free objects that nobody may have yet.", pending_objects },
	{ "slabdev_cache_live_bytes", "gauge",
	  "Bytes that live objects asked for.", live_bytes },
	{ "slabdev_cache_memory_bytes", "gauge", "Bytes of its slabs.",
	  memory },
	{ "slabdev_cache_pending_bytes", "gauge",
	  "Free bytes that nobody may have yet.", pending_bytes },
	{ "slabdev_cache_allocs_total", "counter", "Objects allocated.",
	  allocs },
	{ "slabdev_cache_frees_total", "counter", "Objects freed.", frees },
	{ "slabdev_cache_refills_total", "counter",
	  "Allocations that left the thread's own sheaves.", refills },
	{ "slabdev_cache_flushes_total", "counter",
	  "Frees that left the thread's own sheaves.", flushes },
};

/* The spaces that were chosen, and their caches. */
struct chosen {
	const struct snapshot *snap;
	const struct options *opt;
	struct choice caches;
};

#define for_each_chosen(s, i, c) \
	for ((i) = 0; (i) < (c)->snap->nr_spaces; (i)++) \
		if ((s) = (c)->snap->spaces[i], space_is_chosen(s, (c)->opt))

static void put_spaces(FILE *out, const struct chosen *c)
{
	const struct space *s;
	size_t m, i;

	put_head(out, "slabdev_memory_bytes", "gauge",
		 "Where the mapped bytes are, by kind.");
	for_each_chosen(s, i, c)
		put_memory(out, s);
	for (m = 0; m < ARRAY_SIZE(space_metrics); m++) {
		put_head(out, space_metrics[m].name, space_metrics[m].type,
			 space_metrics[m].meaning);
		for_each_chosen(s, i, c) {
			fputs(space_metrics[m].name, out);
			put_space_labels(out, s);
			fprintf(out, "} %" PRIu64 "\n",
				space_metrics[m].value(s));
		}
	}
}

static void put_calls(FILE *out, const struct chosen *c)
{
	static const char name[] = "slabdev_backend_calls_total";
	const struct space *s;
	unsigned int op;
	size_t i;

	put_head(out, name, "counter", "Calls of the backend, by operation.");
	for_each_chosen(s, i, c) {
		for (op = 0; op < SLABDEV_SEG_NR_OPS; op++) {
			fputs(name, out);
			put_space_labels(out, s);
			fprintf(out, ",operation=\"%s\"} %" PRIu64 "\n",
				backend_ops[op], s->rec.vmm.calls[op]);
		}
	}
}

static void put_caches(FILE *out, const struct chosen *c)
{
	size_t m, i;

	for (m = 0; m < ARRAY_SIZE(cache_metrics); m++) {
		put_head(out, cache_metrics[m].name, cache_metrics[m].type,
			 cache_metrics[m].meaning);
		for (i = 0; i < c->caches.nr; i++) {
			const struct cache *cache = c->caches.caches[i];

			fputs(cache_metrics[m].name, out);
			put_space_labels(out, cache->space);
			fputc(',', out);
			put_label(out, "cache", cache->rec.name);
			fprintf(out, ",type=\"%s\"} %" PRIu64 "\n",
				class_type_key(cache->rec.type),
				cache_metrics[m].value(cache));
		}
	}
}

void view_prometheus(FILE *out, const struct snapshot *snap,
		     const struct options *opt)
{
	struct chosen c = { .snap = snap, .opt = opt };
	size_t i;

	for (i = 0; i < snap->nr_spaces; i++)
		choice_add(&c.caches, snap->spaces[i], opt);
	choice_sort(&c.caches, opt);
	put_spaces(out, &c);
	put_calls(out, &c);
	put_caches(out, &c);
	choice_fini(&c.caches);
}
