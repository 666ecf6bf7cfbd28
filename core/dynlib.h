/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dynlib.h - libraries that may be there, or not.
 *
 * What is used of such a library is looked for when it is needed first; it is
 * never linked, and stays loaded. No lock of this library may be held: the
 * loader has its own, which a thread may hold that calls the library, from a
 * constructor. For the same reason users load without a lock; threads that come
 * at the same time get the same handle.
 *
 * In a static program there is none: to load one takes the very libc that the
 * program was linked with. The linker warns of that wherever it sees dlopen(),
 * even where nothing calls it; so that is looked for, too.
 */
#ifndef CORE_DYNLIB_H
#define CORE_DYNLIB_H

/* The handle, or NULL. No cancellation point; calls malloc. */
void *dynlib_open(const char *name);
/* A function of it, or NULL. */
void *dynlib_symbol(void *lib, const char *name);

#endif /* CORE_DYNLIB_H */
