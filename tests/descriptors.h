/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * descriptors.h - how many descriptors this process has open.
 */
#ifndef TESTS_DESCRIPTORS_H
#define TESTS_DESCRIPTORS_H

#include <dirent.h>

#include "tests/kunit/kunit.h"

/* The one that looks is counted each time, and two names that are none. */
static inline u32 count_descriptors(struct kunit *test)
{
	DIR *dir = opendir("/proc/self/fd");
	u32 n = 0;

	KUNIT_ASSERT_NOT_NULL(test, dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

#endif /* TESTS_DESCRIPTORS_H */
