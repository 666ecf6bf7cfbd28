/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuda_tour.h - every public call that may call the driver, one after another.
 *
 * The tour goes on whatever fails, and looks at nothing but what its visitor
 * looks at after each call: what must be the same after every call, whether it
 * worked or not.
 */
#ifndef TESTS_CUDA_TOUR_H
#define TESTS_CUDA_TOUR_H

#include "tests/cuda_space.h"

struct cuda_tour {
	struct kunit *test;
	const struct cuda_kind_param *kind;
	CUstream stream;	/* to bind; NULL: the default */
	/* Called after each call; NULL: nobody looks. */
	void (*look)(struct cuda_tour *tour, const char *call, int err);
	void *arg;		/* of the visitor */
	u32 calls, failures;
};

/* Open, work, close. All is given back, or is lost with the close. */
void cuda_tour(struct cuda_tour *tour);
/* The same without the open and the close; nothing of it stays. */
void cuda_tour_work(struct cuda_tour *tour, struct slabdev *sd);

#endif /* TESTS_CUDA_TOUR_H */
