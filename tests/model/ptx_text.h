/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ptx_text.h - reading PTX: tokens, names, and the one mistake
 *
 * Reading stops at the first mistake. Every function that can meet one returns
 * false after it has called ptx_wrong(), which keeps the first.
 */
#ifndef TESTS_MODEL_PTX_TEXT_H
#define TESTS_MODEL_PTX_TEXT_H

#include "tests/model/ptx_insn.h"

/* ---- Tokens (ptx_lex.c) --------------------------------------------- */

enum ptx_token_kind {
	PTX_END,
	PTX_WORD,		/* a name */
	PTX_DOT,		/* .name; the dot is not part of it */
	PTX_NUMBER,
	PTX_MARK,		/* one character of punctuation */
};

struct ptx_token {
	u8 kind;
	const char *start;
	size_t n;
	u64 value;
	u32 line;
};

struct ptx_text {
	const char *at;		/* behind the token */
	u32 line;
	struct ptx_token token;
	u32 version;		/* 10 * major + minor */
	u32 target;
	CUresult code;		/* of the mistake */
	char *why;
};

bool ptx_wrong(struct ptx_text *t, u32 line, const char *fmt, ...)
	__printf(3, 4);
bool ptx_next(struct ptx_text *t);
/* "9.0" behind the token, which is no number of PTX elsewhere. */
bool ptx_next_version(struct ptx_text *t, u32 *version);
bool ptx_is_mark(const struct ptx_text *t, char c);
bool ptx_is_dot(const struct ptx_text *t, const char *name);
/* Takes the token, or it is a mistake. */
bool ptx_expect(struct ptx_text *t, char c);
bool ptx_take_number(struct ptx_text *t, u64 most, u64 *value);
/* Takes it if it is there. */
bool ptx_take_mark(struct ptx_text *t, char c, bool *taken);
/* "unexpected 'x'", with what would have been right. */
bool ptx_unexpected(struct ptx_text *t, const char *wanted);

/* ---- Names (ptx_names.c) -------------------------------------------- */

enum ptx_name_kind { PTX_NAME_REG, PTX_NAME_PARAM, PTX_NAME_LABEL };

struct ptx_name {
	char *text;		/* NULL: an unused place */
	u8 kind;
	u32 index;
	u32 line;		/* where it appears first */
};

/* All names of a kernel: parameters, registers, and labels are one space. */
struct ptx_names {
	struct ptx_name *places;
	size_t n, cap;
};

struct ptx_name *ptx_name_find(const struct ptx_names *names, const char *text,
			       size_t n);
/* Of one that is not there yet. */
void ptx_name_add(struct ptx_names *names, const char *text, size_t n,
		  u8 kind, u32 index, u32 line);
void ptx_names_free(struct ptx_names *names);

/* ---- Kernels (ptx_body.c, ptx_operand.c) ---------------------------- */

/* A kernel that is being read. */
struct ptx_draft {
	struct ptx_text *t;
	struct ptx_kernel *k;
	struct ptx_names names;
	u32 *labels;		/* the instruction of each */
	u32 nr_labels;
	u32 cap_labels, cap_insns, cap_regs;
};

#define PTX_NOWHERE UINT32_MAX

/* From behind the opening brace to behind the closing one. */
bool ptx_read_body(struct ptx_draft *d);
bool ptx_read_operands(struct ptx_draft *d, const struct ptx_form *form,
		       struct ptx_insn *insn);
bool ptx_read_predicate(struct ptx_draft *d, u32 *reg);
bool ptx_declare(struct ptx_draft *d, const struct ptx_token *name, u8 kind,
		 u32 index);
/* The number of a label, which may be placed later. */
bool ptx_label(struct ptx_draft *d, const struct ptx_token *name, u32 *label);
/* Room for one more of @size bytes behind @n. */
void *ptx_grow(void *v, u32 n, u32 *cap, size_t size);

#endif /* TESTS_MODEL_PTX_TEXT_H */
