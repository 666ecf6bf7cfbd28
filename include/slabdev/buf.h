/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * buf.h - memory that several parts of a program own together. Included by
 * slabdev.h, whose conventions hold here.
 *
 * A *buffer* is one allocation with a count of owners: 1 when it is made, one
 * more with each slabdev_buf_get(), one less with each slabdev_buf_put(); the
 * put that takes the last one frees the memory. Nobody has to know who that
 * will be.
 *
 * A *view* is a part of a buffer, or of a view: a token with an offset, a
 * size and owners of its own. It keeps the memory, also after all owners of the
 * buffer have put it.
 *
 * A token (struct slabdev_buf *) is not the address of anything: it names an
 * entry of a table, and the use that is made of the entry. After the last put
 * the token is *stale*, for ever: every call says so and changes nothing,
 * whatever has been made since. A token is thus never dereferenced, not by a
 * debugger either.
 *
 * The memory is that of the space, with its checks, its books and its debug
 * letters. slabdev_free() of a buffer's memory is refused, and names the
 * buffer; slabdev_use(), slabdev_export() and slabdev_explain() take its
 * address as that of any object.
 */
#ifndef SLABDEV_BUF_H
#define SLABDEV_BUF_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct slabdev_buf;
struct slabdev_req;

/** Owners that one token can have at once. */
#define SLABDEV_BUF_OWNERS_MAX 0x7fffffffu

/**
 * slabdev_buf_alloc - make a buffer that the caller owns
 * @buf: set to the token; untouched on failure
 * @sd: the space
 * @size: bytes, not 0
 * @req: alignment, flags and stream as for slabdev_alloc_ex(); NULL: defaults
 *
 * Context: any thread. Driver: slow path.
 * Return: 0; -EINVAL @buf NULL, @size 0, a bad request; -ENOMEM, -EDQUOT,
 * -EOVERFLOW, -EIO, -EOWNERDEAD, -E2BIG, -EBUSY as slabdev_alloc_ex(); -ENOSPC
 * 16 million buffers and views exist.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_buf_alloc(struct slabdev_buf **buf, struct slabdev *sd, size_t size,
		  const struct slabdev_req *req);

/**
 * slabdev_buf_get - own it too
 * @buf: a buffer or a view
 *
 * Context: any thread. Driver: never.
 * Return: @buf; NULL with errno EALREADY it was put by its last owner before,
 * EINVAL it never was a buffer, EOVERFLOW it has SLABDEV_BUF_OWNERS_MAX owners.
 */
SLABDEV_API struct slabdev_buf *slabdev_buf_get(struct slabdev_buf *buf);

/**
 * slabdev_buf_put - own it no more; the last owner's put frees
 * @buf: a buffer or a view; NULL is fine
 *
 * Says what slabdev_free() says: work on the memory that is submitted from now
 * on is not this owner's. Work that is in the bound stream already may go on.
 *
 * Context: any thread. Driver: as slabdev_free().
 * Return: owners that are left, of this token; -EALREADY the last owner has
 * put it before, or its space was closed, and -EINVAL it never was a buffer,
 * both with a report; -EBUSY this would free memory that is exported (share.h):
 * the owner is still one; -EIO, -EOWNERDEAD the space is dead.
 */
SLABDEV_API int slabdev_buf_put(struct slabdev_buf *buf);

/**
 * slabdev_buf_put_async - the same, of an owner whose work is in @stream
 * @buf: a buffer or a view; NULL is fine
 * @stream: where the owner has used it
 *
 * The memory is used again when the work is done that is in the streams of all
 * its owners at the last put. So a stream lives until then, or is given to
 * slabdev_stream_detach(), as after slabdev_use().
 *
 * Context: any thread. Driver: as slabdev_free_async().
 * Return: as slabdev_buf_put(); also -EINVAL no stream of this kind of memory,
 * -ENOMEM no host memory for a note, -ENOSPC 14 other streams use it: the
 * owner is still one.
 */
SLABDEV_API int slabdev_buf_put_async(struct slabdev_buf *buf,
				      slabdev_stream_t stream);

/**
 * slabdev_buf_view - a part of a buffer, as a token of its own
 * @view: set to the token, which the caller owns; untouched on failure
 * @buf: a buffer or a view, which the caller owns
 * @offset: bytes from the beginning of @buf
 * @size: bytes, not 0; @offset + @size is at most slabdev_buf_size(@buf)
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL @view NULL, @buf never was a buffer, @size 0, or beyond
 * the end, as the error text says; -EALREADY @buf is stale; -ENOMEM, -ENOSPC,
 * -EOVERFLOW as above.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_buf_view(struct slabdev_buf **view, struct slabdev_buf *buf,
		 size_t offset, size_t size);

/**
 * slabdev_buf_ptr - the address of its first byte
 * @buf: a buffer or a view
 *
 * Context: any thread. Driver: never.
 * Return: the address; NULL with errno EALREADY or EINVAL as slabdev_buf_get().
 */
SLABDEV_API void *slabdev_buf_ptr(const struct slabdev_buf *buf);

/**
 * slabdev_buf_size - its bytes, as asked for
 * @buf: a buffer or a view
 *
 * Context: any thread. Driver: never.
 * Return: bytes; 0 with errno EALREADY or EINVAL as slabdev_buf_get().
 */
SLABDEV_API size_t slabdev_buf_size(const struct slabdev_buf *buf);

/**
 * slabdev_buf_refs - how many owners the token has
 * @buf: a buffer or a view
 *
 * What other threads do meanwhile may have changed it.
 *
 * Context: any thread. Driver: never.
 * Return: owners; 0 when it is stale, or never was a buffer.
 */
SLABDEV_API unsigned int slabdev_buf_refs(const struct slabdev_buf *buf);

/**
 * slabdev_buf_id - a number that no other buffer or view of this process has
 * @buf: a buffer or a view
 *
 * Context: any thread. Driver: never.
 * Return: the number, which reports say too; 0 for a stale one.
 */
SLABDEV_API uint64_t slabdev_buf_id(const struct slabdev_buf *buf);

/**
 * slabdev_buf_space - the space that the memory is of
 * @buf: a buffer or a view
 *
 * Context: any thread. Driver: never.
 * Return: the space; NULL with errno for a stale one.
 */
SLABDEV_API struct slabdev *slabdev_buf_space(const struct slabdev_buf *buf);

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define slabdev_buf_put_async(buf, stream) \
	slabdev_buf_put_async(buf, (stream) ? (stream) : \
				   SLABDEV_STREAM_PER_THREAD)
#endif

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_BUF_H */
