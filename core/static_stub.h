/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * static_stub.h - lets a test replace a function of the library.
 *
 * STATIC_STUB_REDIRECT(fn, args...) is the first statement of a thin wrapper
 * around the outside world (a system call, a driver call). When a test has
 * activated a replacement for @fn, it is called instead. Costs one load on
 * paths that enter the kernel anyway; nothing with CONFIG_STATIC_STUB=n.
 */
#ifndef CORE_STATIC_STUB_H
#define CORE_STATIC_STUB_H

/* Set by the test harness; maps a function to its replacement or NULL. */
extern void *(*static_stub_lookup)(void *real_fn);

#define STATIC_STUB_REDIRECT(fn, ...)                                       \
	do {                                                                \
		if (IS_ENABLED(CONFIG_STATIC_STUB) &&                       \
		    unlikely(static_stub_lookup != NULL)) {                 \
			__typeof__(&fn) _stub =                             \
				(__typeof__(&fn))static_stub_lookup(        \
					(void *)(uintptr_t)&fn);            \
			if (_stub)                                          \
				return _stub(__VA_ARGS__);                  \
		}                                                           \
	} while (0)

#endif /* CORE_STATIC_STUB_H */
