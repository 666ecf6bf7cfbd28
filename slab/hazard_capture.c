// SPDX-License-Identifier: BSD-2-Clause
/* hazard_capture.c - see hazard_capture.h. */
#include "core/os.h"
#include "slab/hazard_capture.h"
#include "slab/hazard_event.h"
#include "slab/hazard_tree.h"

struct member {
	struct hazard_stream stream;
	const void *graph;	/* it was declared for; NULL: it spread */
};

/* Locking: hazard_lock. */
static struct member members[HAZARD_STREAMS];
static u32 nr_members;
static u64 last_capture;

static struct hazard_stream name(slabdev_stream_t handle)
{
	struct hazard_stream s = { .handle = handle };

	if (!handle)
		s.handle = SLABDEV_STREAM_LEGACY;
	if (handle == SLABDEV_STREAM_PER_THREAD)
		s.thread = os_gettid();
	return s;
}

static struct member *find(const struct hazard_stream *s)
{
	u32 i;

	for (i = 0; i < nr_members; i++)
		if (members[i].stream.handle == s->handle &&
		    members[i].stream.thread == s->thread)
			return &members[i];
	return NULL;
}

struct hazard_stream capture_stream_locked(slabdev_stream_t handle)
{
	struct hazard_stream s = name(handle);
	const struct member *m = nr_members ? find(&s) : NULL;

	return m ? m->stream : s;
}

const void *capture_graph_locked(const struct hazard_stream *stream)
{
	const struct member *m = stream->capture ? find(stream) : NULL;

	return m ? m->graph : NULL;
}

/* One that there is no place for seems to run. */
static struct member *add(const struct hazard_stream *s, u64 capture)
{
	struct member *m;

	if (nr_members == HAZARD_STREAMS)
		return NULL;
	m = &members[nr_members++];
	*m = (struct member){ .stream = *s };
	m->stream.capture = capture;
	return m;
}

void capture_begin_locked(slabdev_stream_t handle, const void *graph)
{
	struct hazard_stream s = name(handle);
	struct member *m = find(&s);

	if (!m)
		m = add(&s, ++last_capture);
	if (m && !m->graph)
		m->graph = graph;
}

static bool is_declared(u64 capture)
{
	u32 i;

	for (i = 0; i < nr_members; i++)
		if (members[i].stream.capture == capture && members[i].graph)
			return true;
	return false;
}

void capture_end_locked(const void *graph)
{
	u32 i, kept = 0;

	for (i = 0; i < nr_members; i++)
		if (members[i].graph == graph)
			members[i].graph = NULL;
	for (i = 0; i < nr_members; i++)
		if (is_declared(members[i].stream.capture))
			members[kept++] = members[i];
	nr_members = kept;
}

struct renumbering {
	u64 to, from;
};

static void renumber_uses(struct record *r, const void *arg)
{
	const struct renumbering *n = arg;
	u32 i;

	for (i = 0; i < r->nr_uses; i++)
		if (r->use[i].capture == n->from)
			r->use[i].capture = n->to;
}

/* Two captures that meet are one. */
static void join(u64 to, u64 from)
{
	struct renumbering n = { to, from };
	u32 i;

	for (i = 0; i < nr_members; i++)
		if (members[i].stream.capture == from)
			members[i].stream.capture = to;
	clock_join_captures_locked(to, from);
	event_join_captures_locked(to, from);
	tree_each_locked(NULL, renumber_uses, &n);
}

bool capture_enter_locked(struct hazard_stream *stream, u64 capture)
{
	if (!is_declared(capture))
		return false;
	if (stream->capture)
		join(capture, stream->capture);
	else
		(void)add(stream, capture);
	stream->capture = capture;
	return true;
}

void capture_reset_locked(void)
{
	nr_members = 0;
}
