/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debuginfo.h - functions and lines of source, by elfutils' libdw.
 *
 * libdw reads the symbol tables and the debug information of the files that are
 * mapped in this process, or what the system has of it beside them, by their
 * build ids; nothing is fetched from a network. It is loaded when the first
 * place is asked for, never before; where there is none, nothing is known. It
 * is neither linked nor needed to build: what is used of it is declared here in
 * words of our own.
 *
 * It calls malloc and reads files, and keeps what it has read: some times the
 * size of the debug information of the parts that were asked for. When
 * libraries were loaded or unloaded since, it begins anew. It needs much stack;
 * a thread that has less left finds nothing.
 *
 * Locking: one lock, the outermost, over each call, since libdw has none. It is
 * held around fork(), so that a child can ask, too. A thread whose malloc is
 * made of this library finds nothing while it is inside. Where such a malloc
 * has a lock of its own, or a constructor of a library that is just being
 * loaded comes here, threads may wait for each other; so no place is asked for
 * but in a report.
 * Failure: nothing is known.
 */
#ifndef CORE_DEBUGINFO_H
#define CORE_DEBUGINFO_H

#define PLACE_NAME_MAX 96
#define PLACE_FILE_MAX 48

/* What is known of an address in code. */
struct code_place {
	char function[PLACE_NAME_MAX];	/* cut; "": not known */
	u64 offset;			/* in the function */
	char file[PLACE_FILE_MAX];	/* without folders, cut; or "" */
	int line;
};

/* Fill in what is known of the instruction at @addr, leave the rest. */
void debuginfo_find(u64 addr, struct code_place *p);

/* Around fork(). */
void debuginfo_lock_for_fork(void);
void debuginfo_unlock_for_fork(void);

#endif /* CORE_DEBUGINFO_H */
