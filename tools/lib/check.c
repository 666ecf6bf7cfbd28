// SPDX-License-Identifier: BSD-2-Clause
/* check.c - see check.h. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "choice.h"

/* ---- Statements ---------------------------------------------------------- */

static bool frees_follow_allocs(const struct cache *c)
{
	return c->sum.frees <= c->sum.allocs &&
	       c->sum.free_bytes <= c->sum.alloc_bytes;
}

static bool slabs_hold_objects(const struct cache *c)
{
	uint64_t room = c->rec.slabs * c->rec.per_slab;

	return c->sum.allocs - c->sum.frees + c->rec.pending <= room;
}

static bool objects_fit(const struct cache *c)
{
	uint64_t live = c->sum.allocs - c->sum.frees;

	return c->sum.alloc_bytes - c->sum.free_bytes <= live * c->rec.stride;
}

static bool slabs_are_counted(const struct cache *c)
{
	return c->rec.slabs == c->rec.slab_allocs - c->rec.slab_frees;
}

static bool lists_are_of_slabs(const struct cache *c)
{
	return c->rec.partial + c->rec.empty <= c->rec.slabs;
}

static bool shape_is_possible(const struct cache *c)
{
	const struct slabdev_seg_class *r = &c->rec;

	return r->object_size && r->object_size <= r->stride && r->per_slab &&
	       r->stride <= r->slab_bytes / r->per_slab && r->align &&
	       !(r->align & (r->align - 1)) && !(r->stride % r->align);
}

static const struct {
	const char *sentence;
	bool (*holds)(const struct cache *c);
} of_caches[] = {
	{ "a cache freed no more than it allocated", frees_follow_allocs },
	{ "a cache has slabs for its objects", slabs_hold_objects },
	{ "live bytes are no more than live objects have", objects_fit },
	{ "slabs are those made less those given back", slabs_are_counted },
	{ "partial and empty slabs are slabs", lists_are_of_slabs },
	{ "the objects of a slab fit it, one behind the other",
	  shape_is_possible },
};

static bool bytes_add_up(const struct space *s)
{
	return !s->bytes.in_flight;
}

static bool parts_are_mapped(const struct space *s)
{
	const struct slabdev_seg_vmm *v = &s->rec.vmm;

	return v->idle <= v->created && v->lost <= v->created &&
	       v->created <= v->peak_created;
}

static bool chunks_are_whole(const struct space *s)
{
	return s->rec.chunk_size && !(s->rec.vmm.created % s->rec.chunk_size) &&
	       !(s->rec.vmm.reserved % s->rec.chunk_size);
}

static bool out_is_in_slabs(const struct space *s)
{
	uint64_t bytes = s->rec.large_bytes;
	size_t i;

	for (i = 0; i < s->nr_caches; i++)
		bytes += s->caches[i].rec.slabs * s->caches[i].rec.slab_bytes;
	return s->rec.out_bytes <= bytes &&
	       s->rec.out_bytes <= s->rec.peak_out;
}

static bool pending_is_out(const struct space *s)
{
	return s->rec.held_bytes <= s->rec.pending_bytes &&
	       s->rec.large_pending <= s->rec.pending_bytes;
}

static const struct {
	const char *sentence;
	bool (*holds)(const struct space *s);
} of_spaces[] = {
	{ "the bytes of all parts are those that are mapped", bytes_add_up },
	{ "idle and lost memory is mapped, as much as ever was at most",
	  parts_are_mapped },
	{ "memory is mapped and reserved in whole chunks", chunks_are_whole },
	{ "what is out of slabs was in them", out_is_in_slabs },
	{ "what graphs hold, and large objects, are part of what is pending",
	  pending_is_out },
};

/* ---- Breaches ------------------------------------------------------------ */

static void add(struct breaches *b, const struct space *s, const char *cache,
		const char *sentence)
{
	struct breach *of = realloc(b->of, (b->nr + 1) * sizeof(*of));

	if (!of) {
		b->no_memory = true;
		return;
	}
	b->of = of;
	of[b->nr] = (struct breach){
		.pid = s->pid,
		.open_id = s->open_id,
		.sentence = sentence,
	};
	strncpy(of[b->nr].cache, cache, sizeof(of->cache) - 1);
	b->nr++;
}

static void check_cache(struct breaches *b, const struct cache *c)
{
	size_t i;

	if (c->rec.type == SLABDEV_SEG_LARGE)
		return;
	for (i = 0; i < ARRAY_SIZE(of_caches); i++) {
		b->looked_at++;
		if (!of_caches[i].holds(c))
			add(b, c->space, c->rec.name, of_caches[i].sentence);
	}
}

static void check_space(struct breaches *b, const struct space *s)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(of_spaces); i++) {
		b->looked_at++;
		if (!of_spaces[i].holds(s))
			add(b, s, "", of_spaces[i].sentence);
	}
	for (i = 0; i < s->nr_caches; i++)
		check_cache(b, &s->caches[i]);
}

void breaches_find(struct breaches *b, const struct snapshot *snap,
		   const struct options *opt)
{
	size_t i;

	*b = (struct breaches){ .nr = 0 };
	for (i = 0; i < snap->nr_spaces; i++)
		if (space_is_chosen(snap->spaces[i], opt))
			check_space(b, snap->spaces[i]);
}

static bool has(const struct breaches *b, const struct breach *one)
{
	size_t i;

	for (i = 0; i < b->nr; i++)
		if (b->of[i].pid == one->pid &&
		    b->of[i].open_id == one->open_id &&
		    b->of[i].sentence == one->sentence &&
		    !strcmp(b->of[i].cache, one->cache))
			return true;
	return false;
}

void breaches_keep(struct breaches *b, const struct breaches *again)
{
	size_t i, kept = 0;

	for (i = 0; i < b->nr; i++)
		if (has(again, &b->of[i]))
			b->of[kept++] = b->of[i];
	b->nr = kept;
}

void breaches_fini(struct breaches *b)
{
	free(b->of);
}
