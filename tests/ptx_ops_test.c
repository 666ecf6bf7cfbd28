// SPDX-License-Identifier: BSD-2-Clause
/*
 * ptx_ops_test.c - what the instructions of the model's PTX compute.
 *
 * Each instruction is a kernel of one module. Every thread of it loads three
 * numbers of 64 bits, which lie in %d1 to %d3 and, cut, in %r1 to %r3 and %h1
 * to %h3, executes the instruction, and stores the result. An expression in C
 * says what it should be, with types of C in the place of those of PTX; so the
 * compiler is the judge. The numbers are all pairs of some edges, and random.
 */
#include <stdio.h>

#include "tests/ptx_lab.h"
#include "tests/random.h"

typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef __int128 s128;
typedef unsigned __int128 u128;

/* ---- Expressions ---------------------------------------------------- */

typedef u64 (*oracle_fn)(u64 x, u64 y, u64 z);

/*
 * OPS(X) - X(name, text, type of a, b and c, register and type of the result,
 *	      expression)
 */
#define INTEGER(X, t, r, T, U, W)					\
X(add_##t, "add." #t " %" #r "0, %" #r "1, %" #r "2;", T, r, U,		\
  (u64)a + (u64)b)							\
X(sub_##t, "sub." #t " %" #r "0, %" #r "1, %" #r "2;", T, r, U,		\
  (u64)a - (u64)b)							\
X(add_const_##t, "add." #t " %" #r "0, %" #r "1, -3;", T, r, U,		\
  (u64)a - 3)								\
X(mul_lo_##t, "mul.lo." #t " %" #r "0, %" #r "1, %" #r "2;", T, r, U,	\
  (u64)a * (u64)b)							\
X(mul_hi_##t, "mul.hi." #t " %" #r "0, %" #r "1, %" #r "2;", T, r, U,	\
  (W)a * (W)b >> 8 * sizeof(a))						\
X(mad_lo_##t, "mad.lo." #t " %" #r "0, %" #r "1, %" #r "2, %" #r "3;", T, r, \
  U, (u64)a * (u64)b + (u64)c)						\
X(mad_hi_##t, "mad.hi." #t " %" #r "0, %" #r "1, %" #r "2, %" #r "3;", T, r, \
  U, (u64)((W)a * (W)b >> 8 * sizeof(a)) + (u64)c)			\
X(div_##t, "or.b64 %d2, %d2, 1;\n cut; div." #t " %" #r "0, %" #r "1, %" #r \
  "2;", T, r, U, is_minus_one((T)(b | 1)) ? 0 - (u64)a :	\
  (u64)(a / (T)(b | 1)))						\
X(rem_##t, "or.b64 %d2, %d2, 1;\n cut; rem." #t " %" #r "0, %" #r "1, %" #r \
  "2;", T, r, U, is_minus_one((T)(b | 1)) ? 0 :			\
  (u64)(a % (T)(b | 1)))						\
X(min_##t, "min." #t " %" #r "0, %" #r "1, %" #r "2;", T, r, U,		\
  a < b ? a : b)							\
X(max_##t, "max." #t " %" #r "0, %" #r "1, %" #r "2;", T, r, U,		\
  a < b ? b : a)							\
X(shr_##t, "and.b32 %r2, %r2, 127;\n shr." #t " %" #r "0, %" #r "1, %r2;", T, \
  r, U, ((u64)b & 127) < 8 * sizeof(a) ? (u64)(a >> ((u64)b & 127)) : sign(a)) \
X(shr_far_##t, "or.b32 %r2, %r2, 64;\n shr." #t " %" #r "0, %" #r "1, %r2;", T, \
  r, U, sign(a))							\
COMPARE(X, eq, t, r, T, a == b)						\
COMPARE(X, ne, t, r, T, a != b)						\
COMPARE(X, lt, t, r, T, a < b)						\
COMPARE(X, le, t, r, T, a <= b)						\
COMPARE(X, gt, t, r, T, a > b)						\
COMPARE(X, ge, t, r, T, a >= b)						\
SELECT(X, t, r, T, U)

#define COMPARE(X, cmp, t, r, T, expr)					\
X(setp_##cmp##_##t, "setp." #cmp "." #t " %p0, %" #r "1, %" #r "2;", T, p, \
  u8, expr)
#define SELECT(X, t, r, T, U)						\
X(selp_##t, "setp.gt.u64 %p1, %d1, %d2;\n selp." #t " %" #r "0, %" #r	\
  "2, %" #r "3, %p1;", T, r, U, x > y ? b : c)

#define UNSIGNED(X, t, r, T)						\
COMPARE(X, lo, t, r, T, a < b)						\
COMPARE(X, ls, t, r, T, a <= b)						\
COMPARE(X, hi, t, r, T, a > b)						\
COMPARE(X, hs, t, r, T, a >= b)

#define BITS(X, t, r, T)						\
X(mov_##t, "mov." #t " %" #r "0, %" #r "1;", T, r, T, a)		\
X(and_##t, "and." #t " %" #r "0, %" #r "1, %" #r "2;", T, r, T, a & b)	\
X(or_##t, "or." #t " %" #r "0, %" #r "1, %" #r "2;", T, r, T, a | b)	\
X(xor_##t, "xor." #t " %" #r "0, %" #r "1, %" #r "2;", T, r, T, a ^ b)	\
X(not_##t, "not." #t " %" #r "0, %" #r "1;", T, r, T, ~a)		\
X(shl_##t, "and.b32 %r2, %r2, 127;\n shl." #t " %" #r "0, %" #r "1, %r2;", T, \
  r, T, ((u64)b & 127) < 8 * sizeof(a) ? (u64)a << ((u64)b & 127) : 0)	\
X(shl_far_##t, "or.b32 %r2, %r2, 64;\n shl." #t " %" #r "0, %" #r "1, %r2;", T, \
  r, T, 0)								\
X(shr_##t, "and.b32 %r2, %r2, 127;\n shr." #t " %" #r "0, %" #r "1, %r2;", T, \
  r, T, ((u64)b & 127) < 8 * sizeof(a) ? a >> ((u64)b & 127) : 0)	\
COMPARE(X, eq, t, r, T, a == b)						\
COMPARE(X, ne, t, r, T, a != b)						\
SELECT(X, t, r, T, T)

#define WIDE(X, t, r, T, r2, t2, U)					\
X(mul_wide_##t, "mul.wide." #t " %" #r2 "0, %" #r "1, %" #r "2;", T, r2, U, \
  (u64)a * (u64)b)							\
X(mul_wide_const_##t, "mul.wide." #t " %" #r2 "0, %" #r "1, 24;", T, r2, U, \
  (u64)a * 24)								\
X(mad_wide_##t, "mad.wide." #t " %" #r2 "0, %" #r "1, %" #r "2, %" #r2 "3;", \
  T, r2, U, (u64)a * (u64)b + z)

#define PREDICATES							\
	"setp.lt.s64 %p1, %d1, %d2;\n setp.ne.u64 %p2, %d2, %d3;\n "

#define OPS(X)								\
INTEGER(X, u16, h, u16, u16, u32) INTEGER(X, s16, h, s16, u16, s32)	\
INTEGER(X, u32, r, u32, u32, u64) INTEGER(X, s32, r, s32, u32, s64)	\
INTEGER(X, u64, d, u64, u64, u128) INTEGER(X, s64, d, s64, u64, s128)	\
UNSIGNED(X, u16, h, u16) UNSIGNED(X, u32, r, u32) UNSIGNED(X, u64, d, u64) \
BITS(X, b16, h, u16) BITS(X, b32, r, u32) BITS(X, b64, d, u64)		\
WIDE(X, u16, h, u16, r, b32, u32) WIDE(X, s16, h, s16, r, b32, u32)	\
WIDE(X, u32, r, u32, d, b64, u64) WIDE(X, s32, r, s32, d, b64, u64)	\
X(clz_b32, "clz.b32 %r0, %r1;", u32, r, u32, zeros(a, 32))		\
X(clz_b64, "clz.b64 %r0, %d1;", u64, r, u32, zeros(a, 64))		\
X(popc_b32, "popc.b32 %r0, %r1;", u32, r, u32, ones(a))			\
X(popc_b64, "popc.b64 %r0, %d1;", u64, r, u32, ones(a))			\
X(brev_b32, "brev.b32 %r0, %r1;", u32, r, u32, mirror(a, 32))		\
X(brev_b64, "brev.b64 %d0, %d1;", u64, d, u64, mirror(a, 64))		\
X(bfind_u32, "bfind.u32 %r0, %r1;", u32, r, u32, 31 - zeros(a, 32))	\
X(bfind_u64, "bfind.u64 %r0, %d1;", u64, r, u32, 63 - zeros(a, 64))	\
X(bfind_s32, "bfind.s32 %r0, %r1;", s32, r, u32,			\
  31 - zeros((u32)(a < 0 ? ~a : a), 32))				\
X(bfind_s64, "bfind.s64 %r0, %d1;", s64, r, u32,			\
  63 - zeros((u64)(a < 0 ? ~a : a), 64))				\
X(bfind_shiftamt_u32, "bfind.shiftamt.u32 %r0, %r1;", u32, r, u32,	\
  a ? zeros(a, 32) : UINT32_MAX)					\
X(bfind_shiftamt_s64, "bfind.shiftamt.s64 %r0, %d1;", s64, r, u32,	\
  a && ~a ? zeros((u64)(a < 0 ? ~a : a), 64) : UINT32_MAX)		\
X(and_pred, PREDICATES "and.pred %p0, %p1, %p2;", s64, p, u8,		\
  (a < b) & (b != c))							\
X(or_pred, PREDICATES "or.pred %p0, %p1, %p2;", s64, p, u8,		\
  (a < b) | (b != c))							\
X(xor_pred, PREDICATES "xor.pred %p0, %p1, %p2;", s64, p, u8,		\
  (a < b) ^ (b != c))							\
X(not_pred, PREDICATES "not.pred %p0, %p2;", s64, p, u8, b == c)	\
X(mov_pred, PREDICATES "mov.pred %p0, %p1;", s64, p, u8, a < b)		\
X(cvta_to, "cvta.to.global.u64 %d0, %d1;", u64, d, u64, a)		\
X(mov_const, "mov.u32 %r0, 0x89abcdef;", u32, r, u32, 0x89abcdef)	\
X(mov_octal, "mov.u32 %r0, 017U;", u32, r, u32, 15)			\
X(mov_binary, "mov.u32 %r0, 0b101;", u32, r, u32, 5)			\
X(mov_cut, "mov.u16 %h0, -2;", u16, h, u16, 0xfffe)			\
X(guard, PREDICATES "mov.u32 %r0, 7;\n @%p1 mov.u32 %r0, %r2;", u32, r, u32, \
  (s64)x < (s64)y ? b : 7)						\
X(guard_not, PREDICATES "mov.u32 %r0, 7;\n @!%p1 mov.u32 %r0, %r2;", u32, r, \
  u32, (s64)x < (s64)y ? 7 : b)

/* All ones or 0, where the type may have no sign. */
static u64 sign(s128 v)
{
	return v < 0 ? UINT64_MAX : 0;
}

static bool is_minus_one(s128 v)
{
	return v == -1;
}

static u32 zeros(u64 v, u32 bits)
{
	u32 n = 0;

	while (n < bits && !(v >> (bits - 1 - n) & 1))
		n++;
	return n;
}

static u32 ones(u64 v)
{
	u32 n = 0;

	for (; v; v >>= 1)
		n += v & 1;
	return n;
}

static u64 mirror(u64 v, u32 bits)
{
	u64 m = 0;

	for (; bits; bits--, v >>= 1)
		m = m << 1 | (v & 1);
	return m;
}

#define ORACLE(name, text, T, r, R, expr)				\
static u64 oracle_##name(u64 x, u64 y, u64 z)				\
{									\
	const T a = (T)x, b = (T)y, c = (T)z;				\
									\
	(void)a, (void)b, (void)c;					\
	return (u64)(R)(expr);						\
}
OPS(ORACLE)

#define ENTRY(name, text, T, r, R, expr) { #name, text, #r[0], oracle_##name },
static const struct op {
	const char *name, *text;
	char result;
	oracle_fn fn;
} all_ops[] = { OPS(ENTRY) };

/* ---- Kernels -------------------------------------------------------- */

#define TEXT_MAX (4u << 20)

static const char before[] =
"(.param .u64 in, .param .u64 out)\n"
"{\n"
".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %d<8>;\n"
" ld.param.u64 %d6, [in];\n ld.param.u64 %d7, [out];\n"
" mov.u32 %r4, %ctaid.x;\n mov.u32 %r5, %ntid.x;\n"
" mov.u32 %r6, %tid.x;\n mad.lo.u32 %r4, %r4, %r5, %r6;\n"
" mad.wide.u32 %d6, %r4, 24, %d6;\n mad.wide.u32 %d7, %r4, 8, %d7;\n"
" ld.global.u64 %d1, [%d6];\n ld.global.u64 %d2, [%d6+8];\n"
" ld.global.u64 %d3, [%d6+16];\n";

static const char cut[] =
" cvt.u32.u64 %r1, %d1;\n cvt.u32.u64 %r2, %d2;\n"
" cvt.u32.u64 %r3, %d3;\n cvt.u16.u64 %h1, %d1;\n"
" cvt.u16.u64 %h2, %d2;\n cvt.u16.u64 %h3, %d3;\n";

static const char after[] = " st.global.u64 [%d7], %d0;\n ret;\n}\n";

static const char *widen(char result)
{
	switch (result) {
	case 'h': return " cvt.u64.u16 %d0, %h0;\n";
	case 'r': return " cvt.u64.u32 %d0, %r0;\n";
	case 'p': return " selp.u64 %d0, 1, 0, %p0;\n";
	default: return "";
	}
}

static size_t add(char *to, const char *name, const char *text, char result)
{
	/* An operand that the text has changed is cut again. */
	const char *again = strstr(text, "cut;");
	char *at = to;

	at += sprintf(at, ".visible .entry %s%s%s", name, before, cut);
	if (again) {
		at += sprintf(at, "%.*s\n%s", (int)(again - text), text, cut);
		text = again + strlen("cut;");
	}
	at += sprintf(at, " %s\n%s%s", text, widen(result), after);
	return (size_t)(at - to);
}

static char *ops_text(struct kunit *test)
{
	char *text = kunit_kzalloc(test, TEXT_MAX), *at = text;
	size_t i;

	at += sprintf(at, PTX_HEAD);
	for (i = 0; i < ARRAY_SIZE(all_ops); i++)
		at += add(at, all_ops[i].name, all_ops[i].text,
			  all_ops[i].result);
	return text;
}

/* ---- Numbers -------------------------------------------------------- */

#define THREADS 512u
#define EDGES 16u
#define OUT ((u64)1 << 20)

static const u64 edges[EDGES] = {
	0, 1, 2, 3, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff,
	0x80000000, 0xffffffff, INT64_MAX, (u64)1 << 63, UINT64_MAX,
};

static u64 random_u64(u64 *state)
{
	u64 high = random_below(state, UINT32_MAX);

	return (high << 32 | random_below(state, UINT32_MAX)) >>
	       random_below(state, 64);
}

static void make_numbers(u64 (*in)[3], u64 *state)
{
	u32 i;

	for (i = 0; i < THREADS; i++) {
		bool edge = i < EDGES * EDGES;

		in[i][0] = edge ? edges[i / EDGES] : random_u64(state);
		in[i][1] = edge ? edges[i % EDGES] : random_u64(state);
		in[i][2] = i % 2 ? edges[i / 2 % EDGES] : random_u64(state);
	}
}

struct numbers {
	u64 in[THREADS][3];
	u64 out[THREADS];
};

static struct numbers *put_numbers(struct lab *l)
{
	struct numbers *n = kunit_kzalloc(l->test, sizeof(*n));
	u64 state = random_seed(l->test);

	make_numbers(n->in, &state);
	lab_put(l, 0, n->in, sizeof(n->in));
	return n;
}

static void check_op(struct lab *l, struct numbers *n, const struct op *op)
{
	u32 i;

	lab_run(l, op->name, 4, THREADS / 4, 0, OUT);
	lab_get(l, OUT, n->out, sizeof(n->out));
	for (i = 0; i < THREADS; i++) {
		const u64 *in = n->in[i];

		KUNIT_ASSERT_EQ_MSG(l->test, n->out[i],
				    op->fn(in[0], in[1], in[2]),
				    "%s of %#llx, %#llx, %#llx", op->name,
				    (unsigned long long)in[0],
				    (unsigned long long)in[1],
				    (unsigned long long)in[2]);
	}
}

static void computes_as_c_does(struct kunit *test)
{
	struct lab l = lab_open(test, ops_text(test));
	struct numbers *n = put_numbers(&l);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all_ops); i++)
		check_op(&l, n, &all_ops[i]);
	lab_close(&l);
}

/* ---- Conversions, and loads into larger registers ------------------- */

#define TYPES 8u
#define REGS 3u

static const char *const type_names[TYPES] = {
	"u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64",
};
static const char reg_names[REGS + 1] = "hrd";

static u32 type_bytes(u32 type)
{
	return 1u << type % 4;
}

static u32 reg_bytes(u32 reg)
{
	return 2u << reg;
}

static u64 as_type(u64 v, u32 type)
{
	switch (type) {
	case 0: return (u8)v;
	case 1: return (u16)v;
	case 2: return (u32)v;
	case 3: return v;
	case 4: return (u64)(s8)v;
	case 5: return (u64)(s16)v;
	case 6: return (u64)(s32)v;
	default: return (u64)(s64)v;
	}
}

struct conversion {
	u32 to, from;		/* types; the same: a load */
	u32 dst, src;		/* registers */
	bool is_load;
};

static size_t describe(const struct conversion *v, char *name, char *text)
{
	const char *to = type_names[v->to], *from = type_names[v->from];
	char d = reg_names[v->dst], s = reg_names[v->src];

	if (v->is_load) {
		sprintf(name, "ld_%s_%c", to, d);
		sprintf(text, "ld.global.%s %%%c0, [%%d6];", to, d);
	} else {
		sprintf(name, "cvt_%s_%s_%c_%c", to, from, d, s);
		sprintf(text, "cvt.%s.%s %%%c0, %%%c1;", to, from, d, s);
	}
	return strlen(text);
}

static u32 list_conversions(struct conversion *list)
{
	u32 i, n = 0;

	for (i = 0; i < TYPES * TYPES * REGS * REGS; i++) {
		struct conversion v = {
			i % TYPES, i / TYPES % TYPES,
			i / TYPES / TYPES % REGS, i / TYPES / TYPES / REGS,
			false,
		};

		if (reg_bytes(v.dst) < type_bytes(v.to) ||
		    reg_bytes(v.src) < type_bytes(v.from))
			continue;
		list[n++] = v;
		v.is_load = true;
		if (v.to == v.from && v.src == REGS - 1)
			list[n++] = v;
	}
	return n;
}

static char *conversions_text(struct kunit *test,
			      const struct conversion *list, u32 n)
{
	char *text = kunit_kzalloc(test, TEXT_MAX), *at = text;
	char name[64], insn[64];
	u32 i;

	at += sprintf(at, PTX_HEAD);
	for (i = 0; i < n; i++) {
		describe(&list[i], name, insn);
		at += add(at, name, insn, reg_names[list[i].dst]);
	}
	return text;
}

static void check_conversion(struct lab *l, struct numbers *n,
			     const struct conversion *v)
{
	char name[64], insn[64];
	u64 want;
	u32 i;

	describe(v, name, insn);
	lab_run(l, name, 2, THREADS / 2, 0, OUT);
	lab_get(l, OUT, n->out, sizeof(n->out));
	for (i = 0; i < THREADS; i++) {
		want = as_type(as_type(n->in[i][0], v->from), v->to);
		/* What the register has, the test stores without a sign. */
		want = as_type(want, v->dst + 1);
		KUNIT_ASSERT_EQ_MSG(l->test, n->out[i], want, "%s of %#llx",
				    insn, (unsigned long long)n->in[i][0]);
	}
}

static void converts_as_c_does(struct kunit *test)
{
	static struct conversion list[TYPES * TYPES * REGS * REGS];
	u32 nr = list_conversions(list), i;
	struct lab l = lab_open(test, conversions_text(test, list, nr));
	struct numbers *n = put_numbers(&l);

	for (i = 0; i < nr; i++)
		check_conversion(&l, n, &list[i]);
	lab_close(&l);
}

/* ---- The assembler -------------------------------------------------- */

static void texts_assemble(struct kunit *test)
{
	static struct conversion list[TYPES * TYPES * REGS * REGS];
	u32 nr = list_conversions(list);
	const char *says;

	KUNIT_EXPECT_TRUE_MSG(test, ptxas_takes(test, ops_text(test), "sm_75",
						&says), "%s", says);
	KUNIT_EXPECT_TRUE_MSG(test, ptxas_takes(test,
			      conversions_text(test, list, nr), "sm_75", &says),
			      "%s", says);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_SLOW(computes_as_c_does),
	KUNIT_CASE_SLOW(converts_as_c_does),
	KUNIT_CASE_SLOW(texts_assemble),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "ptx_ops",
	.init = vmm_bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
