// SPDX-License-Identifier: BSD-2-Clause
/*
 * ptx_table.c - which instructions there are, with which modifiers and types.
 *
 * Modifiers stand in the order of the manual. What a form cannot say, because
 * one modifier decides about another, is in ptx_check_modifiers().
 */
#include "tests/model/ptx_insn.h"

/* ---- Words ---------------------------------------------------------- */

static const struct word {
	const char *text;
	u8 slot, value;
} words[] = {
	{ "pred", PTX_SLOT_TYPE, PTX_PRED },
	{ "b8", PTX_SLOT_TYPE, PTX_B8 }, { "b16", PTX_SLOT_TYPE, PTX_B16 },
	{ "b32", PTX_SLOT_TYPE, PTX_B32 }, { "b64", PTX_SLOT_TYPE, PTX_B64 },
	{ "u8", PTX_SLOT_TYPE, PTX_U8 }, { "u16", PTX_SLOT_TYPE, PTX_U16 },
	{ "u32", PTX_SLOT_TYPE, PTX_U32 }, { "u64", PTX_SLOT_TYPE, PTX_U64 },
	{ "s8", PTX_SLOT_TYPE, PTX_S8 }, { "s16", PTX_SLOT_TYPE, PTX_S16 },
	{ "s32", PTX_SLOT_TYPE, PTX_S32 }, { "s64", PTX_SLOT_TYPE, PTX_S64 },

	{ "eq", PTX_SLOT_CMP, PTX_EQ }, { "ne", PTX_SLOT_CMP, PTX_NE },
	{ "lt", PTX_SLOT_CMP, PTX_LT }, { "le", PTX_SLOT_CMP, PTX_LE },
	{ "gt", PTX_SLOT_CMP, PTX_GT }, { "ge", PTX_SLOT_CMP, PTX_GE },
	{ "lo", PTX_SLOT_CMP, PTX_LO }, { "ls", PTX_SLOT_CMP, PTX_LS },
	{ "hi", PTX_SLOT_CMP, PTX_HI }, { "hs", PTX_SLOT_CMP, PTX_HS },

	{ "lo", PTX_SLOT_WIDTH, PTX_WIDTH_LO },
	{ "hi", PTX_SLOT_WIDTH, PTX_WIDTH_HI },
	{ "wide", PTX_SLOT_WIDTH, PTX_WIDTH_WIDE },

	{ "weak", PTX_SLOT_ORDER, PTX_WEAK },
	{ "volatile", PTX_SLOT_ORDER, PTX_VOLATILE },
	{ "relaxed", PTX_SLOT_ORDER, PTX_RELAXED },
	{ "acquire", PTX_SLOT_ORDER, PTX_ACQUIRE },
	{ "release", PTX_SLOT_ORDER, PTX_RELEASE },
	{ "acq_rel", PTX_SLOT_ORDER, PTX_ACQ_REL },
	{ "cta", PTX_SLOT_SCOPE, 1 }, { "gpu", PTX_SLOT_SCOPE, 2 },
	{ "sys", PTX_SLOT_SCOPE, 3 },

	{ "global", PTX_SLOT_SPACE, PTX_GLOBAL },
	{ "param", PTX_SLOT_SPACE, PTX_PARAM },
	{ "ca", PTX_SLOT_CACHE, 1 }, { "cg", PTX_SLOT_CACHE, 2 },
	{ "cs", PTX_SLOT_CACHE, 3 }, { "lu", PTX_SLOT_CACHE, 4 },
	{ "cv", PTX_SLOT_CACHE, 5 },
	{ "wb", PTX_SLOT_STORE_CACHE, 1 }, { "cg", PTX_SLOT_STORE_CACHE, 2 },
	{ "cs", PTX_SLOT_STORE_CACHE, 3 }, { "wt", PTX_SLOT_STORE_CACHE, 4 },
	{ "nc", PTX_SLOT_NC, 1 },
	{ "v2", PTX_SLOT_VEC, 2 }, { "v4", PTX_SLOT_VEC, 4 },

	{ "add", PTX_SLOT_ATOM, PTX_ATOM_ADD },
	{ "min", PTX_SLOT_ATOM, PTX_ATOM_MIN },
	{ "max", PTX_SLOT_ATOM, PTX_ATOM_MAX },
	{ "and", PTX_SLOT_ATOM, PTX_ATOM_AND },
	{ "or", PTX_SLOT_ATOM, PTX_ATOM_OR },
	{ "xor", PTX_SLOT_ATOM, PTX_ATOM_XOR },
	{ "exch", PTX_SLOT_ATOM, PTX_ATOM_EXCH },
	{ "cas", PTX_SLOT_ATOM, PTX_ATOM_CAS },

	{ "to", PTX_SLOT_TO, 1 }, { "uni", PTX_SLOT_UNI, 1 },
	{ "shiftamt", PTX_SLOT_SHIFTAMT, 1 },
};

static bool is_word(const char *text, const char *word, size_t n)
{
	return strlen(text) == n && !memcmp(text, word, n);
}

u8 ptx_slot_value(u8 slot, const char *word, size_t n)
{
	size_t i;

	if (slot == PTX_SLOT_FROM)
		slot = PTX_SLOT_TYPE;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].slot == slot && is_word(words[i].text, word, n))
			return words[i].value;
	return 0;
}

/* ---- Forms ---------------------------------------------------------- */

#define T(type) (1u << PTX_##type)
#define BITS (T(B16) | T(B32) | T(B64))
#define UNSIGNED (T(U16) | T(U32) | T(U64))
#define INTEGERS (UNSIGNED | T(S16) | T(S32) | T(S64))
#define BYTES (T(U8) | T(S8))
#define ANY_MEMORY (INTEGERS | BITS | BYTES | T(B8))

#define TYPE PTX_SLOT_TYPE
#define OPT(slot) (PTX_OPTIONAL | PTX_SLOT_##slot)
#define MEMORY_SLOTS OPT(ORDER), OPT(SCOPE), OPT(SPACE)

static const struct ptx_form forms[] = {
	{ "ld", PTX_LD, { MEMORY_SLOTS, OPT(CACHE), OPT(NC), OPT(VEC), TYPE },
	  ANY_MEMORY, "EA" },
	{ "st", PTX_ST, { MEMORY_SLOTS, OPT(STORE_CACHE), OPT(VEC), TYPE },
	  ANY_MEMORY, "AV" },
	{ "atom", PTX_ATOM, { MEMORY_SLOTS, PTX_SLOT_ATOM, TYPE },
	  INTEGERS | BITS, "oAa" },
	{ "red", PTX_RED, { MEMORY_SLOTS, PTX_SLOT_ATOM, TYPE },
	  INTEGERS | BITS, "Aa" },

	{ "mov", PTX_MOV, { TYPE }, INTEGERS | BITS | T(PRED), "dx" },
	{ "cvta", PTX_CVTA, { OPT(TO), PTX_SLOT_SPACE, TYPE }, T(U64), "da" },
	{ "cvt", PTX_CVT, { TYPE, PTX_SLOT_FROM }, INTEGERS | BYTES, "ef" },

	{ "add", PTX_ADD, { TYPE }, INTEGERS, "daa" },
	{ "sub", PTX_SUB, { TYPE }, INTEGERS, "daa" },
	{ "mul", PTX_MUL, { PTX_SLOT_WIDTH, TYPE }, INTEGERS, "waa" },
	{ "mad", PTX_MAD, { PTX_SLOT_WIDTH, TYPE }, INTEGERS, "waac" },
	{ "div", PTX_DIV, { TYPE }, INTEGERS, "daa" },
	{ "rem", PTX_REM, { TYPE }, INTEGERS, "daa" },
	{ "min", PTX_MIN, { TYPE }, INTEGERS, "daa" },
	{ "max", PTX_MAX, { TYPE }, INTEGERS, "daa" },

	{ "and", PTX_AND, { TYPE }, BITS | T(PRED), "daa" },
	{ "or", PTX_OR, { TYPE }, BITS | T(PRED), "daa" },
	{ "xor", PTX_XOR, { TYPE }, BITS | T(PRED), "daa" },
	{ "not", PTX_NOT, { TYPE }, BITS | T(PRED), "da" },
	{ "shl", PTX_SHL, { TYPE }, BITS, "das" },
	{ "shr", PTX_SHR, { TYPE }, BITS | INTEGERS, "das" },

	{ "clz", PTX_CLZ, { TYPE }, T(B32) | T(B64), "na" },
	{ "popc", PTX_POPC, { TYPE }, T(B32) | T(B64), "na" },
	{ "brev", PTX_BREV, { TYPE }, T(B32) | T(B64), "da" },
	{ "bfind", PTX_BFIND, { OPT(SHIFTAMT), TYPE },
	  T(U32) | T(U64) | T(S32) | T(S64), "na" },

	{ "setp", PTX_SETP, { PTX_SLOT_CMP, TYPE }, BITS | INTEGERS, "paa" },
	{ "selp", PTX_SELP, { TYPE }, BITS | INTEGERS, "daaq" },

	{ "bra", PTX_BRA, { OPT(UNI) }, 0, "L" },
	{ "ret", PTX_RET, { OPT(UNI) }, 0, "" },
	{ "exit", PTX_RET, { 0 }, 0, "" },
};

const struct ptx_form *ptx_form_find(const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forms); i++)
		if (is_word(forms[i].name, name, n))
			return &forms[i];
	return NULL;
}

const char *ptx_operands_of(const struct ptx_form *form,
			    const struct ptx_insn *insn)
{
	if (form->op == PTX_ATOM && insn->slot[PTX_SLOT_ATOM] == PTX_ATOM_CAS)
		return "oAaa";
	return form->operands;
}

/* ---- What one modifier says about another --------------------------- */

static const char *check_order(const struct ptx_insn *insn, u32 version,
			       u32 target)
{
	const u8 *slot = insn->slot;
	u8 order = slot[PTX_SLOT_ORDER];
	bool atomic = insn->op == PTX_ATOM || insn->op == PTX_RED;

	if ((order == PTX_ACQUIRE && insn->op != PTX_LD &&
	     insn->op != PTX_ATOM) ||
	    (order == PTX_RELEASE && insn->op == PTX_LD) ||
	    (order == PTX_ACQ_REL && insn->op != PTX_ATOM) ||
	    (atomic && (order == PTX_WEAK || order == PTX_VOLATILE)))
		return "not an order of this instruction";
	if (order && order != PTX_VOLATILE && (version < 60 || target < 70))
		return "orders need version 6.0 and sm_70";
	if (atomic && slot[PTX_SLOT_SCOPE] && (version < 50 || target < 60))
		return "scopes need version 5.0 and sm_60";
	if (!atomic && (order >= PTX_RELAXED) != !!slot[PTX_SLOT_SCOPE])
		return "an order and a scope go together";
	if (order && order != PTX_WEAK && (slot[PTX_SLOT_CACHE] ||
	    slot[PTX_SLOT_STORE_CACHE] || slot[PTX_SLOT_NC]))
		return "an order and a cache do not go together";
	return NULL;
}

static const char *check_space(const struct ptx_insn *insn)
{
	const u8 *slot = insn->slot;
	u8 space = slot[PTX_SLOT_SPACE];

	if (space == PTX_PARAM && insn->op != PTX_LD)
		return "parameters can only be loaded";
	if (space == PTX_PARAM && slot[PTX_SLOT_ORDER])
		return "parameters have no order";
	if (slot[PTX_SLOT_NC] && space != PTX_GLOBAL)
		return ".nc needs .global";
	return NULL;
}

static const char *check_atom(const struct ptx_insn *insn)
{
	static const u32 types[] = {
		[PTX_ATOM_ADD] = T(U32) | T(S32) | T(U64),
		[PTX_ATOM_MIN] = T(U32) | T(S32) | T(U64) | T(S64),
		[PTX_ATOM_MAX] = T(U32) | T(S32) | T(U64) | T(S64),
		[PTX_ATOM_AND] = T(B32) | T(B64),
		[PTX_ATOM_OR] = T(B32) | T(B64),
		[PTX_ATOM_XOR] = T(B32) | T(B64),
		[PTX_ATOM_EXCH] = T(B32) | T(B64),
		[PTX_ATOM_CAS] = T(B32) | T(B64),
	};
	u8 atom = insn->slot[PTX_SLOT_ATOM];

	if (!(types[atom] & 1u << ptx_type_of(insn)))
		return "not a type of this operation";
	if (insn->op == PTX_RED && atom >= PTX_ATOM_EXCH)
		return "not an operation without a result";
	return NULL;
}

static const char *check_compare(const struct ptx_insn *insn)
{
	u8 cmp = insn->slot[PTX_SLOT_CMP], type = ptx_type_of(insn);

	if (cmp >= PTX_LO && !ptx_is_unsigned(type))
		return "lo, ls, hi, hs are for unsigned types";
	if (cmp >= PTX_LT && type < PTX_U8)
		return "bits have no order";
	return NULL;
}

const char *ptx_check_modifiers(const struct ptx_insn *insn, u32 version,
				u32 target)
{
	const char *why = NULL;

	switch (insn->op) {
	case PTX_LD:
	case PTX_ST:
		if (insn->vec * ptx_bytes(ptx_type_of(insn)) > 16)
			return "more than 16 bytes at once";
		why = check_space(insn);
		return why ? why : check_order(insn, version, target);
	case PTX_ATOM:
	case PTX_RED:
		why = check_space(insn);
		if (!why)
			why = check_order(insn, version, target);
		return why ? why : check_atom(insn);
	case PTX_SETP:
		return check_compare(insn);
	case PTX_CVTA:
		return insn->slot[PTX_SLOT_SPACE] == PTX_GLOBAL ? NULL :
		       "only of global memory";
	case PTX_MUL:
	case PTX_MAD:
		return insn->slot[PTX_SLOT_WIDTH] == PTX_WIDTH_WIDE &&
		       ptx_bytes(ptx_type_of(insn)) == 8 ?
		       "nothing is wider than 64 bits" : NULL;
	default:
		return NULL;
	}
}
