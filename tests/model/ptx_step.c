// SPDX-License-Identifier: BSD-2-Clause
/*
 * ptx_step.c - instructions, as they are executed.
 *
 * Each becomes one step: a function, and the places of its operands. Registers,
 * special registers and constants are places of one array, so that no step has
 * to ask what an operand is, and constants are cut to their size beforehand. A
 * step behind the last instruction ends the thread.
 */
#include "tests/model/ptx_insn.h"

/* ---- Flow ----------------------------------------------------------- */

static const struct ptx_step *do_end(struct ptx_thread *t,
				     const struct ptx_step *s)
{
	(void)t;
	(void)s;
	return NULL;
}

static const struct ptx_step *do_branch(struct ptx_thread *t,
					const struct ptx_step *s)
{
	(void)t;
	return s->target;
}

static bool is_taken(struct ptx_thread *t, const struct ptx_step *s)
{
	return ptx_read_at(t, s, s->guard) != s->guard_not;
}

static const struct ptx_step *do_guarded_end(struct ptx_thread *t,
					     const struct ptx_step *s)
{
	return is_taken(t, s) ? NULL : s + 1;
}

static const struct ptx_step *do_guarded_branch(struct ptx_thread *t,
						const struct ptx_step *s)
{
	return is_taken(t, s) ? s->target : s + 1;
}

static const struct ptx_step *do_guarded(struct ptx_thread *t,
					 const struct ptx_step *s)
{
	return is_taken(t, s) ? s->guarded(t, s) : s + 1;
}

static void choose_fn(const struct ptx_insn *insn, struct ptx_step *s)
{
	bool is_guarded = insn->guard != PTX_NO_GUARD;

	if (is_guarded)
		s->guard = PTX_REG_PLACES + insn->guard;
	s->guard_not = insn->guard_not;
	if (insn->op == PTX_BRA) {
		s->fn = is_guarded ? do_guarded_branch : do_branch;
		return;
	}
	if (insn->op == PTX_RET) {
		s->fn = is_guarded ? do_guarded_end : do_end;
		return;
	}
	s->guarded = insn->op > PTX_RED ? ptx_alu_fn(insn) :
					  ptx_access_fn(insn);
	s->fn = is_guarded ? do_guarded : s->guarded;
}

/* ---- Operands ------------------------------------------------------- */

/* What is read of an operand. */
static u8 bytes_of(const struct ptx_insn *insn, u32 operand)
{
	u8 bytes = ptx_bytes(ptx_type_of(insn));

	if ((insn->op == PTX_SHL || insn->op == PTX_SHR) && operand == 2)
		return 4;
	if (insn->op == PTX_MAD && operand == 3 &&
	    insn->slot[PTX_SLOT_WIDTH] == PTX_WIDTH_WIDE)
		return (u8)(2 * bytes);
	return insn->op == PTX_CVT ? ptx_bytes(insn->slot[PTX_SLOT_FROM]) :
				     bytes;
}

static u32 new_constant(struct ptx_kernel *k, u64 v, u8 bytes)
{
	k->places[k->nr_places] = (struct ptx_place){
		.v = bytes ? v & ptx_mask(bytes) : !!v,
		.writer = PTX_ALWAYS_WRITTEN,
	};
	return k->nr_places++;
}

static void set_operand(struct ptx_kernel *k, const struct ptx_insn *insn,
			u32 i, struct ptx_step *s)
{
	const struct ptx_operand *from = &insn->operands[i];

	switch (from->kind) {
	case PTX_REG:
		s->at[i] = PTX_REG_PLACES + from->index;
		/* Only of the address: that of others is zero. */
		s->imm += from->imm;
		break;
	case PTX_IMM:
		s->at[i] = new_constant(k, from->imm, bytes_of(insn, i));
		break;
	case PTX_ADDRESS_OF_PARAM:
		s->imm = from->imm;
		s->at[i] = from->index;
		break;
	case PTX_SPECIAL:
		s->at[i] = from->index;
		break;
	case PTX_SINK:
		s->at[i] = PTX_SINK_PLACE;
		break;
	default:
		s->target = &k->steps[from->index];
		break;
	}
}

/* ---- Steps ---------------------------------------------------------- */

static u64 sign_of(u8 type)
{
	return ptx_is_signed(type) ? (u64)1 << (8 * ptx_bytes(type) - 1) : 0;
}

static void make_step(struct ptx_kernel *k, const struct ptx_insn *insn,
		      struct ptx_step *s)
{
	u8 type = ptx_type_of(insn), from = insn->slot[PTX_SLOT_FROM];
	u32 i;

	s->line = insn->line;
	s->bytes = ptx_bytes(type);
	s->vec = insn->vec;
	s->atom = insn->slot[PTX_SLOT_ATOM];
	s->sign = sign_of(type);
	s->to_mask = ptx_mask(ptx_bytes(type));
	s->from_sign = sign_of(from);
	s->from_mask = ptx_mask(ptx_bytes(from));
	for (i = 0; i < insn->nr_operands; i++)
		set_operand(k, insn, i, s);
	choose_fn(insn, s);
	if (insn->op > PTX_RED)
		return;
	s->window = k->nr_windows;
	k->nr_windows += insn->op == PTX_ATOM || insn->op == PTX_RED ? 2 : 1;
}

/* Without the constants. */
static void make_places(struct ptx_kernel *k)
{
	u32 i;

	k->nr_places = PTX_REG_PLACES + k->nr_regs;
	for (i = 0; i < PTX_REG_PLACES; i++)
		k->places[i].writer = PTX_ALWAYS_WRITTEN;
	for (i = 0; i < k->nr_regs; i++)
		k->places[PTX_REG_PLACES + i].mask = ptx_mask(k->reg_bytes[i]);
}

void ptx_make_steps(struct ptx_kernel *k)
{
	size_t constants = 0;
	u32 i, j;

	for (i = 0; i < k->nr_insns; i++)
		for (j = 0; j < k->insns[i].nr_operands; j++)
			constants += k->insns[i].operands[j].kind == PTX_IMM;
	k->steps = calloc((size_t)k->nr_insns + 1, sizeof(k->steps[0]));
	k->places = calloc(PTX_REG_PLACES + k->nr_regs + constants,
			   sizeof(k->places[0]));
	if (!k->steps || !k->places)
		undefined(0, "the host has no memory for a kernel");
	make_places(k);
	for (i = 0; i < k->nr_insns; i++)
		make_step(k, &k->insns[i], &k->steps[i]);
	k->steps[i].fn = do_end;
}
