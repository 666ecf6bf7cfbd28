/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * share.h - memory that other processes use too. Included by slabdev.h, whose
 * conventions hold here.
 *
 * A space that was opened with attr.handle_type can *export* an object: what
 * another process needs to have the same bytes is put into a struct
 * slabdev_share. That process receives it, over a UNIX socket for instance,
 * and *imports* it. "host" shares by file descriptors, "cuda:N" by those or by
 * fabric handles.
 *
 * What is shared is the physical handle that the object lies in, a chunk of
 * 2 MiB or more: an importer reaches all of it, neighbours of the object too.
 * An object that lies in two handles cannot be exported; one above 64 MiB lies
 * in one, unless it was put into free memory of earlier objects. Comm memory
 * (comm.h) is always in one, and in one of its own: what is meant to be shared
 * should be that.
 *
 * An exported object stays where it is and stays live: a free of it is refused
 * with -EBUSY until each slabdev_export() was ended. The importer's mapping
 * holds the physical memory as well, even when the exporter has closed its
 * space or has died. No event covers what an importer does: the two processes
 * agree by other means on when the memory is used, and when it is not any more.
 */
#ifndef SLABDEV_SHARE_H
#define SLABDEV_SHARE_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct slabdev_import;

/** enum slabdev_share_kind - what memory is shared */
enum slabdev_share_kind {
	SLABDEV_SHARE_HOST = 1,		/* of "host" */
	SLABDEV_SHARE_CUDA = 2,		/* of "cuda:N" */
};

/**
 * struct slabdev_share - an object, as another process can import it
 * @size: sizeof(struct slabdev_share), set by SLABDEV_SHARE_INIT
 * @kind: an enum slabdev_share_kind
 * @type: SLABDEV_HANDLE_FD or SLABDEV_HANDLE_FABRIC
 * @fd: for SLABDEV_HANDLE_FD a descriptor, closed on exec; else -1
 * @reserved: 0
 * @offset: of the object in its physical handle
 * @bytes: of the object, as asked for
 * @handle_bytes: of the physical handle
 * @fabric: for SLABDEV_HANDLE_FABRIC the handle; else zero
 * @uuid: of the device that has the memory, "GPU-..."; "" for the host
 */
struct slabdev_share {
	size_t size;
	uint32_t kind;
	uint32_t type;
	int32_t fd;
	uint32_t reserved;
	uint64_t offset;
	uint64_t bytes;
	uint64_t handle_bytes;
	unsigned char fabric[64];
	char uuid[48];
};
#define SLABDEV_SHARE_INIT \
	{ sizeof(struct slabdev_share), 0, 0, -1, 0, 0, 0, 0, { 0 }, { 0 } }

/* ---- The process that has the memory ---------------------------------- */

/**
 * slabdev_export - let other processes have an object
 * @sd: a space that was opened with attr.handle_type
 * @p: a live object
 * @share: filled in; initialise it with SLABDEV_SHARE_INIT. Its descriptor is
 *         the caller's; slabdev_export_end() closes it
 *
 * May be called again for the same object: each call is ended by itself.
 *
 * Context: any thread. Driver: exports a handle.
 * Return: 0; -EINVAL no live object begins at @p, or @share is NULL or was not
 * initialised; -ENOTSUP memory of this space cannot be shared; -EXDEV the
 * object lies in more than one physical handle, which comm memory never does;
 * -ENOMEM no host memory; -EMFILE no descriptor is left; -EIO, -EOWNERDEAD.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_export(struct slabdev *sd, void *p, struct slabdev_share *share);

/**
 * slabdev_export_end - an export is over
 * @sd: the space
 * @p: the object that was exported
 * @share: its descriptor is closed, and set to -1; NULL: there is none to
 *         close
 *
 * After the last one the object can be freed. The caller knows that no importer
 * uses it any more, or does not mind. Importers keep what they have mapped.
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL no exported object begins at @p; -EOWNERDEAD.
 */
SLABDEV_API int slabdev_export_end(struct slabdev *sd, void *p,
				   struct slabdev_share *share);

/* ---- The process that uses it too ------------------------------------- */

/**
 * slabdev_import - map what another process has exported
 * @import: set to the import; untouched on failure
 * @spec: the device that is to use the memory, as slabdev_open() takes it:
 *        "host", or "cuda:N"; NULL: the device that has it
 * @share: from the other process, or from this one. Nothing in it is believed:
 *         a descriptor of host memory must be a memfd of the right size that
 *         is sealed against shrinking, so that no access can fault. Its
 *         descriptor stays the caller's, who may close it after this call
 *
 * No space is needed. In the child of a fork an import of host memory goes on,
 * shared; one of a device can only be closed.
 *
 * Context: any thread. Driver: reserves, imports, maps.
 * Return: 0; -EINVAL @share is malformed, its descriptor is something else, or
 * the memory is of another kind than @spec; -E2BIG fields that this version
 * does not know; -ENOTSUP, -ENODEV as slabdev_open(); -EPERM its descriptor is
 * sealed against writing, -EACCES it is open for reading only; -ENOMEM,
 * -EMFILE, -EIO.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_import(struct slabdev_import **import, const char *spec,
	       const struct slabdev_share *share);

/**
 * slabdev_import_ptr - where the object is in this process
 * @import: the import
 *
 * Context: any thread. Driver: never.
 * Return: its address, as the device of the import uses it; for host memory
 * the CPU.
 */
SLABDEV_API void *slabdev_import_ptr(const struct slabdev_import *import);

/**
 * slabdev_import_size - how long the object is
 * @import: the import
 *
 * Context: any thread. Driver: never.
 * Return: its bytes, as its owner asked for them.
 */
SLABDEV_API size_t slabdev_import_size(const struct slabdev_import *import);

/**
 * slabdev_import_close - unmap an import
 * @import: the import; NULL is fine
 *
 * Waits until the device is done with all that was submitted to it.
 *
 * Context: one thread; nobody uses the import any more. Driver: unmaps.
 * Return: 0, and @import is gone; -EBUSY a stream is being captured, so that it
 * cannot be told whether the device is done; -EIO the driver refused: what it
 * did not take back is kept, and the call may be made again.
 */
SLABDEV_API int slabdev_import_close(struct slabdev_import *import);

/* ---- From one to the other -------------------------------------------- */

/**
 * slabdev_share_send - send an export over a UNIX socket
 * @socket: connected, of type SOCK_STREAM or SOCK_SEQPACKET
 * @share: what is sent; its descriptor stays the caller's
 *
 * Both sides run a library of the same major version. Raises no SIGPIPE.
 *
 * Context: any thread; one at a time sends on a socket. Driver: never; blocks.
 * Return: 0; -EINVAL @share is malformed; -EPIPE the other side is gone; or the
 * error of the socket.
 */
SLABDEV_API int slabdev_share_send(int socket,
				   const struct slabdev_share *share);

/**
 * slabdev_share_receive - receive what slabdev_share_send() has sent
 * @socket: as there
 * @share: filled in; initialise it with SLABDEV_SHARE_INIT. Its descriptor is
 *         new and closed on exec; the caller closes it
 *
 * Descriptors that come where none belongs are closed. On failure no
 * descriptor is left.
 *
 * Context: any thread; one at a time receives. Driver: never; blocks.
 * Return: 0; -EPIPE the other side has closed the socket; -EPROTO what came is
 * no export; -EINVAL @share was not initialised; -EMFILE no descriptor is left;
 * or the error of the socket.
 */
SLABDEV_API int slabdev_share_receive(int socket, struct slabdev_share *share);

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_SHARE_H */
