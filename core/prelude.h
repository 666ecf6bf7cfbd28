/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prelude.h - what every file of the library sees first (forced by the build).
 *
 * The only reader of the generated configuration: everything else asks
 * IS_ENABLED(CONFIG_X) in C, so that the compiler checks both branches of
 * every configuration in every build.
 */
#ifndef CORE_PRELUDE_H
#define CORE_PRELUDE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <generated/autoconf.h>

/*
 * IS_ENABLED(CONFIG_X) - 1 when X is y, 0 when it is n, for C expressions and
 * for the preprocessor. An enabled symbol is defined as 1, a disabled one not
 * at all; the placeholder turns "defined as 1" into an extra argument.
 */
#define __ARG_PLACEHOLDER_1 0,
#define __take_second_arg(ignored, val, ...) val
#define __is_defined(x) ___is_defined(x)
#define ___is_defined(val) ____is_defined(__ARG_PLACEHOLDER_##val)
#define ____is_defined(arg1_or_junk) __take_second_arg(arg1_or_junk 1, 0, 0)
#define IS_ENABLED(option) __is_defined(option)

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define __must_check __attribute__((warn_unused_result))
#define __cold __attribute__((cold, noinline))
#define __printf(fmt, args) __attribute__((format(printf, fmt, args)))
#define __aligned_to(n) __attribute__((aligned(n)))

#define static_assert _Static_assert

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* Each use has variables of its own, so that uses may be nested. */
#define __pick(op, a, b, id) ___pick(op, a, b, id)
#define ___pick(op, a, b, id)                                              \
	({                                                                 \
		__auto_type _a##id = (a);                                  \
		__auto_type _b##id = (b);                                  \
		_a##id op _b##id ? _a##id : _b##id;                        \
	})
#define min(a, b) __pick(<, a, b, __COUNTER__)
#define max(a, b) __pick(>, a, b, __COUNTER__)

/* Sizes that are laid out so that two threads never share a line. */
#define CACHE_LINE 64

#define KIB ((u64)1 << 10)
#define MIB ((u64)1 << 20)
#define GIB ((u64)1 << 30)
#define TIB ((u64)1 << 40)

/*
 * Marked accesses: a variable that threads share without a lock is read and
 * written only through these; each use says what it pairs with.
 */
#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
/* Keeps the compiler, not the processor, from moving accesses across. */
#define barrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif /* CORE_PRELUDE_H */
