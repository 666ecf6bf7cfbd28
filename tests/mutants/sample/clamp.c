// SPDX-License-Identifier: BSD-2-Clause
/* clamp.c - something to mutate, for tests/mutants_test.c. */
int clamp(int value, int most);

int clamp(int value, int most)
{
	if (value > most)
		return most;
	return value;
}
