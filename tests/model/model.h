/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - a strict model of the CUDA driver, for tests
 *
 * 1. What it is. tests/model/libcuda.so.1 has the functions of
 *    vmm/cuda_funcs.h under the driver's own names, and behind them no GPU but
 *    a machine made of host memory. A program loads it where it would load the
 *    driver. Its devices are named MODEL, so that nobody takes a figure of it
 *    for one of hardware; it is never installed.
 *
 * 2. Statements. What the driver promises is written down as numbered
 *    statements, C001 and on, each with one case of the same number in
 *    tests/contract. Where it is documented or was seen, the model does that;
 *    where it is neither, the model takes the strictest reading: what may be
 *    refused is refused, what may be asynchronous is. Where the real driver's
 *    behaviour is undefined the model prints the statement and aborts.
 *    SLABDEV_MODEL_PROFILE says which machine it is, "h200" when it is not set.
 *    SLABDEV_MODEL_BREAK=C012 makes it break that one, which must turn that
 *    case red: so the cases are known to be able to fail.
 *
 * 3. Memory. A device address is reserved address space that the CPU cannot
 *    touch (PROT_NONE): a program that dereferences one crashes here as it
 *    would there. The bytes are elsewhere, behind an alias that only copies,
 *    fills, and kernels use. A part is a piece of address space with bytes
 *    behind it: a mapping, an allocation, or pinned host memory.
 *
 * 4. Work. A stream is a queue; what is put into it waits for what went
 *    before in the queue, for events, and by the rules of the legacy stream.
 *    One thread runs what is ready, in the order of submission, another the
 *    host functions. model_stream_hold() keeps a queue from running until it
 *    is released. Work remembers which addresses it touches: unmapping or
 *    freeing them first makes the context fault when its turn comes.
 *
 * 5. Locking. One lock, held by every call of the driver from its first to its
 *    last line, except while it waits for work. The threads that run work take
 *    it too; a host function runs without it.
 *
 * 6. Errors. A refused call says why, with the number of the statement, to the
 *    callback of cuLogsRegisterCallback() and, with SLABDEV_MODEL_VERBOSE=1,
 *    to standard error. A violation is a call that may well succeed but is a
 *    mistake: unmapping or freeing under work, mapping without a context, a
 *    call from a host function or from the child of a fork, a call that a
 *    capture forbids, what is left at the end. They are counted; with
 *    SLABDEV_MODEL_PEDANTIC=1 the first aborts.
 *
 * 7. Time. Each call adds what it costs on hardware, by a table of published
 *    measurements and of guesses from them, to a clock that nobody waits for.
 *    Figures made with it are called modelled.
 *
 * Below is what a test can ask of the model beyond the driver's interface. The
 * symbols are found by dlsym(); that model_reset is there is how one knows
 * the model from a real driver.
 */
#ifndef TESTS_MODEL_MODEL_H
#define TESTS_MODEL_MODEL_H

#include "vmm/cuda_abi.h"

/* What a model_access() may do to memory. */
#define MODEL_READ 1u
#define MODEL_WRITE 2u

/* Counts of what is alive. */
struct model_leaks {
	uint64_t reservations, handles, mappings, allocations, host_blocks;
	uint64_t pools, streams, events, contexts, modules, graphs;
	uint64_t bytes;		/* of device memory, contexts left out */
};

/*
 * The body of a kernel. @params are the bytes of each parameter, in the order
 * of the launch; the model reads up to 16 parameters of 8 bytes. It runs with
 * the lock held and may call model_access() only.
 */
typedef void (*model_kernel_fn)(const uint64_t *params);

/** MODEL_CONTROLS - C(name, type of result, arguments) */
#define MODEL_CONTROLS(C)						\
	C(model_reset, void, (void))					\
	C(model_fail, int, (const char *symbol, uint64_t nth, int code,	\
			    int sticky))				\
	C(model_calls, uint64_t, (const char *symbol))			\
	C(model_violations, uint64_t, (void))				\
	C(model_last_violation, const char *, (void))			\
	C(model_leaks, uint64_t, (struct model_leaks *leaks))		\
	C(model_pending, uint64_t, (void))				\
	C(model_stream_hold, int, (CUstream stream))			\
	C(model_stream_release, int, (CUstream stream))			\
	C(model_holds_yield, void, (int yield))				\
	C(model_run, void, (void))					\
	C(model_clock_ns, uint64_t, (void))				\
	C(model_cost_ns, uint64_t, (const char *symbol))		\
	C(model_teardown, void, (int down))				\
	C(model_kernel, int, (const char *name, model_kernel_fn fn))	\
	C(model_access, int, (CUdeviceptr addr, void *bytes,		\
			      size_t size, unsigned int what))		\
	C(model_profile, const char *, (void))

#define MODEL_CONTROL_TYPE(name, type, args) typedef type (*name##_pfn) args;
MODEL_CONTROLS(MODEL_CONTROL_TYPE)

/*
 * model_reset - back to no injected failures, counts, violations, or clock
 *
 * Objects stay.
 *
 * model_fail - have a call fail
 * @symbol: its name with the suffix, or "*" for any call
 * @nth: which call of it from now on, 1 the next; 0 takes the order back
 * @code: the CUresult that it returns instead of doing anything
 * @sticky: the device of the current context returns @code from then on
 *
 * Returns 0, or -1 when there is no such symbol. One order at a time for each
 * symbol.
 *
 * model_calls - calls of @symbol so far; "*": of all
 *
 * model_leaks - what is alive now; returns the sum of the counts without the
 * primary contexts and without what they own
 *
 * model_pending - operations in all streams that have not run
 *
 * model_stream_hold - nothing more of @stream runs until model_stream_release.
 * Both return 0, or -1 when @stream is none of the current context.
 *
 * model_holds_yield - 1: while a call waits for work, streams that are held run
 * until nothing can run any more; so a program that holds them all, and is one
 * thread, is the same in each run. model_run: wait until nothing runs, and
 * nothing can run
 *
 * model_clock_ns - what all calls together have cost; model_cost_ns: those of
 * one symbol
 *
 * model_teardown - 1: every call returns DEINITIALIZED, as late in the end of
 * a process; 0: back again
 *
 * model_kernel - the kernel @name, which a module must still declare, does
 * @fn, and not what its text says (ptx.h)
 *
 * model_access - read or write device memory from a kernel; what that kernel's
 * device may not do makes the context fault, and returns -1
 *
 * model_profile - the name of the profile in force
 */

#endif /* TESTS_MODEL_MODEL_H */
