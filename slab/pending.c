// SPDX-License-Identifier: BSD-2-Clause
/* pending.c - recording, asking and waiting; see pending.h. */
#include <errno.h>

#include "core/log.h"
#include "slab/alloc.h"
#include "slab/barn.h"
#include "slab/class.h"
#include "slab/heap.h"
#include "slab/note.h"
#include "slab/pending_private.h"

void pendings_init(struct slabdev *sd, u64 budget)
{
	lock_init(&sd->pendings.lock, LOCK_PENDING, "pending");
	metapool_init(&sd->pending_pool, sizeof(struct pending), "pending");
	sd->pendings.budget = budget;
}

/* ---- The end of waiting ------------------------------------------------ */

static void free_sheaves(struct slabdev *sd, struct sheaf *s)
{
	struct sheaf *next;

	for (; s; s = next) {
		next = s->next;
		pending_unbook(sd->class[s->class], s->n);
		s->domain = DOMAIN_COMPLETE;
		sheaf_return(sd, s);
	}
}

/* All work on it is done: what the record has is free. */
static void complete(struct slabdev *sd, struct pending *p)
{
	free_sheaves(sd, p->sheaves);
	if (p->class) {
		pending_unbook(p->class, 1);
		class_put(p->class, &p->slot, 1, DOMAIN_COMPLETE);
	}
	if (p->large != RANGE_NONE) {
		pending_unbook_large(sd, p->large);
		large_give_back(sd, p->large, DOMAIN_COMPLETE);
	}
	pending_retire(sd, p);
}

/* ---- Where no event helps ----------------------------------------------- */

static void keep_unproven(struct slabdev *sd, struct pending *p)
{
	lock_acquire(&sd->pendings.lock);
	pending_push_locked(&sd->pendings.unproven, p);
	lock_release(&sd->pendings.lock);
}

static void report_capture(struct slabdev *sd, slabdev_stream_t stream)
{
	struct report r;

	report_start(&r, REPORT_CAPTURE, sd->name, "Capture that was not "
		     "declared");
	report_line(&r, "stream %p is being captured: a graph may use at any "
		    "time what is allocated and freed on it", (void *)stream);
	report_line(&r, "what is freed on it meanwhile is held until the space "
		    "is closed; call slabdev_capture_begin() before a capture "
		    "begins");
	report_end(&r);
}

/* Once a space. */
static void tell_capture(struct slabdev *sd, slabdev_stream_t stream)
{
	bool told;

	lock_acquire(&sd->pendings.lock);
	told = sd->pendings.told_capture;
	WRITE_ONCE(sd->pendings.told_capture, true);
	lock_release(&sd->pendings.lock);
	if (!told)
		report_capture(sd, stream);
}

void pending_notice_capture(struct slabdev *sd, slabdev_stream_t stream)
{
	char text[ERROR_TEXT_MAX];

	/* The legacy stream is in the way of captures, not in one. */
	if (READ_ONCE(sd->pendings.told_capture) ||
	    READ_ONCE(sd->streams.nr_captures) ||
	    stream == SLABDEV_STREAM_LEGACY)
		return;
	error_save(text);
	if (vmm_is_captured(&sd->vmm, stream) == 1)
		tell_capture(sd, stream);
	error_restore(text);
}

static void keep_held(struct slabdev *sd, struct pending *p)
{
	lock_acquire(&sd->pendings.lock);
	pending_push_locked(&sd->pendings.held, p);
	lock_release(&sd->pendings.lock);
}

/* ---- Adding ----------------------------------------------------------- */

/* 0; -EAGAIN the stream is being captured; or the backend's error. */
static int record(struct slabdev *sd, struct pending *p,
		  slabdev_stream_t stream)
{
	u32 i = p->nr_events;
	int err = 0;

	if (i == p->nr_made) {
		err = vmm_event_create(&sd->vmm, &p->event[i]);
		if (err)
			return err == -EAGAIN ? -EIO : err;
		p->nr_made++;
	}
	err = vmm_event_record(&sd->vmm, p->event[i], stream);
	if (!err) {
		p->nr_events++;
		shared_add(&sd->rec->event_records, 1);
		return 0;
	}
	if (err != -EXDEV)
		return err;
	/* A capture that has just begun has the event. */
	vmm_event_destroy(&sd->vmm, p->event[i]);
	p->event[i] = p->event[--p->nr_made];
	return -EAGAIN;
}

/* The event of a use that is over becomes the record's. */
static int record_use(struct slabdev *sd, struct pending *p,
		      const struct use *use, const struct order *o)
{
	if (use->stream)
		return use->stream == o->handle ? 0 :
						  record(sd, p, use->stream);
	if (p->nr_made == PENDING_EVENTS)
		vmm_event_destroy(&sd->vmm, p->event[--p->nr_made]);
	p->event[p->nr_made++] = p->event[p->nr_events];
	p->event[p->nr_events++] = use->event;
	return 0;
}

/* Events on the stream of the free, and on those that used it besides. */
static int record_all(struct slabdev *sd, struct pending *p,
		      const struct order *o, const struct use *used,
		      u32 nr)
{
	int err = 0, one;
	u32 i;

	if (o->handle || sd->stream)
		err = record(sd, p, o->handle);
	for (i = 0; i < nr; i++) {
		one = record_use(sd, p, &used[i], o);
		/* That a graph may have it outlasts other errors. */
		if (one && err != -EAGAIN)
			err = one;
	}
	return err;
}

/* Whose queue what was freed in an order goes to. */
static struct stream *queue_stream(const struct order *o)
{
	return o->stream && !stream_is_per_thread(o->stream) ? o->stream : NULL;
}

/* What was booked waits from here on. */
static void submit(struct slabdev *sd, struct pending *p,
		   const struct order *o, const struct use *used, u32 nr)
{
	char text[ERROR_TEXT_MAX];
	int err = 0;

	if (sd->pendings.all_done) {
		complete(sd, p);
		return;
	}
	error_save(text);
	err = record_all(sd, p, o, used, nr);
	error_restore(text);
	if (err == -EAGAIN) {
		keep_held(sd, p);
		tell_capture(sd, o->handle);
	} else if (err) {
		keep_unproven(sd, p);
	} else {
		p->stream = nr ? NULL : queue_stream(o);
		pending_append(sd, p);
	}
}

/* ---- Asking ----------------------------------------------------------- */

/* 0: everything that the record waited for is done. */
static int ask(struct slabdev *sd, struct pending *p, bool wait)
{
	int err = 0;

	while (!err && p->nr_events) {
		u64 event = p->event[p->nr_events - 1];

		if (wait) {
			err = vmm_event_wait(&sd->vmm, event);
		} else {
			err = vmm_event_query(&sd->vmm, event);
			shared_add(&sd->rec->event_queries, 1);
		}
		if (!err)
			p->nr_events--;
	}
	return err;
}

/* Not done: back where it was. True: it may be soon. */
static void put_back(struct slabdev *sd, struct pending *p, int err)
{
	if (err == -EXDEV) {
		keep_held(sd, p);
		return;
	}
	lock_acquire(&sd->pendings.lock);
	if (p->stream)
		pending_prepend_locked(sd, p);
	else
		pending_append_locked(sd, p);
	lock_release(&sd->pendings.lock);
}

static u32 length(struct slabdev *sd, struct stream *st)
{
	struct pending **first, **last, *p;
	u32 n = 0;

	pending_queue_of(sd, st, &first, &last);
	lock_acquire(&sd->pendings.lock);
	for (p = *first; p; p = p->next)
		n++;
	lock_release(&sd->pendings.lock);
	return n;
}

/* Ask the first @most of a queue. In the queue of a stream nothing behind one
 * that is not done is. */
static int drain(struct slabdev *sd, struct stream *st, u32 most, bool wait)
{
	struct pending *p;
	int err, first_err = 0;

	while (most-- && (p = pending_take_first(sd, st))) {
		err = ask(sd, p, wait);
		if (!err) {
			complete(sd, p);
			continue;
		}
		put_back(sd, p, err);
		if (!first_err && err != -EXDEV)
			first_err = err;
		if (st)
			break;
	}
	return first_err;
}

bool pending_any(struct slabdev *sd)
{
	return READ_ONCE(sd->rec->pending_bytes) != 0;
}

static int drain_all(struct slabdev *sd, bool wait)
{
	int err, first_err = 0;
	struct stream *st;
	u32 i, n, end = READ_ONCE(sd->streams.end);

	for (i = 0; i <= end && i < STREAM_MAX; i++) {
		st = i < end ? load_acquire(&sd->streams.of[i]) : NULL;
		if (!st && i < end)
			continue;
		n = length(sd, st);
		err = n ? drain(sd, st, n, wait) : 0;
		if (!first_err)
			first_err = err;
	}
	return first_err;
}

void pending_poll(struct slabdev *sd)
{
	char text[ERROR_TEXT_MAX];

	/* Nothing is asked while a capture runs. */
	if (!pending_any(sd) || READ_ONCE(sd->streams.nr_captures))
		return;
	error_save(text);
	change_begin(sd);
	(void)drain_all(sd, false);
	change_end(sd);
	error_restore(text);
}

/* After a free on it: one query, so that what comes also goes. */
static void poll_one(struct slabdev *sd, struct stream *st)
{
	char text[ERROR_TEXT_MAX];

	if (READ_ONCE(sd->streams.nr_captures))
		return;
	error_save(text);
	if (READ_ONCE(sd->rec->pending_bytes) > sd->pendings.budget)
		(void)drain_all(sd, false);
	else
		(void)drain(sd, st, 1, false);
	error_restore(text);
}

/* ---- Waiting ---------------------------------------------------------- */

static struct pending *take_unproven(struct slabdev *sd)
{
	struct pending *p;

	lock_acquire(&sd->pendings.lock);
	p = sd->pendings.unproven;
	sd->pendings.unproven = NULL;
	lock_release(&sd->pendings.lock);
	return p;
}

/* What has no event: the device as a whole is waited for. */
static int settle_unproven(struct slabdev *sd)
{
	struct pending *p = take_unproven(sd), *next;
	int err;

	if (!p)
		return 0;
	err = vmm_quiesce_device(&sd->vmm);
	for (; p; p = next) {
		next = p->next;
		if (err) {
			keep_unproven(sd, p);
		} else {
			p->nr_events = 0;
			complete(sd, p);
		}
	}
	return err;
}

int pending_wait(struct slabdev *sd)
{
	int err, unproven_err;

	if (!pending_any(sd))
		return 0;
	if (READ_ONCE(sd->streams.nr_captures))
		return -EAGAIN;
	shared_add(&sd->rec->host_waits, 1);
	change_begin(sd);
	err = drain_all(sd, true);
	unproven_err = settle_unproven(sd);
	change_end(sd);
	return err ? err : unproven_err;
}

/* ---- Public additions -------------------------------------------------- */

/* No host memory for a record: wait here and now. */
static bool wait_without_record(struct slabdev *sd)
{
	char text[ERROR_TEXT_MAX];
	int err = 0;

	error_save(text);
	if (!sd->pendings.all_done)
		err = vmm_quiesce_device(&sd->vmm);
	error_restore(text);
	if (!err)
		return true;
	pr_warn("space %s: no host memory to remember what a stream freed, and "
	       "the device cannot be waited for: it stays pending", sd->name);
	return false;
}

void pending_add_sheaf(struct slabdev *sd, struct sheaf *s)
{
	struct class *c = sd->class[s->class];
	struct order o = { 0 };
	struct pending *p;

	if (!s->n) {
		sheaf_drop(c, s);
		return;
	}
	pending_book(c, s->n);
	s->next = NULL;
	p = pending_new(sd);
	if (!p) {
		if (wait_without_record(sd))
			free_sheaves(sd, s);
		return;
	}
	p->sheaves = s;
	if (s->domain == DOMAIN_UNPROVEN && !sd->pendings.all_done) {
		keep_unproven(sd, p);
		return;
	}
	if (s->domain != DOMAIN_UNPROVEN) {
		o.stream = stream_of_domain(sd, s->domain);
		o.handle = o.stream->handle;
	}
	submit(sd, p, &o, NULL, 0);
	poll_one(sd, queue_stream(&o));
}

void pending_add_slot(struct class *c, slot_t slot, const struct order *o,
		      const struct use *used, u32 nr)
{
	struct slabdev *sd = c->sd;
	struct pending *p = pending_new(sd);

	pending_book(c, 1);
	if (!p) {
		if (!wait_without_record(sd))
			return;
		pending_unbook(c, 1);
		class_put(c, &slot, 1, DOMAIN_COMPLETE);
		return;
	}
	p->class = c;
	p->slot = slot;
	submit(sd, p, o, used, nr);
	poll_one(sd, NULL);
}

void pending_add_large(struct slabdev *sd, u32 slice, const struct order *o,
		       const struct use *used, u32 nr)
{
	struct pending *p = pending_new(sd);

	pending_book_large(sd, slice);
	if (!p) {
		if (!wait_without_record(sd))
			return;
		pending_unbook_large(sd, slice);
		large_give_back(sd, slice, DOMAIN_COMPLETE);
		return;
	}
	p->large = slice;
	submit(sd, p, o, used, nr);
	poll_one(sd, queue_stream(o));
}

/* ---- Having a stream wait ---------------------------------------------- */

static int make_wait(struct slabdev *sd, const struct pending *p,
		     const struct order *o)
{
	int err = 0;
	u32 i;

	for (i = 0; i < p->nr_events && !err; i++)
		err = vmm_stream_wait(&sd->vmm, o->handle, p->event[i]);
	if (!err)
		shared_add(&sd->rec->stream_waits, 1);
	return err;
}

/* At most @most objects out of a record. */
static u32 take_slots(struct pending *p, struct class *c, slot_t *to, u32 most)
{
	struct sheaf *s = p->sheaves;
	u32 n = 0;

	if (p->class) {
		to[n++] = p->slot;
		p->class = NULL;
		return n;
	}
	while (n < most && s->n)
		to[n++] = s->slot[--s->n];
	if (!s->n) {
		p->sheaves = NULL;
		sheaf_drop(c, s);
	}
	return n;
}

u32 pending_adopt(struct class *c, const struct order *o, slot_t *to, u32 most)
{
	struct slabdev *sd = c->sd;
	struct pending *p;
	u32 n;

	if (!READ_ONCE(c->rec->pending))
		return 0;
	p = pending_take_match(c);
	if (!p)
		return 0;
	if (make_wait(sd, p, o)) {
		put_back(sd, p, 0);
		return 0;
	}
	n = take_slots(p, c, to, most);
	pending_unbook(c, n);
	if (p->sheaves)
		put_back(sd, p, 0);
	else
		pending_retire(sd, p);
	return n;
}

/* ---- The end, and a fork ------------------------------------------------ */

void pendings_fini(struct slabdev *sd)
{
	struct pending *p = sd->pendings.unused;
	u32 i;

	for (; p; p = p->next)
		for (i = 0; i < p->nr_made; i++)
			vmm_event_destroy(&sd->vmm, p->event[i]);
	metapool_fini(&sd->pending_pool);
	lock_fini(&sd->pendings.lock);
}

static void complete_list(struct slabdev *sd, struct pending *p)
{
	struct pending *next;

	for (; p; p = next) {
		next = p->next;
		p->nr_events = 0;
		complete(sd, p);
	}
}

void pending_end(struct slabdev *sd)
{
	struct pending *held = sd->pendings.held;
	u32 i;

	sd->pendings.all_done = true;
	sd->pendings.held = NULL;
	complete_list(sd, held);
	complete_list(sd, take_unproven(sd));
	for (i = 0; i < sd->streams.end; i++)
		if (sd->streams.of[i])
			pending_orphan(sd, sd->streams.of[i]);
	held = sd->pendings.loose;
	sd->pendings.loose = sd->pendings.loose_last = NULL;
	complete_list(sd, held);
}

/* What was pending is in slabs, as all that is not live. */
void pendings_forget(struct slabdev *sd)
{
	struct pendings *all = &sd->pendings;

	all->loose = all->loose_last = NULL;
	all->unproven = all->held = all->unused = NULL;
	WRITE_ONCE(sd->rec->pending_bytes, 0);
	WRITE_ONCE(sd->rec->large_pending, 0);
	WRITE_ONCE(sd->rec->held_bytes, 0);
}
