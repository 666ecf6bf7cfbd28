/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * range_model.h - random steps on a range, compared with a reference.
 */
#ifndef TESTS_RANGE_MODEL_H
#define TESTS_RANGE_MODEL_H

struct kunit;

/* @steps random steps on a range of @max integers, after @seed. */
void range_model_run(struct kunit *test, u64 seed, u32 max, u32 steps);

#endif /* TESTS_RANGE_MODEL_H */
