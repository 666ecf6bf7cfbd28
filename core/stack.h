/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack.h - who called: the return addresses on the calling thread's stack.
 *
 * A frame is named by the address that it returns to. The program's part of the
 * stack begins with the frame that returns to the place where the program
 * called the library; what the library itself has below that is left out.
 *
 * Programs are compiled without frame pointers, so that the stack is unwound by
 * the tables that exceptions use, and by the code that reads them: libgcc_s,
 * which gcc and clang programs have or can load. The library does not need it
 * to be linked or started. It is looked for at the first capture: in the
 * program, which is all there is to a static one, then as a file. Where there
 * is none, a stack has one address, that of the call.
 *
 * A stack ends early at code that has no tables: assembler that declares none,
 * or made at run time.
 *
 * Locking: none, and none of the system's loader but at the first capture and
 * where glibc is older than 2.35. Failure: less of the stack. errno is kept.
 * Fork: a child captures as its parent did; one that was forked while another
 * thread loaded a library, and never captured before, may hang in the loader,
 * as with any dlopen() there. Not for signal handlers.
 *
 * Cost: some 0.2 us a frame, those of the library included.
 */
#ifndef CORE_STACK_H
#define CORE_STACK_H

/* As many as are worth keeping. */
#define STACK_MAX 16

/*
 * stack_capture - the callers of the calling function
 * @pc: room for @max addresses
 * @max: at least 1
 * @from: the return address of the call that the program made, to begin there;
 *        NULL, or no frame of the stack returns there: begin with the frame
 *        that returns to the caller of this function
 *
 * Return how many there are, innermost first; 0 only without libgcc_s and
 * without @from.
 */
u32 stack_capture(const void **pc, u32 max, const void *from);

#endif /* CORE_STACK_H */
