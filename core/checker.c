// SPDX-License-Identifier: BSD-2-Clause
/* checker.c - see checker.h. */
#include "core/checker.h"
#include "core/valgrind.h"

/* AddressSanitizer's, in a program that was built with it. */
void __asan_poison_memory_region(const volatile void *p, size_t len)
	__attribute__((weak));
void __asan_unpoison_memory_region(const volatile void *p, size_t len)
	__attribute__((weak));

#define __exempt __attribute__((noinline, no_sanitize("address")))

bool checker_has_hidden;

static const void *pointer(u64 addr)
{
	return (const void *)(uintptr_t)addr;
}

static bool has_asan(void)
{
	return &__asan_poison_memory_region && &__asan_unpoison_memory_region;
}

/* The request says of a variable of ours what is true anyway. */
static bool has_memcheck(void)
{
	char any = 0;

	return VALGRIND_MAKE_MEM_DEFINED(&any, sizeof(any));
}

bool checker_is_there(void)
{
	return has_asan() || has_memcheck();
}

/* ---- What may be touched ---------------------------------------------- */

void checker_hide(u64 addr, u64 len)
{
	WRITE_ONCE(checker_has_hidden, true);
	if (has_asan())
		__asan_poison_memory_region(pointer(addr), len);
	(void)VALGRIND_MAKE_MEM_NOACCESS(addr, len);
}

void checker_show(u64 addr, u64 len, bool defined)
{
	if (has_asan())
		__asan_unpoison_memory_region(pointer(addr), len);
	if (defined)
		(void)VALGRIND_MAKE_MEM_DEFINED(addr, len);
	else
		(void)VALGRIND_MAKE_MEM_UNDEFINED(addr, len);
}

/* Memcheck sees for itself what is mapped and unmapped. */
void checker_forget(u64 addr, u64 len)
{
	if (READ_ONCE(checker_has_hidden) && has_asan())
		__asan_unpoison_memory_region(pointer(addr), len);
}

/* ---- Objects ---------------------------------------------------------- */

void checker_pool_create(const void *pool, u32 apart)
{
	VALGRIND_CREATE_MEMPOOL(pool, apart, 0);
}

void checker_pool_destroy(const void *pool)
{
	VALGRIND_DESTROY_MEMPOOL(pool);
}

void checker_begin(const void *pool, u64 addr, u64 size, bool defined)
{
	if (has_asan())
		__asan_unpoison_memory_region(pointer(addr), size);
	VALGRIND_MEMPOOL_ALLOC(pool, addr, size);
	if (defined)
		(void)VALGRIND_MAKE_MEM_DEFINED(addr, size);
}

void checker_end(const void *pool, u64 addr, u64 room)
{
	VALGRIND_MEMPOOL_FREE(pool, addr);
	checker_hide(addr, room);
}

void checker_resize(const void *pool, u64 addr, u64 old, u64 size, u64 room)
{
	VALGRIND_MEMPOOL_CHANGE(pool, addr, addr, size);
	if (size > old) {
		if (has_asan())
			__asan_unpoison_memory_region(pointer(addr), size);
		(void)VALGRIND_MAKE_MEM_UNDEFINED(addr + old, size - old);
	} else if (size < room) {
		checker_hide(addr + size, room - size);
	}
}

/* ---- Our own accesses ------------------------------------------------- */

/*
 * Byte by byte where a word would be cut. No compiler makes memset() or
 * memcpy() of accesses that are volatile.
 */
typedef volatile u64 __attribute__((may_alias)) word_t;

static bool is_cut(u64 bits)
{
	return bits % sizeof(u64);
}

__exempt void checker_fill_hidden(void *to, u8 byte, u64 n)
{
	u64 word = byte * ((u64)-1 / 0xff);
	volatile u8 *p = to;

	VALGRIND_DISABLE_ERROR_REPORTING;
	for (; n && is_cut((u64)(uintptr_t)p); n--)
		*p++ = byte;
	for (; n >= sizeof(word); n -= sizeof(word), p += sizeof(word))
		*(word_t *)(volatile void *)p = word;
	while (n--)
		*p++ = byte;
	VALGRIND_ENABLE_ERROR_REPORTING;
}

static __exempt void copy_up(volatile u8 *to, const volatile u8 *from, u64 n)
{
	if (!is_cut((u64)(uintptr_t)to | (u64)(uintptr_t)from)) {
		for (; n >= sizeof(u64); n -= sizeof(u64)) {
			*(word_t *)(volatile void *)to =
				*(const word_t *)(const volatile void *)from;
			to += sizeof(u64);
			from += sizeof(u64);
		}
	}
	while (n--)
		*to++ = *from++;
}

static __exempt void copy_down(volatile u8 *to, const volatile u8 *from, u64 n)
{
	while (n--)
		to[n] = from[n];
}

void checker_copy_hidden(void *to, const void *from, u64 n)
{
	VALGRIND_DISABLE_ERROR_REPORTING;
	if ((u64)(uintptr_t)to - (u64)(uintptr_t)from < n)
		copy_down(to, from, n);
	else
		copy_up(to, from, n);
	VALGRIND_ENABLE_ERROR_REPORTING;
}

/* What is read was not written by the program, or not by all of it: it is
 * compared and shown as it is. */
void checker_read_hidden(void *to, const void *from, u64 n)
{
	checker_copy_hidden(to, from, n);
	(void)VALGRIND_MAKE_MEM_DEFINED(to, n);
}
