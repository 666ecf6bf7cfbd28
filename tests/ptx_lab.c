// SPDX-License-Identifier: BSD-2-Clause
/* ptx_lab.c - see ptx_lab.h. */
#include "tests/ptx_lab.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/folder.h"
#include "tests/kunit/spawn.h"

struct lab lab_open(struct kunit *test, const char *text)
{
	struct lab l = { .test = test };

	l.a = area_open(test, bench_of(test)->g);
	MUST(test, cuMemsetD8(l.a.ptr, 0, l.a.size));
	MUST(test, cuModuleLoadData(&l.module, text));
	return l;
}

void lab_close(struct lab *l)
{
	EXPECT_CU(l->test, cuModuleUnload(l->module), 0);
	area_close(l->test, &l->a);
}

CUfunction lab_kernel(struct lab *l, const char *name)
{
	CUfunction fn;

	MUST(l->test, cuModuleGetFunction(&fn, l->module, name));
	return fn;
}

CUresult lab_start(struct lab *l, const char *name, u32 blocks, u32 threads,
		   u64 in, u64 out)
{
	u64 addrs[] = { l->a.ptr + in, l->a.ptr + out };
	void *params[] = { &addrs[0], &addrs[1] };

	return cu.cuLaunchKernel(lab_kernel(l, name), blocks, 1, 1, threads, 1,
				 1, 0, NULL, params, NULL);
}

void lab_run(struct lab *l, const char *name, u32 blocks, u32 threads, u64 in,
	     u64 out)
{
	KUNIT_ASSERT_EQ(l->test, lab_start(l, name, blocks, threads, in, out),
			CUDA_SUCCESS);
	MUST(l->test, cuCtxSynchronize());
}

void lab_put(struct lab *l, u64 at, const void *bytes, size_t n)
{
	MUST(l->test, cuMemcpyHtoD(l->a.ptr + at, bytes, n));
}

void lab_get(struct lab *l, u64 at, void *bytes, size_t n)
{
	MUST(l->test, cuMemcpyDtoH(bytes, l->a.ptr + at, n));
}

/* ---- The assembler -------------------------------------------------- */

static bool is_there(char *path, size_t n, const char *folder, size_t length)
{
	snprintf(path, n, "%.*s/ptxas", (int)length, folder);
	return length && !access(path, X_OK);
}

const char *ptxas_path(struct kunit *test)
{
	const char *home = getenv("CUDA_HOME"), *at = getenv("PATH");
	char *path = kunit_kzalloc(test, 4096);
	char bin[4000];

	for (; at && *at; at += strcspn(at, ":") + !!at[strcspn(at, ":")])
		if (is_there(path, 4096, at, strcspn(at, ":")))
			return path;
	snprintf(bin, sizeof(bin), "%s/bin", home ? home : "/usr/local/cuda");
	if (!is_there(path, 4096, bin, strlen(bin)))
		kunit_skip(test, "there is no ptxas");
	return path;
}

bool ptxas_takes(struct kunit *test, const char *text, const char *arch,
		 const char **says)
{
	const char *ptxas = ptxas_path(test), *folder = new_folder(test);
	char file[4096], option[64];
	struct kunit_process proc;
	FILE *f;

	snprintf(file, sizeof(file), "%s/text.ptx", folder);
	snprintf(option, sizeof(option), "-arch=%s", arch);
	f = fopen(file, "w");
	KUNIT_ASSERT_NOT_NULL(test, f);
	fputs(text, f);
	KUNIT_ASSERT_EQ(test, fclose(f), 0);
	kunit_run_program(test, &proc, (const char *[]){ ptxas, option, file,
			  "-o", "/dev/null", NULL });
	*says = proc.err;
	return !proc.exit_code;
}
