/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * valgrind.h - the client requests of memcheck, where its header is installed.
 *
 * They are told apart from a tool that is not there by their answers: outside
 * of memcheck each is 0.
 */
#ifndef CORE_VALGRIND_H
#define CORE_VALGRIND_H

/* sparse does not know the question. */
#ifdef __has_include
#if __has_include(<valgrind/memcheck.h>)
#define HAS_MEMCHECK 1
#endif
#endif

#ifdef HAS_MEMCHECK

#include <valgrind/memcheck.h>

#else

static inline int valgrind_nothing(const void *pool, u64 addr, u64 len)
{
	(void)pool;
	(void)addr;
	(void)len;
	return 0;
}

#define VALGRIND_MAKE_MEM_NOACCESS(addr, len) \
	valgrind_nothing(NULL, (u64)(uintptr_t)(addr), len)
#define VALGRIND_MAKE_MEM_UNDEFINED(addr, len) \
	valgrind_nothing(NULL, (u64)(uintptr_t)(addr), len)
#define VALGRIND_MAKE_MEM_DEFINED(addr, len) \
	valgrind_nothing(NULL, (u64)(uintptr_t)(addr), len)
#define VALGRIND_CREATE_MEMPOOL(pool, zone, zeroed) \
	(void)valgrind_nothing(pool, zone, zeroed)
#define VALGRIND_DESTROY_MEMPOOL(pool) (void)valgrind_nothing(pool, 0, 0)
#define VALGRIND_MEMPOOL_ALLOC(pool, addr, size) \
	(void)valgrind_nothing(pool, addr, size)
#define VALGRIND_MEMPOOL_FREE(pool, addr) (void)valgrind_nothing(pool, addr, 0)
#define VALGRIND_MEMPOOL_CHANGE(pool, from, to, size) \
	(void)valgrind_nothing(pool, to, size)
#define VALGRIND_DISABLE_ERROR_REPORTING (void)valgrind_nothing(NULL, 0, 0)
#define VALGRIND_ENABLE_ERROR_REPORTING (void)valgrind_nothing(NULL, 0, 0)

#endif

#endif /* CORE_VALGRIND_H */
