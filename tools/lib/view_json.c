// SPDX-License-Identifier: BSD-2-Clause
/*
 * view_json.c - everything, for programs: one object on one line.
 *
 * Keys are the names of struct slabdev_stats where it has the figure. A key
 * keeps its meaning as long as "version" stays 1; keys may be added.
 */
#include "backend_ops.h"
#include "json.h"
#include "text.h"
#include "view.h"

#define JSON_VERSION 1

static void put_account(struct json *j, const struct account *b)
{
	json_u64(j, "mapped", b->mapped);
	json_u64(j, "live", b->live);
	json_u64(j, "cached", b->cached);
	json_u64(j, "pending", b->pending);
	json_u64(j, "retained", b->retained);
	json_u64(j, "rounding", b->rounding);
	json_u64(j, "slack", b->slack);
	json_u64(j, "lost", b->lost);
	json_s64(j, "in_flight", b->in_flight);
}

static void put_ops(struct json *j, const char *key, const uint64_t *calls)
{
	int op;

	json_open(j, key, '{');
	for (op = 0; op < (int)SLABDEV_SEG_NR_OPS; op++)
		json_u64(j, backend_ops[op], calls[op]);
	json_close(j, '}');
}

static void put_memory(struct json *j, const struct slabdev_seg_space *rec)
{
	json_u64(j, "limit", rec->vmm.limit);
	json_u64(j, "reserved", rec->vmm.reserved);
	json_u64(j, "peak_mapped", rec->vmm.peak_created);
	json_u64(j, "peak_live", rec->peak_out);
	json_u64(j, "handles", rec->vmm.handles);
	json_u64(j, "cached_handles", rec->vmm.spare_handles);
	json_u64(j, "chunk_size", rec->chunk_size);
	json_u64(j, "slice_size", rec->slice_size);
	json_u64(j, "host_bytes", rec->host_bytes);
	json_u64(j, "large_bytes", rec->large_bytes);
	json_u64(j, "threads", rec->nr_threads);
	json_u64(j, "caches", rec->nr_caches);
}

static void put_counts(struct json *j, const struct space *s)
{
	const struct counts *n = &s->counts;

	json_u64(j, "live_objects", n->live_objects);
	json_u64(j, "cached_objects", n->cached_objects);
	json_u64(j, "allocs", n->ops.allocs);
	json_u64(j, "frees", n->ops.frees);
	json_u64(j, "alloc_bytes", n->ops.alloc_bytes);
	json_u64(j, "free_bytes", n->ops.free_bytes);
	json_u64(j, "reused", less(n->ops.allocs, s->rec.misses));
	json_u64(j, "reused_bytes", less(n->ops.alloc_bytes,
					 s->rec.miss_bytes));
	json_u64(j, "refills", n->refills);
	json_u64(j, "flushes", n->flushes);
	json_u64(j, "failed", s->rec.failed);
	json_u64(j, "trims", s->rec.trims);
	json_u64(j, "backend_calls", n->backend_calls);
	json_u64(j, "backend_fails", n->backend_fails);
	put_ops(j, "calls", s->rec.vmm.calls);
	put_ops(j, "fails", s->rec.vmm.fails);
}

static void put_streams(struct json *j, const struct slabdev_seg_space *rec)
{
	json_u64(j, "held", rec->held_bytes);
	json_u64(j, "streams", rec->nr_streams);
	json_u64(j, "graphs", rec->nr_graphs);
	json_u64(j, "event_records", rec->event_records);
	json_u64(j, "event_queries", rec->event_queries);
	json_u64(j, "stream_waits", rec->stream_waits);
	json_u64(j, "host_waits", rec->host_waits);
	json_u64(j, "exported", rec->nr_exported);
	json_u64(j, "exported_bytes", rec->exported_bytes);
}

static void put_owners(struct json *j, const struct slabdev_seg_space *rec)
{
	json_u64(j, "arenas", rec->nr_arenas);
	json_u64(j, "arena_bytes", rec->arena_bytes);
	json_u64(j, "buffers", rec->nr_buffers);
	json_u64(j, "groups", rec->nr_groups);
}

static void put_shape(struct json *j, const struct slabdev_seg_class *rec)
{
	json_string(j, "name", rec->name);
	json_string(j, "type", class_type_key(rec->type));
	json_u64(j, "generation", rec->generation);
	json_bool(j, "constructor", rec->flags & SLABDEV_SEG_CTOR);
	json_u64(j, "object_size", rec->object_size);
	json_u64(j, "stride", rec->stride);
	json_u64(j, "align", rec->align);
	json_u64(j, "slab_bytes", rec->slab_bytes);
	json_u64(j, "per_slab", rec->per_slab);
	json_u64(j, "sheaf_objects", rec->sheaf_objects);
	json_u64(j, "slabs", rec->slabs);
	json_u64(j, "partial", rec->partial);
	json_u64(j, "empty", rec->empty);
	json_u64(j, "barn_full", rec->barn_full);
	json_u64(j, "barn_empty", rec->barn_empty);
}

static void put_class(struct json *j, const struct cache *c)
{
	json_open(j, NULL, '{');
	put_shape(j, &c->rec);
	json_u64(j, "memory", c->memory);
	json_u64(j, "live", c->fig.live);
	json_u64(j, "rounding", c->fig.rounding);
	json_u64(j, "cached", c->fig.cached);
	json_u64(j, "slack", c->fig.slack);
	json_u64(j, "pending", c->fig.pending);
	json_u64(j, "live_objects", c->fig.live_objects);
	json_u64(j, "cached_objects", c->fig.cached_objects);
	json_u64(j, "pending_objects", pending_objects(c));
	json_u64(j, "allocs", c->sum.allocs);
	json_u64(j, "frees", c->sum.frees);
	json_u64(j, "alloc_bytes", c->sum.alloc_bytes);
	json_u64(j, "free_bytes", c->sum.free_bytes);
	json_u64(j, "refills", c->rec.refills);
	json_u64(j, "flushes", c->rec.flushes);
	json_u64(j, "slab_allocs", c->rec.slab_allocs);
	json_u64(j, "slab_frees", c->rec.slab_frees);
	json_u64(j, "failed", c->rec.failed);
	json_u64(j, "stolen", c->rec.stolen);
	json_close(j, '}');
}

static void put_classes(struct json *j, const struct space *s,
			const struct options *opt)
{
	struct choice choice = { 0 };
	size_t i;

	choice_add(&choice, s, opt);
	choice_sort(&choice, opt);
	json_open(j, "classes", '[');
	for (i = 0; i < choice.nr; i++)
		put_class(j, choice.caches[i]);
	json_close(j, ']');
	choice_fini(&choice);
}

static void put_space(struct json *j, const struct space *s,
		      const struct options *opt)
{
	json_open(j, NULL, '{');
	json_u64(j, "pid", (uint64_t)s->pid);
	json_string(j, "command", s->command);
	json_string(j, "rank", s->rank.rank);
	json_string(j, "job", s->rank.job);
	json_u64(j, "open_id", s->open_id);
	json_string(j, "name", s->rec.name);
	json_string(j, "spec", s->rec.spec);
	json_string(j, "backing", s->rec.backing);
	json_string(j, "policy", policy_name(s->rec.policy_mode));
	json_u64(j, "policy_keep", s->rec.policy_keep);
	json_bool(j, "complete", s->complete);
	put_account(j, &s->bytes);
	put_memory(j, &s->rec);
	put_counts(j, s);
	put_streams(j, &s->rec);
	put_owners(j, &s->rec);
	put_classes(j, s, opt);
	json_close(j, '}');
}

void view_json(FILE *out, const struct snapshot *snap,
	       const struct options *opt)
{
	struct json j = { .out = out };
	struct account total = { 0 };
	uint64_t spaces = 0;
	size_t i;

	json_open(&j, NULL, '{');
	json_u64(&j, "version", JSON_VERSION);
	json_open(&j, "spaces", '[');
	for (i = 0; i < snap->nr_spaces; i++) {
		if (!space_is_chosen(snap->spaces[i], opt))
			continue;
		put_space(&j, snap->spaces[i], opt);
		account_add(&total, &snap->spaces[i]->bytes);
		spaces++;
	}
	json_close(&j, ']');
	json_open(&j, "total", '{');
	json_u64(&j, "spaces", spaces);
	put_account(&j, &total);
	json_close(&j, '}');
	json_close(&j, '}');
	fputc('\n', out);
}
