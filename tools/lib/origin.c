// SPDX-License-Identifier: BSD-2-Clause
/*
 * origin.c - the stacks that allocated or freed objects, from a space's files.
 *
 * A record is filled before its state says so, and stays. Its sums go on
 * changing: each is a word that was written, and together they can be off by
 * the operations of that moment, which no view hides.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "memory.h"
#include "origin.h"

_Static_assert(sizeof(struct slabdev_seg_trace) % 8 == 0, "copied by words");
_Static_assert(sizeof(struct slabdev_seg_module) % 8 == 0, "copied by words");

struct origin_reading {
	struct space *space;
	struct problems *problems;
	const struct slabdev_seg_module *modules;
	uint32_t index;		/* of the segment */
};

#define wrong(r, fmt, ...) \
	do { \
		(r)->space->complete = false; \
		problem_add((r)->problems, (r)->space->pid, \
			    "space number %" PRIu64 ": trace file %" PRIu32 \
			    ": " fmt, (r)->space->open_id, (r)->index, \
			    ##__VA_ARGS__); \
	} while (0)

static uint32_t module_number(uint64_t frame)
{
	return (uint32_t)(frame >> SLABDEV_SEG_FRAME_SHIFT);
}

const struct slabdev_seg_module *origin_module(const struct origin *o,
					       uint64_t frame)
{
	uint32_t number = module_number(frame);

	return number < SLABDEV_SEG_MODULES ? &o->modules[number] : NULL;
}

/* The modules of a segment; they live as long as @r->space. */
static void read_modules(struct origin_reading *r,
			 const struct slabdev_seg_traces *body)
{
	struct slabdev_seg_module *to = space_add_modules(r->space);
	unsigned int i;

	for (i = 0; i < SLABDEV_SEG_MODULES; i++) {
		live_copy(&to[i], &body->module[i], sizeof(to[i]));
		if (memchr(to[i].path, '\0', sizeof(to[i].path)))
			continue;
		to[i].path[sizeof(to[i].path) - 1] = '\0';
		wrong(r, "the path of module %u has no end", i);
	}
	r->modules = to;
}

/* NULL, or what makes a record impossible to show. */
static const char *nonsense(const struct origin_reading *r,
			    const struct slabdev_seg_trace *rec)
{
	uint32_t i, number;

	if (rec->kind != SLABDEV_SEG_TRACE_ALLOC &&
	    rec->kind != SLABDEV_SEG_TRACE_FREE)
		return "is of a kind that does not exist";
	if (rec->nr_frames > SLABDEV_SEG_FRAMES)
		return "has more frames than there is room for";
	for (i = 0; i < rec->nr_frames; i++) {
		number = module_number(rec->frame[i]);
		if (number != SLABDEV_SEG_NO_MODULE &&
		    (number >= SLABDEV_SEG_MODULES ||
		     !*r->modules[number].path))
			return "has a frame in a module that does not exist";
	}
	return NULL;
}

static void take_trace(struct origin_reading *r,
		       const struct slabdev_seg_trace *rec, unsigned int i)
{
	const char *why;

	if (rec->state == SLABDEV_SEG_FREE)
		return;
	why = rec->state == SLABDEV_SEG_USED ?
	      nonsense(r, rec) : "has a state that does not exist";
	if (why) {
		wrong(r, "trace %u %s", i, why);
		return;
	}
	*space_add_origin(r->space) = (struct origin){
		.rec = *rec,
		.modules = r->modules,
	};
}

/* Modules after traces: those that a trace names are there by then. */
static void read_segment(struct origin_reading *r, const struct segment *seg)
{
	const struct slabdev_seg_traces *body = segment_body(seg);
	struct slabdev_seg_trace *copies = zalloc(sizeof(body->trace));
	unsigned int i;

	r->index = seg->head.index;
	for (i = 0; i < SLABDEV_SEG_TRACES_PER_SEGMENT; i++) {
		uint32_t state = live_acquire_u32(&body->trace[i].state);

		live_copy(&copies[i], &body->trace[i], sizeof(copies[i]));
		copies[i].state = state;
	}
	read_modules(r, body);
	for (i = 0; i < SLABDEV_SEG_TRACES_PER_SEGMENT; i++)
		take_trace(r, &copies[i], i);
	free(copies);
}

void origins_read(struct space *space, const struct segment *segs, size_t nr,
		  struct problems *problems)
{
	struct origin_reading r = { .space = space, .problems = problems };
	size_t i;

	for (i = 0; i < nr; i++)
		read_segment(&r, &segs[i]);
}
