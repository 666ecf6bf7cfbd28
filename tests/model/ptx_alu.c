// SPDX-License-Identifier: BSD-2-Clause
/*
 * ptx_alu.c - what instructions compute.
 *
 * Operands come extended to 64 bits by zeros, and the result is cut to its
 * register; so most operations are those of 64 bits, whatever the type. What
 * the sign matters to extends by it, or compares with the sign bit turned over:
 * the order is that of unsigned numbers then.
 */
#include "tests/model/ptx_insn.h"

/* A step that computes @result of @a, and of @b. */
#define UNARY(name, result)						\
static const struct ptx_step *do_##name(struct ptx_thread *t,		\
					const struct ptx_step *s)	\
{									\
	u64 a = ptx_read(t, s, 1);					\
									\
	ptx_write(t, s, 0, result);					\
	return s + 1;							\
}

#define BINARY(name, result)						\
static const struct ptx_step *do_##name(struct ptx_thread *t,		\
					const struct ptx_step *s)	\
{									\
	u64 a = ptx_read(t, s, 1);					\
	u64 b = ptx_read(t, s, 2);					\
									\
	ptx_write(t, s, 0, result);					\
	return s + 1;							\
}

/* A product of @a and @b, and one that is added to. */
#define PRODUCT(name, result)						\
BINARY(mul_##name, result)						\
static const struct ptx_step *do_mad_##name(struct ptx_thread *t,	\
					    const struct ptx_step *s)	\
{									\
	u64 a = ptx_read(t, s, 1);					\
	u64 b = ptx_read(t, s, 2);					\
	u64 c = ptx_read(t, s, 3);					\
									\
	ptx_write(t, s, 0, (result) + c);				\
	return s + 1;							\
}

/* ---- Multiplying and dividing --------------------------------------- */

static u64 wide_product(const struct ptx_step *s, u64 a, u64 b)
{
	return ptx_extend(a, s->sign) * ptx_extend(b, s->sign);
}

static u64 high_half(const struct ptx_step *s, u64 a, u64 b)
{
	if (s->bytes < 8)
		return wide_product(s, a, b) >> 8 * s->bytes;
	return s->sign ? (u64)((__int128)(s64)a * (s64)b >> 64) :
			 (u64)((unsigned __int128)a * b >> 64);
}

/* The one quotient that does not fit wraps, as on the hardware. */
static const struct ptx_step *divide(struct ptx_thread *t,
				     const struct ptx_step *s, bool quotient)
{
	u64 a = ptx_extend(ptx_read(t, s, 1), s->sign);
	u64 b = ptx_extend(ptx_read(t, s, 2), s->sign), v;

	if (!b) {
		violation("kernel %.64s, line %u: a division by zero",
			  t->kernel->name, s->line);
		v = quotient ? UINT64_MAX : a;
	} else if (!s->sign) {
		v = quotient ? a / b : a % b;
	} else if (b == UINT64_MAX) {
		v = quotient ? -a : 0;
	} else {
		v = (u64)(quotient ? (s64)a / (s64)b : (s64)a % (s64)b);
	}
	ptx_write(t, s, 0, v);
	return s + 1;
}

static const struct ptx_step *do_div(struct ptx_thread *t,
				     const struct ptx_step *s)
{
	return divide(t, s, true);
}

static const struct ptx_step *do_rem(struct ptx_thread *t,
				     const struct ptx_step *s)
{
	return divide(t, s, false);
}

/* ---- Bits ----------------------------------------------------------- */

/* An amount that is too large shifts everything out. */
static u64 shift_right(const struct ptx_step *s, u64 a, u64 by)
{
	if (s->sign)
		return (u64)((s64)ptx_extend(a, s->sign) >> min(by, (u64)63));
	return by < 64 ? a >> by : 0;
}

static u64 reverse(u64 a, u32 bits)
{
	static const u64 odd[] = { 0x5555555555555555, 0x3333333333333333,
				   0x0f0f0f0f0f0f0f0f };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(odd); i++)
		a = (a >> (1 << i) & odd[i]) | (a & odd[i]) << (1 << i);
	return __builtin_bswap64(a) >> (64 - bits);
}

/* The highest bit that is not a copy of the sign. */
static u64 find_bit(const struct ptx_step *s, u64 a, bool from_above)
{
	u64 at;

	if (a & s->sign)
		a ^= ptx_mask(s->bytes);
	if (!a)
		return UINT32_MAX;
	at = 63 - (u64)__builtin_clzll(a);
	return from_above ? 8u * s->bytes - 1 - at : at;
}

static u64 leading_zeros(u64 a, u32 bits)
{
	return a ? (u64)__builtin_clzll(a) - (64 - bits) : bits;
}

/* To the second type, which the first one then extends. */
static u64 convert(const struct ptx_step *s, u64 a)
{
	a = ptx_extend(a & s->from_mask, s->from_sign);
	return ptx_extend(a & s->to_mask, s->sign);
}

/* ---- All of them ---------------------------------------------------- */

static const struct ptx_step *do_selp(struct ptx_thread *t,
				      const struct ptx_step *s)
{
	ptx_write(t, s, 0, ptx_read(t, s, ptx_read(t, s, 3) ? 1 : 2));
	return s + 1;
}

UNARY(mov, a)
UNARY(cvt, convert(s, a))
BINARY(add, a + b)
BINARY(sub, a - b)
PRODUCT(lo, a * b)
PRODUCT(hi, high_half(s, a, b))
PRODUCT(wide, wide_product(s, a, b))
BINARY(min, (a ^ s->sign) < (b ^ s->sign) ? a : b)
BINARY(max, (a ^ s->sign) < (b ^ s->sign) ? b : a)
BINARY(and, a & b)
BINARY(or, a | b)
BINARY(xor, a ^ b)
UNARY(not, ~a)
BINARY(shl, b < 64 ? a << b : 0)
BINARY(shr, shift_right(s, a, b))
UNARY(clz, leading_zeros(a, 8u * s->bytes))
UNARY(popc, (u64)__builtin_popcountll(a))
UNARY(brev, reverse(a, 8u * s->bytes))
UNARY(bfind, find_bit(s, a, false))
UNARY(bfind_shiftamt, find_bit(s, a, true))
BINARY(eq, a == b)
BINARY(ne, a != b)
BINARY(lt, (a ^ s->sign) < (b ^ s->sign))
BINARY(le, (a ^ s->sign) <= (b ^ s->sign))
BINARY(gt, (a ^ s->sign) > (b ^ s->sign))
BINARY(ge, (a ^ s->sign) >= (b ^ s->sign))

static const ptx_step_fn simple[] = {
	[PTX_MOV] = do_mov, [PTX_CVTA] = do_mov, [PTX_CVT] = do_cvt,
	[PTX_ADD] = do_add, [PTX_SUB] = do_sub,
	[PTX_DIV] = do_div, [PTX_REM] = do_rem,
	[PTX_MIN] = do_min, [PTX_MAX] = do_max,
	[PTX_AND] = do_and, [PTX_OR] = do_or, [PTX_XOR] = do_xor,
	[PTX_NOT] = do_not, [PTX_SHL] = do_shl, [PTX_SHR] = do_shr,
	[PTX_CLZ] = do_clz, [PTX_POPC] = do_popc, [PTX_BREV] = do_brev,
	[PTX_BFIND] = do_bfind, [PTX_SELP] = do_selp,
};

static const ptx_step_fn products[][2] = {
	[PTX_WIDTH_LO] = { do_mul_lo, do_mad_lo },
	[PTX_WIDTH_HI] = { do_mul_hi, do_mad_hi },
	[PTX_WIDTH_WIDE] = { do_mul_wide, do_mad_wide },
};

static const ptx_step_fn comparisons[] = {
	[PTX_EQ] = do_eq, [PTX_NE] = do_ne,
	[PTX_LT] = do_lt, [PTX_LO] = do_lt, [PTX_LE] = do_le, [PTX_LS] = do_le,
	[PTX_GT] = do_gt, [PTX_HI] = do_gt, [PTX_GE] = do_ge, [PTX_HS] = do_ge,
};

ptx_step_fn ptx_alu_fn(const struct ptx_insn *insn)
{
	const u8 *slot = insn->slot;

	switch (insn->op) {
	case PTX_MUL:
	case PTX_MAD:
		return products[slot[PTX_SLOT_WIDTH]][insn->op == PTX_MAD];
	case PTX_SETP:
		return comparisons[slot[PTX_SLOT_CMP]];
	case PTX_BFIND:
		return slot[PTX_SLOT_SHIFTAMT] ? do_bfind_shiftamt : do_bfind;
	default:
		return simple[insn->op];
	}
}
