// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_attr_test.c - attributes of a CUDA space: each has the effect in the
 * driver that the header says, or the open fails with the reason.
 *
 * A process has one machine and one environment, so that each case that wants
 * others runs in a child.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/cuda_space.h"

#define DEVICE_BYTES (71578 * (2 * MIB))

static void on_machine(struct kunit *test, const char *profile,
		       void (*fn)(struct kunit *test))
{
	if (profile)
		setenv("SLABDEV_MODEL_PROFILE", profile, 1);
	else
		unsetenv("SLABDEV_MODEL_PROFILE");
	KUNIT_EXPECT_EQ(test, in_fork(test, fn), 0);
}

/* In the child: the machine that was chosen. */
static void begin(struct kunit *test)
{
	cuda_model(test, getenv("SLABDEV_MODEL_PROFILE"));
	bench_open(test);
}

static void refused(struct kunit *test, const char *spec,
		    const struct slabdev_attr *attr, int err, const char *text)
{
	struct slabdev *sd = NULL;

	KUNIT_EXPECT_EQ_MSG(test, slabdev_open(&sd, spec, attr), err, "%s: %s",
			    text, slabdev_last_error());
	EXPECT_LAST_ERROR_HAS(test, text);
	KUNIT_EXPECT_NULL(test, sd);
}

/* ---- Limits ----------------------------------------------------------- */

struct limit {
	u64 limit;
	u32 permille, ranks;
	const char *env_limit, *env_ranks;
	u64 expected;
};

/* Of whole chunks; @permille as the header says, thousandths. */
#define PART(permille, ranks) \
	(DEVICE_BYTES / 1000 * (permille) / (ranks) / (2 * MIB) * (2 * MIB))

static const struct limit limits[] = {
	{ 0, 0, 0, NULL, NULL, DEVICE_BYTES },
	{ 100 * MIB, 0, 0, NULL, NULL, 100 * MIB },
	{ 101 * MIB, 0, 0, NULL, NULL, 100 * MIB },
	{ 0, 500, 0, NULL, NULL, PART(500, 1) },
	{ 0, 1000, 0, NULL, NULL, PART(1000, 1) },
	{ 0, 900, 4, NULL, NULL, PART(900, 4) },
	{ 100 * MIB, 0, 5, NULL, NULL, 20 * MIB },
	{ 0, 0, 8, NULL, NULL, DEVICE_BYTES / 8 / (2 * MIB) * (2 * MIB) },
	{ 0, 0, 0, "50%", NULL, PART(500, 1) },
	{ 0, 0, 0, "64M", NULL, 64 * MIB },
	{ 0, 0, 0, "64M", "2", 32 * MIB },
	{ 0, 0, 0, NULL, "3",
	  DEVICE_BYTES / 3 / (2 * MIB) * (2 * MIB) },
	/* The program's word counts more than the environment's. */
	{ 100 * MIB, 0, 5, "64M", "2", 20 * MIB },
	{ 0, 250, 1, "64M", "2", PART(250, 1) },
};

static void set_or_unset(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static void open_with_limit(struct kunit *test)
{
	const struct limit *l = test->param_value;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;

	set_or_unset("SLABDEV_LIMIT", l->env_limit);
	set_or_unset("SLABDEV_RANKS", l->env_ranks);
	begin(test);
	attr.limit = l->limit;
	attr.limit_permille = l->permille;
	attr.ranks = l->ranks;
	sd = cuda_open(test, "cuda:0", &attr);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).limit, l->expected);
	cuda_close(test, sd);
	bench_close(test);
}

static void describe_limit(const struct limit *l, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%llu, %u, %u, %s, %s",
		 (unsigned long long)l->limit, l->permille, l->ranks,
		 l->env_limit ?: "-", l->env_ranks ?: "-");
}
KUNIT_ARRAY_PARAM(limit, limits, describe_limit);

static void limit_is_what_was_asked_for(struct kunit *test)
{
	on_machine(test, NULL, open_with_limit);
}

static void limit_is_kept(struct kunit *test)
{
	struct slabdev *sd = cuda_open_kind(test, CUDA_KIND_VMM, 20 * MIB,
					    NULL);
	struct slabdev_req req = SLABDEV_REQ_INIT;
	void *p = must_alloc(test, sd, 12 * MIB);

	req.flags = SLABDEV_REQ_NO_REPORT;
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, 10 * MIB, &req), EDQUOT);
	EXPECT_FREED(test, sd, p);
	cuda_close(test, sd);
}

static void impossible_limits(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = 2 * MIB - 1;
	refused(test, "cuda:0", &attr, -EDQUOT, "limit");
	attr.limit = 10 * MIB;
	attr.ranks = 6;
	refused(test, "cuda:0", &attr, -EDQUOT, "limit");
	attr.ranks = 0;
	attr.limit_permille = 10;
	refused(test, "cuda:0", &attr, -EINVAL, "limit_permille");
	attr.limit = 0;
	attr.limit_permille = 1001;
	refused(test, "cuda:0", &attr, -EINVAL, "limit_permille");
}

/* A limit is no promise: the device is full before. */
static void device_is_full_before_the_limit(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev *sd;
	void *p;

	req.flags = SLABDEV_REQ_NO_REPORT;
	attr.limit = DEVICE_BYTES;
	sd = cuda_open(test, "cuda:0", &attr);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, DEVICE_BYTES, &req),
			   ENOMEM);
	EXPECT_LAST_ERROR_HAS(test, "cuMemCreate");
	EXPECT_LAST_ERROR_HAS(test, "CUDA_ERROR_OUT_OF_MEMORY");
	p = must_alloc(test, sd, DEVICE_BYTES / 2);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	cuda_close(test, sd);
}

static void meminfo_is_the_drivers(struct kunit *test)
{
	struct slabdev *sd = cuda_open(test, "cuda:0", NULL);
	uint64_t unused = 0, total = 0, again = 0;

	KUNIT_EXPECT_EQ(test, slabdev_meminfo(sd, &unused, &total), 0);
	KUNIT_EXPECT_EQ(test, unused, free_bytes(test));
	KUNIT_EXPECT_EQ(test, total, DEVICE_BYTES);
	KUNIT_EXPECT_EQ(test, slabdev_prime(sd, 64 * MIB), 0);
	KUNIT_EXPECT_EQ(test, slabdev_meminfo(sd, &again, NULL), 0);
	KUNIT_EXPECT_EQ(test, again, unused - 64 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_meminfo(sd, NULL, NULL), 0);
	cuda_close(test, sd);
}

/* ---- Peers ------------------------------------------------------------ */

static unsigned long long access_of(struct kunit *test, const void *p,
				    int device)
{
	const CUmemLocation at = { CU_MEM_LOCATION_TYPE_DEVICE, device };
	unsigned long long flags = 99;

	MUST(test, cuMemGetAccess(&flags, &at, device_ptr(p)));
	return flags;
}

/* As the other device's copy engine would. */
static void expect_peer_writes(struct kunit *test, void *p)
{
	CUcontext other;
	uint32_t byte = 7;

	MUST(test, cuDevicePrimaryCtxRetain(&other, 1));
	MUST(test, cuCtxPushCurrent(other));
	MUST(test, cuMemcpyHtoD(device_ptr(p), &byte, sizeof(byte)));
	MUST(test, cuCtxSynchronize());
	MUST(test, cuCtxPopCurrent(&other));
	MUST(test, cuDevicePrimaryCtxRelease(1));
	KUNIT_EXPECT_EQ(test, cuda_byte(test, p), 7);
}

static void open_with_peer(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	int peers[] = { 1 };
	struct slabdev *sd;
	char *p;

	begin(test);
	attr.peers = peers;
	attr.nr_peers = 1;
	sd = cuda_open(test, "cuda:0", &attr);
	peers[0] = 99;		/* was copied */
	p = must_alloc(test, sd, 9 * MIB);
	KUNIT_EXPECT_EQ(test, access_of(test, p, 0), 3);
	KUNIT_EXPECT_EQ(test, access_of(test, p, 1), 3);
	KUNIT_EXPECT_EQ(test, access_of(test, p + 9 * MIB - 1, 1), 3);
	expect_peer_writes(test, p);
	EXPECT_FREED(test, sd, p);
	p = must_alloc(test, sd, 70 * MIB);
	KUNIT_EXPECT_EQ(test, access_of(test, p, 1), 3);
	EXPECT_FREED(test, sd, p);
	cuda_close(test, sd);
	bench_close(test);
}

static void open_without_peer(struct kunit *test)
{
	struct slabdev *sd;
	void *p;

	begin(test);
	sd = cuda_open(test, "cuda:0", NULL);
	p = must_alloc(test, sd, 9 * MIB);
	KUNIT_EXPECT_EQ(test, access_of(test, p, 1), 0);
	EXPECT_FREED(test, sd, p);
	cuda_close(test, sd);
	bench_close(test);
}

static void peer_has_access(struct kunit *test)
{
	on_machine(test, "two", open_with_peer);
	on_machine(test, "two", open_without_peer);
}

static void open_with_impossible_peers(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	int peers[33] = { 1 };

	begin(test);
	attr.peers = peers;
	attr.nr_peers = 1;
	refused(test, "cuda:0", &attr, -ENOTSUP, "peer");
	peers[0] = 7;
	refused(test, "cuda:0", &attr, -ENODEV, "7");
	peers[0] = -1;
	refused(test, "cuda:0", &attr, -ENODEV, "-1");
	attr.nr_peers = 32;
	refused(test, "cuda:0", &attr, -EINVAL, "peers");
	attr.nr_peers = 1;
	attr.peers = NULL;
	refused(test, "cuda:0", &attr, -EINVAL, "peers");
	bench_close(test);
}

static void peers_that_are_none(struct kunit *test)
{
	on_machine(test, "twonopeer", open_with_impossible_peers);
}

/* ---- Handles ---------------------------------------------------------- */

/* What the driver gave the memory at @p. */
static CUmemAllocationProp prop_of(struct kunit *test, void *p, int *fd)
{
	CUmemGenericAllocationHandle handle;
	CUmemAllocationProp prop = { 0 };

	*fd = -1;
	MUST(test, cuMemRetainAllocationHandle(&handle, p));
	MUST(test, cuMemGetAllocationPropertiesFromHandle(&prop, handle));
	if (cu.cuMemExportToShareableHandle(fd, handle,
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
		*fd = -1;
	release(test, handle);
	return prop;
}

struct sharing {
	const char *profile;
	u32 type, flags;
	bool shares, rdma;
	const char *says;	/* slabdev_explain() */
};

static const struct sharing sharings[] = {
	{ NULL, SLABDEV_HANDLE_NONE, 0, false, false, "VMM" },
	{ NULL, SLABDEV_HANDLE_FD, 0, true, false, "fd handles" },
	{ NULL, SLABDEV_HANDLE_AUTO, 0, true, false, "fd handles" },
	{ NULL, SLABDEV_HANDLE_NONE, SLABDEV_OPEN_RDMA, false, true, "RDMA" },
	{ NULL, SLABDEV_HANDLE_FD, SLABDEV_OPEN_RDMA, true, true, "RDMA" },
	/* Says that it can, and cannot. */
	{ "wsl", SLABDEV_HANDLE_NONE, SLABDEV_OPEN_RDMA, false, false, "VMM" },
	{ "wsl", SLABDEV_HANDLE_FD, SLABDEV_OPEN_RDMA, true, false, "fd" },
};

static void describe_sharing(const struct sharing *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, type %u, flags %#x",
		 s->profile ?: "h200", s->type, s->flags);
}
KUNIT_ARRAY_PARAM(sharing, sharings, describe_sharing);

static void open_to_share(struct kunit *test)
{
	const struct sharing *s = test->param_value;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	CUmemAllocationProp prop;
	struct slabdev *sd;
	char text[256];
	void *p;
	int fd;

	begin(test);
	attr.handle_type = s->type;
	attr.flags = s->flags;
	sd = cuda_open(test, "cuda:0", &attr);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, 0);
	p = must_alloc(test, sd, 9 * MIB);
	prop = prop_of(test, p, &fd);
	KUNIT_EXPECT_EQ(test, fd >= 0, s->shares);
	if (fd >= 0)
		close(fd);
	KUNIT_EXPECT_EQ(test, prop.allocFlags.gpuDirectRDMACapable, s->rdma);
	KUNIT_EXPECT_EQ(test, slabdev_explain(p, text, sizeof(text)), 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, s->says), "%s", text);
	KUNIT_EXPECT_EQ_MSG(test, strstr(text, ", RDMA)") != NULL, s->rdma,
			    "%s", text);
	EXPECT_FREED(test, sd, p);
	cuda_close(test, sd);
	bench_close(test);
}

static void memory_can_be_shared_as_asked(struct kunit *test)
{
	const struct sharing *s = test->param_value;

	on_machine(test, s->profile, open_to_share);
}

static void fabric_needs_a_service(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.handle_type = SLABDEV_HANDLE_FABRIC;
	refused(test, "cuda:0", &attr, -ENOTSUP, "handle_type");
}

/* ---- Pools ------------------------------------------------------------ */

static u64 model_bytes(void)
{
	struct model_leaks leaks;

	cu.model_leaks(&leaks);
	return leaks.bytes;
}

/* What the pool keeps of a region that went back to it. */
static u64 kept_by_pool(struct kunit *test, u64 threshold)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;
	u64 before, kept;
	void *p;

	attr.backing = SLABDEV_BACKING_POOL;
	attr.limit = 512 * MIB;
	attr.pool_threshold = threshold;
	sd = cuda_open(test, "cuda:0", &attr);
	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(sd, &policy), 0);
	before = model_bytes();
	p = must_alloc(test, sd, 70 * MIB);
	KUNIT_EXPECT_GE(test, model_bytes() - before, 70 * MIB);
	MUST(test, cuCtxSynchronize());
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	MUST(test, cuCtxSynchronize());
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	MUST(test, cuCtxSynchronize());
	kept = model_bytes() - before;
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, model_bytes(), before);
	cuda_close(test, sd);
	return kept;
}

static void pool_keeps_as_much_as_it_is_told(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kept_by_pool(test, 0), 0);
	KUNIT_EXPECT_LE(test, kept_by_pool(test, 32 * MIB), 32 * MIB);
	KUNIT_EXPECT_GE(test, kept_by_pool(test, 256 * MIB), 70 * MIB);
	KUNIT_EXPECT_GE(test, kept_by_pool(test, UINT64_MAX), 70 * MIB);
}

/* ---- Streams ---------------------------------------------------------- */

static void stream_of_each_thread_is_refused(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.stream = SLABDEV_STREAM_PER_THREAD;
	refused(test, "cuda:0", &attr, -EINVAL, "stream");
}

/* It could be put into no order with the memory. */
static void use_stream_of_another_device(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	CUcontext other, ctx;
	struct slabdev *sd;

	begin(test);
	sd = cuda_open_kind(test, CUDA_KIND_VMM, 0, NULL);
	MUST(test, cuDevicePrimaryCtxRetain(&other, 1));
	MUST(test, cuCtxPushCurrent(other));
	attr.stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	MUST(test, cuCtxPopCurrent(&ctx));
	refused(test, "cuda:0", &attr, -EINVAL, "another context");
	req.stream = attr.stream;
	KUNIT_EXPECT_NULL(test, slabdev_alloc_ex(sd, 1000, &req));
	KUNIT_EXPECT_EQ(test, errno, EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_stream_attach(sd, attr.stream), -EINVAL);
	KUNIT_EXPECT_NULL(test, slabdev_alloc_async(sd, 1000, attr.stream));
	KUNIT_EXPECT_EQ(test, errno, EINVAL);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(),
				       "another context"));
	cuda_close(test, sd);
	MUST(test, cuCtxPushCurrent(other));
	end_stream(test, attr.stream);
	MUST(test, cuCtxPopCurrent(&ctx));
	MUST(test, cuDevicePrimaryCtxRelease(1));
	bench_close(test);
}

static void stream_of_another_device(struct kunit *test)
{
	on_machine(test, "two", use_stream_of_another_device);
}

static void request_names_a_stream(struct kunit *test)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	CUstream other = new_stream(test, CU_STREAM_NON_BLOCKING);
	struct slabdev *sd = cuda_open_kind(test, CUDA_KIND_VMM, 0, stream);
	void *p;

	req.stream = stream;
	p = slabdev_alloc_ex(sd, 1000, &req);
	KUNIT_EXPECT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	EXPECT_FREED(test, sd, p);
	req.stream = other;
	p = slabdev_alloc_ex(sd, 1000, &req);
	KUNIT_EXPECT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(test, slabdev_free_async(sd, p, other), 0);
	req.stream = SLABDEV_STREAM_LEGACY;
	p = slabdev_alloc_ex(sd, 1000, &req);
	KUNIT_EXPECT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	EXPECT_FREED(test, sd, p);
	cuda_close(test, sd);
	end_stream(test, other);
	end_stream(test, stream);
}

/* ---- What does not fit ------------------------------------------------ */

static void attributes_that_do_not_fit(struct kunit *test)
{
	static const char *const others[] = { "cuda-host:0", "cuda-managed:0" };
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.backing = SLABDEV_BACKING_MALLOC + 1;
	refused(test, "cuda:0", &attr, -EINVAL, "backing");
	attr.backing = SLABDEV_BACKING_AUTO;
	attr.handle_type = SLABDEV_HANDLE_AUTO + 1;
	refused(test, "cuda:0", &attr, -EINVAL, "handle_type");
	attr.handle_type = SLABDEV_HANDLE_FD;
	for (u32 i = 0; i < ARRAY_SIZE(others); i++)
		refused(test, others[i], &attr, -ENOTSUP, "handle_type");
	for (attr.backing = SLABDEV_BACKING_POOL;
	     attr.backing <= SLABDEV_BACKING_MALLOC; attr.backing++)
		refused(test, "cuda:0", &attr, -ENOTSUP, "handle_type");
	attr.handle_type = SLABDEV_HANDLE_NONE;
	attr.backing = SLABDEV_BACKING_VMM;
	for (u32 i = 0; i < ARRAY_SIZE(others); i++)
		refused(test, others[i], &attr, -ENOTSUP, "backing");
	attr.backing = SLABDEV_BACKING_AUTO;
	attr.flags = SLABDEV_OPEN_HUGE_PAGES;
	refused(test, "cuda:0", &attr, -ENOTSUP, "huge pages");
}

static const struct kunit_case attr_cases[] = {
	KUNIT_CASE_ISOLATED(limit_is_kept),
	KUNIT_CASE_ISOLATED(impossible_limits),
	KUNIT_CASE_ISOLATED(device_is_full_before_the_limit),
	KUNIT_CASE_ISOLATED(meminfo_is_the_drivers),
	KUNIT_CASE_ISOLATED(fabric_needs_a_service),
	KUNIT_CASE_ISOLATED(pool_keeps_as_much_as_it_is_told),
	KUNIT_CASE_ISOLATED(stream_of_each_thread_is_refused),
	KUNIT_CASE_ISOLATED(request_names_a_stream),
	KUNIT_CASE_ISOLATED(attributes_that_do_not_fit),
	{ 0 }
};

static const struct kunit_suite cuda_attr_suite = {
	.name = "cuda_attr",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = attr_cases,
};

static const struct kunit_case child_cases[] = {
	KUNIT_CASE_PARAM(limit_is_what_was_asked_for, limit_gen_params,
			 .isolated = true),
	KUNIT_CASE_ISOLATED(peer_has_access),
	KUNIT_CASE_ISOLATED(stream_of_another_device),
	KUNIT_CASE_ISOLATED(peers_that_are_none),
	KUNIT_CASE_PARAM(memory_can_be_shared_as_asked, sharing_gen_params,
			 .isolated = true),
	{ 0 }
};

static const struct kunit_suite cuda_attr_child_suite = {
	.name = "cuda_attr_child",
	.cases = child_cases,
};
kunit_test_suites(&cuda_attr_suite, &cuda_attr_child_suite);
