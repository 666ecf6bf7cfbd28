// SPDX-License-Identifier: BSD-2-Clause
/* shrinker.c - registration and calls of shrinkers; see shrinker.h. */
#include <errno.h>

#include "core/cancel.h"
#include "core/log.h"
#include "core/os.h"
#include "slab/alloc.h"
#include "slab/heap.h"
#include "slab/shrinker.h"

static struct shrinker *find_locked(struct slabdev *sd, slabdev_shrinker_fn fn,
				    void *arg)
{
	u32 i;

	for (i = 0; i < SHRINKER_MAX; i++)
		if (sd->shrinker[i].fn == fn && sd->shrinker[i].arg == arg)
			return &sd->shrinker[i];
	return NULL;
}

int slabdev_register_shrinker(struct slabdev *sd, slabdev_shrinker_fn fn,
			      void *arg)
{
	struct shrinker *s;
	int err;
	u32 i;

	err = space_check(sd, "slabdev_register_shrinker");
	if (err)
		return err;
	if (!fn)
		return error_set(-EINVAL,
				 "slabdev_register_shrinker: fn is NULL");
	lock_acquire(&sd->lock);
	if (find_locked(sd, fn, arg)) {
		err = -EEXIST;
		goto unlock;
	}
	err = -ENOSPC;
	for (i = 0; i < SHRINKER_MAX && err; i++) {
		s = &sd->shrinker[i];
		if (s->fn || s->running)
			continue;
		*s = (struct shrinker){ .fn = fn, .arg = arg };
		err = 0;
	}
unlock:
	lock_release(&sd->lock);
	if (err)
		return error_set(err, err == -EEXIST ?
				 "this shrinker is registered already" :
				 "16 shrinkers are registered already");
	return 0;
}

int slabdev_unregister_shrinker(struct slabdev *sd, slabdev_shrinker_fn fn,
				void *arg)
{
	struct shrinker *s;
	int err;

	err = space_check(sd, "slabdev_unregister_shrinker");
	if (err)
		return err;
	if (!fn)
		return error_set(-EINVAL,
				 "slabdev_unregister_shrinker: fn is NULL");
	if (thread_is_shrinking(sd))
		return error_set(-EDEADLK, "a shrinker cannot wait for itself");
	lock_acquire(&sd->lock);
	s = find_locked(sd, fn, arg);
	if (s)
		s->fn = NULL;
	while (s && s->running) {
		lock_release(&sd->lock);
		os_sleep_us(100);
		lock_acquire(&sd->lock);
	}
	lock_release(&sd->lock);
	if (!s)
		return error_set(-ENOENT, "this shrinker is not registered");
	return 0;
}

bool thread_is_shrinking(struct slabdev *sd)
{
	return ((struct heap *)thread_self->heap[sd->id])->shrinking;
}

u64 shrinkers_run(struct slabdev *sd, u64 bytes)
{
	struct heap *h = heap_get(sd);
	NO_CANCELLATION;
	u64 freed = 0;
	u32 i;

	/* Without a heap the thread could not be marked. */
	if (h == &heap_none)
		return 0;
	lock_acquire(&sd->lock);
	for (i = 0; i < SHRINKER_MAX; i++) {
		struct shrinker *s = &sd->shrinker[i];
		slabdev_shrinker_fn fn = s->fn;
		void *arg = s->arg;

		if (!fn)
			continue;
		s->running++;
		lock_release(&sd->lock);
		h->shrinking = s;
		freed += fn(sd, bytes, arg);
		h->shrinking = NULL;
		lock_acquire(&sd->lock);
		s->running--;
	}
	lock_release(&sd->lock);
	return freed;
}

void shrinkers_forget_callers(struct slabdev *sd)
{
	struct heap *h = thread_self->heap[sd->id];
	u32 i;

	for (i = 0; i < SHRINKER_MAX; i++)
		sd->shrinker[i].running = h->shrinking == &sd->shrinker[i];
}
