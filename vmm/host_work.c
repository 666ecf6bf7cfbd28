// SPDX-License-Identifier: BSD-2-Clause
/* host_work.c - see host_work.h. */
#include <errno.h>

#include "core/checker.h"
#include "core/log.h"
#include "core/overflow.h"
#include "vmm/host_work.h"

#define EVENT_MAX 65536u
#define STEP (64 * KIB)

enum event_state { EVENT_FREE, EVENT_NEW, EVENT_RECORDED };

/* Slot 0 is nobody's, so that 0 means none. */
struct host_event {
	struct queue_point point;
	u32 state;		/* enum event_state */
};

static void *pointer(u64 addr)
{
	return (void *)(uintptr_t)addr;
}

/* ---- Work -------------------------------------------------------------- */

static void run_fill(const struct queue_work *w)
{
	u64 row;

	for (row = 0; row < w->height; row++)
		checker_fill(pointer(w->to + row * w->pitch), w->byte,
			     w->width);
}

static void run_copy(const struct queue_work *w)
{
	checker_copy(pointer(w->to), pointer(w->from), w->width);
}

static int do_work(slabdev_stream_t stream, const struct queue_work *w)
{
	if (!stream_is_cpu(stream))
		return queue_submit_work(stream, w);
	w->run(w);
	return 0;
}

int host_fill(void *dev, u64 addr, u64 size, u8 byte, slabdev_stream_t stream)
{
	return host_fill2d(dev, addr, size, size, 1, byte, stream);
}

int host_fill2d(void *dev, u64 addr, u64 pitch, u64 width, u64 height, u8 byte,
		slabdev_stream_t stream)
{
	const struct queue_work w = {
		.run = run_fill, .to = addr, .pitch = pitch, .width = width,
		.height = height, .byte = byte,
	};

	(void)dev;
	if (width > pitch && height > 1)
		return -EINVAL;
	return do_work(stream, &w);
}

int host_read(void *dev, void *to, u64 addr, u64 size)
{
	(void)dev;
	checker_read(to, pointer(addr), size);
	return 0;
}

int host_read2d(void *dev, void *to, u64 to_pitch, u64 addr, u64 pitch,
		u64 width, u64 height)
{
	(void)dev;
	if ((width > pitch || width > to_pitch) && height > 1)
		return -EINVAL;
	for (u64 row = 0; row < height; row++)
		checker_read((char *)to + row * to_pitch,
			     pointer(addr + row * pitch), width);
	return 0;
}

int host_copy(void *dev, u64 to, u64 from, u64 size, slabdev_stream_t stream)
{
	const struct queue_work w = {
		.run = run_copy, .to = to, .from = from, .width = size,
	};

	(void)dev;
	return do_work(stream, &w);
}

/* ---- Events ------------------------------------------------------------- */

int host_events_init(struct host_events *e)
{
	int err = resv_init(&e->slots, EVENT_MAX * sizeof(struct host_event),
			    STEP);

	if (err)
		return err;
	lock_init(&e->lock, LOCK_META, "host events");
	e->nr = 1;
	return 0;
}

void host_events_fini(struct host_events *e)
{
	resv_fini(&e->slots);
	lock_fini(&e->lock);
}

static struct host_event *slot(const struct host_events *e, u64 i)
{
	return (struct host_event *)(void *)e->slots.base + i;
}

/* The point of an event that is at least in that state. An event is one
 * caller's at a time. */
static int read_event(const struct host_events *e, u64 event,
		      enum event_state least, struct queue_point *point)
{
	if (!event || event >= load_acquire(&e->nr) ||
	    load_acquire(&slot(e, event)->state) < least)
		return -EINVAL;
	*point = slot(e, event)->point;
	return 0;
}

static void write_event(const struct host_events *e, u64 event,
			enum event_state state, const struct queue_point *point)
{
	slot(e, event)->point = *point;
	store_release(&slot(e, event)->state, (u32)state);
}

int host_event_create(void *dev, u64 *event)
{
	struct host_events *e = dev;
	u32 i = 1;
	int err = 0;

	lock_acquire(&e->lock);
	while (i < e->nr && load_acquire(&slot(e, i)->state) != EVENT_FREE)
		i++;
	if (i == e->nr) {
		err = i == EVENT_MAX ||
		      resv_grow(&e->slots, (i + (u64)1) *
				sizeof(struct host_event)) ? -ENOMEM : 0;
		if (err)
			goto unlock;
		store_release(&e->nr, i + 1);
	}
	write_event(e, i, EVENT_NEW, &(struct queue_point){ NULL, 0 });
	*event = i;
unlock:
	lock_release(&e->lock);
	return err;
}

int host_event_record(void *dev, u64 event, slabdev_stream_t stream)
{
	struct queue_point point;
	int err = read_event(dev, event, EVENT_NEW, &point);

	if (err)
		return err;
	point = (struct queue_point){ NULL, 0 };
	if (!stream_is_cpu(stream))
		err = queue_point_now(stream, &point);
	if (!err)
		write_event(dev, event, EVENT_RECORDED, &point);
	return err;
}

int host_event_query(void *dev, u64 event)
{
	struct queue_point point;
	int err = read_event(dev, event, EVENT_RECORDED, &point);

	if (err)
		return err;
	return queue_has_reached(&point) ? 0 : -EBUSY;
}

int host_event_wait(void *dev, u64 event)
{
	struct queue_point point;
	int err = read_event(dev, event, EVENT_RECORDED, &point);

	return err ? err : queue_await(&point);
}

int host_event_destroy(void *dev, u64 event)
{
	struct queue_point point;
	int err = read_event(dev, event, EVENT_NEW, &point);

	if (!err)
		write_event(dev, event, EVENT_FREE,
			    &(struct queue_point){ NULL, 0 });
	return err;
}

/* ---- Streams ------------------------------------------------------------- */

/* The CPU waits here and now. */
int host_stream_wait(void *dev, slabdev_stream_t stream, u64 event)
{
	struct queue_point point;
	int err = read_event(dev, event, EVENT_RECORDED, &point);

	if (err)
		return err;
	return stream_is_cpu(stream) ? queue_await(&point) :
				       queue_wait_point(stream, &point);
}

int host_check_stream(void *dev, slabdev_stream_t stream)
{
	(void)dev;
	return stream_is_cpu(stream) ? 0 : queue_check(stream);
}

/* Queues are not captured. */
int host_is_captured(void *dev, slabdev_stream_t stream)
{
	(void)dev;
	(void)stream;
	return 0;
}

int host_quiesce(void *dev)
{
	(void)dev;
	return queue_await_all();
}
