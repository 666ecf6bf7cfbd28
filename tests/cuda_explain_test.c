// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_explain_test.c - what slabdev_explain() says of the ways to memory of a
 * device, on the machines that the model has: against what the driver does
 * where it can be asked.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/cuda_space.h"

#define TEXT 1024

struct way {
	const char *profile;	/* NULL: h200 */
	const char *spec;
	u32 backing, type, flags;
	int peer;		/* 0: none */
	bool has_ipc;
	const char *says[4];
};

static const struct way ways[] = {
	{ NULL, "cuda:0", SLABDEV_BACKING_VMM, SLABDEV_HANDLE_NONE, 0, 0, false,
	  { "CUDA IPC: no, mapped memory has no legacy handle",
	    "export: no, the space has no attr.handle_type",
	    "RDMA: no, the space was opened without SLABDEV_OPEN_RDMA",
	    "peers: none" } },
	{ "two", "cuda:0", SLABDEV_BACKING_VMM, SLABDEV_HANDLE_FD,
	  SLABDEV_OPEN_RDMA, 1, false,
	  { "CUDA IPC: no, ", "export: yes, as a file descriptor", "RDMA: ",
	    "peers: devices 1\n" } },
	/* Says that it can, and cannot. */
	{ "wsl", "cuda:0", SLABDEV_BACKING_VMM, SLABDEV_HANDLE_NONE,
	  SLABDEV_OPEN_RDMA, 0, false,
	  { "RDMA: no, it was asked for, and the driver has refused" } },
	{ NULL, "cuda:0", SLABDEV_BACKING_POOL, SLABDEV_HANDLE_NONE, 0, 0,
	  false, { "CUDA IPC: no, memory of a pool", "export: no, only memory",
	    "RDMA: no promise" } },
	{ NULL, "cuda:0", SLABDEV_BACKING_MALLOC, SLABDEV_HANDLE_NONE, 0, 0,
	  true, { "CUDA IPC: yes, ", "export: no, only memory",
	    "RDMA: as all memory of cuMemAlloc" } },
	{ NULL, "cuda-host:0", SLABDEV_BACKING_AUTO, SLABDEV_HANDLE_NONE, 0, 0,
	  false, { "CUDA IPC: no, it is memory of the host", "RDMA: as all "
	    "memory of the host" } },
	{ NULL, "cuda-managed:0", SLABDEV_BACKING_AUTO, SLABDEV_HANDLE_NONE, 0,
	  0, false, { "CUDA IPC: no, managed memory", "RDMA: no promise" } },
};

static void describe_way(const struct way *w, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, backing %u, type %u, %s",
		 w->spec, w->backing, w->type, w->profile ?: "h200");
}
KUNIT_ARRAY_PARAM(way, ways, describe_way);

static struct slabdev *open_way(struct kunit *test, const struct way *w)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = 256 * MIB;
	attr.backing = w->backing;
	attr.handle_type = w->type;
	attr.flags = w->flags;
	attr.nr_peers = w->peer != 0;
	attr.peers = &w->peer;
	return cuda_open(test, w->spec, &attr);
}

/* The driver says the same: of the object, or of the region as it is named. */
static void ask_driver(struct kunit *test, const struct way *w, const void *p,
		       const char *text)
{
	const char *region = strstr(text, "begins at ");
	CUipcMemHandle handle;

	KUNIT_EXPECT_EQ(test, region != NULL, w->has_ipc);
	if (!region)
		KUNIT_EXPECT_NE(test, cu.cuIpcGetMemHandle(&handle,
				device_ptr(p)), CUDA_SUCCESS);
	else
		EXPECT_CU(test, cuIpcGetMemHandle(&handle, strtoull(region +
			  strlen("begins at "), NULL, 16)), 0);
}

static void explain_it(struct kunit *test)
{
	const struct way *w = test->param_value;
	struct slabdev *sd;
	char text[TEXT];
	size_t i;
	void *p;

	cuda_model(test, w->profile);
	bench_open(test);
	sd = open_way(test, w);
	p = must_alloc(test, sd, 5000);
	KUNIT_EXPECT_EQ(test, slabdev_explain(p, text, sizeof(text)), 0);
	KUNIT_EXPECT_LT(test, strlen(text), sizeof(text) - 1);
	for (i = 0; i < ARRAY_SIZE(w->says) && w->says[i]; i++)
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, w->says[i]),
					  "no '%s' in: %s", w->says[i], text);
	ask_driver(test, w, p, text);
	EXPECT_FREED(test, sd, p);
	cuda_close(test, sd);
	bench_close(test);
}

static void explains_its_ways(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, in_fork(test, explain_it), 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(explains_its_ways, way_gen_params),
	{ 0 }
};

static const struct kunit_suite cuda_explain_suite = {
	.name = "cuda_explain",
	.cases = cases,
};
kunit_test_suite(cuda_explain_suite);
