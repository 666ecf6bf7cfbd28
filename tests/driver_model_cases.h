/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * driver_model_cases.h - what the files of the suite driver_model share.
 */
#ifndef TESTS_DRIVER_MODEL_CASES_H
#define TESTS_DRIVER_MODEL_CASES_H

#include "tests/contract/driver.h"

static inline CUresult alloc_and_free(void)
{
	CUdeviceptr ptr;
	CUresult ret = cu.cuMemAlloc(&ptr, 1000);

	return ret ? ret : cu.cuMemFree(ptr);
}

/* The cases of the suite that are in driver_model_orders.c. */
void nth_call_fails(struct kunit *test);
void any_call_fails(struct kunit *test);
void sticky_order(struct kunit *test);
void calls_are_counted(struct kunit *test);
void calls_cost(struct kunit *test);
void held_stream(struct kunit *test);
void legacy_waits_for_held(struct kunit *test);
void torn_down(struct kunit *test);
void leaks_are_counted(struct kunit *test);
void refusals_say_why(struct kunit *test);

#endif /* TESTS_DRIVER_MODEL_CASES_H */
