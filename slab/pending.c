// SPDX-License-Identifier: BSD-2-Clause
/* pending.c - recording, asking and waiting; see pending.h. */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/alloc.h"
#include "slab/barn.h"
#include "slab/class.h"
#include "slab/heap.h"
#include "slab/note.h"
#include "slab/pending_private.h"
#include "slab/visit.h"

/* Others may have some taken out, or free more: whoever waits for all that is
 * pending looks again so often, .. */
#define WAIT_ROUNDS 8u
/* .. each time after at most so many times 100 us. */
#define ASKER_TRIES 10000u

/* When more than the budget is pending a free looks at so many records of each
 * loose list. */
#define LOOKS_FREE 8u

void pendings_init(struct slabdev *sd, u64 budget)
{
	lock_init(&sd->pendings.lock, LOCK_PENDING, "pending");
	metapool_init(&sd->pending_pool, sizeof(struct pending), "pending");
	sd->pendings.budget = budget;
}

/* ---- The end of waiting ------------------------------------------------ */

static void free_sheaf(struct slabdev *sd, struct sheaf *s)
{
	pending_unbook(sd->class[s->class], s->n);
	s->domain = DOMAIN_COMPLETE;
	sheaf_return(sd, s);
}

/* Once it is free, nothing of the caller's keeps its class. */
void pending_complete(struct slabdev *sd, struct pending *p)
{
	u32 side = visit_begin(sd);

	if (p->sheaf)
		free_sheaf(sd, p->sheaf);
	if (p->class) {
		pending_unbook(p->class, 1);
		class_put(p->class, &p->slot, 1, DOMAIN_COMPLETE);
	}
	if (p->large != RANGE_NONE) {
		pending_unbook_large(sd, p->large);
		large_give_back(sd, p->large, DOMAIN_COMPLETE);
	}
	visit_end(sd, side);
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

/* ---- Asking ----------------------------------------------------------- */

int pending_ask(struct slabdev *sd, struct pending *p, bool wait)
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

void pending_put_back(struct slabdev *sd, struct pending *p, int err)
{
	if (err == -EXDEV) {
		keep_held(sd, p);
		return;
	}
	lock_acquire(&sd->pendings.lock);
	pending_prepend_locked(sd, p);
	lock_release(&sd->pendings.lock);
}

static u32 length(struct slabdev *sd, const struct stream *st)
{
	const struct pending *p;
	u32 n = 0;

	lock_acquire(&sd->pendings.lock);
	for (p = st->queue.first; p; p = p->next)
		n++;
	lock_release(&sd->pendings.lock);
	return n;
}

/* Ask the first @most of a stream's queue. Behind one that is not done none
 * is. */
static int drain(struct slabdev *sd, struct stream *st, u32 most, bool wait)
{
	struct pending *p;
	int err = 0;

	while (!err && most-- && (p = pending_take_first(sd, st))) {
		err = pending_ask(sd, p, wait);
		if (!err)
			pending_complete(sd, p);
		else
			pending_put_back(sd, p, err);
		pending_end_asking(sd);
	}
	return err == -EXDEV ? 0 : err;
}

/* Somebody waits for all of it: who only asks would be in the way. */
static bool is_waited_for(const struct slabdev *sd)
{
	return READ_ONCE(sd->pendings.nr_waiting);
}

bool pending_any(struct slabdev *sd)
{
	return READ_ONCE(sd->rec->pending_bytes) != 0;
}

/* @looks: at so many of each loose list at most. */
static int drain_all(struct slabdev *sd, u32 looks, bool wait)
{
	u32 i, end = READ_ONCE(sd->streams.end);
	int err, first_err = 0;
	struct stream *st;

	for (i = 0; i < end; i++) {
		st = pending_hold_stream(sd, i);
		if (!st)
			continue;
		err = drain(sd, st, length(sd, st), wait);
		pending_drop_stream(sd, st);
		if (!first_err)
			first_err = err;
	}
	for (i = 0; i < LOOSE_LISTS; i++) {
		err = pending_drain_loose(sd, &sd->pendings.loose[i], looks,
					  wait);
		if (!first_err)
			first_err = err;
	}
	return first_err;
}

void pending_poll(struct slabdev *sd)
{
	char text[ERROR_TEXT_MAX];

	/* Nothing is asked while a capture runs. */
	if (!pending_any(sd) || READ_ONCE(sd->streams.nr_captures) ||
	    is_waited_for(sd))
		return;
	error_save(text);
	change_begin(sd);
	(void)drain_all(sd, UINT32_MAX, false);
	change_end(sd);
	error_restore(text);
}

/* After a free on it: one query, so that what comes also goes; and more when
 * more has come than was to. */
static void poll_one(struct slabdev *sd, struct stream *st,
		     struct pending_list *list)
{
	char text[ERROR_TEXT_MAX];

	if (READ_ONCE(sd->streams.nr_captures) || is_waited_for(sd))
		return;
	error_save(text);
	if (READ_ONCE(sd->rec->pending_bytes) > sd->pendings.budget)
		(void)drain_all(sd, LOOKS_FREE, false);
	else if (st)
		(void)drain(sd, st, 1, false);
	else
		(void)pending_drain_loose(sd, list, 1, false);
	error_restore(text);
}

/* ---- Waiting ---------------------------------------------------------- */

static struct pending *take_unproven(struct slabdev *sd)
{
	struct pending *p;

	lock_acquire(&sd->pendings.lock);
	p = sd->pendings.unproven;
	sd->pendings.unproven = NULL;
	if (p)
		pending_begin_asking_locked(sd);
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
	err = streams_quiesce(sd);
	for (; p; p = next) {
		next = p->next;
		if (err) {
			keep_unproven(sd, p);
		} else {
			p->nr_events = 0;
			pending_complete(sd, p);
		}
	}
	pending_end_asking(sd);
	return err;
}

static bool others_ask(struct slabdev *sd)
{
	return READ_ONCE(sd->pendings.nr_asked);
}

/* Records that others had taken out to ask when the wait began come back, or
 * what they have is free. */
static void wait_for_askers(struct slabdev *sd)
{
	u32 i;

	for (i = 0; i < ASKER_TRIES && others_ask(sd); i++)
		os_sleep_us(100);
}

/* Did one come back after its queue was looked at? */
static bool any_left(struct slabdev *sd)
{
	u32 i, end = READ_ONCE(sd->streams.end);
	struct stream *st;
	bool any;

	lock_acquire(&sd->pendings.lock);
	any = others_ask(sd) || sd->pendings.unproven;
	for (i = 0; i < LOOSE_LISTS; i++)
		any |= sd->pendings.loose[i].first != NULL;
	for (i = 0; i < end && !any; i++) {
		st = load_acquire(&sd->streams.of[i]);
		any = st && st->queue.first;
	}
	lock_release(&sd->pendings.lock);
	return any;
}

static int wait_for_records(struct slabdev *sd)
{
	int err = drain_all(sd, UINT32_MAX, true);
	int unproven_err = settle_unproven(sd);

	return err ? err : unproven_err;
}

int pending_wait(struct slabdev *sd)
{
	u32 rounds = 0;
	int err;

	if (!pending_any(sd))
		return 0;
	if (READ_ONCE(sd->streams.nr_captures))
		return -EAGAIN;
	shared_add(&sd->rec->host_waits, 1);
	shared_add(&sd->pendings.nr_waiting, 1);
	change_begin(sd);
	do {
		wait_for_askers(sd);
		err = wait_for_records(sd);
	} while (!err && ++rounds < WAIT_ROUNDS && any_left(sd));
	change_end(sd);
	shared_sub(&sd->pendings.nr_waiting, 1);
	return err;
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

/* The stream that the record's first event is in, where it has but one of that
 * name. */
static slabdev_stream_t stream_of_event(const struct order *o)
{
	return !o->handle || o->handle == SLABDEV_STREAM_PER_THREAD ?
	       STREAM_NONE : o->handle;
}

/* What was booked waits from here on. */
static void submit(struct slabdev *sd, struct pending *p,
		   const struct order *o, const struct use *used, u32 nr)
{
	char text[ERROR_TEXT_MAX];
	slabdev_stream_t handle = stream_of_event(o);
	struct stream *queue;
	int err;

	if (sd->pendings.all_done) {
		pending_complete(sd, p);
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
		p->handle = handle;
		queue = p->stream;
		pending_append(sd, p);
		poll_one(sd, queue, pending_loose_list(sd, handle));
	}
}

/* ---- Public additions -------------------------------------------------- */

/* No host memory for a record: wait here and now. */
static bool wait_without_record(struct slabdev *sd)
{
	char text[ERROR_TEXT_MAX];
	int err = 0;

	error_save(text);
	if (!sd->pendings.all_done)
		err = streams_quiesce(sd);
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
			free_sheaf(sd, s);
		return;
	}
	p->sheaf = s;
	if (s->domain == DOMAIN_UNPROVEN && !sd->pendings.all_done) {
		keep_unproven(sd, p);
		return;
	}
	if (s->domain != DOMAIN_UNPROVEN) {
		o.stream = stream_of_domain(sd, s->domain);
		o.handle = o.stream->handle;
	}
	submit(sd, p, &o, NULL, 0);
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
		pending_complete(sd, p);
	}
}

void pending_end(struct slabdev *sd)
{
	struct pending *held = sd->pendings.held;
	struct pending *unproven = sd->pendings.unproven;
	u32 i;

	sd->pendings.all_done = true;
	sd->pendings.held = sd->pendings.unproven = NULL;
	complete_list(sd, held);
	complete_list(sd, unproven);
	for (i = 0; i < sd->streams.end; i++)
		if (sd->streams.of[i])
			pending_orphan(sd, sd->streams.of[i]);
	for (i = 0; i < LOOSE_LISTS; i++) {
		held = sd->pendings.loose[i].first;
		sd->pendings.loose[i] = (struct pending_list){ 0 };
		complete_list(sd, held);
	}
}

/* What was pending is in slabs, as all that is not live. */
void pendings_forget(struct slabdev *sd)
{
	struct pendings *all = &sd->pendings;

	memset(all->loose, 0, sizeof(all->loose));
	all->unproven = all->held = all->unused = NULL;
	all->nr_asked = 0;
	all->nr_waiting = 0;
	WRITE_ONCE(sd->rec->pending_bytes, 0);
	WRITE_ONCE(sd->rec->large_pending, 0);
	WRITE_ONCE(sd->rec->held_bytes, 0);
}
