// SPDX-License-Identifier: BSD-2-Clause
/*
 * calls.c - each call of a backend, counted.
 *
 * All of vmm/ reaches the backend through these, so that the counters miss
 * nothing: promise P1 (no driver call in the steady state) is read off them.
 * The work calls (fill, copy, meminfo) come without the lock, from any
 * thread, hence the atomic additions.
 */
#include <errno.h>

#include "vmm/internal.h"

static const char *const op_names[] = {
	[VMM_OP_RESERVE] = "reserve",
	[VMM_OP_UNRESERVE] = "unreserve",
	[VMM_OP_CREATE] = "create",
	[VMM_OP_RELEASE] = "release",
	[VMM_OP_MAP] = "map",
	[VMM_OP_SET_ACCESS] = "set_access",
	[VMM_OP_UNMAP] = "unmap",
	[VMM_OP_FILL] = "fill",
	[VMM_OP_READ] = "read",
	[VMM_OP_COPY] = "copy",
	[VMM_OP_EVENT] = "event",
	[VMM_OP_MEMINFO] = "meminfo",
};
static_assert(ARRAY_SIZE(op_names) == VMM_NR_OPS, "an operation has no name");

const char *vmm_op_name(enum vmm_op op)
{
	return op < VMM_NR_OPS ? op_names[op] : "none";
}

static int counted(struct vmm *v, enum vmm_op op, int err)
{
	__atomic_fetch_add(&v->cnt->calls[op], 1, __ATOMIC_RELAXED);
	if (err)
		__atomic_fetch_add(&v->cnt->fails[op], 1, __ATOMIC_RELAXED);
	return err;
}

int vmm_call_reserve(struct vmm *v, u64 size, u64 *addr)
{
	return counted(v, VMM_OP_RESERVE,
		       v->ops->reserve(v->dev, size, v->chunk_size, addr));
}

int vmm_call_unreserve(struct vmm *v, u64 addr, u64 size)
{
	return counted(v, VMM_OP_UNRESERVE,
		       v->ops->unreserve(v->dev, addr, size));
}

int vmm_call_create(struct vmm *v, u64 size, u64 *id)
{
	return counted(v, VMM_OP_CREATE, v->ops->create(v->dev, size, id));
}

int vmm_call_release(struct vmm *v, u64 id, u64 size)
{
	return counted(v, VMM_OP_RELEASE, v->ops->release(v->dev, id, size));
}

int vmm_call_map(struct vmm *v, u64 addr, u64 size, u64 id)
{
	return counted(v, VMM_OP_MAP, v->ops->map(v->dev, addr, size, id));
}

int vmm_call_set_access(struct vmm *v, u64 addr, u64 size)
{
	return counted(v, VMM_OP_SET_ACCESS,
		       v->ops->set_access(v->dev, addr, size));
}

int vmm_call_unmap(struct vmm *v, u64 addr, u64 size)
{
	return counted(v, VMM_OP_UNMAP, v->ops->unmap(v->dev, addr, size));
}

int vmm_call_event_create(struct vmm *v, u64 *event)
{
	return counted(v, VMM_OP_EVENT, v->ops->event_create(v->dev, event));
}

/* Under the lock, so that no fork finds the backend in the middle of it. */
int vmm_event_create(struct vmm *v, u64 *event)
{
	int err;

	lock_acquire(&v->lock);
	err = vmm_call_event_create(v, event);
	lock_release(&v->lock);
	return err;
}

int vmm_event_record(struct vmm *v, u64 event, slabdev_stream_t stream)
{
	return counted(v, VMM_OP_EVENT,
		       v->ops->event_record(v->dev, event, stream));
}

/* That it is not done yet is an answer, and no failure. */
int vmm_event_query(struct vmm *v, u64 event)
{
	int err = v->ops->event_query(v->dev, event);

	(void)counted(v, VMM_OP_EVENT, err == -EBUSY ? 0 : err);
	return err;
}

int vmm_event_wait(struct vmm *v, u64 event)
{
	return counted(v, VMM_OP_EVENT, v->ops->event_wait(v->dev, event));
}

void vmm_event_destroy(struct vmm *v, u64 event)
{
	/* What fails once may not fail again, and nothing else can be done. */
	if (counted(v, VMM_OP_EVENT, v->ops->event_destroy(v->dev, event)))
		(void)counted(v, VMM_OP_EVENT,
			      v->ops->event_destroy(v->dev, event));
}

int vmm_stream_wait(struct vmm *v, slabdev_stream_t stream, u64 event)
{
	return counted(v, VMM_OP_EVENT,
		       v->ops->stream_wait(v->dev, stream, event));
}

int vmm_quiesce_device(struct vmm *v)
{
	return counted(v, VMM_OP_EVENT, v->ops->quiesce(v->dev));
}

int vmm_fill(struct vmm *v, u64 addr, u64 size, u8 byte,
	     slabdev_stream_t stream)
{
	return counted(v, VMM_OP_FILL,
		       v->ops->fill(v->dev, addr, size, byte, stream));
}

int vmm_fill2d(struct vmm *v, u64 addr, u64 pitch, u64 width, u64 height,
	       u8 byte, slabdev_stream_t stream)
{
	return counted(v, VMM_OP_FILL,
		       v->ops->fill2d(v->dev, addr, pitch, width, height, byte,
				      stream));
}

int vmm_read(struct vmm *v, void *to, u64 addr, u64 size)
{
	return counted(v, VMM_OP_READ, v->ops->read(v->dev, to, addr, size));
}

/* A look is a read. Not to look is an answer, and no call; that a capture
 * forbids it, too. */
int vmm_check(struct vmm *v, struct vmm_check *ranges, u32 nr)
{
	int err = v->ops->check ? v->ops->check(v->dev, ranges, nr) : -ENOTSUP;

	return err == -ENOTSUP || err == -EBUSY || err == -EAGAIN ? err :
	       counted(v, VMM_OP_READ, err);
}

int vmm_copy(struct vmm *v, u64 to, u64 from, u64 size,
	     slabdev_stream_t stream)
{
	return counted(v, VMM_OP_COPY,
		       v->ops->copy(v->dev, to, from, size, stream));
}

int vmm_meminfo(struct vmm *v, u64 *free_bytes, u64 *total_bytes)
{
	return counted(v, VMM_OP_MEMINFO,
		       v->ops->meminfo(v->dev, free_bytes, total_bytes));
}

/* ---- Questions that change nothing -------------------------------------- */

int vmm_check_stream(const struct vmm *v, slabdev_stream_t stream)
{
	return v->ops->check_stream(v->dev, stream);
}

int vmm_is_captured(const struct vmm *v, slabdev_stream_t stream)
{
	return v->ops->is_captured(v->dev, stream);
}
