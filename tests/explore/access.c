// SPDX-License-Identifier: BSD-2-Clause
/*
 * access.c - what the compiler calls for each access of the library.
 *
 * The interface is that of compiler-rt's tsan_interface.h and
 * tsan_interface_atomic.h, as far as C code needs it. A plain access is
 * announced, an atomic one is made here.
 */
#include "tests/explore/access.h"
#include "tests/explore/explore.h"

#define HERE __builtin_return_address(0)

/* A run has about a hundred thousand, most of them in its check. */
#define ACCESSES_MAX 5000000u

static u32 nr_accesses;

/* A step at @addr: perhaps somebody else's comes first. False: not a step. */
static bool step(const volatile void *addr, u32 size, unsigned int access,
		 const void *where)
{
	if (++nr_accesses > ACCESSES_MAX)
		run_failed("endless loop");
	if (running < 0 || is_private(addr))
		return false;
	nr_steps++;
	if (is_point(addr))
		routine_point(where);
	search->where = (u64)(uintptr_t)where;
	buffer_see(addr, size);
	model_access(addr, size, access);
	return true;
}

/* ---- Plain accesses --------------------------------------------------- */

static void read_range(const volatile void *addr, u32 size, const void *where)
{
	u64 value;

	if (step(addr, size, ACCESS_READ, where) &&
	    buffer_forward(addr, size, &value))
		buffer_flush(running);
}

static void write_range(const volatile void *addr, u32 size, const void *where)
{
	if (step(addr, size, ACCESS_WRITE, where))
		buffer_flush(running);
}

#define DEFINE_PLAIN(size)						\
void __tsan_read##size(void *addr)					\
{									\
	read_range(addr, size, HERE);					\
}									\
void __tsan_write##size(void *addr)					\
{									\
	write_range(addr, size, HERE);					\
}									\
void __tsan_unaligned_read##size(void *addr)				\
{									\
	read_range(addr, size, HERE);					\
}									\
void __tsan_unaligned_write##size(void *addr)				\
{									\
	write_range(addr, size, HERE);					\
}									\
void __tsan_read_write##size(void *addr)				\
{									\
	read_range(addr, size, HERE);					\
	write_range(addr, size, HERE);					\
}									\
void __tsan_unaligned_read_write##size(void *addr)			\
{									\
	read_range(addr, size, HERE);					\
	write_range(addr, size, HERE);					\
}

DEFINE_PLAIN(1)
DEFINE_PLAIN(2)
DEFINE_PLAIN(4)
DEFINE_PLAIN(8)
DEFINE_PLAIN(16)

void __tsan_read_range(void *addr, size_t size)
{
	read_range(addr, (u32)size, HERE);
}

void __tsan_write_range(void *addr, size_t size)
{
	write_range(addr, (u32)size, HERE);
}

void *__tsan_memcpy(void *to, const void *from, size_t size)
{
	read_range(from, (u32)size, HERE);
	write_range(to, (u32)size, HERE);
	return __builtin_memcpy(to, from, size);
}

void *__tsan_memmove(void *to, const void *from, size_t size)
{
	read_range(from, (u32)size, HERE);
	write_range(to, (u32)size, HERE);
	return __builtin_memmove(to, from, size);
}

void *__tsan_memset(void *to, int byte, size_t size)
{
	write_range(to, (u32)size, HERE);
	return __builtin_memset(to, byte, size);
}

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller)
{
	(void)caller;
}

void __tsan_func_exit(void)
{
}

/* ---- Atomic accesses -------------------------------------------------- */

static bool acquires(int order)
{
	return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME ||
	       order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static bool releases(int order)
{
	return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL ||
	       order == __ATOMIC_SEQ_CST;
}

/* False: load from memory. */
static bool load(const volatile void *addr, u32 size, int order, u64 *value,
		 const void *where)
{
	if (!step(addr, size, ACCESS_ATOMIC | ACCESS_READ, where))
		return false;
	if (breakage_hides(addr)) {
		*value = 0;
		return true;
	}
	if (buffer_forward(addr, size, value))
		return true;
	/* With delays it may not be the store that releases. */
	if (acquires(order) && !search->delays)
		model_acquire(addr);
	return false;
}

/* False: store to memory. */
static bool store(volatile void *addr, u32 size, int order, u64 value,
		  const void *where)
{
	if (!step(addr, size, ACCESS_ATOMIC | ACCESS_WRITE, where))
		return false;
	buffer_store(addr, size, value, releases(order));
	if (order == __ATOMIC_SEQ_CST)
		buffer_flush(running);
	return true;
}

/* Before an exchange or the like. */
static void exchange(volatile void *addr, u32 size, int order,
		     const void *where)
{
	if (!step(addr, size, ACCESS_ATOMIC | ACCESS_WRITE, where))
		return;
	buffer_flush(running);
	if (acquires(order))
		model_acquire(addr);
	if (releases(order))
		model_release(addr);
	routine_progress();
}

#define DEFINE_RMW(bits, name, builtin)					\
u##bits __tsan_atomic##bits##_##name(volatile u##bits *p, u##bits v,	\
				     int order)				\
{									\
	exchange(p, sizeof(*p), order, HERE);				\
	return builtin(p, v, __ATOMIC_SEQ_CST);				\
}

#define DEFINE_ATOMIC(bits)						\
u##bits __tsan_atomic##bits##_load(const volatile u##bits *p, int order) \
{									\
	u64 value;							\
									\
	if (load(p, sizeof(*p), order, &value, HERE))			\
		return (u##bits)value;					\
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);			\
}									\
void __tsan_atomic##bits##_store(volatile u##bits *p, u##bits v, int order) \
{									\
	if (!store(p, sizeof(*p), order, v, HERE))			\
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST);		\
}									\
u##bits __tsan_atomic##bits##_exchange(volatile u##bits *p, u##bits v,	\
				       int order)			\
{									\
	u##bits old;							\
									\
	if (running >= 0 && breakage_tears(sizeof(*p))) {		\
		exchange(p, sizeof(*p), order, HERE);			\
		old = *p;						\
		exchange(p, sizeof(*p), order, HERE);			\
		*p = v;							\
		return old;						\
	}								\
	exchange(p, sizeof(*p), order, HERE);				\
	if (running >= 0 && breakage_leaves(sizeof(*p), v))		\
		return *p;						\
	return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);		\
}									\
DEFINE_RMW(bits, fetch_add, __atomic_fetch_add)				\
DEFINE_RMW(bits, fetch_sub, __atomic_fetch_sub)				\
DEFINE_RMW(bits, fetch_and, __atomic_fetch_and)				\
DEFINE_RMW(bits, fetch_or, __atomic_fetch_or)				\
DEFINE_RMW(bits, fetch_xor, __atomic_fetch_xor)				\
DEFINE_RMW(bits, fetch_nand, __atomic_fetch_nand)			\
int __tsan_atomic##bits##_compare_exchange_strong(volatile u##bits *p,	\
		u##bits *expected, u##bits v, int order, int fail_order) \
{									\
	(void)fail_order;						\
	exchange(p, sizeof(*p), order, HERE);				\
	return __atomic_compare_exchange_n(p, expected, v, false,	\
					   __ATOMIC_SEQ_CST,		\
					   __ATOMIC_SEQ_CST);		\
}									\
int __tsan_atomic##bits##_compare_exchange_weak(volatile u##bits *p,	\
		u##bits *expected, u##bits v, int order, int fail_order) \
{									\
	return __tsan_atomic##bits##_compare_exchange_strong(p, expected, \
						v, order, fail_order);	\
}									\
u##bits __tsan_atomic##bits##_compare_exchange_val(volatile u##bits *p,	\
		u##bits expected, u##bits v, int order, int fail_order)	\
{									\
	__tsan_atomic##bits##_compare_exchange_strong(p, &expected, v,	\
						order, fail_order);	\
	return expected;						\
}

DEFINE_ATOMIC(8)
DEFINE_ATOMIC(16)
DEFINE_ATOMIC(32)
DEFINE_ATOMIC(64)

void __tsan_atomic_thread_fence(int order)
{
	if (running >= 0 && order == __ATOMIC_SEQ_CST)
		buffer_flush(running);
}

/* Of the compiler only. */
void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}
