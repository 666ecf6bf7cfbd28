/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * annotate.h - what tools outside of the library are told of its objects.
 *
 * Two kinds of tools can know them: checkers of the CPU's accesses (checker.h),
 * for spaces whose memory the CPU may touch, and tools that watch a GPU and are
 * attached by NVTX (nvtx.h), for spaces of CUDA. Where one is there when a
 * space is opened, the space is *annotated*: all its classes are debugged, for
 * their fast paths would tell nobody.
 *
 *   memory comes into the pool      annotate_new()     nobody may touch it
 *   a constructor runs in it        annotate_ctor_*()  the program may
 *   an object is handed out         annotate_alloc()   as much as was asked for
 *   its size changes in place       annotate_resize()
 *   it is free, and its work done   annotate_free()    nobody again; if it was
 *                                                      told of
 *   memory leaves the pool          annotate_gone()    as if we had never been
 *
 * A free in the order of a stream ends the object only when the stream's work
 * is done: a function of a host queue may rightly touch it until then.
 *
 * What a CPU's checker thinks of what an object holds: undefined, as after
 * malloc(), unless somebody may have written whom it did not see: a
 * constructor, a GPU, another process.
 *
 * Locking: annotate_new() takes the pool lock. Each call comes from the thread
 * that has the memory at the time: the object's new owner, who frees it, or who
 * moves a chunk.
 */
#ifndef SLAB_ANNOTATE_H
#define SLAB_ANNOTATE_H

#include "slab/slab.h"

#if IS_ENABLED(CONFIG_SLAB_ANNOTATE)

/* Before a space of the backend is opened, without locks: a tool is loaded,
 * once a process. */
void annotate_prepare(const struct vmm_ops *ops, bool allowed);
/* Is somebody there to be told? Asked once, when the backend is known and there
 * is no memory yet; @allowed: SLABDEV_ANNOTATE. False: what follows does
 * nothing. */
bool annotate_wanted(struct slabdev *sd, bool allowed);
void annotate_pool_create(struct slabdev *sd);
/* Before the memory goes back; objects may be live. */
void annotate_pool_destroy(struct slabdev *sd);

void annotate_new(struct slabdev *sd, const void *p, u64 len);
void annotate_gone(struct slabdev *sd, const void *p, u64 len);
void annotate_ctor_begin(struct slabdev *sd, const void *p, u64 len);
void annotate_ctor_end(struct slabdev *sd, const void *p, u64 len);
/* @usable: bytes up to the next object. */
void annotate_alloc(struct slabdev *sd, const void *p, u64 size, u64 usable);
void annotate_resize(struct slabdev *sd, const void *p, u64 old, u64 size,
		     u64 usable);
void annotate_free(struct slabdev *sd, const void *p, u64 usable);

#else

static inline void annotate_prepare(const struct vmm_ops *ops, bool allowed)
{
	(void)ops;
	(void)allowed;
}

static inline bool annotate_wanted(struct slabdev *sd, bool allowed)
{
	(void)sd;
	(void)allowed;
	return false;
}

static inline void annotate_pool_create(struct slabdev *sd)
{
	(void)sd;
}

static inline void annotate_pool_destroy(struct slabdev *sd)
{
	(void)sd;
}

static inline void annotate_nothing(struct slabdev *sd, const void *p, u64 len)
{
	(void)sd;
	(void)p;
	(void)len;
}

#define annotate_new annotate_nothing
#define annotate_gone annotate_nothing
#define annotate_ctor_begin annotate_nothing
#define annotate_ctor_end annotate_nothing
#define annotate_free annotate_nothing

static inline void annotate_alloc(struct slabdev *sd, const void *p, u64 size,
				  u64 usable)
{
	(void)size;
	annotate_nothing(sd, p, usable);
}

static inline void annotate_resize(struct slabdev *sd, const void *p, u64 old,
				   u64 size, u64 usable)
{
	(void)old;
	(void)size;
	annotate_nothing(sd, p, usable);
}

#endif

#endif /* SLAB_ANNOTATE_H */
