// SPDX-License-Identifier: BSD-2-Clause
/*
 * share_test.c - host memory that several processes use: what export, import
 * and the socket promise. What they refuse is in share_hostile.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/descriptors.h"
#include "tests/share_space.h"
#include "tests/sharer.h"
#include "vmm/backends.h"
#include "vmm/fault.h"

/* ---- Two processes -------------------------------------------------- */

static const size_t sizes[] = {
	1, 256, 300, 4096, 65536, MIB / 2, 100 * MIB,
};

static void describe_size(const size_t *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%zu bytes", *size);
}
KUNIT_ARRAY_PARAM(size, sizes, describe_size);

/* An object and its neighbours: each is what the other process sees. */
static void other_process_has_the_object(struct kunit *test)
{
	size_t size = *(const size_t *)test->param_value;
	struct slabdev *sd = open_shared(test);
	struct slabdev_share share;
	struct sharer_answer a;
	struct sharer other;
	u32 *before, *p;

	before = must_alloc(test, sd, max(size, (size_t)4));
	p = must_alloc(test, sd, max(size, (size_t)4));
	*before = 1;
	*p = 1000;
	share = must_export(test, sd, p);
	KUNIT_EXPECT_EQ(test, share.kind, SLABDEV_SHARE_HOST);
	KUNIT_EXPECT_EQ(test, share.type, SLABDEV_HANDLE_FD);
	KUNIT_EXPECT_EQ(test, share.bytes, max(size, (size_t)4));
	KUNIT_EXPECT_LE(test, share.offset + share.bytes, share.handle_bytes);
	KUNIT_EXPECT_EQ(test, fcntl(share.fd, F_GETFD), FD_CLOEXEC);

	a = sharer_start(test, &other, "host", &share);
	KUNIT_ASSERT_EQ(test, a.err, 0);
	KUNIT_EXPECT_EQ(test, a.size, max(size, (size_t)4));
	KUNIT_EXPECT_EQ(test, a.value, 1000);
	KUNIT_EXPECT_EQ(test, *p, 1001);
	*p = 2000;
	KUNIT_EXPECT_EQ(test, sharer_next(test, &other).value, 2000);
	KUNIT_EXPECT_EQ(test, *p, 2001);
	KUNIT_EXPECT_EQ(test, *before, 1);
	sharer_end(test, &other);

	KUNIT_EXPECT_EQ(test, stats_of(test, sd).exported, 1);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).exported_bytes,
			slabdev_usable_size(sd, p));
	EXPECT_EXPORT_ENDED(test, sd, p, &share);
	KUNIT_EXPECT_EQ(test, share.fd, -1);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).exported, 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).exported_bytes, 0);
	EXPECT_FREED(test, sd, p);
	EXPECT_FREED(test, sd, before);
	expect_empty(test, sd);
	close_space(test, sd);
}

/* What the exporter does with its own end is not the importer's loss. */
static void import_outlives_the_space(struct kunit *test)
{
	struct slabdev *sd = open_shared(test);
	u32 *p = must_alloc(test, sd, 4096);
	struct slabdev_share share;
	struct sharer other;

	*p = 7;
	share = must_export(test, sd, p);
	KUNIT_EXPECT_EQ(test, sharer_start(test, &other, "host", &share).value,
			7);
	EXPECT_EXPORT_ENDED(test, sd, p, &share);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
	KUNIT_EXPECT_EQ(test, sharer_next(test, &other).value, 8);
	KUNIT_EXPECT_EQ(test, sharer_next(test, &other).value, 9);
	sharer_end(test, &other);
}

/* In a child: exports, sends, and dies without a word. */
static void export_and_die(struct kunit *test, int sock)
{
	struct slabdev *sd = open_shared(test);
	u32 *p = must_alloc(test, sd, 4096);
	struct slabdev_share share = must_export(test, sd, p);

	*p = 77;
	if (slabdev_share_send(sock, &share))
		_exit(1);
	raise(SIGKILL);
}

static void import_outlives_the_exporter(struct kunit *test)
{
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct slabdev_import *im = NULL;
	int pair[2], status = 0;
	pid_t pid;

	KUNIT_ASSERT_EQ(test, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC,
					 0, pair), 0);
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid)
		export_and_die(test, pair[1]);
	close(pair[1]);
	KUNIT_ASSERT_EQ(test, slabdev_share_receive(pair[0], &share), 0);
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_TRUE(test, WIFSIGNALED(status));
	KUNIT_ASSERT_EQ(test, slabdev_import(&im, NULL, &share), 0);
	close(share.fd);
	close(pair[0]);
	KUNIT_EXPECT_EQ(test, *(u32 *)slabdev_import_ptr(im), 77);
	KUNIT_EXPECT_EQ(test, slabdev_import_size(im), 4096);
	KUNIT_EXPECT_EQ(test, slabdev_import_close(im), 0);
}

/* ---- What an export holds ------------------------------------------- */

static void exported_object_cannot_be_freed(struct kunit *test)
{
	struct slabdev *sd = open_shared(test);
	struct slabdev_share first, second;
	struct slabdev_cache *cache = NULL;
	struct slabdev_stats before;
	void *p[3];

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, sd, "tiny", 48,
						   NULL), 0);
	p[0] = must_alloc(test, sd, 1000);
	p[1] = slabdev_cache_alloc(cache);
	p[2] = must_alloc(test, sd, 80 * MIB);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++) {
		first = must_export(test, sd, p[i]);
		second = must_export(test, sd, p[i]);
		before = figures(test, sd);
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p[i]), -EBUSY);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(slabdev_last_error(),
				"is exported to another process: "
				"slabdev_export_end() first"), "%s",
				slabdev_last_error());
		KUNIT_EXPECT_EQ(test, figures(test, sd).live, before.live);
		EXPECT_EXPORT_ENDED(test, sd, p[i], &first);
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p[i]), -EBUSY);
		EXPECT_EXPORT_ENDED(test, sd, p[i], &second);
		KUNIT_EXPECT_EQ(test, slabdev_export_end(sd, p[i], NULL),
				-EINVAL);
		EXPECT_FREED(test, sd, p[i]);
		kunit_expect_report(test, REPORT_DOUBLE_FREE);
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p[i]), -EALREADY);
	}
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	expect_empty(test, sd);
	close_space(test, sd);
}

/* Trim, and the policy that gives back most, leave it where it is. */
static void exported_memory_stays(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct slabdev *sd = open_shared(test);
	u32 *p = must_alloc(test, sd, 5000);
	struct slabdev_share share;
	struct sharer other;

	*p = 5;
	share = must_export(test, sd, p);
	KUNIT_EXPECT_EQ(test, sharer_start(test, &other, "host", &share).err,
			0);
	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(sd, &policy), 0);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EBUSY);
	KUNIT_EXPECT_EQ(test, sharer_next(test, &other).value, 6);
	KUNIT_EXPECT_EQ(test, *p, 7);
	sharer_end(test, &other);
	EXPECT_EXPORT_ENDED(test, sd, p, &share);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

static void only_shared_spaces_export(struct kunit *test)
{
	struct slabdev *sd = NULL;
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_open(&sd, "host", NULL), 0);
	p = must_alloc(test, sd, 100);
	KUNIT_EXPECT_EQ(test, slabdev_export(sd, p, &share), -ENOTSUP);
	EXPECT_ERROR_HAS(test, "handle_type");
	KUNIT_EXPECT_EQ(test, share.fd, -1);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
	attr.handle_type = SLABDEV_HANDLE_FABRIC;
	KUNIT_EXPECT_EQ(test, slabdev_open(&sd, "host", &attr), -ENOTSUP);
	EXPECT_ERROR_HAS(test, "fabric");
	attr.handle_type = SLABDEV_HANDLE_AUTO;
	KUNIT_ASSERT_EQ(test, slabdev_open(&sd, "host", &attr), 0);
	p = must_alloc(test, sd, 100);
	share = must_export(test, sd, p);
	EXPECT_EXPORT_ENDED(test, sd, p, &share);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

/* Handles of one chunk, and an object of several. */
static void object_in_two_handles_is_refused(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct slabdev *sd = open_shared(test);
	void *p;

	policy.mode = SLABDEV_TRIM;
	policy.keep_bytes = 64 * MIB;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(sd, &policy), 0);
	p = must_alloc(test, sd, 5 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_export(sd, p, &share), -EXDEV);
	EXPECT_ERROR_HAS(test, "more than one");
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

static void bad_arguments_are_refused(struct kunit *test)
{
	struct slabdev *sd = open_shared(test);
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct slabdev_import *im = NULL;
	char *p = must_alloc(test, sd, 1000);

	KUNIT_EXPECT_EQ(test, slabdev_export(NULL, p, &share), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_export(sd, p, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_export(sd, p + 256, &share), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_export(sd, &share, &share), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_export(sd, NULL, &share), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_export_end(sd, p, &share), -EINVAL);
	share.size = 8;
	KUNIT_EXPECT_EQ(test, slabdev_export(sd, p, &share), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_import(&im, NULL, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_import_close(NULL), 0);
	KUNIT_EXPECT_NULL(test, slabdev_import_ptr(NULL));
	KUNIT_EXPECT_EQ(test, slabdev_import_size(NULL), 0);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

/* ---- Nothing is left behind ----------------------------------------- */

static void descriptors_go_with_handles(struct kunit *test)
{
	u32 before = count_descriptors(test), open;
	struct slabdev *sd = open_shared(test);
	struct slabdev_import *im;
	struct slabdev_share share;
	void *p;

	/* The first object takes the thread's statistics with it. */
	EXPECT_FREED(test, sd, must_alloc(test, sd, 70 * MIB));
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	open = count_descriptors(test);
	for (u32 i = 0; i < 20; i++) {
		p = must_alloc(test, sd, 70 * MIB);
		share = must_export(test, sd, p);
		KUNIT_EXPECT_EQ(test, count_descriptors(test), open + 2);
		KUNIT_ASSERT_EQ(test, slabdev_import(&im, NULL, &share), 0);
		memset(slabdev_import_ptr(im), (int)i, 4096);
		KUNIT_EXPECT_EQ(test, *(u8 *)p, i);
		KUNIT_EXPECT_EQ(test, slabdev_import_close(im), 0);
		EXPECT_EXPORT_ENDED(test, sd, p, &share);
		EXPECT_FREED(test, sd, p);
		KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
		KUNIT_EXPECT_EQ(test, count_descriptors(test), open);
	}
	close_space(test, sd);
	KUNIT_EXPECT_EQ(test, count_descriptors(test), before);
}

static void lack_of_descriptors_is_told(struct kunit *test)
{
	struct slabdev *sd = open_shared(test);
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct rlimit limit;
	void *p = must_alloc(test, sd, 1000);
	rlim_t was;

	KUNIT_ASSERT_EQ(test, getrlimit(RLIMIT_NOFILE, &limit), 0);
	was = limit.rlim_cur;
	limit.rlim_cur = 3;
	KUNIT_ASSERT_EQ(test, setrlimit(RLIMIT_NOFILE, &limit), 0);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_NULL(test, slabdev_alloc(sd, 100 * MIB));
	KUNIT_EXPECT_EQ(test, errno, ENOMEM);
	EXPECT_ERROR_HAS(test, "RLIMIT_NOFILE");
	KUNIT_EXPECT_EQ(test, slabdev_export(sd, p, &share), -EMFILE);
	KUNIT_EXPECT_EQ(test, share.fd, -1);
	limit.rlim_cur = was;
	KUNIT_ASSERT_EQ(test, setrlimit(RLIMIT_NOFILE, &limit), 0);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

/* Each call of the backend fails once, below an import. */
static void any_step_of_an_import_may_fail(struct kunit *test)
{
	struct slabdev *sd = open_shared(test);
	void *p = must_alloc(test, sd, 1000), *dev = NULL;
	struct slabdev_share share = must_export(test, sd, p);
	u32 before = count_descriptors(test);
	struct vmm_import im;
	struct vmm_fault f;
	int err = -1;

	KUNIT_ASSERT_EQ(test, vmm_host_get(0, true, &dev), 0);
	vmm_fault_init(&f, &vmm_host_shared_ops, dev);
	for (u64 n = 1; err; n++) {
		KUNIT_ASSERT_LE(test, n, 5);
		vmm_fault_arm_any(&f, n, 1, 1, -EIO);
		err = vmm_import_open(&im, &f.table, &f, &share);
		if (!err)
			continue;
		KUNIT_EXPECT_EQ(test, err, -EIO);
		KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&f));
		KUNIT_EXPECT_EQ(test, count_descriptors(test), before);
	}
	/* Closing goes on where it was refused: unmap, release, unreserve. */
	for (u32 i = 0; i < 3; i++) {
		vmm_fault_arm_any(&f, i ? 2 : 1, 1, 1, -EIO);
		KUNIT_EXPECT_EQ(test, vmm_import_close(&im), -EIO);
	}
	vmm_fault_arm_any(&f, 0, 0, 1, 0);
	KUNIT_EXPECT_EQ(test, vmm_import_close(&im), 0);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&f));
	KUNIT_EXPECT_EQ(test, count_descriptors(test), before);
	vmm_fault_fini(&f);
	vmm_backend_put(&vmm_host_shared_ops, dev);
	EXPECT_EXPORT_ENDED(test, sd, p, &share);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

/* ---- Forks ---------------------------------------------------------- */

static void look_after_fork(struct kunit *test, struct slabdev *sd, u32 *p,
			    struct slabdev_import *im)
{
	struct slabdev_share share = SLABDEV_SHARE_INIT;

	alarm(60);
	errno = 0;
	KUNIT_EXPECT_NULL(test, slabdev_alloc(sd, 100));
	KUNIT_EXPECT_EQ(test, errno, EOWNERDEAD);
	KUNIT_EXPECT_EQ(test, slabdev_export(sd, p, &share), -EOWNERDEAD);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EOWNERDEAD);
	*(u32 *)slabdev_import_ptr(im) = 42;
	KUNIT_EXPECT_EQ(test, slabdev_import_close(im), 0);
}

/* The space is the parent's, but what is imported is shared. */
static void forked_child_shares_imports_only(struct kunit *test)
{
	struct slabdev *sd = open_shared(test);
	u32 *p = must_alloc(test, sd, 4096);
	struct slabdev_share share = must_export(test, sd, p);
	struct slabdev_import *im = NULL;
	int status = -1;
	pid_t pid;

	*p = 1;
	KUNIT_ASSERT_EQ(test, slabdev_import(&im, "host", &share), 0);
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		look_after_fork(test, sd, p, im);
		_exit(0);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	KUNIT_EXPECT_EQ(test, *p, 42);
	KUNIT_EXPECT_EQ(test, slabdev_import_close(im), 0);
	EXPECT_EXPORT_ENDED(test, sd, p, &share);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(other_process_has_the_object, size_gen_params),
	KUNIT_CASE(import_outlives_the_space),
	KUNIT_CASE_ISOLATED(import_outlives_the_exporter),
	KUNIT_CASE(exported_object_cannot_be_freed),
	KUNIT_CASE(exported_memory_stays),
	KUNIT_CASE(only_shared_spaces_export),
	KUNIT_CASE(object_in_two_handles_is_refused),
	KUNIT_CASE(bad_arguments_are_refused),
	KUNIT_CASE(hostile_descriptors_are_refused),
	KUNIT_CASE(hostile_numbers_are_refused),
	KUNIT_CASE(garbage_from_a_socket_is_refused),
	KUNIT_CASE(socket_that_is_closed_is_told),
	KUNIT_CASE(descriptors_go_with_handles),
	KUNIT_CASE_ISOLATED(lack_of_descriptors_is_told),
	KUNIT_CASE(any_step_of_an_import_may_fail),
	KUNIT_CASE_ISOLATED(forked_child_shares_imports_only),
	{ 0 }
};

static const struct kunit_suite share_suite = {
	.name = "share",
	.cases = cases,
};
kunit_test_suite(share_suite);
