// SPDX-License-Identifier: BSD-2-Clause
/*
 * pending_loose.c - asking for records that are in no stream's queue.
 *
 * What was freed on streams that are not attached, or is used on several, lies
 * in a few *loose lists*, by the stream of the free, each oldest first. A list
 * may have several streams' records, of which one that is not done says nothing
 * of another's; but it does of those that were freed later on the same stream,
 * since their events come later: in one *pass* over the list a stream is asked
 * until its first record that is not done, and no further. So a pass over
 * however many records costs a query a stream, and those that find something.
 *
 * A pass that a free makes looks at the first few records only. It begins at
 * the oldest each time, and so finds what is done, unless as many records of a
 * stream that is stuck lie before; then a slow path's pass does, which is over
 * all.
 *
 * Locking: the list is taken out whole, and what is left goes back before what
 * was added meanwhile; in between the records are the pass's own.
 */
#include <errno.h>

#include "slab/pending_private.h"

/* Streams that a pass remembers to be behind. */
#define LOOSE_STREAMS 16u

struct pass {
	slabdev_stream_t behind[LOOSE_STREAMS];
	u32 nr_behind;
	bool wait;
};

/* All of a list, counted as being asked; false: there is nothing. */
static bool take_all(struct slabdev *sd, struct pending_list *list,
		     struct pending_list *all)
{
	lock_acquire(&sd->pendings.lock);
	*all = *list;
	*list = (struct pending_list){ 0 };
	if (all->first)
		pending_begin_asking_locked(sd);
	lock_release(&sd->pendings.lock);
	return all->first;
}

static void put_back(struct slabdev *sd, struct pending_list *list,
		     const struct pending_list *left)
{
	if (!left->first)
		return;
	lock_acquire(&sd->pendings.lock);
	left->last->next = list->first;
	list->first = left->first;
	if (!list->last)
		list->last = left->last;
	lock_release(&sd->pendings.lock);
}

static bool is_behind(const struct pass *pass, const struct pending *p)
{
	u32 i;

	for (i = 0; i < pass->nr_behind; i++)
		if (pass->behind[i] == p->handle)
			return true;
	return false;
}

/* Its first event, in the stream of its free, is not done. */
static void note_behind(struct pass *pass, const struct pending *p)
{
	if (p->nr_events == 1 && p->handle != STREAM_NONE &&
	    pass->nr_behind < LOOSE_STREAMS)
		pass->behind[pass->nr_behind++] = p->handle;
}

static int ask_once(struct slabdev *sd, struct pass *pass, struct pending *p)
{
	int err;

	if (pass->wait)
		return pending_ask(sd, p, true);
	if (is_behind(pass, p))
		return -EBUSY;
	err = pending_ask(sd, p, false);
	if (err == -EBUSY)
		note_behind(pass, p);
	return err;
}

/* True: it is gone from the list. */
static bool settle(struct slabdev *sd, struct pending *p, int err)
{
	if (!err)
		pending_complete(sd, p);
	else if (err == -EXDEV)
		pending_put_back(sd, p, err);
	return !err || err == -EXDEV;
}

int pending_drain_loose(struct slabdev *sd, struct pending_list *list,
			u32 looks, bool wait)
{
	struct pending_list all, left = { 0 };
	struct pending **end = &left.first;
	struct pass pass = { .wait = wait };
	struct pending *p, *next;
	int err, first_err = 0;

	if (!take_all(sd, list, &all))
		return 0;
	for (p = all.first; p && looks--; p = next) {
		next = p->next;
		err = ask_once(sd, &pass, p);
		if (settle(sd, p, err))
			continue;
		if (!first_err)
			first_err = err;
		*end = left.last = p;
		end = &p->next;
	}
	*end = p;
	if (p)
		left.last = all.last;
	put_back(sd, list, &left);
	pending_end_asking(sd);
	return first_err;
}
