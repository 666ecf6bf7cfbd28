/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slabdev.hpp - libslabdev for C++17: owners, typed spans, containers.
 *
 * Headers only, over the calls of slabdev.h; nothing more is linked. What is
 * acquired has one owner, which gives it back when it ends, on every way out of
 * a block:
 *
 *	slabxx::space gpu("cuda:0");
 *	slabxx::device_array<float> x(gpu, 1000);	// 4000 bytes
 *
 *	launch(x.raw(), x.size());
 *
 * - Owners are moved, not copied: a second release does not compile. buffer is
 *   the one that is shared, and counts.
 * - Memory that the CPU may not touch has no elements here: *x and x[i] do not
 *   compile, nor does x where a pointer is wanted. host() is checked.
 * - Sizes are elements, and bytes where a name or a comment says so; products
 *   are checked.
 * - Constructors throw slabxx::error, or, with std::nothrow first, leave the
 *   owner empty and errno set. That of a group, which keeps a table on the
 *   host, may throw std::bad_alloc, too. No destructor throws; moves do not,
 *   either. What refuses to go there leaks: close() says why (owner.hpp).
 * - An owner may be used by one thread at a time, what it owns as the C call
 *   says. get() lends its pointer to those calls, release() gives it away.
 *
 * The namespace is slabxx, as slabdev is the name of a structure of C. A null
 * stream is refused, so that no source file's meaning of it is built into
 * inline functions; calls whose names are in parentheses are there for the same
 * reason, past the macros of stream.h.
 */
#ifndef SLABDEV_HPP
#define SLABDEV_HPP

#if __cplusplus < 201703L
#error "slabdev.hpp needs C++17: -std=c++17"
#endif

#include <slabdev/arena.hpp>
#include <slabdev/block.hpp>
#include <slabdev/buffer.hpp>
#include <slabdev/cache.hpp>
#include <slabdev/error.hpp>
#include <slabdev/group.hpp>
#include <slabdev/manager.hpp>
#include <slabdev/object.hpp>
#include <slabdev/owner.hpp>
#include <slabdev/pmr.hpp>
#include <slabdev/share.hpp>
#include <slabdev/space.hpp>
#include <slabdev/span.hpp>
#include <slabdev/stream.hpp>

#endif /* SLABDEV_HPP */
