// SPDX-License-Identifier: BSD-2-Clause
/*
 * demo.c - a target that is easy to break, to test driver.c with.
 */
#include <signal.h>

#include "tests/fuzz/fuzz.h"

void fuzz_one(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	u32 word = take_u16(&in);

	if (word == 0x0df0)
		fuzz_fail("food");
	if (word == 0xfade)
		raise(SIGSEGV);
	if (size > 100)
		raise(SIGALRM);
}
