/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuda_dev.h - one opened kind of memory of one CUDA device.
 *
 * 1. The context. Each space retains the device's primary context, the one
 *    that the CUDA runtime uses, and gives it back when it is closed. It is
 *    current only while a call of the driver needs it: cuda_enter() pushes it,
 *    cuda_leave() pops it, on every path, so that the caller's own context is
 *    what it was. A device that was reset has another primary context, or none:
 *    cuda_enter() finds out, and the space is dead.
 *
 * 2. Captures. While a thread captures a stream the driver refuses calls that
 *    it calls unsafe, and the refusal spoils the capture. cuda_enter() sets the
 *    thread's capture mode to relaxed, cuda_leave() sets it back. What would
 *    become part of the capture itself (a fill, a copy, an event) is refused
 *    before the driver is asked (cuda_work.c).
 *
 * 3. Health. After some errors the driver fails every call until the process
 *    ends. The first of them is kept: from then on no driver call is made for
 *    this space, and every operation fails with -EIO; after a reset of the
 *    device with -EOWNERDEAD. What gives memory back succeeds where there is
 *    nothing left to give back to: after a reset, and when the driver is shut
 *    down at the end of the process.
 *
 * 4. Errors. An operation that fails has set the error text to the driver's
 *    function and the name of its result.
 *
 * Locking: const after opening, but for the health and the checker, which are
 * atomic.
 */
#ifndef VMM_CUDA_DEV_H
#define VMM_CUDA_DEV_H

#include "core/log.h"
#include "vmm/backends.h"
#include "vmm/cuda_driver.h"
#include "vmm/vmm.h"

#define CUDA_MAX_PEERS 31

/* See cuda_check.c. */
struct cuda_checker {
	u32 state;		/* atomic: enum checker_state */
	u32 taken;		/* atomic: a bit for each batch in use */
	bool is_captured;	/* atomic: a graph may have a launch */
	CUmodule module;
	CUfunction kernel;
	struct cuda_check_batch *batch;	/* pinned host memory */
};

struct cuda_dev {
	const struct cuda_driver *drv;
	CUdevice device;
	CUcontext ctx;
	unsigned long long ctx_id;	/* 0: the driver tells none */
	CUstream bound;		/* see slabdev_attr.stream */
	CUstream own;		/* SLABDEV_BACKING_POOL: a stream of its own */
	CUmemoryPool pool;
	enum vmm_cuda_kind kind;
	size_t bytes;		/* of this structure */

	/* VMM. */
	u64 granularity;
	CUmemAllocationProp prop;
	CUmemAccessDesc access[1 + CUDA_MAX_PEERS];
	u32 nr_access;
	bool rdma_asked;	/* SLABDEV_OPEN_RDMA */

	/* Atomic: the first result after which nothing works any more. */
	CUresult dead_result;
	const char *dead_call;
	u64 next_handle;	/* atomic; where handles are only numbers */
	struct cuda_checker checker;
};

/* ---- cuda_scope.c ----------------------------------------------------- */

/* What the thread had before, to be set back. */
struct cuda_scope {
	CUstreamCaptureMode mode;
	int cancel_state;	/* a driver call may be a cancellation point */
};

/* Make the context current and the thread's captures relaxed. 0 or the health
 * with the error text set; cuda_leave() follows only on 0. */
int __must_check cuda_enter(struct cuda_dev *d, struct cuda_scope *scope);
void cuda_leave(struct cuda_dev *d, const struct cuda_scope *scope);

/* The errno of @result of the driver's function @call; sets the error text and
 * keeps what is for ever. */
int cuda_check(struct cuda_dev *d, const char *call, CUresult result);
/* The same where memory is given back: none is left to give back to. */
int cuda_check_free(struct cuda_dev *d, const char *call, CUresult result);
/* 0; or -EIO, -EOWNERDEAD with the error text set. */
int cuda_health(void *dev);
/* There is nothing that memory could be given back to. */
bool cuda_is_gone(const struct cuda_dev *d);

/* Call a function of the driver: CUDA_CALL(d, cuMemUnmap, addr, size). */
#define CUDA_CALL(d, name, ...) \
	cuda_check(d, #name, (d)->drv->name(__VA_ARGS__))
#define CUDA_FREE(d, name, ...) \
	cuda_check_free(d, #name, (d)->drv->name(__VA_ARGS__))
/* The same with a scope of its own around @call. */
#define CUDA_SCOPED(d, call)					\
({								\
	struct cuda_scope scope_;				\
	int err_ = cuda_enter(d, &scope_);			\
								\
	if (!err_) {						\
		err_ = (call);					\
		cuda_leave(d, &scope_);				\
	}							\
	err_;							\
})
#define CUDA_SCOPED_FREE(d, call)				\
({								\
	int free_err_ = CUDA_SCOPED(d, call);			\
								\
	free_err_ && cuda_is_gone(d) ? 0 : free_err_;		\
})
/* Where there is no later: what fails once may not fail again. */
#define CUDA_FREE_AT_LAST(d, name, ...)			\
	(CUDA_FREE(d, name, __VA_ARGS__) ?		\
	 CUDA_FREE(d, name, __VA_ARGS__) : 0)

/* ---- cuda_device.c: discovery ----------------------------------------- */

/* The device that @name, behind the colon of @spec, means. */
int __must_check cuda_find_device(const struct cuda_driver *drv,
				  const char *spec, const char *name,
				  CUdevice *device);
/* An attribute; 0 where the driver does not know it. */
int cuda_attribute(const struct cuda_driver *drv, CUdevice device,
		   CUdevice_attribute attribute);
bool cuda_has_vmm(const struct cuda_driver *drv, CUdevice device);
bool cuda_has_pools(const struct cuda_driver *drv, CUdevice device);

/* Its identity, "GPU-..." or "MIG-..."; "" where the driver tells none. */
void cuda_uuid(const struct cuda_driver *drv, CUdevice device, char *buf,
	       size_t len);

/* ---- cuda_open.c ------------------------------------------------------ */

void cuda_put(void *dev);

/* ---- cuda_work.c: fills, copies, events ------------------------------- */

/* 0: work may be put into @stream; -EBUSY: it is being captured. */
int __must_check cuda_refuse_capture(struct cuda_dev *d, CUstream stream);
/* Enter, and find out whether @stream runs: as the two. */
int __must_check cuda_enter_stream(struct cuda_dev *d,
				   struct cuda_scope *scope, CUstream stream);

int cuda_fill(void *dev, u64 addr, u64 size, u8 byte, slabdev_stream_t stream);
int cuda_fill2d(void *dev, u64 addr, u64 pitch, u64 width, u64 height, u8 byte,
		slabdev_stream_t stream);
int cuda_read(void *dev, void *to, u64 addr, u64 size);
int cuda_read2d(void *dev, void *to, u64 to_pitch, u64 addr, u64 pitch,
		u64 width, u64 height);
int cuda_copy(void *dev, u64 to, u64 from, u64 size, slabdev_stream_t stream);
int cuda_event_create(void *dev, u64 *event);
int cuda_event_record(void *dev, u64 event, slabdev_stream_t stream);
int cuda_event_query(void *dev, u64 event);
int cuda_event_wait(void *dev, u64 event);
int cuda_event_destroy(void *dev, u64 event);
int cuda_stream_wait(void *dev, slabdev_stream_t stream, u64 event);
int cuda_check_stream(void *dev, slabdev_stream_t stream);
int cuda_is_captured(void *dev, slabdev_stream_t stream);
int cuda_quiesce(void *dev);
int cuda_meminfo(void *dev, u64 *free_bytes, u64 *total_bytes);

#define CUDA_SHARED_OPS						\
	.fill = cuda_fill,					\
	.fill2d = cuda_fill2d,					\
	.read = cuda_read,					\
	.read2d = cuda_read2d,					\
	.copy = cuda_copy,					\
	.event_create = cuda_event_create,			\
	.event_record = cuda_event_record,			\
	.event_query = cuda_event_query,			\
	.event_wait = cuda_event_wait,				\
	.event_destroy = cuda_event_destroy,			\
	.stream_wait = cuda_stream_wait,			\
	.check_stream = cuda_check_stream,			\
	.is_captured = cuda_is_captured,			\
	.quiesce = cuda_quiesce,				\
	.health = cuda_health,					\
	.put = cuda_put

/* ---- cuda_check.c: a kernel that looks at memory ---------------------- */

int cuda_check_ranges(void *dev, struct vmm_check *ranges, u32 nr);
/* Within a scope: it is not used any more. */
void cuda_check_fini(struct cuda_dev *d);

/* ---- cuda_vmm.c and cuda_region.c: memory ----------------------------- */

extern const struct vmm_ops vmm_cuda_ops;
extern const struct vmm_ops vmm_cuda_pool_ops;
extern const struct vmm_ops vmm_cuda_malloc_ops;
extern const struct vmm_ops vmm_cuda_pinned_ops;
extern const struct vmm_ops vmm_cuda_managed_ops;

/* Set @d up for mapping, within a scope. */
int __must_check cuda_vmm_init(struct cuda_dev *d,
			       const struct slabdev_attr *attr);
/* Make the pool, within a scope. */
int __must_check cuda_pool_init(struct cuda_dev *d, u64 threshold);
void cuda_pool_fini(struct cuda_dev *d);

/* ---- cuda_share.c: handles between processes -------------------------- */

u32 cuda_share_type(void *dev);
int cuda_share(void *dev, u64 handle, struct slabdev_share *share);
int cuda_import(void *dev, const struct slabdev_share *share, u64 *handle);

#endif /* VMM_CUDA_DEV_H */
