/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * depot.h - every stack once.
 *
 * Millions of objects are allocated from some hundreds of places. Who wants to
 * remember the stack of each (stack.h) saves it here and keeps a handle of 32
 * bits: equal stacks have equal handles. There is one depot in a process, and
 * nothing is ever taken out of it: a handle stays good, in the child of a fork
 * too, and a stack can be read without a lock by who got its handle through an
 * acquire.
 *
 * Cost: 8 bytes and 8 an address for each stack that differs from all others,
 * in host memory, and 256 KiB for the table, of which only the pages that are
 * used take memory. Nothing before the first is saved.
 *
 * Locking: a lock for what is new, none to find what is there. Failure: no
 * handle; what was saved before stays. Limits: 136 MiB, 2^20 stacks of full
 * depth; less where so much address space is not to be had.
 */
#ifndef CORE_DEPOT_H
#define CORE_DEPOT_H

/*
 * depot_save - the handle of a stack
 * @pc: its addresses
 * @n: how many; at most STACK_MAX are kept
 *
 * Return the handle; 0: there is no host memory, or @n is 0.
 */
u32 depot_save(const void *const *pc, u32 n);

/*
 * depot_fetch - the stack of a handle
 * @handle: of depot_save(); 0 has none
 * @pc: set to the addresses, which stay there for ever
 *
 * Return how many they are.
 */
u32 depot_fetch(u32 handle, const void *const **pc);

/* Host memory that it has taken. */
u64 depot_bytes(void);

/* Around fork(). */
void depot_lock_for_fork(void);
void depot_unlock_for_fork(void);

#endif /* CORE_DEPOT_H */
