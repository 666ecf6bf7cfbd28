/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * folder.h - a folder for the files that a case makes.
 */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include "tests/kunit/kunit.h"

/* A new one, which goes with the case and all that is in it: its path. */
char *new_folder(struct kunit *test);

#endif /* TESTS_FOLDER_H */
