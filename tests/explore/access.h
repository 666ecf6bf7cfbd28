/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * access.h - the functions that -fsanitize=thread has called (access.c).
 */
#ifndef TESTS_EXPLORE_ACCESS_H
#define TESTS_EXPLORE_ACCESS_H

#define DECLARE_PLAIN(size)						\
void __tsan_read##size(void *addr);					\
void __tsan_write##size(void *addr);					\
void __tsan_unaligned_read##size(void *addr);				\
void __tsan_unaligned_write##size(void *addr);				\
void __tsan_read_write##size(void *addr);				\
void __tsan_unaligned_read_write##size(void *addr)

DECLARE_PLAIN(1);
DECLARE_PLAIN(2);
DECLARE_PLAIN(4);
DECLARE_PLAIN(8);
DECLARE_PLAIN(16);

void __tsan_read_range(void *addr, size_t size);
void __tsan_write_range(void *addr, size_t size);
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memset(void *to, int byte, size_t size);
void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);

#define DECLARE_RMW(bits, name)						\
u##bits __tsan_atomic##bits##_##name(volatile u##bits *p, u##bits v, int order)

#define DECLARE_ATOMIC(bits)						\
u##bits __tsan_atomic##bits##_load(const volatile u##bits *p, int order); \
void __tsan_atomic##bits##_store(volatile u##bits *p, u##bits v, int order); \
DECLARE_RMW(bits, exchange);						\
DECLARE_RMW(bits, fetch_add);						\
DECLARE_RMW(bits, fetch_sub);						\
DECLARE_RMW(bits, fetch_and);						\
DECLARE_RMW(bits, fetch_or);						\
DECLARE_RMW(bits, fetch_xor);						\
DECLARE_RMW(bits, fetch_nand);						\
int __tsan_atomic##bits##_compare_exchange_strong(volatile u##bits *p,	\
		u##bits *expected, u##bits v, int order, int fail_order); \
int __tsan_atomic##bits##_compare_exchange_weak(volatile u##bits *p,	\
		u##bits *expected, u##bits v, int order, int fail_order); \
u##bits __tsan_atomic##bits##_compare_exchange_val(volatile u##bits *p,	\
		u##bits expected, u##bits v, int order, int fail_order)

DECLARE_ATOMIC(8);
DECLARE_ATOMIC(16);
DECLARE_ATOMIC(32);
DECLARE_ATOMIC(64);

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);

#endif /* TESTS_EXPLORE_ACCESS_H */
