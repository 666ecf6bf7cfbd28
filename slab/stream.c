// SPDX-License-Identifier: BSD-2-Clause
/* stream.c - which streams a space knows; see stream.h. */
#include <errno.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/arena.h"
#include "slab/hazard_watch.h"
#include "slab/health.h"
#include "slab/heap.h"
#include "slab/note.h"
#include "slab/pending.h"
#include "slab/steal.h"
#include "slab/visit.h"

#define QUIESCE_US 50u

void streams_init(struct slabdev *sd)
{
	lock_init(&sd->streams.lock, LOCK_STREAMS, "streams");
	metapool_init(&sd->stream_pool, sizeof(struct stream), "streams");
}

void streams_fini(struct slabdev *sd)
{
	metapool_fini(&sd->stream_pool);
	lock_fini(&sd->streams.lock);
}

/* ---- The table --------------------------------------------------------- */

static struct stream *find_locked(struct slabdev *sd, slabdev_stream_t handle)
{
	struct streams *all = &sd->streams;
	u32 i;

	for (i = 0; i < all->end; i++)
		if (all->of[i] && all->of[i]->handle == handle)
			return all->of[i];
	return NULL;
}

struct stream *stream_find(struct slabdev *sd, slabdev_stream_t handle)
{
	struct stream *st;

	if (!READ_ONCE(sd->streams.end))
		return NULL;
	lock_acquire(&sd->streams.lock);
	st = find_locked(sd, handle);
	lock_release(&sd->streams.lock);
	return st;
}

static int add_locked(struct slabdev *sd, slabdev_stream_t handle,
		      struct stream **out)
{
	struct streams *all = &sd->streams;
	struct stream *st;
	u32 i = 0;

	while (i < STREAM_MAX && all->of[i])
		i++;
	if (i == STREAM_MAX)
		return error_set(-ENOSPC, "%s: %u streams are attached already",
				 sd->name, STREAM_MAX);
	st = metapool_alloc(&sd->stream_pool);
	if (!st)
		return error_set(-ENOMEM, "%s: no host memory for a stream",
				 sd->name);
	st->refs = 1;
	st->handle = handle;
	st->domain = (u16)(DOMAIN_STREAM + i);
	store_release(&all->of[i], st);
	if (i >= all->end)
		store_release(&all->end, i + 1);
	*out = st;
	return 0;
}

int stream_get(struct slabdev *sd, slabdev_stream_t handle, bool attach,
	       struct stream **out)
{
	struct stream *st;
	int err = 0;

	lock_acquire(&sd->streams.lock);
	st = find_locked(sd, handle);
	if (!st)
		err = add_locked(sd, handle, &st);
	if (st && attach && !st->users)
		WRITE_ONCE(sd->rec->nr_streams, sd->rec->nr_streams + 1);
	if (st && attach)
		WRITE_ONCE(st->users, st->users + 1);
	lock_release(&sd->streams.lock);
	*out = st;
	return err;
}

/* Nobody has anything to do with it any more. */
static void forget_locked(struct slabdev *sd, struct stream *st)
{
	struct streams *all = &sd->streams;

	store_release(&all->of[st->domain - DOMAIN_STREAM],
		      (struct stream *)NULL);
	while (all->end && !all->of[all->end - 1])
		store_release(&all->end, all->end - 1);
}

void stream_put(struct slabdev *sd, struct stream *st)
{
	bool unused;

	lock_acquire(&sd->streams.lock);
	unused = !st->users && !st->graph && st != sd->bound;
	if (unused)
		forget_locked(sd, st);
	lock_release(&sd->streams.lock);
	if (!unused)
		return;
	pending_orphan(sd, st);
	/* Thieves may have sheaves of it in their hands. */
	visit_wait(sd);
	pending_drop_stream(sd, st);
}

/* ---- Attaching --------------------------------------------------------- */

/* The stream that the user means; -EINVAL, or NULL for one that is the bound
 * one and the CPU. */
static int name_stream(struct slabdev *sd, slabdev_stream_t *stream,
		       const char *call)
{
	int err = space_check(sd, call);

	if (err)
		return err;
	*stream = stream_canonical(sd, *stream);
	if (!*stream)
		return 0;
	err = vmm_check_stream(&sd->vmm, *stream);
	return err ? error_set(err, "%s: %s: %p is no stream of it: %s", call,
			       sd->name, (void *)*stream, error_get()) : 0;
}

#undef slabdev_stream_attach
int slabdev_stream_attach(struct slabdev *sd, slabdev_stream_t stream)
{
	int err = name_stream(sd, &stream, "slabdev_stream_attach");
	struct stream *st;

	if (err || !stream || stream == sd->stream)
		return err;
	return stream_get(sd, stream, true, &st);
}

bool stream_flush(struct slabdev *sd, struct stream *st)
{
	u32 side = visit_begin(sd);
	bool complete;

	change_begin(sd);
	complete = take_back_stream(sd, st);
	change_end(sd);
	visit_end(sd, side);
	return complete;
}

/* 0; 1: only the last user, or none, is left; -EBUSY. */
static int leave(struct slabdev *sd, struct stream *st)
{
	int err = 0;

	lock_acquire(&sd->streams.lock);
	if (st->graph)
		err = error_set(-EBUSY, "%s: a capture that was declared on "
				"the stream has not ended", sd->name);
	else if (st->users > 1)
		WRITE_ONCE(st->users, st->users - 1);
	else
		err = 1;
	lock_release(&sd->streams.lock);
	return err;
}

/* Objects that it uses wait for an event of it instead. 1: there were some; 0;
 * or a negative errno. */
static int end_uses(struct slabdev *sd, slabdev_stream_t stream)
{
	int used = notes_end_stream(sd, stream), arenas = 0;

	if (used > 0)
		watch_detach(sd, stream);
	if (used >= 0)
		arenas = arenas_end_stream(sd, stream);
	if (used >= 0 && arenas >= 0)
		return used | arenas;
	if (used >= 0)
		used = arenas;
	return error_set(used == -EAGAIN || used == -EXDEV ? -EBUSY : used,
			 "slabdev_stream_detach: %s: no event can be recorded "
			 "for the objects that stream %p uses: %s", sd->name,
			 (void *)stream, error_get());
}

/* Its last user leaves. */
static int detach(struct slabdev *sd, struct stream *st)
{
	int used;

	if (vmm_is_captured(&sd->vmm, st->handle) == 1)
		return error_set(-EBUSY, "%s: the stream is being captured",
				 sd->name);
	if (!stream_flush(sd, st))
		return error_set(-EBUSY, "%s: a thread is still inside a call "
				 "on the stream", sd->name);
	heap_release_stream(sd, st);
	/* Thieves may have sheaves of it in their hands, and record in it. */
	visit_wait(sd);
	used = end_uses(sd, st->handle);
	if (used < 0)
		return used;
	lock_acquire(&sd->streams.lock);
	WRITE_ONCE(st->users, st->users - 1);
	WRITE_ONCE(sd->rec->nr_streams, sd->rec->nr_streams - 1);
	lock_release(&sd->streams.lock);
	stream_put(sd, st);
	return 0;
}

#undef slabdev_stream_detach
int slabdev_stream_detach(struct slabdev *sd, slabdev_stream_t stream)
{
	int err = name_stream(sd, &stream, "slabdev_stream_detach");
	struct stream *st;
	int used;

	if (err || !stream || stream == sd->stream)
		return err;
	st = stream_find(sd, stream);
	err = st ? leave(sd, st) : 1;
	if (err != 1)
		return err;
	if (st && st->users)
		return detach(sd, st);
	used = end_uses(sd, stream);
	if (used)
		return used < 0 ? used : 0;
	return error_set(-EINVAL, "slabdev_stream_detach: %s knows nothing of "
			 "stream %p", sd->name, (void *)stream);
}

/* ---- The device as a whole ---------------------------------------------- */

/* It would break a capture that began meanwhile. */
int streams_quiesce(struct slabdev *sd)
{
	struct streams *all = &sd->streams;
	bool captures;
	int err;

	lock_acquire(&all->lock);
	captures = all->nr_captures;
	all->nr_quiescing += !captures;
	lock_release(&all->lock);
	if (captures)
		return -EAGAIN;
	err = vmm_quiesce_device(&sd->vmm);
	lock_acquire(&all->lock);
	all->nr_quiescing--;
	lock_release(&all->lock);
	return err;
}

static bool is_quiescing(struct slabdev *sd)
{
	struct streams *all = &sd->streams;
	bool is;

	lock_acquire(&all->lock);
	is = all->nr_quiescing;
	lock_release(&all->lock);
	return is;
}

void streams_await_quiesce(struct slabdev *sd)
{
	while (is_quiescing(sd))
		os_sleep_us(QUIESCE_US);
}

/* ---- After a fork ------------------------------------------------------- */

/* The queues' threads are not here. */
void streams_forget(struct slabdev *sd)
{
	struct streams *all = &sd->streams;
	u32 i;

	for (i = 0; i < all->end; i++)
		all->of[i] = NULL;
	all->end = 0;
	all->nr_captures = all->nr_quiescing = 0;
	sd->rec->nr_streams = 0;
	sd->rec->nr_graphs = 0;
	sd->rec->nr_exported = 0;
	sd->rec->exported_bytes = 0;
	pendings_forget(sd);
}
