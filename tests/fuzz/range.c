// SPDX-License-Identifier: BSD-2-Clause
/*
 * range.c - the steps of tests/range_model.c as an input decides them.
 *
 *	input = max { decision }
 */
#include "tests/fuzz/fuzz.h"
#include "tests/range_model.h"

/* Words and table steps of range.c begin anew at 64 and 512. */
static const u32 maxima[] = { 8, 63, 64, 65, 130, 512, 513, 1000 };

static u32 decide(void *arg, u32 n)
{
	struct fuzz_input *in = arg;

	return (n > 256 ? take_u16(in) : take_u8(in)) % n;
}

void fuzz_one(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	u32 max = maxima[take_u8(&in) % ARRAY_SIZE(maxima)];
	/* A step takes at least two decisions. */
	u32 steps = (u32)size / 2;
	const char *wrong = range_model_run(decide, &in, max, &steps);

	if (wrong)
		fuzz_fail("step %u: %s", steps, wrong);
}
