/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rank.h - the same layout in every process of a parallel job. Included by
 * slabdev.h, whose conventions hold here.
 *
 * Where memory lies differs from process to process, as addresses do. In spaces
 * that were opened with SLABDEV_OPEN_SAME_LAYOUT the *offset* of an object from
 * the beginning of the space does not: the same calls give the same offsets in
 * every process. So a rank finds in a neighbour's memory, by its own offsets,
 * what it has itself, and an offset may be sent where an address cannot.
 *
 * An import (share.h) maps one physical handle of the neighbour's, not its
 * space, and slabdev_import_ptr() is where the exported object begins. What
 * lies at offset x here, in the same handle, lies there at
 *
 *   slabdev_import_ptr() + (x - the offset of the exported object)
 *
 * The handle of comm memory (comm.h) has that object and nothing else; another
 * offset needs another export and import.
 *
 * What is the same. The spaces are opened for the same kind of memory, on
 * devices of the same granularity, with the same attributes, by the same
 * version of the library. Then the n-th call for a space gives the same offset
 * everywhere, provided that
 *
 * - one thread makes all calls for the space, or threads take turns in the same
 *   order everywhere;
 * - they are plain calls: none with a stream, no stream attached, no capture.
 *   What becomes of memory that streams have freed depends on when the device
 *   is done with it;
 * - no call fails here and succeeds there. A call that the limit refuses is
 *   refused everywhere; a machine that is out of memory is out of step;
 * - the process is not the child of a fork that the space has survived.
 *
 * Nothing else counts: neither addresses, nor the environment, nor the load of
 * the machine, nor what else the process does.
 *
 * What it takes. attr.limit and attr.reserve are given, since by default they
 * follow the machine. All addresses come from one reservation of attr.reserve
 * bytes: when it is full, calls fail with ENOMEM (eight times the limit is
 * ample). What asks the machine is refused when the space is opened:
 * attr.limit_permille, attr.ranks, SLABDEV_HANDLE_AUTO, for "cuda:N" the
 * backing that is not named, and SLABDEV_ORDER_HOST, also as the default. So is
 * a process without membarrier(2), or that watches for hazards, as it works
 * without sheaves; SLABDEV_OPEN_NO_SHEAVES in all processes makes them equal.
 * SLABDEV_LIMIT, _RANKS, _RESERVE, _SHEAF, _POLICY, _ORDERING and _BACKING are
 * not looked at. Alignments above one chunk (2 MiB) are refused, as they go by
 * address.
 *
 * On a device, handles that go back while work may still use them are waited
 * for, where other spaces leave them for later: when memory is short; under
 * SLABDEV_TRIM in slow paths and slabdev_poll(); under SLABDEV_AGGRESSIVE in
 * the free that empties one.
 */
#ifndef SLABDEV_RANK_H
#define SLABDEV_RANK_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * slabdev_base - the beginning of a space
 * @sd: the space
 *
 * It is not an object, and need not be mapped. Of a space without
 * SLABDEV_OPEN_SAME_LAYOUT it is the beginning of the first reservation.
 *
 * Context: any thread. Driver: never.
 * Return: the address of offset 0; NULL with errno EINVAL @sd is NULL, EIO or
 * EOWNERDEAD the space is dead.
 */
SLABDEV_API void *slabdev_base(struct slabdev *sd);

/**
 * slabdev_offset - how far behind the beginning of a space an address is
 * @sd: the space
 * @p: an address in its reservation, of an object or not
 *
 * Context: any thread. Driver: never.
 * Return: @p - slabdev_base(@sd); UINT64_MAX with errno EINVAL when @p is no
 * address of the space, or one of a further reservation, EIO or EOWNERDEAD the
 * space is dead.
 */
SLABDEV_API uint64_t slabdev_offset(struct slabdev *sd, const void *p);

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_RANK_H */
