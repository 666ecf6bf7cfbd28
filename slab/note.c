// SPDX-License-Identifier: BSD-2-Clause
/* note.c - see note.h. */
#include <errno.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/graph.h"
#include "slab/note.h"
#include "slab/pending.h"
#include "slab/tiny.h"

#define RESTORE_US 20u
#define MIN_BUCKETS 512u
#define MAX_BUCKETS (1u << 22)

void notes_init(struct slabdev *sd)
{
	lock_init(&sd->notes.lock, LOCK_NOTES, "notes");
	metapool_init(&sd->note_pool, sizeof(struct note), "notes");
	metapool_init(&sd->work_pool, sizeof(struct note_work), "note work");
	list_init(&sd->graphs);
}

void notes_fini(struct slabdev *sd)
{
	resv_fini(&sd->notes.buckets);
	metapool_fini(&sd->work_pool);
	metapool_fini(&sd->note_pool);
	lock_fini(&sd->notes.lock);
}

/* ---- The table ---------------------------------------------------------- */

/*
 * With between 2^k and 2^(k+1) buckets, k bits of the hash are the number of
 * the bucket; one that has been split already, by one bit more.
 */
static u32 bucket_number(u64 offset, u32 nr)
{
	u64 hash = (offset >> 4) * UINT64_C(0x9e3779b97f4a7c15);
	u32 half = 1u << (31 - __builtin_clz(nr));
	u32 i = (u32)(hash >> 32) & (2 * half - 1);

	return i < nr ? i : i - half;
}

static struct note **bucket_at(const struct slabdev *sd, u32 i)
{
	return (struct note **)(void *)sd->notes.buckets.base + i;
}

static struct note **bucket(const struct slabdev *sd, u64 offset)
{
	return bucket_at(sd, bucket_number(offset, sd->notes.nr_buckets));
}

/* The buckets come with the first note. */
static bool have_buckets(struct slabdev *sd)
{
	struct resv *r = &sd->notes.buckets;

	if (sd->notes.nr_buckets)
		return true;
	if (!r->base && resv_init(r, MAX_BUCKETS * sizeof(struct note *),
				  MIN_BUCKETS * sizeof(struct note *)))
		return false;
	if (resv_grow(r, MIN_BUCKETS * sizeof(struct note *)))
		return false;
	sd->notes.nr_buckets = MIN_BUCKETS;
	return true;
}

/* One bucket more, if there is memory: it shares the notes of another one. */
static void split_bucket(struct slabdev *sd)
{
	u32 nr = sd->notes.nr_buckets;
	struct note **from, **to, *n;

	if (nr == MAX_BUCKETS ||
	    resv_grow(&sd->notes.buckets, (nr + 1) * sizeof(struct note *)))
		return;
	sd->notes.nr_buckets = nr + 1;
	from = bucket_at(sd, nr - (1u << (31 - __builtin_clz(nr))));
	to = bucket_at(sd, nr);
	while ((n = *from)) {
		if (bucket(sd, n->offset) != to) {
			from = &n->next;
			continue;
		}
		*from = n->next;
		n->next = *to;
		*to = n;
	}
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

static struct note *new_locked(struct slabdev *sd)
{
	return have_buckets(sd) ? metapool_alloc(&sd->note_pool) : NULL;
}

struct note *note_new(struct slabdev *sd)
{
	struct note *n;

	lock_acquire(&sd->notes.lock);
	n = new_locked(sd);
	lock_release(&sd->notes.lock);
	return n;
}

static void insert_locked(struct slabdev *sd, u64 offset, struct note *n)
{
	struct note **first;

	if (sd->notes.nr >= sd->notes.nr_buckets)
		split_bucket(sd);
	n->offset = offset;
	first = bucket(sd, offset);
	n->next = *first;
	*first = n;
	WRITE_ONCE(sd->notes.nr, sd->notes.nr + 1);
}

static void link_locked(struct slabdev *sd, u64 offset, struct note *n)
{
	insert_locked(sd, offset, n);
	if (plain_code(sd, offset) != CODE_NONE)
		set_tag(sd, offset, CODE_NOTED);
}

struct note *note_set_locked(struct slabdev *sd, u64 offset, struct note *spare)
{
	struct note *n = note_find_locked(sd, offset);

	if (n) {
		note_free(sd, spare);
		return n;
	}
	link_locked(sd, offset, spare);
	return spare;
}

struct note *note_get_locked(struct slabdev *sd, u64 offset)
{
	struct note *n = note_find_locked(sd, offset);

	if (n)
		return n;
	n = new_locked(sd);
	if (n)
		link_locked(sd, offset, n);
	return n;
}

struct note_work *note_work(struct slabdev *sd, struct note *n)
{
	if (!n->work)
		n->work = metapool_alloc(&sd->work_pool);
	return n->work;
}

static struct note *unlink_locked(struct slabdev *sd, struct note **at)
{
	struct note *n = *at;

	*at = n->next;
	WRITE_ONCE(sd->notes.nr, sd->notes.nr - 1);
	return n;
}

static void free_work(struct slabdev *sd, struct note *n)
{
	if (n->work)
		metapool_free(&sd->work_pool, n->work);
	n->work = NULL;
}

void note_free(struct slabdev *sd, struct note *n)
{
	free_work(sd, n);
	metapool_free(&sd->note_pool, n);
}

void note_forget_uses(struct slabdev *sd, struct note *n)
{
	struct note_work *w = n->work;
	u32 i;

	for (i = 0; w && i < w->nr; i++)
		if (!w->use[i].stream)
			vmm_event_destroy(&sd->vmm, w->use[i].event);
	if (w)
		w->nr = 0;
}

static bool is_busy(const struct note *n)
{
	return n->work && (n->work->nr_graphs || n->work->nr || n->work->zone);
}

void note_put_locked(struct slabdev *sd, struct note *n)
{
	u64 offset = n->offset;
	u32 code;

	if (is_busy(n))
		return;
	free_work(sd, n);
	if (n->exports || n->owner_kind || n->number)
		return;
	note_free(sd, unlink_locked(sd, find_locked(sd, offset)));
	code = plain_code(sd, offset);
	if (code != CODE_NONE)
		set_tag(sd, offset, code);
}

struct note *note_take_locked(struct slabdev *sd, struct note *n)
{
	unlink_locked(sd, find_locked(sd, n->offset));
	if (is_busy(n))
		return n;
	note_free(sd, n);
	return NULL;
}

struct note *note_take(struct slabdev *sd, u64 offset)
{
	struct note *n;

	if (!notes_any(sd))
		return NULL;
	lock_acquire(&sd->notes.lock);
	n = note_find_locked(sd, offset);
	if (n)
		n = note_take_locked(sd, n);
	lock_release(&sd->notes.lock);
	return n;
}

/* True: it was live until now. */
static bool end_life(struct slabdev *sd, u64 offset)
{
	struct class *c = class_at(sd, offset);
	slot_t slot;

	if (c && class_is_tiny(c))
		return !tiny_take(c, offset, &slot);
	return tag_is_live(tag_take(&sd->tags[offset >> GRANULE_SHIFT]));
}

static int end_locked(struct slabdev *sd, u64 offset, u64 number,
		      struct note **note)
{
	struct note *n = note_find_locked(sd, offset);

	*note = NULL;
	if (!n || (number ? n->number != number : !n->owner_kind))
		return -EALREADY;
	if (number && n->owner_kind)
		return -EINVAL;
	if (n->exports)
		return -EBUSY;
	if (!end_life(sd, offset))
		return number ? -EALREADY : -EAGAIN;
	*note = note_take_locked(sd, n);
	return 0;
}

int note_end(struct slabdev *sd, u64 offset, u64 number, struct note **note)
{
	int err;

	for (;;) {
		lock_acquire(&sd->notes.lock);
		err = end_locked(sd, offset, number, note);
		lock_release(&sd->notes.lock);
		if (err != -EAGAIN)
			return err;
		/* Somebody frees it by its address, and is about to learn that
		 * he must not: the tag comes back. */
		os_sleep_us(RESTORE_US);
	}
}

static int refuses_locked(const struct note *n)
{
	if (n && n->owner_kind)
		return -EINVAL;
	return n && n->exports ? -EBUSY : 0;
}

int note_refuses(struct slabdev *sd, u64 offset)
{
	int err;

	if (!notes_any(sd))
		return 0;
	lock_acquire(&sd->notes.lock);
	err = refuses_locked(note_find_locked(sd, offset));
	lock_release(&sd->notes.lock);
	return err;
}

bool note_is_used(struct slabdev *sd, u64 offset)
{
	const struct note *n;
	bool used;

	if (!notes_any(sd))
		return false;
	lock_acquire(&sd->notes.lock);
	n = note_find_locked(sd, offset);
	used = n && is_busy(n);
	lock_release(&sd->notes.lock);
	return used;
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

static bool has_use(const struct note_work *w, slabdev_stream_t stream)
{
	u32 i;

	for (i = 0; i < w->nr; i++)
		if (w->use[i].stream == stream)
			return true;
	return false;
}

static int add_use(struct note_work *w, slabdev_stream_t stream)
{
	if (has_use(w, stream))
		return 0;
	if (w->nr == NOTE_USES)
		return error_set(-ENOSPC, "%u streams use the object already",
				 NOTE_USES);
	w->use[w->nr++] = (struct use){ .stream = stream };
	return 0;
}

static int use_locked(struct slabdev *sd, struct note *n, const struct order *o)
{
	struct graph *g = o->stream ? load_acquire(&o->stream->graph) : NULL;
	struct note_work *w = n ? note_work(sd, n) : NULL;
	int err = 0;

	if (!w)
		err = error_set(-ENOMEM, "%s: no host memory for a note on an "
				"object", sd->name);
	else if (!g)
		err = add_use(w, o->handle);
	else if (graph_join(g, w))
		err = error_set(-ENOSPC, "%u graphs have the object already",
				NOTE_GRAPHS);
	return err;
}

int note_use(struct slabdev *sd, u64 offset, const struct order *o)
{
	struct note *n;
	int err;

	lock_acquire(&sd->notes.lock);
	n = note_get_locked(sd, offset);
	err = use_locked(sd, n, o);
	if (err && n)
		note_put_locked(sd, n);
	lock_release(&sd->notes.lock);
	return err;
}

struct note *note_early_locked(struct slabdev *sd, u64 offset)
{
	struct note *n = new_locked(sd);

	if (!n)
		return NULL;
	insert_locked(sd, offset, n);
	if (note_work(sd, n))
		return n;
	(void)note_take_locked(sd, n);
	return NULL;
}

void note_again_locked(struct slabdev *sd, struct note *n)
{
	n->number = 0;
	n->owner_kind = NULL;
	n->owner = NULL;
	insert_locked(sd, n->offset, n);
}

int note_use_early(struct slabdev *sd, u64 offset, const struct order *o)
{
	int err;

	lock_acquire(&sd->notes.lock);
	err = use_locked(sd, note_early_locked(sd, offset), o);
	lock_release(&sd->notes.lock);
	return err;
}

int note_use_owned(struct slabdev *sd, u64 offset, const void *owner,
		   const struct order *o)
{
	struct note *n;
	int err = 0;

	lock_acquire(&sd->notes.lock);
	n = note_find_locked(sd, offset);
	if (n && n->owner == owner)
		err = use_locked(sd, n, o);
	if (err)
		note_put_locked(sd, n);
	lock_release(&sd->notes.lock);
	return err;
}

/* ---- All of them -------------------------------------------------------- */

void note_each_locked(struct slabdev *sd,
		      void (*each)(struct slabdev *sd, struct note *n,
				   void *arg), void *arg)
{
	struct note *n, *next;
	u32 i;

	for (i = 0; sd->notes.nr && i < sd->notes.nr_buckets; i++)
		for (n = *bucket_at(sd, i); n; n = next) {
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
	struct note_work *w = n->work;
	struct ending *e = arg;
	u32 i;

	for (i = 0; w && i < w->nr && !e->err; i++)
		if (w->use[i].stream == e->stream) {
			e->nr++;
			e->err = record_use(sd, &w->use[i]);
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

static bool is_live(const struct slabdev *sd, u64 offset)
{
	const struct class *c = class_at(sd, offset);
	struct slab *s = sd->slabs + (offset >> SLICE_SHIFT);

	if (!c || !class_is_tiny(c))
		return tag_is_live(tag_load(&sd->tags[offset >>
						      GRANULE_SHIFT]));
	return tiny_is_live(s, slot_index(c, s, (slot_t)(offset >> c->shift)));
}

/*
 * Its streams and graphs are not here. Nor is the thread that had perhaps taken
 * the tag: to free it, or, where that is refused, to put it back.
 */
static void forget_note(struct slabdev *sd, struct note *n, void *arg)
{
	bool live = is_live(sd, n->offset);
	bool tagged = plain_code(sd, n->offset) != CODE_NONE;

	(void)arg;
	free_work(sd, n);
	if (!live && tagged && refuses_locked(n))
		set_tag(sd, n->offset, CODE_NOTED);
	else if (!live)
		(void)note_take_locked(sd, n);
	else
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
