// SPDX-License-Identifier: BSD-2-Clause
/*
 * ptx_operand.c - the operands of an instruction, and whether they fit.
 *
 * Integers fit integers of the same size, whatever their sign; what is loaded,
 * stored or converted also fits larger registers. A constant fits everything
 * and is cut, as an assembler does without a word.
 */
#include "tests/model/ptx_text.h"

#define SHOWN_MAX 40

static bool is_wrong(struct ptx_draft *d, const struct ptx_token *token,
		     const char *what)
{
	return ptx_wrong(d->t, token->line, "'%.*s' %s",
			 (int)min(token->n, (size_t)SHOWN_MAX), token->start,
			 what);
}

/* ---- Registers ------------------------------------------------------ */

static bool read_reg(struct ptx_draft *d, u32 *reg)
{
	struct ptx_token token = d->t->token;
	const struct ptx_name *name;

	if (token.kind != PTX_WORD)
		return ptx_unexpected(d->t, "a register");
	name = ptx_name_find(&d->names, token.start, token.n);
	if (!name || name->kind != PTX_NAME_REG)
		return is_wrong(d, &token, "is no register");
	*reg = name->index;
	return ptx_next(d->t);
}

bool ptx_read_predicate(struct ptx_draft *d, u32 *reg)
{
	struct ptx_token token = d->t->token;

	if (!read_reg(d, reg))
		return false;
	return !d->k->reg_bytes[*reg] || is_wrong(d, &token,
						  "is no predicate");
}

/* @may_be_larger: than @bytes; 0 bytes are a predicate. */
static bool read_sized_reg(struct ptx_draft *d, struct ptx_operand *to,
			   u8 bytes, bool may_be_larger)
{
	struct ptx_token token = d->t->token;
	u8 has;

	to->kind = PTX_REG;
	if (!read_reg(d, &to->index))
		return false;
	has = d->k->reg_bytes[to->index];
	return has == bytes || (bytes && may_be_larger && has > bytes) ||
	       is_wrong(d, &token, "has not the size of the type");
}

/* ---- Values --------------------------------------------------------- */

static bool read_constant(struct ptx_draft *d, struct ptx_operand *to)
{
	bool negative;

	to->kind = PTX_IMM;
	if (!ptx_take_mark(d->t, '-', &negative) ||
	    !ptx_take_number(d->t, UINT64_MAX, &to->imm))
		return false;
	if (negative)
		to->imm = -to->imm;
	return true;
}

static bool read_value(struct ptx_draft *d, struct ptx_operand *to, u8 bytes,
		       bool may_be_larger)
{
	if (d->t->token.kind == PTX_NUMBER || ptx_is_mark(d->t, '-'))
		return read_constant(d, to);
	return read_sized_reg(d, to, bytes, may_be_larger);
}

static const struct {
	const char *name;
	bool has_dims;
	u32 first;
} specials[] = {
	{ "%tid", true, PTX_TID_X }, { "%ntid", true, PTX_NTID_X },
	{ "%ctaid", true, PTX_CTAID_X }, { "%nctaid", true, PTX_NCTAID_X },
	{ "%laneid", false, PTX_LANEID },
};

static bool read_dim(struct ptx_draft *d, u32 *dim)
{
	const struct ptx_token *token = &d->t->token;

	if (token->kind != PTX_DOT || token->n != 1 || *token->start < 'x' ||
	    *token->start > 'z')
		return ptx_unexpected(d->t, "'.x', '.y' or '.z'");
	*dim = (u32)(*token->start - 'x');
	return ptx_next(d->t);
}

/* A special register has 32 bits. */
static bool read_special(struct ptx_draft *d, struct ptx_operand *to, u8 bytes,
			 bool *taken)
{
	struct ptx_token token = d->t->token;
	u32 dim = 0;
	size_t i;

	*taken = false;
	if (token.kind != PTX_WORD ||
	    ptx_name_find(&d->names, token.start, token.n))
		return true;
	for (i = 0; i < ARRAY_SIZE(specials); i++)
		if (token.n == strlen(specials[i].name) &&
		    !memcmp(token.start, specials[i].name, token.n))
			break;
	if (i == ARRAY_SIZE(specials))
		return true;
	*taken = true;
	if (bytes != 4)
		return is_wrong(d, &token, "has 32 bits");
	if (!ptx_next(d->t) || (specials[i].has_dims && !read_dim(d, &dim)))
		return false;
	to->kind = PTX_SPECIAL;
	to->index = specials[i].first + dim;
	return true;
}

static bool read_any_value(struct ptx_draft *d, struct ptx_operand *to,
			   u8 bytes)
{
	bool taken;

	if (!read_special(d, to, bytes, &taken))
		return false;
	return taken || read_value(d, to, bytes, false);
}

static bool read_result_or_sink(struct ptx_draft *d, struct ptx_operand *to,
				u8 bytes, bool may_be_larger)
{
	bool is_sink;

	if (!ptx_take_mark(d->t, '_', &is_sink))
		return false;
	if (!is_sink)
		return read_sized_reg(d, to, bytes, may_be_larger);
	to->kind = PTX_SINK;
	return true;
}

/* ---- Addresses ------------------------------------------------------ */

/* A load must stay within the parameter, and be aligned in it. */
static bool check_param(struct ptx_draft *d, const struct ptx_insn *insn,
			const struct ptx_token *token,
			const struct ptx_operand *to)
{
	u64 bytes = (u64)insn->vec * ptx_bytes(ptx_type_of(insn));
	u64 has = d->k->param_bytes[to->index];

	if (bytes > has || to->imm > has - bytes ||
	    to->imm & (bytes - 1))
		return is_wrong(d, token, "is a smaller parameter");
	return true;
}

static bool read_base(struct ptx_draft *d, const struct ptx_insn *insn,
		      struct ptx_operand *to)
{
	struct ptx_token token = d->t->token;
	const struct ptx_name *name = token.kind == PTX_WORD ?
		ptx_name_find(&d->names, token.start, token.n) : NULL;

	if (insn->slot[PTX_SLOT_SPACE] != PTX_PARAM)
		return read_sized_reg(d, to, 8, false);
	if (!name || name->kind != PTX_NAME_PARAM)
		return is_wrong(d, &token, "is no parameter");
	to->kind = PTX_ADDRESS_OF_PARAM;
	to->index = name->index;
	return ptx_next(d->t);
}

/* "[%rd1]", "[%rd1+8]", "[%rd1+-8]" */
static bool read_address(struct ptx_draft *d, const struct ptx_insn *insn,
			 struct ptx_operand *to)
{
	struct ptx_operand offset = { 0 };
	struct ptx_token token;
	bool has_offset;

	if (!ptx_expect(d->t, '['))
		return false;
	token = d->t->token;
	if (!read_base(d, insn, to) ||
	    !ptx_take_mark(d->t, '+', &has_offset) ||
	    (has_offset && !read_constant(d, &offset)))
		return false;
	to->imm = offset.imm;
	if (to->kind == PTX_ADDRESS_OF_PARAM &&
	    !check_param(d, insn, &token, to))
		return false;
	return ptx_expect(d->t, ']');
}

/* ---- Vectors -------------------------------------------------------- */

static bool read_element(struct ptx_draft *d, const struct ptx_insn *insn,
			 struct ptx_operand *to)
{
	u8 bytes = ptx_bytes(ptx_type_of(insn));

	if (insn->op == PTX_ST)
		return read_value(d, to, bytes, true);
	if (insn->vec == 1)
		return read_sized_reg(d, to, bytes, true);
	return read_result_or_sink(d, to, bytes, true);
}

static bool read_elements(struct ptx_draft *d, struct ptx_insn *insn)
{
	u8 i;

	if (insn->vec > 1 && !ptx_expect(d->t, '{'))
		return false;
	for (i = 0; i < insn->vec; i++)
		if ((i && !ptx_expect(d->t, ',')) ||
		    !read_element(d, insn,
				  &insn->operands[insn->nr_operands++]))
			return false;
	return insn->vec == 1 || ptx_expect(d->t, '}');
}

/* ---- All of them ---------------------------------------------------- */

static bool read_label(struct ptx_draft *d, struct ptx_operand *to)
{
	struct ptx_token token = d->t->token;

	to->kind = PTX_LABEL;
	if (token.kind != PTX_WORD)
		return ptx_unexpected(d->t, "a label");
	return ptx_label(d, &token, &to->index) && ptx_next(d->t);
}

static bool read_operand(struct ptx_draft *d, struct ptx_insn *insn,
			 char letter)
{
	bool wide = insn->slot[PTX_SLOT_WIDTH] == PTX_WIDTH_WIDE;
	u8 bytes = ptx_bytes(ptx_type_of(insn));
	struct ptx_operand *to;

	if (letter == 'E' || letter == 'V')
		return read_elements(d, insn);
	to = &insn->operands[insn->nr_operands++];
	switch (letter) {
	case 'd': return read_sized_reg(d, to, bytes, false);
	case 'e': return read_sized_reg(d, to, bytes, true);
	case 'w': return read_sized_reg(d, to, (u8)(bytes << wide), false);
	case 'n': return read_sized_reg(d, to, 4, false);
	case 'p': return read_sized_reg(d, to, 0, false);
	case 'o': return read_result_or_sink(d, to, bytes, false);
	case 'a': return read_value(d, to, bytes, false);
	case 'c': return read_value(d, to, (u8)(bytes << wide), false);
	case 'x': return read_any_value(d, to, bytes);
	case 's': return read_value(d, to, 4, false);
	case 'f':
		return read_value(d, to,
				  ptx_bytes(insn->slot[PTX_SLOT_FROM]), true);
	case 'q': return read_sized_reg(d, to, 0, false);
	case 'A': return read_address(d, insn, to);
	default: return read_label(d, to);
	}
}

bool ptx_read_operands(struct ptx_draft *d, const struct ptx_form *form,
		       struct ptx_insn *insn)
{
	const char *letters = ptx_operands_of(form, insn), *letter;

	for (letter = letters; *letter; letter++)
		if ((letter > letters && !ptx_expect(d->t, ',')) ||
		    !read_operand(d, insn, *letter))
			return false;
	return true;
}
