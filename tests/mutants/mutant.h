/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mutant.h - which mutant is in force, in a build that contains all of them.
 *
 * Included by the files that mutate.py writes. Two variables of the environment
 * are read once, before main() and before any constructor of the library:
 *
 *   MUTANT       the number of the one in force; without it there is none
 *   MUTANT_SEEN  a file with a byte for each mutant, which is set when the
 *                place of the mutant is executed; so the mutants that a test
 *                could notice are known before any is tried
 */
#ifndef TESTS_MUTANTS_MUTANT_H
#define TESTS_MUTANTS_MUTANT_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MUTANT_ONCE __attribute__((weak, visibility("hidden")))

MUTANT_ONCE unsigned long mutant_chosen;
MUTANT_ONCE unsigned char *mutant_seen;
MUTANT_ONCE bool mutant_ready;

static void mutant_map_seen(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	void *map;

	if (fd < 0)
		return;
	if (!fstat(fd, &st)) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
			   MAP_SHARED, fd, 0);
		if (map != MAP_FAILED)
			mutant_seen = map;
	}
	close(fd);
}

__attribute__((constructor(101))) static void mutant_choose(void)
{
	const char *number = getenv("MUTANT");
	const char *path = getenv("MUTANT_SEEN");

	if (mutant_ready)
		return;
	mutant_ready = true;
	if (number)
		mutant_chosen = strtoul(number, NULL, 10);
	if (path)
		mutant_map_seen(path);
}

static inline bool mutant_is(unsigned long number)
{
	if (__builtin_expect(mutant_seen != NULL, 0))
		mutant_seen[number] = 1;
	return mutant_chosen == number;
}

#endif /* TESTS_MUTANTS_MUTANT_H */
