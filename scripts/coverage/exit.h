/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exit.h - what a process that leaves by _exit() has executed counts too.
 *
 * gcc writes the counters at exit() and before exec(). Cases fork children that
 * leave by _exit(), and these are the only ones that execute some of the
 * library. This is forced in front of every file of a build for coverage. The
 * headers of libc then declare coverage_exit() where they mean to declare
 * _exit(), which does no harm.
 *
 * -fno-builtin-fork is for the fork handlers of a child: gcc's own fork() would
 * forget after them what had been counted.
 */
#ifndef SCRIPTS_COVERAGE_EXIT_H
#define SCRIPTS_COVERAGE_EXIT_H

void _exit(int status) __attribute__((noreturn));
void __gcov_dump(void);
void coverage_exit(int status) __attribute__((weak, noreturn));

void coverage_exit(int status)
{
	__gcov_dump();
	_exit(status);
}

#define _exit(status) coverage_exit(status)

#endif /* SCRIPTS_COVERAGE_EXIT_H */
