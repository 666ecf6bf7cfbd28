/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host_work.h - fills, copies and events of the host backend.
 *
 * Without a stream, and on the default streams, work is done when the call
 * returns, and an event is done when it is recorded. On a queue work waits for
 * its turn, and an event is a point of the queue.
 */
#ifndef VMM_HOST_WORK_H
#define VMM_HOST_WORK_H

#include "core/lock.h"
#include "core/resv.h"
#include "vmm/queue.h"

/* The first member of the device, so that the operations find it. */
struct host_events {
	struct lock lock;	/* for making events */
	struct resv slots;	/* struct host_event, by number */
	u32 nr;			/* those below exist, or did; grows */
};

int __must_check host_events_init(struct host_events *e);
void host_events_fini(struct host_events *e);

int host_fill(void *dev, u64 addr, u64 size, u8 byte, slabdev_stream_t stream);
int host_fill2d(void *dev, u64 addr, u64 pitch, u64 width, u64 height, u8 byte,
		slabdev_stream_t stream);
int host_read(void *dev, void *to, u64 addr, u64 size);
int host_read2d(void *dev, void *to, u64 to_pitch, u64 addr, u64 pitch,
		u64 width, u64 height);
int host_copy(void *dev, u64 to, u64 from, u64 size, slabdev_stream_t stream);

int host_event_create(void *dev, u64 *event);
int host_event_record(void *dev, u64 event, slabdev_stream_t stream);
int host_event_query(void *dev, u64 event);
int host_event_wait(void *dev, u64 event);
int host_event_destroy(void *dev, u64 event);
int host_stream_wait(void *dev, slabdev_stream_t stream, u64 event);
int host_check_stream(void *dev, slabdev_stream_t stream);
int host_is_captured(void *dev, slabdev_stream_t stream);
int host_quiesce(void *dev);

/* The part of their tables that host backends have in common. */
#define HOST_WORK_OPS						\
	.fill = host_fill,						\
	.fill2d = host_fill2d,						\
	.read = host_read,						\
	.read2d = host_read2d,						\
	.copy = host_copy,						\
	.event_create = host_event_create,				\
	.event_record = host_event_record,				\
	.event_query = host_event_query,				\
	.event_wait = host_event_wait,					\
	.event_destroy = host_event_destroy,				\
	.stream_wait = host_stream_wait,				\
	.check_stream = host_check_stream,				\
	.is_captured = host_is_captured,				\
	.quiesce = host_quiesce

#endif /* VMM_HOST_WORK_H */
