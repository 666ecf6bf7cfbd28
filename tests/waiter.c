// SPDX-License-Identifier: BSD-2-Clause
/*
 * waiter.c - a program that uses the library, says so, and waits
 *
 * Started by exec, unlike the jobs that a test forks: what it was started with
 * can be seen from outside.
 */
#include <unistd.h>

#include <slabdev/slabdev.h>

int main(void)
{
	struct slabdev *sd;

	if (slabdev_open(&sd, "host", NULL) || !slabdev_alloc(sd, 1000) ||
	    write(STDOUT_FILENO, "y", 1) != 1)
		return 1;
	for (;;)
		pause();
}
