// SPDX-License-Identifier: BSD-2-Clause
/* note.c - see note.h. */
#include <errno.h>

#include "core/log.h"
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/graph.h"
#include "slab/note.h"
#include "slab/pending.h"
#include "slab/tiny.h"

#define NR_BUCKETS 4096u

void notes_init(struct slabdev *sd)
{
	lock_init(&sd->notes.lock, LOCK_NOTES, "notes");
	metapool_init(&sd->note_pool, sizeof(struct note), "notes");
	list_init(&sd->graphs);
}

void notes_fini(struct slabdev *sd)
{
	resv_fini(&sd->notes.buckets);
	metapool_fini(&sd->note_pool);
	lock_fini(&sd->notes.lock);
}

static struct note **bucket(const struct slabdev *sd, u64 offset)
{
	u64 hash = (offset >> 4) * UINT64_C(0x9e3779b97f4a7c15);

	return (struct note **)(void *)sd->notes.buckets.base +
	       (hash >> 32) % NR_BUCKETS;
}

/* The place in its bucket of the object's note; NULL: it has none. */
static struct note **find_locked(const struct slabdev *sd, u64 offset)
{
	struct note **at;

	if (!sd->notes.nr)
		return NULL;
	for (at = bucket(sd, offset); *at; at = &(*at)->next)
		if ((*at)->offset == offset)
			return at;
	return NULL;
}

struct note *note_find_locked(struct slabdev *sd, u64 offset)
{
	struct note **at = find_locked(sd, offset);

	return at ? *at : NULL;
}

/* ---- Tags -------------------------------------------------------------- */

static void set_tag(struct slabdev *sd, u64 offset, u32 code)
{
	tag_store(&sd->tags[offset >> GRANULE_SHIFT], tag_make(code));
}

/* The code that the object has without a note; CODE_NONE: it has no tag. */
static u32 plain_code(const struct slabdev *sd, u64 offset)
{
	const struct class *c = class_at(sd, offset);

	if (!c)
		return CODE_LARGE;
	if (class_is_tiny(c))
		return CODE_NONE;
	return class_is_debugged(c) ? CODE_DEBUG : c->code;
}

/* ---- Making and unmaking ------------------------------------------------ */

/* The buckets come with the first note. */
static bool have_buckets(struct slabdev *sd)
{
	struct resv *r = &sd->notes.buckets;
	size_t bytes = NR_BUCKETS * sizeof(struct note *);

	if (r->base)
		return true;
	if (resv_init(r, bytes, bytes))
		return false;
	if (!resv_grow(r, bytes))
		return true;
	resv_fini(r);
	*r = (struct resv){ 0 };
	return false;
}

struct note *note_get_locked(struct slabdev *sd, const struct place *at)
{
	struct note *n = note_find_locked(sd, at->object);
	struct note **first;

	if (n)
		return n;
	if (!have_buckets(sd))
		return NULL;
	n = metapool_alloc(&sd->note_pool);
	if (!n)
		return NULL;
	n->offset = at->object;
	first = bucket(sd, at->object);
	n->next = *first;
	*first = n;
	WRITE_ONCE(sd->notes.nr, sd->notes.nr + 1);
	if (plain_code(sd, at->object) != CODE_NONE)
		set_tag(sd, at->object, CODE_NOTED);
	return n;
}

static struct note *unlink_locked(struct slabdev *sd, struct note **at)
{
	struct note *n = *at;

	*at = n->next;
	WRITE_ONCE(sd->notes.nr, sd->notes.nr - 1);
	return n;
}

void note_free(struct slabdev *sd, struct note *n)
{
	metapool_free(&sd->note_pool, n);
}

void note_forget_uses(struct slabdev *sd, struct note *n)
{
	u32 i;

	for (i = 0; i < n->nr; i++)
		if (!n->use[i].stream)
			vmm_event_destroy(&sd->vmm, n->use[i].event);
	n->nr = 0;
}

void note_put_locked(struct slabdev *sd, struct note *n)
{
	u64 offset = n->offset;
	u32 code;

	if (n->nr_graphs || n->exports || n->nr)
		return;
	note_free(sd, unlink_locked(sd, find_locked(sd, offset)));
	code = plain_code(sd, offset);
	if (code != CODE_NONE)
		set_tag(sd, offset, code);
}

struct note *note_take(struct slabdev *sd, u64 offset)
{
	struct note **at, *n = NULL;

	if (!notes_any(sd))
		return NULL;
	lock_acquire(&sd->notes.lock);
	at = find_locked(sd, offset);
	if (at)
		n = unlink_locked(sd, at);
	lock_release(&sd->notes.lock);
	return n;
}

bool note_is_exported(struct slabdev *sd, u64 offset)
{
	const struct note *n;
	bool exported;

	if (!notes_any(sd))
		return false;
	lock_acquire(&sd->notes.lock);
	n = note_find_locked(sd, offset);
	exported = n && n->exports;
	lock_release(&sd->notes.lock);
	return exported;
}

/* ---- Uses -------------------------------------------------------------- */

static bool is_noted_locked(const struct note *n, slabdev_stream_t stream)
{
	u32 i;

	for (i = 0; i < n->nr; i++)
		if (n->use[i].stream == stream)
			return true;
	return false;
}

int note_use(struct slabdev *sd, const struct place *at,
	     const struct order *o)
{
	struct graph *g = o->stream ? load_acquire(&o->stream->graph) : NULL;
	struct note *n;
	int err = 0;

	lock_acquire(&sd->notes.lock);
	n = note_get_locked(sd, at);
	if (!n)
		err = error_set(-ENOMEM, "slabdev_use: %s: no host memory for "
				"a note on an object", sd->name);
	else if (g && graph_join_locked(g, n))
		err = error_set(-ENOSPC, "slabdev_use: %u graphs have the "
				"object already", NOTE_GRAPHS);
	else if (g)
		err = 0;
	else if (!is_noted_locked(n, o->handle) && n->nr == NOTE_USES)
		err = error_set(-ENOSPC, "slabdev_use: %u streams use the "
				"object already", NOTE_USES);
	else if (!is_noted_locked(n, o->handle))
		n->use[n->nr++] = (struct use){ .stream = o->handle };
	lock_release(&sd->notes.lock);
	return err;
}

/* ---- All of them -------------------------------------------------------- */

void note_each_locked(struct slabdev *sd,
		      void (*each)(struct slabdev *sd, struct note *n,
				   void *arg), void *arg)
{
	struct note **buckets = (struct note **)(void *)sd->notes.buckets.base;
	struct note *n, *next;
	u32 i;

	for (i = 0; sd->notes.nr && i < NR_BUCKETS; i++)
		for (n = buckets[i]; n; n = next) {
			next = n->next;
			each(sd, n, arg);
		}
}

/* ---- A used stream ends ------------------------------------------------- */

struct ending {
	slabdev_stream_t stream;
	u32 nr;			/* uses that were told apart from it */
	int err;
};

/* From now on the use waits for an event instead. */
static int record_use(struct slabdev *sd, struct use *use)
{
	u64 event;
	int err = vmm_event_create(&sd->vmm, &event);

	if (err)
		return err;
	err = vmm_event_record(&sd->vmm, event, use->stream);
	if (err) {
		vmm_event_destroy(&sd->vmm, event);
		return err;
	}
	shared_add(&sd->rec->event_records, 1);
	use->event = event;
	use->stream = NULL;
	return 0;
}

static void end_uses(struct slabdev *sd, struct note *n, void *arg)
{
	struct ending *e = arg;
	u32 i;

	for (i = 0; i < n->nr && !e->err; i++)
		if (n->use[i].stream == e->stream) {
			e->nr++;
			e->err = record_use(sd, &n->use[i]);
		}
}

int notes_end_stream(struct slabdev *sd, slabdev_stream_t stream)
{
	struct ending e = { .stream = stream };

	if (!notes_any(sd))
		return 0;
	lock_acquire(&sd->notes.lock);
	note_each_locked(sd, end_uses, &e);
	lock_release(&sd->notes.lock);
	return e.err ? e.err : e.nr != 0;
}

/* ---- After a fork, and the end ------------------------------------------ */

static void forget_note(struct slabdev *sd, struct note *n, void *arg)
{
	(void)arg;
	n->nr_graphs = 0;
	n->nr = 0;
	note_put_locked(sd, n);
}

void notes_forget(struct slabdev *sd)
{
	lock_acquire(&sd->notes.lock);
	note_each_locked(sd, forget_note, NULL);
	graphs_forget(sd);
	lock_release(&sd->notes.lock);
}

static void forget_uses(struct slabdev *sd, struct note *n, void *arg)
{
	(void)arg;
	note_forget_uses(sd, n);
}

void notes_end(struct slabdev *sd)
{
	note_each_locked(sd, forget_uses, NULL);
}
