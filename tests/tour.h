/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tour.h - every public call once, and that each answers as it should.
 *
 * The same steps in many surroundings: on a stack of 64 KiB, under a storm of
 * signals, in the child of a fork, beside another malloc, in a static program.
 * It knows of the library what a user does, so that a program can be linked
 * with it in any way, and prints nothing: what went wrong is returned.
 *
 * Calls that fail are part of it (out of memory, wrong frees, live objects at
 * close), with their reports, which the caller sends somewhere.
 */
#ifndef TESTS_TOUR_H
#define TESTS_TOUR_H

#include <stdio.h>

#include <slabdev/slabdev.h>

/* The limit that a space of the tour has. */
#define TOUR_LIMIT ((uint64_t)24 << 20)

/* Open a space, see everything, close it. NULL, or the condition that did not
 * hold. @out is for slabdev_report(). */
const char *tour(FILE *out);
/* What allocates and frees, in a space that others use too; @size is of some
 * of the objects. */
const char *tour_objects(struct slabdev *sd, size_t size);

#endif /* TESTS_TOUR_H */
