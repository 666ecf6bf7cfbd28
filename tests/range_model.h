/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * range_model.h - steps on a range, compared with a reference.
 */
#ifndef TESTS_RANGE_MODEL_H
#define TESTS_RANGE_MODEL_H

/* Decides what is done: returns a number below @n. */
typedef u32 range_pick_fn(void *arg, u32 n);

/*
 * *@steps steps on a range of @max integers, as @pick says. NULL, or what the
 * range did wrong, in its step *@steps.
 */
const char *range_model_run(range_pick_fn *pick, void *arg, u32 max,
			    u32 *steps);

#endif /* TESTS_RANGE_MODEL_H */
