/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ptx.h - kernels that are written in PTX
 *
 * 1. What it is. A module is text. Each kernel in it is translated once, when
 *    the module is loaded, into instructions whose operands are resolved and
 *    whose types have been compared (ptx_parse.c, ptx_body.c, ptx_table.c),
 *    and then into steps, which are quick to execute (ptx_step.c). A launch
 *    executes these, thread by thread (ptx_run.c), unless a test has given the
 *    kernel a function of its own (model_kernel).
 *
 * 2. What is understood: integers of 8 to 64 bits and predicates, global
 *    memory, parameters that are single integers, and the instructions of
 *    ptx_table.c. Floating point, shared and local memory, barriers, functions,
 *    variables, nested blocks, and arithmetic in operands are refused like a
 *    mistake, since a kernel that was executed wrongly would be worse. So a
 *    text that is refused here may be good PTX; one that is accepted should be
 *    accepted by every assembler, and tests/ptx_test.c asks one about each text
 *    that it has, where one is installed.
 *
 * 3. Strictness. Where an assembler lets a type pass, or an order of modifiers
 *    that the manual does not have, this does not. A register that is read
 *    before anything wrote it, and a division by zero, have no value in PTX:
 *    they are violations, and give garbage.
 *
 * 4. Memory is reached by the same lookup as that of fills and copies: what may
 *    not be touched when the turn of the launch comes makes the device fail
 *    with ILLEGAL_ADDRESS, what is not aligned to its whole access with
 *    MISALIGNED_ADDRESS, a thread that does not end with LAUNCH_TIMEOUT. What
 *    was stored until then stays.
 *
 * 5. Threads run one after the other, x first, each from its beginning to its
 *    end, and every access is visible to the next thread at once. So nothing is
 *    shown about races between the threads of one launch, about fences, or
 *    about caches; and a thread that waits for a later one never ends.
 *
 * 6. Ownership. A kernel is counted: its module has a reference, and so has
 *    each launch, so that unloading the module leaves work in flight alone.
 */
#ifndef TESTS_MODEL_PTX_H
#define TESTS_MODEL_PTX_H

#include "tests/model/internal.h"

#define PTX_DIMS 3

struct ptx_insn;
struct ptx_step;
struct ptx_place;

struct ptx_kernel {
	struct list node;	/* while it is being read, then of its module */
	unsigned int refs;
	char *name;
	u64 handle;		/* of the function, while its module is there */
	struct context *ctx;
	u8 param_bytes[KERNEL_PARAMS_MAX];
	u32 nr_params;
	u32 block[PTX_DIMS];	/* .maxntid or .reqntid; 0: nothing is said */
	bool block_is_exact;
	struct ptx_insn *insns;
	u32 nr_insns;
	u8 *reg_bytes;		/* of each register; 0: a predicate */
	u32 nr_regs;
	/* As it is executed. */
	struct ptx_step *steps;
	struct ptx_place *places;	/* as a launch begins with them */
	u32 nr_places, nr_windows;
};

/*
 * ptx_parse - the kernels of a text
 * @text: ends with a zero
 * @device: that has to run them
 * @kernels: an empty list
 * @why: WHY_MAX bytes, for the line and the mistake
 *
 * Returns what cuModuleLoadData() does; the list stays empty then.
 */
CUresult ptx_parse(const char *text, int device, struct list *kernels,
		   char *why);

struct ptx_kernel *ptx_get(struct ptx_kernel *kernel);
void ptx_put(struct ptx_kernel *kernel);

/* May it be launched in blocks of that many threads? */
bool ptx_block_fits(const struct ptx_kernel *kernel, const u32 *block);

/* All threads of the launch, or until one makes the device fail. */
void ptx_run(const struct op *op);

#endif /* TESTS_MODEL_PTX_H */
