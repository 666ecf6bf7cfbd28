/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ptx_lab.h - kernels in PTX on the driver that is under test, memory for
 * them, and NVIDIA's assembler as a second opinion where it is installed.
 */
#ifndef TESTS_PTX_LAB_H
#define TESTS_PTX_LAB_H

#include "tests/contract/driver.h"

#define PTX_HEAD ".version 6.4\n.target sm_50\n.address_size 64\n"

struct lab {
	struct kunit *test;
	struct area a;		/* mapped memory, all 0 */
	CUmodule module;
};

/* Of a bench that is open. */
struct lab lab_open(struct kunit *test, const char *text);
void lab_close(struct lab *l);
CUfunction lab_kernel(struct lab *l, const char *name);
/* Launches it in a row of threads with two addresses in the memory. */
CUresult lab_start(struct lab *l, const char *name, u32 blocks, u32 threads,
		   u64 in, u64 out);
/* The same, and it has to succeed; waits for it. */
void lab_run(struct lab *l, const char *name, u32 blocks, u32 threads, u64 in,
	     u64 out);
void lab_put(struct lab *l, u64 at, const void *bytes, size_t n);
void lab_get(struct lab *l, u64 at, void *bytes, size_t n);

/* The assembler's path; skips the case where there is none. */
const char *ptxas_path(struct kunit *test);
/* Whether it takes @text for the architecture @arch; *@says what it wrote. */
bool ptxas_takes(struct kunit *test, const char *text, const char *arch,
		 const char **says);

#endif /* TESTS_PTX_LAB_H */
