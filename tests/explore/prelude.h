/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prelude.h - what differs in the explorer's copy of the library, after
 * core/prelude.h.
 *
 * The locks that a thread holds are remembered in thread-local memory, which
 * all routines have in common.
 */
#ifndef TESTS_EXPLORE_PRELUDE_H
#define TESTS_EXPLORE_PRELUDE_H

#undef CONFIG_LOCK_DEBUG

#endif /* TESTS_EXPLORE_PRELUDE_H */
