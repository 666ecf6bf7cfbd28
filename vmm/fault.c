// SPDX-License-Identifier: BSD-2-Clause
/*
 * fault.c - a backend that wraps another one and fails chosen calls.
 *
 * A call that is to fail does not reach the wrapped backend, so that "on
 * failure changes nothing" holds by construction. Work and event calls are
 * counted and made to fail like the others, but have no entry in the books:
 * they leave nothing behind that vmm/ would have to give back.
 *
 * Locking: fault->lock covers counters and books, never a wrapped call.
 */
#include "vmm/fault.h"

void vmm_fault_fini(struct vmm_fault *f)
{
	lock_fini(&f->lock);
}

void vmm_fault_arm(struct vmm_fault *f, enum vmm_op op, u64 n, u64 count,
		   int error)
{
	lock_acquire(&f->lock);
	f->calls[op] = 0;
	f->fail_at[op] = n;
	f->fail_count[op] = count;
	f->error = error;
	lock_release(&f->lock);
}

void vmm_fault_arm_any(struct vmm_fault *f, u64 n, u64 count, u64 apart,
		       int error)
{
	lock_acquire(&f->lock);
	f->any_calls = 0;
	f->any_at = n;
	f->any_count = count;
	f->any_apart = apart;
	f->error = error;
	lock_release(&f->lock);
}

bool vmm_fault_balanced(const struct vmm_fault *f)
{
	return !f->reservations && !f->handles && !f->mappings &&
	       !f->created_bytes && !f->mapped_bytes;
}

/* Count a management call of any kind: is it to fail? */
static bool any_fails_locked(struct vmm_fault *f)
{
	u64 since;

	f->any_calls++;
	if (!f->any_at || f->any_calls < f->any_at)
		return false;
	since = f->any_calls - f->any_at;
	return since % f->any_apart == 0 && since / f->any_apart < f->any_count;
}

/* Count a call of @op. Return 0, or the error that it is to fail with. */
static int begin(struct vmm_fault *f, enum vmm_op op)
{
	u64 at;
	int err = 0;

	lock_acquire(&f->lock);
	f->calls[op]++;
	at = f->fail_at[op];
	if (at && f->calls[op] >= at && f->calls[op] - at < f->fail_count[op])
		err = f->error;
	if (op < VMM_NR_MANAGEMENT_OPS && any_fails_locked(f))
		err = f->error;
	lock_release(&f->lock);
	return err;
}

/* Enter a success in a pair of books: @delta pieces, @bytes either way. */
static void book(struct vmm_fault *f, u64 *count, u64 *bytes, int delta,
		 u64 size)
{
	lock_acquire(&f->lock);
	*count += (u64)(s64)delta;
	if (bytes)
		*bytes += (u64)((s64)delta * (s64)size);
	lock_release(&f->lock);
}

static int fault_granularity(void *dev, u64 *bytes)
{
	struct vmm_fault *f = dev;

	return f->ops->granularity(f->dev, bytes);
}

static int fault_reserve(void *dev, u64 size, u64 align, u64 *addr)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_RESERVE);

	if (!err)
		err = f->ops->reserve(f->dev, size, align, addr);
	if (!err)
		book(f, &f->reservations, NULL, 1, size);
	return err;
}

static int fault_unreserve(void *dev, u64 addr, u64 size)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_UNRESERVE);

	if (!err)
		err = f->ops->unreserve(f->dev, addr, size);
	if (!err)
		book(f, &f->reservations, NULL, -1, size);
	return err;
}

static int fault_create(void *dev, u64 size, u64 *handle)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_CREATE);

	if (!err)
		err = f->ops->create(f->dev, size, handle);
	if (!err)
		book(f, &f->handles, &f->created_bytes, 1, size);
	return err;
}

static int fault_release(void *dev, u64 handle, u64 size)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_RELEASE);

	if (!err)
		err = f->ops->release(f->dev, handle, size);
	if (!err)
		book(f, &f->handles, &f->created_bytes, -1, size);
	return err;
}

static int fault_map(void *dev, u64 addr, u64 size, u64 handle)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_MAP);

	if (!err)
		err = f->ops->map(f->dev, addr, size, handle);
	if (!err)
		book(f, &f->mappings, &f->mapped_bytes, 1, size);
	return err;
}

static int fault_set_access(void *dev, u64 addr, u64 size)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_SET_ACCESS);

	return err ? err : f->ops->set_access(f->dev, addr, size);
}

static int fault_unmap(void *dev, u64 addr, u64 size)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_UNMAP);

	if (!err)
		err = f->ops->unmap(f->dev, addr, size);
	if (!err)
		book(f, &f->mappings, &f->mapped_bytes, -1, size);
	return err;
}

static int fault_fill(void *dev, u64 addr, u64 size, u8 byte,
		      slabdev_stream_t stream)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_FILL);

	return err ? err : f->ops->fill(f->dev, addr, size, byte, stream);
}

static int fault_fill2d(void *dev, u64 addr, u64 pitch, u64 width, u64 height,
			u8 byte, slabdev_stream_t stream)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_FILL);

	return err ? err : f->ops->fill2d(f->dev, addr, pitch, width, height,
					  byte, stream);
}

static int fault_read(void *dev, void *to, u64 addr, u64 size)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_READ);

	return err ? err : f->ops->read(f->dev, to, addr, size);
}

static int fault_read2d(void *dev, void *to, u64 to_pitch, u64 addr, u64 pitch,
			u64 width, u64 height)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_READ);

	return err ? err : f->ops->read2d(f->dev, to, to_pitch, addr, pitch,
					  width, height);
}

static int fault_check(void *dev, struct vmm_check *ranges, u32 nr)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_READ);

	return err ? err : f->ops->check(f->dev, ranges, nr);
}

static int fault_copy(void *dev, u64 to, u64 from, u64 size,
		      slabdev_stream_t stream)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_COPY);

	return err ? err : f->ops->copy(f->dev, to, from, size, stream);
}

static int fault_event_create(void *dev, u64 *event)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_EVENT);

	return err ? err : f->ops->event_create(f->dev, event);
}

static int fault_event_record(void *dev, u64 event, slabdev_stream_t stream)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_EVENT);

	return err ? err : f->ops->event_record(f->dev, event, stream);
}

static int fault_event_query(void *dev, u64 event)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_EVENT);

	return err ? err : f->ops->event_query(f->dev, event);
}

static int fault_event_wait(void *dev, u64 event)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_EVENT);

	return err ? err : f->ops->event_wait(f->dev, event);
}

static int fault_event_destroy(void *dev, u64 event)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_EVENT);

	return err ? err : f->ops->event_destroy(f->dev, event);
}

static int fault_stream_wait(void *dev, slabdev_stream_t stream, u64 event)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_EVENT);

	return err ? err : f->ops->stream_wait(f->dev, stream, event);
}

static int fault_check_stream(void *dev, slabdev_stream_t stream)
{
	struct vmm_fault *f = dev;

	return f->ops->check_stream(f->dev, stream);
}

static int fault_is_captured(void *dev, slabdev_stream_t stream)
{
	struct vmm_fault *f = dev;

	return f->ops->is_captured(f->dev, stream);
}

static int fault_quiesce(void *dev)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_EVENT);

	return err ? err : f->ops->quiesce(f->dev);
}

static int fault_meminfo(void *dev, u64 *free_bytes, u64 *total_bytes)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_MEMINFO);

	return err ? err : f->ops->meminfo(f->dev, free_bytes, total_bytes);
}

static u32 fault_share_type(void *dev)
{
	struct vmm_fault *f = dev;

	return f->ops->share_type(f->dev);
}

static int fault_share(void *dev, u64 handle, struct slabdev_share *share)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_CREATE);

	return err ? err : f->ops->share(f->dev, handle, share);
}

static int fault_import(void *dev, const struct slabdev_share *share,
			u64 *handle)
{
	struct vmm_fault *f = dev;
	int err = begin(f, VMM_OP_CREATE);

	if (!err)
		err = f->ops->import(f->dev, share, handle);
	if (!err)
		book(f, &f->handles, &f->created_bytes, 1,
		     share->handle_bytes);
	return err;
}

static const struct vmm_ops fault_ops = {
	.name = "fault",
	.granularity = fault_granularity,
	.reserve = fault_reserve,
	.unreserve = fault_unreserve,
	.create = fault_create,
	.release = fault_release,
	.map = fault_map,
	.set_access = fault_set_access,
	.unmap = fault_unmap,
	.fill = fault_fill,
	.fill2d = fault_fill2d,
	.read = fault_read,
	.read2d = fault_read2d,
	.copy = fault_copy,
	.event_create = fault_event_create,
	.event_record = fault_event_record,
	.event_query = fault_event_query,
	.event_wait = fault_event_wait,
	.event_destroy = fault_event_destroy,
	.stream_wait = fault_stream_wait,
	.check_stream = fault_check_stream,
	.is_captured = fault_is_captured,
	.quiesce = fault_quiesce,
	.meminfo = fault_meminfo,
};

void vmm_fault_init(struct vmm_fault *f, const struct vmm_ops *ops, void *dev)
{
	*f = (struct vmm_fault){ .table = fault_ops, .ops = ops, .dev = dev };
	f->table.survives_fork = ops->survives_fork;
	f->table.synchronous = ops->synchronous;
	f->table.backed = ops->backed;
	f->table.dear_handles = ops->dear_handles;
	f->table.check = ops->check ? fault_check : NULL;
	if (ops->share) {
		f->table.share_type = fault_share_type;
		f->table.share = fault_share;
		f->table.import = fault_import;
	}
	lock_init(&f->lock, LOCK_META, "fault injection");
}
