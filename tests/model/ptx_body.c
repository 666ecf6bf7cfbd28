// SPDX-License-Identifier: BSD-2-Clause
/*
 * ptx_body.c - the body of a kernel: declarations, labels, instructions.
 *
 * A register is declared before it is used; a label may come later, so that a
 * branch holds the number of its label until the body has ended.
 */
#include <stdio.h>

#include "tests/model/ptx_text.h"

#define REGS_MAX 65536u
#define INSNS_MAX (1u << 20)
#define MODIFIERS_MAX 12u
#define NAME_BYTES 128u

void *ptx_grow(void *v, u32 n, u32 *cap, size_t size)
{
	if (n < *cap)
		return v;
	*cap = *cap ? 2 * *cap : 16;
	v = realloc(v, *cap * size);
	if (!v)
		undefined(0, "the host has no memory for a kernel");
	return v;
}

/* ---- Names ---------------------------------------------------------- */

static bool declare(struct ptx_draft *d, const char *text, size_t n, u32 line,
		    u8 kind, u32 index)
{
	const struct ptx_name *other = ptx_name_find(&d->names, text, n);

	if (other)
		return ptx_wrong(d->t, line, "'%.*s' is a name since line %u",
				 (int)min(n, (size_t)NAME_BYTES), text,
				 other->line);
	ptx_name_add(&d->names, text, n, kind, index, line);
	return true;
}

bool ptx_declare(struct ptx_draft *d, const struct ptx_token *name, u8 kind,
		 u32 index)
{
	return declare(d, name->start, name->n, name->line, kind, index);
}

static u32 new_label(struct ptx_draft *d, u32 insn)
{
	d->labels = ptx_grow(d->labels, d->nr_labels, &d->cap_labels,
			     sizeof(d->labels[0]));
	d->labels[d->nr_labels] = insn;
	return d->nr_labels++;
}

bool ptx_label(struct ptx_draft *d, const struct ptx_token *name, u32 *label)
{
	const struct ptx_name *known =
		ptx_name_find(&d->names, name->start, name->n);

	if (!known) {
		*label = new_label(d, PTX_NOWHERE);
		return ptx_declare(d, name, PTX_NAME_LABEL, *label);
	}
	*label = known->index;
	return known->kind == PTX_NAME_LABEL ||
	       ptx_wrong(d->t, name->line, "'%.*s' is no label",
			 (int)min(name->n, (size_t)NAME_BYTES), name->start);
}

static bool place_label(struct ptx_draft *d, const struct ptx_token *name)
{
	u32 label;

	if (!ptx_label(d, name, &label))
		return false;
	if (d->labels[label] != PTX_NOWHERE)
		return ptx_wrong(d->t, name->line, "the label '%.*s' twice",
				 (int)min(name->n, (size_t)NAME_BYTES),
				 name->start);
	d->labels[label] = d->k->nr_insns;
	return true;
}

/* ---- Registers ------------------------------------------------------ */

static bool new_reg(struct ptx_draft *d, const char *text, size_t n, u32 line,
		    u8 type)
{
	struct ptx_kernel *k = d->k;

	if (k->nr_regs == REGS_MAX)
		return ptx_wrong(d->t, line, "more than %u registers",
				 REGS_MAX);
	if (!declare(d, text, n, line, PTX_NAME_REG, k->nr_regs))
		return false;
	k->reg_bytes = ptx_grow(k->reg_bytes, k->nr_regs, &d->cap_regs, 1);
	k->reg_bytes[k->nr_regs++] = ptx_bytes(type);
	return true;
}

/* "%r<3>" is %r0, %r1 and %r2. */
static bool new_regs(struct ptx_draft *d, const struct ptx_token *name, u8 type)
{
	char text[NAME_BYTES + 16];
	u64 count;
	u32 i;
	int n;

	if (!ptx_take_number(d->t, REGS_MAX, &count) || !ptx_expect(d->t, '>'))
		return false;
	if (name->n > NAME_BYTES)
		return ptx_wrong(d->t, name->line, "a name that is too long");
	for (i = 0; i < count; i++) {
		n = snprintf(text, sizeof(text), "%.*s%u", (int)name->n,
			     name->start, i);
		if (!new_reg(d, text, (size_t)n, name->line, type))
			return false;
	}
	return true;
}

static bool read_reg(struct ptx_draft *d, u8 type)
{
	struct ptx_token name = d->t->token;
	bool many;

	if (name.kind != PTX_WORD)
		return ptx_unexpected(d->t, "the name of a register");
	if (!ptx_next(d->t) || !ptx_take_mark(d->t, '<', &many))
		return false;
	return many ? new_regs(d, &name, type) :
		      new_reg(d, name.start, name.n, name.line, type);
}

/* ".reg .u32 %a, %r<3>;" */
static bool read_regs(struct ptx_draft *d)
{
	struct ptx_text *t = d->t;
	bool more = true;
	u8 type;

	if (!ptx_next(t))
		return false;
	type = t->token.kind == PTX_DOT ?
	       ptx_slot_value(PTX_SLOT_TYPE, t->token.start, t->token.n) : 0;
	if (!type)
		return ptx_unexpected(t, "the type of an integer");
	if (!ptx_next(t))
		return false;
	while (more)
		if (!read_reg(d, type) || !ptx_take_mark(t, ',', &more))
			return false;
	return ptx_expect(t, ';');
}

/* ---- Instructions --------------------------------------------------- */

static bool read_guard(struct ptx_draft *d, struct ptx_insn *insn)
{
	bool guarded;

	insn->guard = PTX_NO_GUARD;
	if (!ptx_take_mark(d->t, '@', &guarded) || !guarded)
		return !d->t->code;
	return ptx_take_mark(d->t, '!', &insn->guard_not) &&
	       ptx_read_predicate(d, &insn->guard);
}

/* Each slot in its turn takes the word if that answers it. */
static bool read_modifiers(struct ptx_draft *d, const struct ptx_form *form,
			   struct ptx_insn *insn)
{
	const struct ptx_token *token = &d->t->token;
	u32 i;

	for (i = 0; i < PTX_FORM_SLOTS && form->slots[i]; i++) {
		u8 slot = form->slots[i] & (u8)~PTX_OPTIONAL;

		if (token->kind == PTX_DOT)
			insn->slot[slot] = ptx_slot_value(slot, token->start,
							  token->n);
		if (insn->slot[slot] && !ptx_next(d->t))
			return false;
		if (!insn->slot[slot] && !(form->slots[i] & PTX_OPTIONAL))
			return ptx_unexpected(d->t, "another modifier");
	}
	return token->kind != PTX_DOT ||
	       ptx_unexpected(d->t, "no modifier here");
}

static bool check_modifiers(struct ptx_draft *d, const struct ptx_form *form,
			    struct ptx_insn *insn)
{
	u8 types[] = { ptx_type_of(insn), insn->slot[PTX_SLOT_FROM] };
	const char *why;
	size_t i;

	insn->vec = insn->slot[PTX_SLOT_VEC] ? insn->slot[PTX_SLOT_VEC] : 1;
	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i] && !(form->types & 1u << types[i]))
			return ptx_wrong(d->t, insn->line,
					 "%s: not a type of it", form->name);
	why = ptx_check_modifiers(insn, d->t->version, d->t->target);
	return !why || ptx_wrong(d->t, insn->line, "%s: %s", form->name, why);
}

/* Behind the opcode. */
static bool read_insn(struct ptx_draft *d, const struct ptx_token *opcode,
		      struct ptx_insn *insn)
{
	const struct ptx_form *form =
		ptx_form_find(opcode->start, opcode->n);
	struct ptx_kernel *k = d->k;

	if (!form)
		return ptx_wrong(d->t, opcode->line,
				 "the model has no instruction '%.*s'",
				 (int)min(opcode->n, (size_t)NAME_BYTES),
				 opcode->start);
	insn->op = form->op;
	insn->line = opcode->line;
	if (!read_modifiers(d, form, insn) || !check_modifiers(d, form, insn) ||
	    !ptx_read_operands(d, form, insn) || !ptx_expect(d->t, ';'))
		return false;
	if (k->nr_insns == INSNS_MAX)
		return ptx_wrong(d->t, insn->line, "too many instructions");
	k->insns = ptx_grow(k->insns, k->nr_insns, &d->cap_insns,
			    sizeof(k->insns[0]));
	k->insns[k->nr_insns++] = *insn;
	return true;
}

static bool read_statement(struct ptx_draft *d)
{
	struct ptx_insn insn = { .guard = PTX_NO_GUARD };
	struct ptx_token word;
	bool is_label;

	if (ptx_is_dot(d->t, "reg"))
		return read_regs(d);
	if (!read_guard(d, &insn))
		return false;
	word = d->t->token;
	if (word.kind != PTX_WORD)
		return ptx_unexpected(d->t, "an instruction");
	if (!ptx_next(d->t))
		return false;
	if (insn.guard != PTX_NO_GUARD)
		return read_insn(d, &word, &insn);
	if (!ptx_take_mark(d->t, ':', &is_label))
		return false;
	return is_label ? place_label(d, &word) : read_insn(d, &word, &insn);
}

/* ---- The body ------------------------------------------------------- */

static bool resolve_label(struct ptx_draft *d, struct ptx_insn *insn)
{
	struct ptx_operand *to = &insn->operands[0];

	if (insn->op != PTX_BRA)
		return true;
	to->index = d->labels[to->index];
	return to->index != PTX_NOWHERE ||
	       ptx_wrong(d->t, insn->line, "there is no such label");
}

bool ptx_read_body(struct ptx_draft *d)
{
	u32 i;

	while (!ptx_is_mark(d->t, '}'))
		if (!read_statement(d))
			return false;
	for (i = 0; i < d->k->nr_insns; i++)
		if (!resolve_label(d, &d->k->insns[i]))
			return false;
	return ptx_next(d->t);
}
