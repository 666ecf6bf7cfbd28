// SPDX-License-Identifier: BSD-2-Clause
/*
 * libfuzzer.c - a target as libFuzzer calls it.
 */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	fuzz_one(data, min(size, (size_t)FUZZ_INPUT_MAX));
	return 0;
}
