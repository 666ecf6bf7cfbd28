// SPDX-License-Identifier: BSD-2-Clause
/*
 * registry.c - which spaces are open, and what they have in common; see
 * space.h.
 *
 * A space is in the table from the end of its opening until nothing of it is
 * left. While it closes it has its place still, since threads have heaps of
 * that number, but no walk shows it.
 *
 * Locking: registry.
 */
#include <errno.h>

#include "core/log.h"
#include "slab/fork.h"
#include "slab/heap.h"
#include "slab/space_private.h"

static struct lock registry = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.rank = LOCK_REGISTRY,
	.name = "registry",
};
/* Locking: registry. */
static struct slabdev *space[SPACE_MAX];
static struct metapool space_pool;
static u64 nr_opens;
static bool initialised;
static bool have_membarrier;

void registry_lock_for_fork(void)
{
	lock_acquire_for_fork(&registry);
	if (initialised)
		lock_acquire_for_fork(&space_pool.lock);
}

void registry_unlock_for_fork(void)
{
	if (initialised)
		lock_release_for_fork(&space_pool.lock);
	lock_release_for_fork(&registry);
}

void space_each_for_fork(void (*each)(struct slabdev *sd))
{
	u32 i;

	for (i = 0; i < SPACE_MAX; i++)
		if (space[i] && !space[i]->closing)
			each(space[i]);
}

void space_each(bool (*each)(struct slabdev *sd, void *arg), void *arg)
{
	bool done = false;
	u32 i;

	lock_acquire(&registry);
	for (i = 0; i < SPACE_MAX && !done; i++)
		if (space[i] && !space[i]->closing)
			done = each(space[i], arg);
	lock_release(&registry);
}

static void thread_exit(struct thread *t)
{
	lock_acquire(&registry);
	heap_thread_exit(t);
	lock_release(&registry);
}

/* What the first open of a process sets up. */
static int library_init_locked(void)
{
	int err;

	err = thread_init_once(&heap_none, thread_exit);
	if (err)
		return error_set(err, "no thread-specific key is left");
	if (initialised)
		return 0;
	err = fork_init();
	if (err)
		return error_set(err, "no memory for the fork handlers");
	layout_init();
	metapool_init(&space_pool, sizeof(struct slabdev), "spaces");
	have_membarrier = !os_membarrier_register();
	initialised = true;
	return 0;
}

bool registry_has_membarrier(void)
{
	return have_membarrier;
}

void registry_lock(void)
{
	lock_acquire(&registry);
}

void registry_unlock(void)
{
	lock_release(&registry);
}

static int free_number_locked(u32 *id)
{
	for (*id = 0; *id < SPACE_MAX; ++*id)
		if (!space[*id])
			return 0;
	return error_set(-ENFILE, "%d spaces are open already", SPACE_MAX);
}

int registry_new_locked(struct slabdev **out)
{
	struct slabdev *sd;
	u32 id;
	int err;

	err = library_init_locked();
	if (!err)
		err = free_number_locked(&id);
	if (err)
		return err;
	sd = metapool_alloc(&space_pool);
	if (!sd)
		return error_set(-ENOMEM, "no host memory for a space");
	sd->id = id;
	sd->open_id = ++nr_opens;
	*out = sd;
	return 0;
}

void registry_free_locked(struct slabdev *sd)
{
	metapool_free(&space_pool, sd);
}

void registry_add_locked(struct slabdev *sd)
{
	space[sd->id] = sd;
}

void registry_remove_locked(const struct slabdev *sd)
{
	space[sd->id] = NULL;
}

bool registry_has_locked(const struct slabdev *sd)
{
	u32 i;

	for (i = 0; i < SPACE_MAX; i++)
		if (space[i] == sd && !sd->closing)
			return true;
	return false;
}
