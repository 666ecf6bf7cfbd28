/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz.h - programs that are fed anything.
 *
 * A *target* is a function that takes bytes, does with the code under test
 * what they say, and calls fuzz_fail() when something is wrong that no
 * sanitizer would see. It has no state that outlives an input, so that each
 * failure can be repeated.
 *
 * A target is linked in two ways. "make fuzz" links it with libFuzzer, which
 * searches for inputs that reach new code. In every other build driver.c calls
 * it, with the inputs of seeds/TARGET.hex and simple mutations of them: that
 * is deterministic, needs no particular compiler, and takes a second.
 *
 * An input is not the text of a file but a short program: what to change in
 * sound files, which calls to make. Whatever its bytes are, they mean
 * something, and what is not there is zero; few bytes get far.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

/* The longest input; longer ones are cut. */
#define FUZZ_INPUT_MAX 4096

/* Defined by the target. */
void fuzz_one(const u8 *data, size_t size);

__attribute__((noreturn)) __printf(1, 2)
void fuzz_fail(const char *fmt, ...);

/* True as it should be, else the input has found something. */
#define fuzz_check(condition) \
	do { \
		if (!(condition)) \
			fuzz_fail("%s:%d: not %s", __FILE__, __LINE__, \
				  #condition); \
	} while (0)

/* What is left of an input. */
struct fuzz_input {
	const u8 *at, *end;
};

static inline u8 take_u8(struct fuzz_input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static inline u32 take_u16(struct fuzz_input *in)
{
	u32 low = take_u8(in);

	return low | (u32)take_u8(in) << 8;
}

/*
 * A number that is more often than not an interesting one: small, or around a
 * power of two, which takes two bytes; else any.
 */
static inline u64 take_number(struct fuzz_input *in)
{
	u8 how = take_u8(in);
	u64 n = 0;

	if (how < 64)
		return how;
	if (how < 192)
		return ((u64)1 << how % 64) + (u64)(take_u8(in) % 5) - 2;
	for (how = (u8)(1 + how % 8); how; how--)
		n = n << 8 | take_u8(in);
	return n;
}

#endif /* TESTS_FUZZ_FUZZ_H */
