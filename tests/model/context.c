// SPDX-License-Identifier: BSD-2-Clause
/*
 * context.c - contexts, and which of them is current to a thread.
 *
 * A context has streams and what cuMemAlloc gave; physical memory of
 * cuMemCreate and of pools belongs to the device and outlives it. A primary
 * context keeps its handle for the life of the process: after a reset or the
 * last release it is dead, also where it is still current, until it is
 * retained again. Structures of contexts are never freed.
 */
#include "tests/model/internal.h"

#define CONTEXT_BYTES (512 * MIB)	/* device memory that one takes */
#define STACK_STEP 16

static u64 nr_alive, nr_primary_alive;
static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

/* ---- Threads -------------------------------------------------------- */

static void thread_free(void *arg)
{
	struct thread *self = arg;

	free(self->stack);
	free(self);
}

static void thread_make_key(void)
{
	if (pthread_key_create(&thread_key, thread_free))
		undefined(0, "the process has no thread keys left");
}

struct thread *thread_self(void)
{
	struct thread *self;

	pthread_once(&thread_once, thread_make_key);
	self = pthread_getspecific(thread_key);
	if (self)
		return self;
	self = calloc(1, sizeof(*self));
	if (!self)
		undefined(0, "the host has no memory for a thread");
	pthread_setspecific(thread_key, self);
	return self;
}

struct context *context_current(void)
{
	static struct context *leaked;	/* by a broken rule, to all */
	struct thread *self = thread_self();

	if (self->depth) {
		leaked = self->stack[self->depth - 1];
		return leaked;
	}
	return broken(25) ? leaked : NULL;
}

int context_device(void)
{
	struct context *ctx = context_current();

	return ctx ? ctx->device : -1;
}

static CUresult push(struct context *ctx)
{
	struct thread *self = thread_self();

	if (self->depth == self->cap) {
		self->cap += STACK_STEP;
		self->stack = realloc(self->stack,
				      self->cap * sizeof(self->stack[0]));
		if (!self->stack)
			undefined(0, "the host has no memory for a stack");
	}
	self->stack[self->depth++] = ctx;
	return CUDA_SUCCESS;
}

/* ---- Contexts ------------------------------------------------------- */

struct context *context_find(CUcontext handle)
{
	return handle ? handle_find(HANDLE_CONTEXT, (u64)handle) : NULL;
}

static struct context *context_new(int device, bool primary)
{
	struct context *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		undefined(0, "the host has no memory for a context");
	ctx->handle = (CUcontext)handle_new(HANDLE_CONTEXT, ctx);
	ctx->device = device;
	ctx->primary = primary;
	list_init(&ctx->streams);
	list_init(&ctx->arena);
	return ctx;
}

u64 context_count(void)
{
	return nr_alive - nr_primary_alive;
}

u64 context_bytes(void)
{
	return nr_alive * CONTEXT_BYTES;
}

void context_init(void)
{
	int i;

	for (i = 0; i < model.profile->nr_devices; i++)
		model.devices[i].primary = context_new(i, true);
}

static CUresult context_begin(struct context *ctx)
{
	REFUSE_IF(!device_charge(ctx->device, CONTEXT_BYTES), 0, OUT_OF_MEMORY,
		  "no device memory for a context");
	ctx->alive = true;
	nr_alive++;
	nr_primary_alive += ctx->primary;
	ctx->id = ++model.next_id;
	ctx->peers = 0;
	ctx->legacy = stream_create(ctx, true);
	ctx->legacy->legacy = true;
	return CUDA_SUCCESS;
}

static void free_arena(struct context *ctx)
{
	struct region *region;

	while (!list_empty(&ctx->arena)) {
		region = container_of(ctx->arena.next, struct region, node);
		while (region->parts.n > 1)
			arena_free(container_of(region->parts.v[0],
						struct part, span), false);
		arena_free(container_of(region->parts.v[0], struct part,
					span), false);
	}
}

static void context_end(struct context *ctx)
{
	if (!ctx->alive)
		return;
	ctx->alive = false;
	nr_alive--;
	nr_primary_alive -= ctx->primary;
	modules_end_all(ctx);
	streams_end_all(ctx);
	free_arena(ctx);
	device_uncharge(ctx->device, CONTEXT_BYTES);
}

CUresult do_cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice dev)
{
	struct context *ctx;
	CUresult ret = CUDA_SUCCESS;

	REFUSE_IF(!out, 0, INVALID_VALUE, "no place for the context");
	REFUSE_IF(!device_is_valid(dev), 0, INVALID_DEVICE, "no such device");
	ctx = model.devices[dev].primary;
	if (ctx->refs && broken(19))
		ctx->refs--;
	if (!ctx->alive)
		ret = context_begin(ctx);
	if (ret)
		return ret;
	ctx->refs++;
	*out = ctx->handle;
	return broken(18) ? push(ctx) : CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxRelease(CUdevice dev)
{
	struct context *ctx;

	REFUSE_IF(!device_is_valid(dev), 0, INVALID_DEVICE, "no such device");
	ctx = model.devices[dev].primary;
	REFUSE_IF(!ctx->refs, 17, INVALID_CONTEXT,
		  "the primary context is not retained");
	if (ctx->refs && !--ctx->refs)
		context_end(ctx);
	return CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxReset(CUdevice dev)
{
	REFUSE_IF(!device_is_valid(dev), 0, INVALID_DEVICE, "no such device");
	context_end(model.devices[dev].primary);
	return CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags,
				       int *active)
{
	REFUSE_IF(!flags || !active, 0, INVALID_VALUE, "no place for it");
	REFUSE_IF(!device_is_valid(dev), 0, INVALID_DEVICE, "no such device");
	*flags = model.devices[dev].primary->flags;
	*active = model.devices[dev].primary->alive;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxCreate(CUcontext *out, unsigned int flags, CUdevice dev)
{
	struct context *ctx;
	CUresult ret;

	REFUSE_IF(!out || flags & ~(unsigned int)CU_CTX_FLAGS_MASK, 0,
		  INVALID_VALUE, "no place for it, or unknown flags");
	REFUSE_IF(!device_is_valid(dev), 0, INVALID_DEVICE, "no such device");
	ctx = context_new(dev, false);
	ctx->flags = flags;
	ret = context_begin(ctx);
	if (ret) {
		handle_end((u64)ctx->handle);
		free(ctx);
		return ret;
	}
	ctx->refs = 1;
	*out = ctx->handle;
	return push(ctx);
}

/* Its handle stays known: whoever has it current is told that it is gone. */
CUresult do_cuCtxDestroy(CUcontext handle)
{
	struct thread *self = thread_self();
	struct context *ctx = context_find(handle);

	REFUSE_IF(!ctx || ctx->primary || !ctx->alive, 0, INVALID_CONTEXT,
		  "not a context that cuCtxCreate made");
	context_end(ctx);
	if (broken(196))
		device_fault(ctx->device, CUDA_ERROR_UNKNOWN, "broken");
	if (self->depth && self->stack[self->depth - 1] == ctx)
		self->depth--;
	return CUDA_SUCCESS;
}

/* ---- The current one ------------------------------------------------ */

CUresult do_cuCtxGetCurrent(CUcontext *out)
{
	struct context *ctx = context_current();

	REFUSE_IF(!out, 0, INVALID_VALUE, "no place for it");
	REFUSE_IF(!ctx && broken(20), 0, INVALID_CONTEXT, "none is current");
	*out = ctx ? ctx->handle : NULL;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxSetCurrent(CUcontext handle)
{
	struct thread *self = thread_self();
	struct context *ctx = context_find(handle);

	REFUSE_IF(handle && !ctx, 0, INVALID_CONTEXT, "not a context");
	REFUSE_IF(!handle && !self->depth && broken(24), 0, INVALID_CONTEXT,
		  "none is current");
	if (self->depth)
		self->depth--;
	return ctx ? push(ctx) : CUDA_SUCCESS;
}

CUresult do_cuCtxPushCurrent(CUcontext handle)
{
	struct context *ctx = context_find(handle);

	REFUSE_IF(!handle, 23, INVALID_VALUE, "NULL cannot be pushed");
	REFUSE_IF(handle && !ctx, 0, INVALID_CONTEXT, "not a context");
	return ctx ? push(ctx) : CUDA_SUCCESS;
}

CUresult do_cuCtxPopCurrent(CUcontext *out)
{
	struct thread *self = thread_self();

	REFUSE_IF(!self->depth, 22, INVALID_CONTEXT, "none is current");
	if (!self->depth)
		return CUDA_SUCCESS;
	self->depth--;
	if (out)
		*out = self->stack[self->depth]->handle;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetDevice(CUdevice *device)
{
	REFUSE_IF(!device, 0, INVALID_VALUE, "no place for it");
	*device = max(context_device(), 0);
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	struct context *ctx = handle ? context_find(handle) :
			      context_current();

	REFUSE_IF(!id, 0, INVALID_VALUE, "no place for it");
	REFUSE_IF(!ctx, 0, INVALID_CONTEXT, "not a context");
	REFUSE_IF(!ctx->alive, 0, CONTEXT_IS_DESTROYED, "it was destroyed");
	*id = ctx->id;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxSynchronize(void)
{
	struct context *ctx = context_current();
	struct stream *captures = capture_in(ctx);
	struct list *node;
	struct mark **marks;
	size_t n = 0, i;
	CUresult ret = CUDA_SUCCESS;

	if (captures)
		return capture_conflict(captures->capture, 0,
					CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
					"a stream of the context captures");
	for (node = ctx->streams.next; node != &ctx->streams;
	     node = node->next)
		n++;
	marks = calloc(n, sizeof(marks[0]));
	if (!marks)
		return CUDA_ERROR_OUT_OF_MEMORY;
	n = 0;
	for (node = ctx->streams.next; node != &ctx->streams;
	     node = node->next)
		marks[n++] = mark_get(container_of(node, struct stream,
						   node)->last);
	for (i = 0; i < n; i++) {
		if (marks[i] && !ret)
			ret = mark_wait(marks[i], ctx->device);
		mark_put(marks[i]);
	}
	free(marks);
	pools_observe();
	return ret;
}
