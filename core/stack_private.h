/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_private.h - a step of core/stack.c, replaceable alone.
 */
#ifndef CORE_STACK_PRIVATE_H
#define CORE_STACK_PRIVATE_H

#include <unwind.h>

typedef __typeof__(&_Unwind_Backtrace) unwind_backtrace_fn;
typedef __typeof__(&_Unwind_GetIP) unwind_ip_fn;

/* Both functions, or false. */
bool stack_find_unwinder(unwind_backtrace_fn *backtrace, unwind_ip_fn *ip);

#endif /* CORE_STACK_PRIVATE_H */
