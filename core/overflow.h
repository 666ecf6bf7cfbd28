/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * overflow.h - size arithmetic that says when it does not fit.
 *
 * Wherever two sizes meet, one of them came from a caller. Each helper returns
 * true when the result does not fit and then leaves the output unspecified,
 * so that the caller has nothing plausible to go on with.
 */
#ifndef CORE_OVERFLOW_H
#define CORE_OVERFLOW_H

static inline bool __must_check add_overflows(u64 a, u64 b, u64 *sum)
{
	return __builtin_add_overflow(a, b, sum);
}

static inline bool __must_check mul_overflows(u64 a, u64 b, u64 *product)
{
	return __builtin_mul_overflow(a, b, product);
}

static inline bool is_power_of_2(u64 n)
{
	return n && !(n & (n - 1));
}

/* Floor of the binary logarithm; @n is not 0. */
static inline unsigned int ilog2(u64 n)
{
	return 63u - (unsigned int)__builtin_clzll(n);
}

/* The alignments below are powers of two. */
static inline u64 align_down(u64 n, u64 align)
{
	return n & ~(align - 1);
}

static inline bool is_aligned(u64 n, u64 align)
{
	return !(n & (align - 1));
}

static inline bool __must_check align_up_overflows(u64 n, u64 align, u64 *up)
{
	if (add_overflows(n, align - 1, up))
		return true;
	*up = align_down(*up, align);
	return false;
}

/* For sizes already known to be far from the end of the range. */
static inline u64 align_up(u64 n, u64 align)
{
	return (n + align - 1) & ~(align - 1);
}

static inline u64 div_round_up(u64 n, u64 d)
{
	return n / d + (n % d != 0);
}

#endif /* CORE_OVERFLOW_H */
