// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_share_test.c - device memory that several processes use, on the model
 * of the driver. Each process has a model of its own; what they share is the
 * memory. Fabric handles need a service that no machine of the model has.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/cuda_space.h"
#include "tests/descriptors.h"
#include "tests/sharer.h"

static struct slabdev *open_shared(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = 256 * MIB;
	attr.handle_type = SLABDEV_HANDLE_AUTO;
	attr.backing = SLABDEV_BACKING_VMM;
	attr.name = "shared";
	return cuda_open(test, "cuda:0", &attr);
}

static struct slabdev_share must_export(struct kunit *test, struct slabdev *sd,
					void *p)
{
	struct slabdev_share share = SLABDEV_SHARE_INIT;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_export(sd, p, &share), 0, "%s",
			    slabdev_last_error());
	return share;
}

static void end_and_close(struct kunit *test, struct slabdev *sd, void *p,
			  struct slabdev_share *share)
{
	KUNIT_EXPECT_EQ(test, slabdev_export_end(sd, p, share), 0);
	EXPECT_FREED(test, sd, p);
	cuda_close(test, sd);
}

static const size_t sizes[] = { 4, 256, 5000, MIB / 2, 100 * MIB };

static void describe_size(const size_t *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%zu bytes", *size);
}
KUNIT_ARRAY_PARAM(size, sizes, describe_size);

static void other_process_has_the_object(struct kunit *test)
{
	size_t size = *(const size_t *)test->param_value;
	struct slabdev *sd = open_shared(test);
	struct slabdev_share share;
	struct sharer_answer a;
	struct sharer other;
	void *before = must_alloc(test, sd, size);
	void *p = must_alloc(test, sd, size);

	cuda_submit_fill(test, before, size, 1, NULL);
	cuda_submit_fill(test, p, size, 2, NULL);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, p), 2);
	share = must_export(test, sd, p);
	KUNIT_EXPECT_EQ(test, share.kind, SLABDEV_SHARE_CUDA);
	KUNIT_EXPECT_EQ(test, share.type, SLABDEV_HANDLE_FD);
	KUNIT_EXPECT_EQ(test, share.bytes, size);
	KUNIT_EXPECT_EQ(test, fcntl(share.fd, F_GETFD), FD_CLOEXEC);
	KUNIT_EXPECT_TRUE(test, !strncmp(share.uuid, "GPU-", 4));
	a = sharer_start(test, &other, "cuda:0", &share);
	KUNIT_ASSERT_EQ(test, a.err, 0);
	KUNIT_EXPECT_EQ(test, a.size, size);
	KUNIT_EXPECT_EQ(test, a.value, 0x02020202);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, p), 3);
	cuda_submit_fill(test, p, size, 8, NULL);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, p), 8);
	KUNIT_EXPECT_EQ(test, sharer_next(test, &other).value, 0x08080808);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, p), 9);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, before), 1);
	sharer_end(test, &other);
	EXPECT_FREED(test, sd, before);
	end_and_close(test, sd, p, &share);
	EXPECT_NO_VIOLATION(test);
}

static void import_outlives_the_space(struct kunit *test)
{
	struct slabdev *sd = open_shared(test);
	void *p = must_alloc(test, sd, 4096);
	struct slabdev_share share;
	struct sharer other;

	cuda_submit_fill(test, p, 4096, 5, NULL);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, p), 5);
	share = must_export(test, sd, p);
	KUNIT_EXPECT_EQ(test, sharer_start(test, &other, "cuda:0", &share).value,
			0x05050505);
	end_and_close(test, sd, p, &share);
	KUNIT_EXPECT_EQ(test, sharer_next(test, &other).value, 0x05050506);
	sharer_end(test, &other);
}

/* In this process too: other addresses, the same bytes, all given back. */
static void import_in_the_same_process(struct kunit *test)
{
	struct slabdev *sd = open_shared(test);
	void *p = must_alloc(test, sd, 4096);
	struct slabdev_share share = must_export(test, sd, p);
	struct slabdev_import *im = NULL;
	u32 before = count_descriptors(test);

	KUNIT_ASSERT_EQ_MSG(test, slabdev_import(&im, NULL, &share), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_PTR_NE(test, slabdev_import_ptr(im), p);
	cuda_submit_fill(test, slabdev_import_ptr(im), 4096, 6, NULL);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, p), 6);
	KUNIT_EXPECT_EQ(test, slabdev_import_close(im), 0);
	KUNIT_EXPECT_EQ(test, count_descriptors(test), before);
	end_and_close(test, sd, p, &share);
	EXPECT_NO_VIOLATION(test);
}

/* Closing waits for work that uses the import. */
static void close_waits_for_work(struct kunit *test)
{
	struct slabdev *sd = open_shared(test);
	void *p = must_alloc(test, sd, 4096);
	struct slabdev_share share = must_export(test, sd, p);
	struct slabdev_import *im = NULL;
	CUstream stream;

	MUST(test, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	KUNIT_ASSERT_EQ(test, slabdev_import(&im, "cuda:0", &share), 0);
	for (u32 i = 0; i < 50; i++)
		cuda_submit_fill(test, slabdev_import_ptr(im), 4096, (u8)i,
				 stream);
	KUNIT_EXPECT_EQ(test, slabdev_import_close(im), 0);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, p), 49);
	MUST(test, cuStreamDestroy(stream));
	end_and_close(test, sd, p, &share);
	EXPECT_NO_VIOLATION(test);
}

static void refuse(struct kunit *test, const char *spec,
		   const struct slabdev_share *share, int err)
{
	struct slabdev_import *im = NULL;

	KUNIT_EXPECT_EQ_MSG(test, slabdev_import(&im, spec, share), err, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_NULL(test, im);
}

static void hostile_exports_are_refused(struct kunit *test)
{
	struct slabdev *sd = open_shared(test);
	void *p = must_alloc(test, sd, 4096);
	struct slabdev_share share = must_export(test, sd, p), s = share;
	u32 before = count_descriptors(test);

	refuse(test, "host", &share, -EINVAL);
	refuse(test, "cuda-host:0", &share, -ENOTSUP);
	s.fd = STDIN_FILENO;
	refuse(test, NULL, &s, -EINVAL);
	s.fd = 1 << 20;
	refuse(test, NULL, &s, -EINVAL);
	s = share;
	s.handle_bytes += 2 * MIB * 1000;
	refuse(test, NULL, &s, -EINVAL);
	s = share;
	s.handle_bytes--;
	refuse(test, NULL, &s, -EINVAL);
	s = share;
	memset(s.uuid, 0, sizeof(s.uuid));
	refuse(test, NULL, &s, -EINVAL);
	s = share;
	s.type = SLABDEV_HANDLE_FABRIC;
	s.fd = -1;
	refuse(test, NULL, &s, -ENOTSUP);
	KUNIT_EXPECT_EQ(test, count_descriptors(test), before);
	end_and_close(test, sd, p, &share);
}

static void memory_that_cannot_be_shared(struct kunit *test)
{
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	const struct cuda_kind_param *kind;
	struct slabdev *sd;
	void *p;

	for (kind = cuda_kinds; kind < cuda_kinds + ARRAY_SIZE(cuda_kinds);
	     kind++) {
		sd = cuda_open_kind(test, kind, 64 * MIB, NULL);
		p = must_alloc(test, sd, 4096);
		KUNIT_EXPECT_EQ(test, slabdev_export(sd, p, &share), -ENOTSUP);
		KUNIT_EXPECT_EQ(test, share.fd, -1);
		EXPECT_FREED(test, sd, p);
		cuda_close(test, sd);
	}
}

static void exported_object_cannot_be_freed(struct kunit *test)
{
	struct slabdev *sd = open_shared(test);
	void *p = must_alloc(test, sd, 4096);
	struct slabdev_share share = must_export(test, sd, p);

	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EBUSY);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(sd, p, SLABDEV_STREAM_LEGACY),
			-EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, p), cuda_byte(test, p));
	end_and_close(test, sd, p, &share);
	EXPECT_NO_VIOLATION(test);
}

static const char *const calls[] = {
	"cuMemExportToShareableHandle", "cuMemImportFromShareableHandle",
	"cuMemAddressReserve", "cuMemMap", "cuMemSetAccess",
	"cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuMemUnmap",
	"cuMemRelease", "cuMemAddressFree", "cuCtxSynchronize",
};

static void describe_call(const char *const *call, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", *call);
}
KUNIT_ARRAY_PARAM(call, calls, describe_call);

/* The n-th call of a kind fails: an error, and nothing is left behind. */
static void any_call_may_fail_once(struct kunit *test)
{
	const char *call = *(const char *const *)test->param_value;
	struct slabdev *sd = open_shared(test);
	void *p = must_alloc(test, sd, 4096);
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct slabdev_import *im;
	u32 before = count_descriptors(test);
	int err;

	for (u32 n = 1; n <= 4; n++) {
		im = NULL;
		cu.model_fail(call, n, CUDA_ERROR_UNKNOWN, 0);
		err = slabdev_export(sd, p, &share);
		if (!err)
			err = slabdev_import(&im, "cuda:0", &share);
		KUNIT_EXPECT_EQ(test, im == NULL, err != 0);
		/* What was not closed the first time is the second. */
		if (im && slabdev_import_close(im)) {
			cu.model_fail("*", 0, 0, 0);
			KUNIT_EXPECT_EQ(test, slabdev_import_close(im), 0);
		}
		cu.model_fail("*", 0, 0, 0);
		if (share.fd >= 0)
			KUNIT_EXPECT_EQ(test, slabdev_export_end(sd, p, &share),
					0);
	}
	KUNIT_EXPECT_LE(test, count_descriptors(test), before);
	EXPECT_FREED(test, sd, p);
	cuda_close(test, sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(other_process_has_the_object, size_gen_params),
	KUNIT_CASE(import_outlives_the_space),
	KUNIT_CASE(import_in_the_same_process),
	KUNIT_CASE(close_waits_for_work),
	KUNIT_CASE(hostile_exports_are_refused),
	KUNIT_CASE(memory_that_cannot_be_shared),
	KUNIT_CASE(exported_object_cannot_be_freed),
	KUNIT_CASE_PARAM(any_call_may_fail_once, call_gen_params),
	{ 0 }
};

static const struct kunit_suite cuda_share_suite = {
	.name = "cuda_share",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cases,
};
kunit_test_suite(cuda_share_suite);
