/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scope.h - what is acquired in a block of C goes back at its end, on every way
 * out. Not included by slabdev.h: who wants it includes it. For gcc and clang;
 * C++ has slabdev.hpp.
 *
 * As the kernel's cleanup.h: a variable says how what it holds is given back,
 * and the compiler makes the call where the variable goes out of scope, by
 * return, goto, break, or the closing brace.
 *
 *	int step(struct slabdev *sd, size_t bytes)
 *	{
 *		struct slabdev_arena *arena SLABDEV_CLEANUP(arena) = NULL;
 *		int ret = slabdev_arena_create(&arena, sd, NULL);
 *
 *		if (ret)
 *			return ret;
 *		...
 *	}
 *
 * Kinds of variables:
 *
 *	space, manager, cache, arena, buf, group, graph, import, queue
 *		pointers: NULL is nothing, and slabdev_no_free_ptr() hands one
 *		over
 *	capture		a graph whose capture ends with the block
 *	owned		an object with its space, see slabdev_own()
 *	owned_buf, owned_group	the same with a stream that uses it
 *	owned_by	an object of a manager, see slabdev_own_by()
 *	arena_scope	goes back to where the arena was, see
 *			slabdev_enter_arena()
 *	stream_scope	detaches, see slabdev_enter_stream()
 *	export_scope	ends an export, see slabdev_enter_export()
 *
 * - Every variable is initialised where it is declared: the compiler makes its
 *   call even when the block is left right behind the declaration.
 * - They end in the reverse order of their declarations. What lives in a space
 *   is declared behind it, and so has gone when the space is closed.
 * - The end of a block returns nothing. A refusal changes nothing, as that of
 *   any call, and slabdev_last_error() has the reason, of several the last
 *   one's; the log has it only where the call says that it reports. What was to
 *   go stays, and leaks, as its variable is gone. So a space in which something
 *   is live stays open: its objects may be in use by somebody who was given
 *   them. Who wants to act on a refusal makes the call, and then sets the
 *   variable to NULL.
 * - errno is what it was, so that "return -errno" means the call before. So is
 *   slabdev_last_error(), but for a refusal.
 * - longjmp(), exit() and the end of a thread by pthread_exit() leave no block.
 */
#ifndef SLABDEV_SCOPE_H
#define SLABDEV_SCOPE_H

#include <slabdev/slabdev.h>

#if !defined(__cplusplus) && defined(__GNUC__)

#include <errno.h>

/**
 * SLABDEV_CLEANUP - give a variable back at the end of its scope
 * @kind: one of those above, or of SLABDEV_DEFINE_CLEANUP()
 *
 * Stands behind the name: struct slabdev *sd SLABDEV_CLEANUP(space) = NULL;
 */
#define SLABDEV_CLEANUP(kind) \
	__attribute__((unused, cleanup(slabdev_cleanup_##kind)))

/**
 * SLABDEV_DEFINE_CLEANUP - a further kind of variables, at file scope
 * @kind: its name
 * @type: of the variables
 * @end: what to do at the end; the variable is *it
 */
#define SLABDEV_DEFINE_CLEANUP(kind, type, end)				\
static inline void slabdev_cleanup_##kind(type *it)			\
{									\
	int saved_ = errno;						\
									\
	end;								\
	errno = saved_;							\
}

/* ---- Pointers --------------------------------------------------------- */

SLABDEV_DEFINE_CLEANUP(space, struct slabdev *,
		       if (*it) (void)slabdev_close(*it, 0))
SLABDEV_DEFINE_CLEANUP(manager, struct slabdev_manager *,
		       if (*it) (void)slabdev_manager_destroy(*it, 0))
SLABDEV_DEFINE_CLEANUP(cache, struct slabdev_cache *,
		       if (*it) (void)slabdev_cache_destroy(*it))
SLABDEV_DEFINE_CLEANUP(arena, struct slabdev_arena *,
		       if (*it) (void)slabdev_arena_destroy(*it))
SLABDEV_DEFINE_CLEANUP(buf, struct slabdev_buf *,
		       if (*it) (void)slabdev_buf_put(*it))
SLABDEV_DEFINE_CLEANUP(group, struct slabdev_group *,
		       if (*it) (void)slabdev_group_free(*it))
SLABDEV_DEFINE_CLEANUP(graph, struct slabdev_graph *,
		       if (*it) (void)slabdev_graph_release(*it))
SLABDEV_DEFINE_CLEANUP(capture, struct slabdev_graph *,
		       if (*it) (void)slabdev_capture_end(*it))
SLABDEV_DEFINE_CLEANUP(import, struct slabdev_import *,
		       if (*it) (void)slabdev_import_close(*it))
SLABDEV_DEFINE_CLEANUP(queue, slabdev_stream_t,
		       if (*it) (void)slabdev_queue_destroy(*it))

/* Has the compiler complain where what was taken is dropped. */
SLABDEV_MUST_CHECK static inline void *slabdev_taken_(void *p)
{
	return p;
}

/**
 * slabdev_no_free_ptr - take what a variable holds; its scope's end does
 * nothing any more
 * @p: the variable, of any of the kinds that are pointers
 */
#define slabdev_no_free_ptr(p) __extension__				\
	((__typeof__(p))slabdev_taken_(__extension__ ({			\
		__typeof__(p) *slabdev_from_ = &(p);			\
		__typeof__(p) slabdev_it_ = *slabdev_from_;		\
									\
		*slabdev_from_ = NULL;					\
		slabdev_it_;						\
	})))

/** slabdev_return_ptr - return what a variable holds to the caller, who owns it
 *  from now on */
#define slabdev_return_ptr(p) return slabdev_no_free_ptr(p)

/* ---- Objects ---------------------------------------------------------- */

/**
 * struct slabdev_owned - an object, and where it goes
 * @sd: its space
 * @p: the object; NULL: none
 * @stream: of the work that uses it; NULL: the bound one
 *
 * At the end of the scope slabdev_free(), or slabdev_free_async() where there
 * is a stream.
 */
struct slabdev_owned {
	struct slabdev *sd;
	void *p;
	slabdev_stream_t stream;
};
#define SLABDEV_OWNED_INIT { NULL, NULL, NULL }

SLABDEV_DEFINE_CLEANUP(owned, struct slabdev_owned,
	if (it->p && it->stream)
		(void)slabdev_free_async(it->sd, it->p, it->stream);
	else if (it->p)
		(void)slabdev_free(it->sd, it->p))

/**
 * slabdev_own - have a variable own an object
 * @sd: the space
 * @p: what an allocation of any kind returned; NULL is fine
 *
 *	struct slabdev_owned x SLABDEV_CLEANUP(owned) =
 *		slabdev_own(sd, slabdev_alloc(sd, bytes));
 *
 *	if (!x.p)
 *		return -errno;
 *
 * A copy of the variable does not own: one variable frees.
 */
SLABDEV_MUST_CHECK static inline struct slabdev_owned
slabdev_own(struct slabdev *sd, void *p)
{
	struct slabdev_owned owned = { sd, p, NULL };

	return owned;
}

/* What a call takes NULL for; a variable that has no stream has NULL. */
static inline slabdev_stream_t slabdev_named_stream_(slabdev_stream_t stream)
{
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
	return slabdev_stream_or_default(stream);
#else
	return stream ? stream : SLABDEV_STREAM_LEGACY;
#endif
}

/** slabdev_own_async - the same, of an object that work in @stream uses, until
 *  when it is freed */
SLABDEV_MUST_CHECK static inline struct slabdev_owned
slabdev_own_async(struct slabdev *sd, void *p, slabdev_stream_t stream)
{
	struct slabdev_owned owned = { sd, p, slabdev_named_stream_(stream) };

	return owned;
}

/** slabdev_disown - take the object; the end of the scope does nothing */
SLABDEV_MUST_CHECK static inline void *
slabdev_disown(struct slabdev_owned *owned)
{
	void *p = owned->p;

	owned->p = NULL;
	return p;
}

/* ---- Objects of a manager ----------------------------------------------- */

/**
 * struct slabdev_owned_by - an object that slabdev_manager_alloc() gave
 * @manager: the manager
 * @p: the object; NULL: none
 */
struct slabdev_owned_by {
	struct slabdev_manager *manager;
	void *p;
};

SLABDEV_DEFINE_CLEANUP(owned_by, struct slabdev_owned_by,
	if (it->p)
		(void)slabdev_manager_free(it->manager, it->p))

/** slabdev_own_by - slabdev_manager_free() at the end of the scope; to take the
 *  object set its p to NULL */
SLABDEV_MUST_CHECK static inline struct slabdev_owned_by
slabdev_own_by(struct slabdev_manager *manager, void *p)
{
	struct slabdev_owned_by owned = { manager, p };

	return owned;
}

/* ---- Buffers and groups that a stream uses ------------------------------ */

/**
 * struct slabdev_owned_buf - an owner of a buffer whose work is in a stream
 * @buf: the buffer or view; NULL: none
 * @stream: NULL: the bound one
 */
struct slabdev_owned_buf {
	struct slabdev_buf *buf;
	slabdev_stream_t stream;
};

SLABDEV_DEFINE_CLEANUP(owned_buf, struct slabdev_owned_buf,
	if (it->buf && it->stream)
		(void)slabdev_buf_put_async(it->buf, it->stream);
	else if (it->buf)
		(void)slabdev_buf_put(it->buf))

/** slabdev_own_buf_async - slabdev_buf_put_async() at the end of the scope */
SLABDEV_MUST_CHECK static inline struct slabdev_owned_buf
slabdev_own_buf_async(struct slabdev_buf *buf, slabdev_stream_t stream)
{
	struct slabdev_owned_buf owned = { buf, slabdev_named_stream_(stream) };

	return owned;
}

/**
 * struct slabdev_owned_group - a group that work in a stream uses
 * @group: the group; NULL: none
 * @stream: NULL: the bound one
 */
struct slabdev_owned_group {
	struct slabdev_group *group;
	slabdev_stream_t stream;
};

SLABDEV_DEFINE_CLEANUP(owned_group, struct slabdev_owned_group,
	if (it->group && it->stream)
		(void)slabdev_group_free_async(it->group, it->stream);
	else if (it->group)
		(void)slabdev_group_free(it->group))

/** slabdev_own_group_async - slabdev_group_free_async() at the end of the
 *  scope */
SLABDEV_MUST_CHECK static inline struct slabdev_owned_group
slabdev_own_group_async(struct slabdev_group *group, slabdev_stream_t stream)
{
	struct slabdev_owned_group owned = {
		group, slabdev_named_stream_(stream),
	};

	return owned;
}

/* ---- What begins and ends ----------------------------------------------- */

/**
 * struct slabdev_arena_scope - what is allocated in a scope
 * @arena: NULL: it did not begin, or has ended
 * @mark: where it began
 * @error: 0, or why it did not begin: the negative errno of
 *         slabdev_arena_mark()
 */
struct slabdev_arena_scope {
	struct slabdev_arena *arena;
	struct slabdev_arena_mark mark;
	int error;
};

SLABDEV_DEFINE_CLEANUP(arena_scope, struct slabdev_arena_scope,
	if (it->arena)
		(void)slabdev_arena_rewind(it->arena, &it->mark))

/**
 * slabdev_enter_arena - what is allocated from now on goes at the scope's end
 * @arena: the arena
 *
 *	struct slabdev_arena_scope scope SLABDEV_CLEANUP(arena_scope) =
 *		slabdev_enter_arena(arena);
 *
 *	if (scope.error)
 *		return scope.error;
 */
SLABDEV_MUST_CHECK static inline struct slabdev_arena_scope
slabdev_enter_arena(struct slabdev_arena *arena)
{
	struct slabdev_arena_scope scope = {
		NULL, SLABDEV_ARENA_MARK_INIT, 0,
	};

	scope.error = slabdev_arena_mark(arena, &scope.mark);
	if (!scope.error)
		scope.arena = arena;
	return scope;
}

/**
 * slabdev_keep_arena - what was allocated in the scope stays
 * @scope: the variable; its end does nothing any more, and its mark has ended
 *
 * Return: 0, also where it did not begin or has ended; else as
 * slabdev_arena_unmark().
 */
static inline int slabdev_keep_arena(struct slabdev_arena_scope *scope)
{
	struct slabdev_arena *arena = scope->arena;

	scope->arena = NULL;
	return arena ? slabdev_arena_unmark(arena, &scope->mark) : 0;
}

/**
 * struct slabdev_stream_scope - a stream that is attached in a scope
 * @sd: the space; NULL: it did not begin, or has ended
 * @stream: the stream
 * @error: 0, or the negative errno of slabdev_stream_attach()
 */
struct slabdev_stream_scope {
	struct slabdev *sd;
	slabdev_stream_t stream;
	int error;
};

SLABDEV_DEFINE_CLEANUP(stream_scope, struct slabdev_stream_scope,
	if (it->sd)
		(void)slabdev_stream_detach(it->sd, it->stream))

/** slabdev_enter_stream - attach a stream, and detach it at the scope's end,
 *  which so comes before that of a queue that is declared before */
SLABDEV_MUST_CHECK static inline struct slabdev_stream_scope
slabdev_enter_stream(struct slabdev *sd, slabdev_stream_t stream)
{
	struct slabdev_stream_scope scope = {
		NULL, slabdev_named_stream_(stream), 0,
	};

	scope.error = slabdev_stream_attach(sd, scope.stream);
	if (!scope.error)
		scope.sd = sd;
	return scope;
}

/**
 * struct slabdev_export_scope - an object that is exported in a scope
 * @sd: the space; NULL: it did not begin, or has ended
 * @p: the object
 * @share: what others import; its descriptor is closed at the end
 * @error: 0, or the negative errno of slabdev_export()
 */
struct slabdev_export_scope {
	struct slabdev *sd;
	void *p;
	struct slabdev_share share;
	int error;
};

SLABDEV_DEFINE_CLEANUP(export_scope, struct slabdev_export_scope,
	if (it->sd)
		(void)slabdev_export_end(it->sd, it->p, &it->share))

/** slabdev_enter_export - export an object, and end that at the scope's end,
 *  which so comes before the free of an object that is declared before */
SLABDEV_MUST_CHECK static inline struct slabdev_export_scope
slabdev_enter_export(struct slabdev *sd, void *p)
{
	struct slabdev_export_scope scope = {
		NULL, p, SLABDEV_SHARE_INIT, 0,
	};

	scope.error = slabdev_export(sd, p, &scope.share);
	if (!scope.error)
		scope.sd = sd;
	return scope;
}

#endif

#endif /* SLABDEV_SCOPE_H */
