/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * checker.h - AddressSanitizer and valgrind's memcheck, told of our memory.
 *
 * Both know what malloc() has handed out, and take a space's memory for one
 * large mapping in which everything may be touched. So they are told: what is
 * free is *hidden*, and a touch of it is an error that they report in their
 * own way; what an object's user asked for is *shown*.
 *
 * AddressSanitizer is part of a program that was built with it: its functions
 * are there, or the weak references to them are NULL. It has a byte of its own
 * for each 8 bytes of memory, which says how many of them, from the first on,
 * may be touched. What is shown here begins at a multiple of 8, so that its end
 * is exact to the byte; what is hidden behind it within those 8 bytes stays
 * hidden as long as what comes before is all that is shown. Two threads never
 * change the same 8 bytes: objects are at least 16 bytes apart.
 *
 * Memcheck runs the program on a processor of its own, and is told by client
 * requests: instructions that do nothing anywhere else. They are in a header of
 * valgrind; where that was missing at build time, nothing is told. A *pool* is
 * the name under which memcheck keeps the objects of a space, so that it can
 * say where one was allocated and freed. Other tools of valgrind's, callgrind
 * say, want to see the program as it is, and are not told anything.
 *
 * The library itself fills, copies and reads memory that is hidden: zones,
 * poison, what is set to zero before it is handed out on a queue. memset() and
 * memcpy() would be reported then, even from code that was built without
 * AddressSanitizer, which replaces them. So once something was hidden they are
 * done by loops that are exempt.
 *
 * Locking: none; memory is told of by the one who has it.
 */
#ifndef CORE_CHECKER_H
#define CORE_CHECKER_H

#include <string.h>

#if IS_ENABLED(CONFIG_SLAB_ANNOTATE)

/* Is one of them there? */
bool checker_is_there(void);

/* Names for the objects of a space; @pool is any address that is unique, and
 * @apart bytes are between two objects at least: as near memcheck says which
 * one it is, and hides that much with each that ends. */
void checker_pool_create(const void *pool, u32 apart);
void checker_pool_destroy(const void *pool);

/* Nobody but the library may touch it. */
void checker_hide(u64 addr, u64 len);
/* The program may; @defined: what it holds is of worth. */
void checker_show(u64 addr, u64 len, bool defined);
/* It is about to be unmapped: another mapping may come there. */
void checker_forget(u64 addr, u64 len);

/* An object of @size bytes begins in memory that is hidden; ends; has another
 * size. @room: bytes up to the next object, @size or more. */
void checker_begin(const void *pool, u64 addr, u64 size, bool defined);
void checker_end(const void *pool, u64 addr, u64 room);
void checker_resize(const void *pool, u64 addr, u64 old, u64 size, u64 room);

/* Set by the first checker_hide(); relaxed. */
extern bool checker_has_hidden;

static inline bool checker_hides(void)
{
	return unlikely(READ_ONCE(checker_has_hidden));
}

void checker_fill_hidden(void *to, u8 byte, u64 n);
void checker_copy_hidden(void *to, const void *from, u64 n);
void checker_read_hidden(void *to, const void *from, u64 n);

#else

static inline bool checker_hides(void)
{
	return false;
}

static inline bool checker_is_there(void)
{
	return false;
}

static inline void checker_forget(u64 addr, u64 len)
{
	(void)addr;
	(void)len;
}

static inline void checker_fill_hidden(void *to, u8 byte, u64 n)
{
	(void)to;
	(void)byte;
	(void)n;
}

static inline void checker_copy_hidden(void *to, const void *from, u64 n)
{
	(void)to;
	(void)from;
	(void)n;
}

static inline void checker_read_hidden(void *to, const void *from, u64 n)
{
	(void)to;
	(void)from;
	(void)n;
}

#endif

/* memset(), memmove(), and memcpy() to the library's own memory, of memory that
 * may be hidden. */
static inline void checker_fill(void *to, u8 byte, u64 n)
{
	if (checker_hides())
		checker_fill_hidden(to, byte, n);
	else
		memset(to, byte, n);
}

static inline void checker_copy(void *to, const void *from, u64 n)
{
	if (checker_hides())
		checker_copy_hidden(to, from, n);
	else
		memmove(to, from, n);
}

static inline void checker_read(void *to, const void *from, u64 n)
{
	if (checker_hides())
		checker_read_hidden(to, from, n);
	else
		memcpy(to, from, n);
}

#endif /* CORE_CHECKER_H */
