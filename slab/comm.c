// SPDX-License-Identifier: BSD-2-Clause
/* comm.c - classes of comm memory, and their callbacks; see comm.h. */
#include <errno.h>
#include <stdio.h>

#include "core/cancel.h"
#include "core/log.h"
#include "core/os.h"
#include "core/overflow.h"
#include "slab/class.h"
#include "slab/class_table.h"
#include "slab/comm.h"
#include "slab/debug.h"
#include "slab/debug_set.h"
#include "slab/health.h"
#include "slab/quarantine.h"
#include "slab/visit.h"

/* ---- Classes ------------------------------------------------------------ */

u64 comm_roundup(const struct slabdev *sd, u64 size)
{
	u64 up;

	return align_up_overflows(size, sd->vmm.chunk_size, &up) ? 0 : up;
}

bool comm_shape(struct class *c, u64 size)
{
	struct slabdev *sd = c->sd;
	u64 stride = comm_roundup(sd, size);

	if (!stride || stride >> sd->vmm.chunk_shift > sd->pool.max_chunks ||
	    stride >> GRANULE_SHIFT > UINT32_MAX)
		return false;
	c->comm = true;
	c->shift = GRANULE_SHIFT;
	c->stride = stride;
	c->align = (u32)sd->vmm.chunk_size;
	c->nr = 1;
	c->span = (u32)(stride >> SLICE_SHIFT);
	c->sheaf_cap = 0;
	c->barn_max = 0;
	return true;
}

static struct class *find_locked(struct slabdev *sd, u64 stride)
{
	struct class *c;

	list_for_each_entry(c, &sd->comm.classes, link)
		if (c->stride == stride)
			return c;
	return NULL;
}

static struct class *find(struct slabdev *sd, u64 stride)
{
	struct class *c;

	lock_acquire(&sd->lock);
	c = find_locked(sd, stride);
	lock_release(&sd->lock);
	return c;
}

static int add_locked(struct slabdev *sd, struct class *c)
{
	char name[SLABDEV_NAME_MAX + 1];
	int err;

	snprintf(name, sizeof(name), "comm-%llu",
		 (unsigned long long)c->stride);
	debug_begin_locked(c, name);
	/* They are large objects in all but their handles. */
	c->debug &= ~DEBUG_RED_ZONE;
	if (sd->large_zone)
		c->debug |= DEBUG_RED_ZONE;
	debug_shape(c);
	err = debug_ready(c, c->debug);
	if (!err)
		err = class_register_locked(c, name, SLABDEV_SEG_GENERAL);
	if (!err)
		list_add_tail(&c->link, &sd->comm.classes);
	return err;
}

/* A new class, or the one that another thread was faster with. */
static int make_class(struct slabdev *sd, u64 size, struct class **out)
{
	struct class *c = metapool_alloc(&sd->class_pool), *other = NULL;
	int err = 0;

	if (!c)
		return error_set(-ENOMEM, "no host memory for a class");
	c->sd = sd;
	c->sized = true;
	if (!comm_shape(c, size)) {
		err = error_set(-ENOMEM, "%llu bytes are more than a space can "
				"address", (unsigned long long)size);
		goto free_class;
	}
	c->object_size = c->stride;
	lock_acquire(&sd->lock);
	other = find_locked(sd, c->stride);
	if (!other)
		err = add_locked(sd, c);
	lock_release(&sd->lock);
	*out = other ? other : c;
	if (!other && !err)
		return 0;

free_class:
	quarantine_fini(c);
	metapool_free(&sd->class_pool, c);
	return err;
}

int comm_class(struct slabdev *sd, u64 size, u64 align, struct class **c)
{
	u64 stride = comm_usable(sd, size);

	if (!stride)
		return error_set(-EOVERFLOW, "%llu bytes cannot be rounded to "
				 "chunks", (unsigned long long)size);
	if (align > sd->vmm.chunk_size)
		return error_set(-EINVAL, "comm memory is aligned to a chunk, "
				 "%llu bytes: req.align %llu is more",
				 (unsigned long long)sd->vmm.chunk_size,
				 (unsigned long long)align);
	if (stride > READ_ONCE(sd->vmm.cnt->limit))
		return error_set(-EDQUOT, "%llu bytes in whole chunks are more "
				 "than the limit of %llu bytes",
				 (unsigned long long)size,
				 (unsigned long long)sd->vmm.cnt->limit);
	*c = find(sd, stride);
	return *c ? 0 : make_class(sd, stride, c);
}

/* ---- The turn ----------------------------------------------------------- */

static bool has_turn(const struct comm *comm)
{
	return comm->taken && pthread_equal(comm->taker, pthread_self());
}

/* False: this thread has it already, and is in a callback. */
static bool turn_take(struct slabdev *sd)
{
	struct comm *comm = &sd->comm;
	bool taken;

	lock_acquire(&sd->lock);
	while (comm->taken && !has_turn(comm)) {
		lock_release(&sd->lock);
		os_sleep_us(100);
		lock_acquire(&sd->lock);
	}
	taken = !comm->taken;
	if (taken) {
		comm->taken = true;
		comm->taker = pthread_self();
	}
	lock_release(&sd->lock);
	return taken;
}

static void turn_leave(struct slabdev *sd)
{
	lock_acquire(&sd->lock);
	sd->comm.taken = false;
	lock_release(&sd->lock);
}

void comm_forget_slab(struct slabdev *sd, struct slab *s)
{
	if (!s->told)
		return;
	s->told = false;
	sd->comm.nr_told--;
}

void comm_forget_turn(struct slabdev *sd)
{
	if (!has_turn(&sd->comm))
		sd->comm.taken = false;
}

static int in_callback(const char *what)
{
	return error_set(-EDEADLK, "%s in a mapping callback of the same space",
			 what);
}

/* ---- Telling ------------------------------------------------------------ */

static void *slab_ptr(struct class *c, u32 slice)
{
	return to_ptr(space_addr(c->sd, slice_offset(slice)));
}

/* The turn is taken. */
static int tell_mapped(struct class *c, u32 slice)
{
	struct comm *comm = &c->sd->comm;
	struct slab *s = c->sd->slabs + slice;
	NO_CANCELLATION;
	int err;

	if (s->told || !comm->mapped)
		return 0;
	err = comm->mapped(c->sd, slab_ptr(c, slice), c->stride, comm->arg);
	s->told = !err;
	comm->nr_told += s->told;
	return err > 0 ? -EINVAL : err;
}

static void tell_will_unmap(struct class *c, u32 slice)
{
	struct comm *comm = &c->sd->comm;
	struct slab *s = c->sd->slabs + slice;
	NO_CANCELLATION;

	if (!s->told)
		return;
	comm->will_unmap(c->sd, slab_ptr(c, slice), c->stride, comm->arg);
	s->told = false;
	comm->nr_told--;
}

/* Asked after a slab was published or unpublished; see comm.h. */
static bool has_callbacks(struct slabdev *sd)
{
	bool has;

	lock_acquire(&sd->lock);
	has = sd->comm.will_unmap != NULL;
	lock_release(&sd->lock);
	return has;
}

/* The turn is taken. */
static void set_callbacks(struct slabdev *sd, slabdev_mapped_fn mapped,
			  slabdev_will_unmap_fn will_unmap, void *arg)
{
	lock_acquire(&sd->lock);
	sd->comm.mapped = mapped;
	sd->comm.will_unmap = will_unmap;
	sd->comm.arg = arg;
	lock_release(&sd->lock);
}

int comm_mapped(struct class *c, u32 slice)
{
	struct slabdev *sd = c->sd;
	int err;

	if (!has_callbacks(sd))
		return 0;
	if (!turn_take(sd))
		return in_callback("comm memory is mapped");
	err = tell_mapped(c, slice);
	turn_leave(sd);
	if (err)
		error_set(err, "space %s: the mapping callback refused %llu "
			  "bytes with %d", sd->name,
			  (unsigned long long)c->stride, err);
	return err;
}

void comm_will_unmap(struct class *c, u32 slice)
{
	struct slabdev *sd = c->sd;
	bool taken;

	if (!has_callbacks(sd))
		return;
	/* A callback may free: the turn is its own. */
	taken = turn_take(sd);
	tell_will_unmap(c, slice);
	if (taken)
		turn_leave(sd);
}

/* Call @tell for every slab of comm memory, up to an error. The turn is
 * taken. */
static int tell_all(struct slabdev *sd, int (*tell)(struct class *c, u32 slice))
{
	u32 side = visit_begin(sd), slice, n = 0;
	struct class *c;
	int err = 0;

	for (slice = pool_next_run(sd, 0, &n); slice != RANGE_NONE && !err;
	     slice = pool_next_run(sd, slice + n, &n)) {
		if (slab_state(sd->slabs + slice) != SLAB_OBJECTS)
			continue;
		c = load_acquire(&sd->class[slab_class(sd->slabs + slice)]);
		if (c && c->comm)
			err = tell(c, slice);
	}
	visit_end(sd, side);
	return err;
}

static int take_leave(struct class *c, u32 slice)
{
	tell_will_unmap(c, slice);
	return 0;
}

/* The turn is taken. What is told and not in the pool any more is in the hands
 * of a thread that waits for the turn, to say so. */
static void end_callbacks(struct slabdev *sd)
{
	struct comm *comm = &sd->comm;

	set_callbacks(sd, NULL, comm->will_unmap, comm->arg);
	(void)tell_all(sd, take_leave);
	while (comm->nr_told && !comm->mapped) {
		turn_leave(sd);
		os_sleep_us(100);
		(void)turn_take(sd);
	}
	/* Others may have ended them meanwhile, and set new ones. */
	if (!comm->mapped)
		set_callbacks(sd, NULL, NULL, NULL);
}

static int begin_callbacks(struct slabdev *sd, slabdev_mapped_fn mapped,
			   slabdev_will_unmap_fn will_unmap, void *arg)
{
	int err;

	if (sd->comm.will_unmap)
		return error_set(-EBUSY, "space %s has mapping callbacks "
				 "already: set them to NULL first", sd->name);
	set_callbacks(sd, mapped, will_unmap, arg);
	err = tell_all(sd, tell_mapped);
	if (!err)
		return 0;
	end_callbacks(sd);
	return error_set(err, "slabdev_set_mapping_callbacks: space %s: the "
			 "callback refused memory with %d", sd->name, err);
}

int slabdev_set_mapping_callbacks(struct slabdev *sd, slabdev_mapped_fn mapped,
				  slabdev_will_unmap_fn will_unmap, void *arg)
{
	int err = space_check(sd, "slabdev_set_mapping_callbacks");

	if (err)
		return err;
	if (!mapped != !will_unmap)
		return error_set(-EINVAL, "slabdev_set_mapping_callbacks: %s "
				 "is NULL, and the other is not",
				 mapped ? "will_unmap" : "mapped");
	if (!turn_take(sd))
		return in_callback("callbacks are set");
	if (mapped)
		err = begin_callbacks(sd, mapped, will_unmap, arg);
	else
		end_callbacks(sd);
	turn_leave(sd);
	return err;
}

/* Nobody else is here: it goes without the turn. */
void comm_end(struct slabdev *sd)
{
	(void)tell_all(sd, take_leave);
}
