// SPDX-License-Identifier: BSD-2-Clause
/*
 * ptx_access.c - loads, stores, and atomic operations.
 *
 * Alignment is checked before anything else, as the hardware does. What lies
 * where the same step has just been is not looked up again: no mapping changes
 * while a launch runs.
 */
#include "tests/model/ptx_insn.h"

#define VECTOR_MAX 16

/* ---- Where the bytes are -------------------------------------------- */

/* Part by part, each of which is looked up. Returns false: it has failed. */
static bool move_slowly(struct ptx_thread *t, const struct ptx_step *s,
			struct ptx_window *w, u64 addr, unsigned char *bytes,
			u64 n, unsigned int what)
{
	u64 now;

	for (; n; n -= now, addr += now, bytes += now) {
		w->start = addr;
		w->bytes = UINT64_MAX;
		w->data = work_view(addr, t->op->device, what, &w->bytes);
		if (!w->data) {
			w->bytes = 0;
			ptx_fail(t, s, CUDA_ERROR_ILLEGAL_ADDRESS,
				 what == MODEL_WRITE ? "may not write at" :
						       "may not read at",
				 addr);
			return false;
		}
		now = min(n, w->bytes);
		memcpy(what == MODEL_WRITE ? w->data : bytes,
		       what == MODEL_WRITE ? bytes : w->data, now);
	}
	return true;
}

/* NULL: not all of it is in the window. */
static inline unsigned char *in_window(const struct ptx_window *w, u64 addr,
				       u64 n)
{
	u64 offset = addr - w->start;

	return offset < w->bytes && w->bytes - offset >= n ?
	       w->data + offset : NULL;
}

static bool move(struct ptx_thread *t, const struct ptx_step *s,
		 struct ptx_window *w, u64 addr, unsigned char *bytes, u64 n,
		 unsigned int what)
{
	unsigned char *data = in_window(w, addr, n);

	if (!data)
		return move_slowly(t, s, w, addr, bytes, n, what);
	memcpy(what == MODEL_WRITE ? data : bytes,
	       what == MODEL_WRITE ? bytes : data, n);
	return true;
}

/* Of the operand, which must be aligned to @bytes. */
static inline bool find_address(struct ptx_thread *t,
				const struct ptx_step *s, u32 operand,
				u64 bytes, u64 *addr)
{
	*addr = ptx_read(t, s, operand) + s->imm;
	if (unlikely(*addr & (bytes - 1)) && !broken(236)) {
		ptx_fail(t, s, CUDA_ERROR_MISALIGNED_ADDRESS,
			 "is not aligned:", *addr);
		return false;
	}
	return true;
}

/* ---- Values --------------------------------------------------------- */

static inline u64 get_bytes(const unsigned char *from, u8 bytes)
{
	u64 v8;
	u32 v4;
	u16 v2;

	switch (bytes) {
	case 1:
		return *from;
	case 2:
		memcpy(&v2, from, 2);
		return v2;
	case 4:
		memcpy(&v4, from, 4);
		return v4;
	default:
		memcpy(&v8, from, 8);
		return v8;
	}
}

/* The low bytes of @v. */
static void put_bytes(unsigned char *to, u8 bytes, u64 v)
{
	switch (bytes) {
	case 1:
		*to = (u8)v;
		break;
	case 2:
		memcpy(to, &(u16){ (u16)v }, 2);
		break;
	case 4:
		memcpy(to, &(u32){ (u32)v }, 4);
		break;
	default:
		memcpy(to, &v, 8);
		break;
	}
}

/* ---- Loads and stores ----------------------------------------------- */

static __always_inline void take(struct ptx_thread *t,
				 const struct ptx_step *s,
				 const unsigned char *from, u8 vec, u8 bytes)
{
	u32 i;

	for (i = 0; i < vec; i++, from += bytes)
		ptx_write(t, s, i, ptx_extend(get_bytes(from, bytes),
					      s->sign));
}

static __always_inline const struct ptx_step *load(struct ptx_thread *t,
						   const struct ptx_step *s,
						   u8 vec, u8 bytes)
{
	struct ptx_window *w = &t->windows[s->window];
	unsigned char slow[VECTOR_MAX], *from;
	u64 n = (u64)vec * bytes, addr;

	if (!find_address(t, s, vec, n, &addr))
		return NULL;
	from = in_window(w, addr, n);
	if (unlikely(!from)) {
		from = slow;
		if (!move_slowly(t, s, w, addr, slow, n, MODEL_READ))
			return NULL;
	}
	take(t, s, from, vec, bytes);
	return s + 1;
}

/* What loops load most has functions of its own, for constant sizes. */
#define LOAD(name, vec, bytes)						\
static const struct ptx_step *do_##name(struct ptx_thread *t,		\
					const struct ptx_step *s)	\
{									\
	return load(t, s, vec, bytes);					\
}

LOAD(load_byte, 1, 1)
LOAD(load_8, 1, 8)
LOAD(load_2x8, 2, 8)
LOAD(load_any, s->vec, s->bytes)

static const struct ptx_step *do_load_param(struct ptx_thread *t,
					    const struct ptx_step *s)
{
	take(t, s, (const unsigned char *)&t->op->params[s->at[s->vec]] +
	     s->imm, s->vec, s->bytes);
	return s + 1;
}

static ptx_step_fn load_fn(const struct ptx_insn *insn)
{
	u8 bytes = ptx_bytes(ptx_type_of(insn));

	if (insn->slot[PTX_SLOT_SPACE] == PTX_PARAM)
		return do_load_param;
	if (bytes == 8 && insn->vec <= 2)
		return insn->vec == 2 ? do_load_2x8 : do_load_8;
	return bytes * insn->vec == 1 ? do_load_byte : do_load_any;
}

static const struct ptx_step *do_store(struct ptx_thread *t,
				       const struct ptx_step *s)
{
	u64 n = (u64)s->vec * s->bytes, addr;
	unsigned char bytes[VECTOR_MAX];
	u32 i;

	for (i = 0; i < s->vec; i++)
		put_bytes(bytes + (size_t)i * s->bytes, s->bytes,
			  ptx_read(t, s, 1 + i));
	if (!find_address(t, s, 0, n, &addr) ||
	    !move(t, s, &t->windows[s->window], addr, bytes, n, MODEL_WRITE))
		return NULL;
	return s + 1;
}

/* ---- Atomic operations ---------------------------------------------- */

/* What is left there; the operand @at is the address. */
static u64 combine(struct ptx_thread *t, const struct ptx_step *s, u64 old,
		   u32 at)
{
	u64 v = ptx_read(t, s, at + 1);
	bool old_is_less = (old ^ s->sign) < (v ^ s->sign);

	switch (s->atom) {
	case PTX_ATOM_ADD:
		return old + v;
	case PTX_ATOM_MIN:
		return old_is_less ? old : v;
	case PTX_ATOM_MAX:
		return old_is_less ? v : old;
	case PTX_ATOM_AND:
		return old & v;
	case PTX_ATOM_OR:
		return old | v;
	case PTX_ATOM_XOR:
		return old ^ v;
	case PTX_ATOM_CAS:
		return old == v ? ptx_read(t, s, at + 2) : old;
	default:
		return v;
	}
}

/* Returns false: it has failed. */
static bool update(struct ptx_thread *t, const struct ptx_step *s, u32 at,
		   u64 *old)
{
	struct ptx_window *read = &t->windows[s->window];
	unsigned char bytes[sizeof(u64)];
	u64 addr;

	if (!find_address(t, s, at, s->bytes, &addr) ||
	    !move(t, s, read, addr, bytes, s->bytes, MODEL_READ))
		return false;
	*old = get_bytes(bytes, s->bytes);
	put_bytes(bytes, s->bytes, combine(t, s, *old, at));
	return move(t, s, read + 1, addr, bytes, s->bytes, MODEL_WRITE);
}

static const struct ptx_step *do_atom(struct ptx_thread *t,
				      const struct ptx_step *s)
{
	u64 old;

	if (!update(t, s, 1, &old))
		return NULL;
	ptx_write(t, s, 0, old);
	return s + 1;
}

static const struct ptx_step *do_red(struct ptx_thread *t,
				     const struct ptx_step *s)
{
	u64 old;

	return update(t, s, 0, &old) ? s + 1 : NULL;
}

ptx_step_fn ptx_access_fn(const struct ptx_insn *insn)
{
	switch (insn->op) {
	case PTX_LD:
		return load_fn(insn);
	case PTX_ST:
		return do_store;
	default:
		return insn->op == PTX_ATOM ? do_atom : do_red;
	}
}
