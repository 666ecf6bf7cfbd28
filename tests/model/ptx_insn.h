/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ptx_insn.h - instructions, between the text and their execution
 *
 * An opcode with its modifiers and the types that they allow is a form
 * (ptx_table.c). Modifiers are kept by what they say, not by their place: a
 * slot is one question that they may answer, such as which comparison, and its
 * value is the answer, 0 for none.
 */
#ifndef TESTS_MODEL_PTX_INSN_H
#define TESTS_MODEL_PTX_INSN_H

#include "tests/model/ptx.h"

/* ---- Types ---------------------------------------------------------- */

/* Of each kind those of 1, 2, 4 and 8 bytes. */
enum ptx_type {
	PTX_NO_TYPE, PTX_PRED,
	PTX_B8, PTX_B16, PTX_B32, PTX_B64,
	PTX_U8, PTX_U16, PTX_U32, PTX_U64,
	PTX_S8, PTX_S16, PTX_S32, PTX_S64,
};

static inline bool ptx_is_signed(u8 type)
{
	return type >= PTX_S8;
}

static inline bool ptx_is_unsigned(u8 type)
{
	return type >= PTX_U8 && type <= PTX_U64;
}

/* 0: a predicate. */
static inline u8 ptx_bytes(u8 type)
{
	return type <= PTX_PRED ? 0 : (u8)(1 << ((type - PTX_B8) & 3));
}

/* The bits of so many bytes; of a predicate one. */
static inline u64 ptx_mask(u8 bytes)
{
	return bytes ? UINT64_MAX >> (64 - 8 * bytes) : 1;
}

/* ---- Modifiers ------------------------------------------------------ */

enum ptx_slot {
	PTX_SLOT_NONE,
	PTX_SLOT_TYPE, PTX_SLOT_FROM,	/* the second type of a conversion */
	PTX_SLOT_CMP, PTX_SLOT_WIDTH, PTX_SLOT_ORDER, PTX_SLOT_SCOPE,
	PTX_SLOT_SPACE, PTX_SLOT_CACHE, PTX_SLOT_STORE_CACHE, PTX_SLOT_NC,
	PTX_SLOT_VEC, PTX_SLOT_ATOM, PTX_SLOT_TO, PTX_SLOT_UNI,
	PTX_SLOT_SHIFTAMT,
	PTX_NR_SLOTS
};

enum { PTX_EQ = 1, PTX_NE, PTX_LT, PTX_LE, PTX_GT, PTX_GE,
       PTX_LO, PTX_LS, PTX_HI, PTX_HS };
enum { PTX_WIDTH_LO = 1, PTX_WIDTH_HI, PTX_WIDTH_WIDE };
enum { PTX_WEAK = 1, PTX_VOLATILE, PTX_RELAXED, PTX_ACQUIRE, PTX_RELEASE,
       PTX_ACQ_REL };
enum { PTX_GLOBAL = 1, PTX_PARAM };
enum { PTX_ATOM_ADD = 1, PTX_ATOM_MIN, PTX_ATOM_MAX, PTX_ATOM_AND,
       PTX_ATOM_OR, PTX_ATOM_XOR, PTX_ATOM_EXCH, PTX_ATOM_CAS };

/* ---- Instructions --------------------------------------------------- */

enum ptx_op {
	PTX_LD, PTX_ST, PTX_ATOM, PTX_RED,
	PTX_MOV, PTX_CVTA, PTX_CVT,
	PTX_ADD, PTX_SUB, PTX_MUL, PTX_MAD, PTX_DIV, PTX_REM, PTX_MIN, PTX_MAX,
	PTX_AND, PTX_OR, PTX_XOR, PTX_NOT, PTX_SHL, PTX_SHR,
	PTX_CLZ, PTX_POPC, PTX_BREV, PTX_BFIND,
	PTX_SETP, PTX_SELP,
	PTX_BRA, PTX_RET,
};

enum ptx_operand_kind {
	PTX_REG,		/* as an address: plus imm */
	PTX_IMM,
	PTX_SPECIAL,
	PTX_ADDRESS_OF_PARAM,	/* plus imm */
	PTX_SINK,		/* _ */
	PTX_LABEL,		/* then the instruction that it stands at */
};

enum ptx_special {
	PTX_TID_X, PTX_TID_Y, PTX_TID_Z, PTX_NTID_X, PTX_NTID_Y, PTX_NTID_Z,
	PTX_CTAID_X, PTX_CTAID_Y, PTX_CTAID_Z,
	PTX_NCTAID_X, PTX_NCTAID_Y, PTX_NCTAID_Z,
	PTX_LANEID,
	PTX_NR_SPECIALS
};

struct ptx_operand {
	u32 kind;
	u32 index;
	u64 imm;
};

#define PTX_OPERANDS_MAX 5
#define PTX_NO_GUARD UINT32_MAX

struct ptx_insn {
	u8 op;
	u8 slot[PTX_NR_SLOTS];
	u8 nr_operands;
	u8 vec;			/* registers of a load or store: 1, 2, 4 */
	bool guard_not;
	u32 guard;		/* the register of the predicate */
	u32 line;
	struct ptx_operand operands[PTX_OPERANDS_MAX];
};

static inline u8 ptx_type_of(const struct ptx_insn *insn)
{
	return insn->slot[PTX_SLOT_TYPE];
}

/* ---- Forms (ptx_table.c) -------------------------------------------- */

#define PTX_FORM_SLOTS 8
#define PTX_OPTIONAL 0x80	/* with a slot */

struct ptx_form {
	const char *name;
	u8 op;
	u8 slots[PTX_FORM_SLOTS];
	u32 types;		/* a bit for each */
	/*
	 * A letter for each operand, with the size it must have:
	 * d  result, of the type         e  of the type or larger
	 * w  of the type, twice that for .wide
	 * n  of 32 bits                  p  a predicate
	 * o  of the type, or _
	 * a  value, of the type          c  as w
	 * x  or a special register       s  of 32 bits
	 * f  of the second type or larger
	 * q  a predicate
	 * A  an address                  L  a label
	 * E  results of the type or larger, as many as the vector has
	 * V  values, likewise
	 */
	const char *operands;
};

struct ptx_text;

const struct ptx_form *ptx_form_find(const char *name, size_t n);
/* The answer that the word gives; 0: it is none to that question. */
u8 ptx_slot_value(u8 slot, const char *word, size_t n);
/* What is wrong with modifiers that are possible each alone; NULL: nothing. */
const char *ptx_check_modifiers(const struct ptx_insn *insn, u32 version,
				u32 target);
const char *ptx_operands_of(const struct ptx_form *form,
			    const struct ptx_insn *insn);

/* ---- Steps (ptx_step.c) --------------------------------------------- */

struct ptx_thread;
struct ptx_step;

/* Returns the next step, NULL: the thread is over, or has failed. */
typedef const struct ptx_step *(*ptx_step_fn)(struct ptx_thread *t,
					      const struct ptx_step *s);

/*
 * What a step reads or writes: a register, a special register, a constant.
 * Values are extended to 64 bits by zeros. The thread that wrote it last tells
 * whether the present one has; constants and special registers are written by
 * a thread behind all.
 */
struct ptx_place {
	u64 v;
	u64 mask;		/* the bits that it has */
	u64 writer;
};

enum { PTX_SINK_PLACE = PTX_NR_SPECIALS, PTX_REG_PLACES };
#define PTX_ALWAYS_WRITTEN UINT64_MAX

/* An instruction as it is executed. */
struct ptx_step {
	ptx_step_fn fn;
	/* Places, one for each operand; of a parameter its number. */
	u32 at[PTX_OPERANDS_MAX];
	u32 window;		/* of memory; an atomic operation has two */
	u64 imm;		/* that is added to the address */
	u64 sign;		/* of the type: its highest bit; 0: unsigned */
	u8 bytes;		/* of the type */
	u8 vec;
	u8 atom;		/* which operation */
	bool guard_not;
	u32 guard;
	ptx_step_fn guarded;	/* what a guard decides about */
	const struct ptx_step *target;	/* of a branch */
	u64 to_mask, from_mask, from_sign;	/* of a conversion */
	u32 line;
};

/* After the text of the kernel was read. */
void ptx_make_steps(struct ptx_kernel *kernel);

/* ---- Execution (ptx_run.c, ptx_alu.c, ptx_access.c) ----------------- */

/* A stretch of memory that was looked up, where the CPU sees it. */
struct ptx_window {
	u64 start, bytes;
	unsigned char *data;
};

struct ptx_thread {
	const struct op *op;
	const struct ptx_kernel *kernel;
	u64 serial;		/* from 1, in each launch */
	bool failed;
	/* Each access has its own: the next thread's is near. */
	struct ptx_window *windows;
	struct ptx_place places[];
};

/* The device fails; returns NULL. */
const struct ptx_step *ptx_fail(struct ptx_thread *t, const struct ptx_step *s,
				CUresult code, const char *what, u64 addr);
/* Nothing was written to the register: says so, and puts garbage there. */
void ptx_unset(const struct ptx_thread *t, const struct ptx_step *s,
	       struct ptx_place *reg);
/* What computes, and what reaches memory. */
ptx_step_fn ptx_alu_fn(const struct ptx_insn *insn);
ptx_step_fn ptx_access_fn(const struct ptx_insn *insn);

/* Extended to 64 bits by zeros. */
static inline u64 ptx_read_at(struct ptx_thread *t, const struct ptx_step *s,
			      u32 place)
{
	struct ptx_place *p = &t->places[place];

	if (unlikely(p->writer < t->serial))
		ptx_unset(t, s, p);
	return p->v;
}

static inline u64 ptx_read(struct ptx_thread *t, const struct ptx_step *s,
			   u32 operand)
{
	return ptx_read_at(t, s, s->at[operand]);
}

/* Cut to what the register has. */
static inline void ptx_write(struct ptx_thread *t, const struct ptx_step *s,
			     u32 operand, u64 v)
{
	struct ptx_place *p = &t->places[s->at[operand]];

	p->v = v & p->mask;
	p->writer = t->serial;
}

/* @v has zeros above its sign bit. */
static inline u64 ptx_extend(u64 v, u64 sign)
{
	return (v ^ sign) - sign;
}

#endif /* TESTS_MODEL_PTX_INSN_H */
