// SPDX-License-Identifier: BSD-2-Clause
/*
 * share.c - statements about handles that are exported, imported, or found.
 *
 * What another process sees is done by tests/contract/other, which starts
 * anew: the child of a fork could not use the driver.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/contract/driver.h"
#include "tests/kunit/spawn.h"

/* An area that can be exported, with access. */
static struct area shared_open(struct kunit *test)
{
	struct bench *b = bench_of(test);

	b->prop.requestedHandleTypes =
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	return area_open(test, b->g);
}

static int export_fd(struct kunit *test, CUmemGenericAllocationHandle handle)
{
	int fd = -1;

	MUST(test, cuMemExportToShareableHandle(&fd, handle,
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	return fd;
}

static CUmemGenericAllocationHandle import_fd(struct kunit *test, int fd)
{
	CUmemGenericAllocationHandle handle = 0;

	MUST(test, cuMemImportFromShareableHandle(&handle,
			(void *)(intptr_t)fd,
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	return handle;
}

/* What was not created to be exported cannot be. */
static void c124_export_unasked(struct kunit *test)
{
	CUmemGenericAllocationHandle handle = create(test, bench_of(test)->g);
	int fd = -1;

	EXPECT_CU(test, cuMemExportToShareableHandle(&fd, handle,
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), 1);
	release(test, handle);
}

/* An export is a descriptor that can be duplicated, with the memory in it. */
static void c125_export(struct kunit *test)
{
	struct area a = shared_open(test);
	int fd = export_fd(test, a.handle), other;

	KUNIT_ASSERT_GE(test, fd, 0);
	other = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	KUNIT_EXPECT_GE(test, other, 0);
	close(fd);
	release(test, import_fd(test, other));
	close(other);
	area_close(test, &a);
}

/* Flags, no place, and no type are INVALID_VALUE. */
static void c126_export_arguments(struct kunit *test)
{
	struct area a = shared_open(test);
	CUmemAllocationHandleType type =
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	int fd = -1;

	EXPECT_CU(test, cuMemExportToShareableHandle(&fd, a.handle, type, 1),
		  1);
	EXPECT_CU(test, cuMemExportToShareableHandle(NULL, a.handle, type, 0),
		  1);
	EXPECT_CU(test, cuMemExportToShareableHandle(&fd, a.handle,
			CU_MEM_HANDLE_TYPE_NONE, 0), 1);
	area_close(test, &a);
}

/* So is a type that was not asked for. */
static void c127_export_other_type(struct kunit *test)
{
	struct area a = shared_open(test);
	int fd = -1;

	EXPECT_CU(test, cuMemExportToShareableHandle(&fd, a.handle,
			CU_MEM_HANDLE_TYPE_WIN32, 0), 1);
	area_close(test, &a);
}

/* Imported into the same process it is the same bytes, and a reference. */
static void c128_import(struct kunit *test)
{
	struct area a = shared_open(test), b = { .size = a.size };
	int fd = export_fd(test, a.handle);
	size_t before = free_bytes(test);

	b.handle = import_fd(test, fd);
	b.ptr = reserve(test, b.size);
	MUST(test, cuMemMap(b.ptr, b.size, 0, b.handle, 0));
	grant(test, b.ptr, b.size);
	put_u32(test, a.ptr + 128, 128);
	KUNIT_EXPECT_EQ(test, get_u32(test, b.ptr + 128), 128);
	KUNIT_EXPECT_EQ(test, free_bytes(test), before);
	area_close(test, &b);
	close(fd);
	area_close(test, &a);
}

/* Start another process with the descriptor @fd; it must say @expected. */
static void other_process(struct kunit *test, const char *what, int fd,
			  const char *expected)
{
	const char *program = kunit_built_path(test, "tests/contract/other");
	const char *lib = getenv("SLABDEV_LIBCUDA");
	struct kunit_process proc;
	char number[16];

	if (!lib || !*lib)
		lib = kunit_built_path(test, "tests/model/libcuda.so.1");
	snprintf(number, sizeof(number), "%d", fd);
	fcntl(fd, F_SETFD, 0);
	kunit_run_program(test, &proc, (const char *[]){ program, lib, what,
			  number, NULL });
	KUNIT_EXPECT_STREQ(test, proc.out, expected);
	if (proc.exit_code)
		kunit_show_process(test, &proc);
}

/* Another process that imports it sees the data. */
static void c129_import_elsewhere(struct kunit *test)
{
	struct area a = shared_open(test);
	int fd = export_fd(test, a.handle);

	put_u32(test, a.ptr, 129);
	other_process(test, "import", fd, "129\n");
	KUNIT_EXPECT_EQ(test, get_u32(test, a.ptr), 130);
	close(fd);
	area_close(test, &a);
}

/* An importer's mapping survives the exporter's handle and mapping. */
static void c130_import_survives(struct kunit *test)
{
	struct area a = shared_open(test), b = { .size = a.size };
	int fd = export_fd(test, a.handle);

	put_u32(test, a.ptr, 130);
	b.handle = import_fd(test, fd);
	close(fd);
	b.ptr = reserve(test, b.size);
	MUST(test, cuMemMap(b.ptr, b.size, 0, b.handle, 0));
	grant(test, b.ptr, b.size);
	area_close(test, &a);
	KUNIT_EXPECT_EQ(test, get_u32(test, b.ptr), 130);
	area_close(test, &b);
}

/* The descriptor may be closed after the import. */
static void c131_import_then_close(struct kunit *test)
{
	struct area a = shared_open(test);
	int fd = export_fd(test, a.handle);
	CUmemGenericAllocationHandle handle = import_fd(test, fd);

	KUNIT_EXPECT_EQ(test, close(fd), 0);
	put_u32(test, a.ptr, 131);
	KUNIT_EXPECT_EQ(test, get_u32(test, a.ptr), 131);
	release(test, handle);
	area_close(test, &a);
}

static void cannot_import(struct kunit *test, int fd)
{
	CUmemGenericAllocationHandle handle = 0;

	EXPECT_CU(test, cuMemImportFromShareableHandle(&handle,
			(void *)(intptr_t)fd,
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), 1, 999,
		  304);
}

/* A descriptor of something else, or of nothing, cannot be imported. */
static void c132_import_other(struct kunit *test)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	cannot_import(test, fd);
	close(fd);
	cannot_import(test, fd);
}

/* Nor can a handle of no type. */
static void c133_import_no_type(struct kunit *test)
{
	struct area a = shared_open(test);
	int fd = export_fd(test, a.handle);
	CUmemGenericAllocationHandle handle = 0;

	EXPECT_CU(test, cuMemImportFromShareableHandle(&handle,
			(void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_NONE), 1);
	close(fd);
	area_close(test, &a);
}

/* Any address of a mapping leads to the handle, with one reference more. */
static void c134_retain(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	CUmemGenericAllocationHandle handle = 0;

	MUST(test, cuMemRetainAllocationHandle(&handle,
			(void *)(uintptr_t)(a.ptr + a.size / 2)));
	KUNIT_EXPECT_EQ(test, handle, a.handle);
	/* Both references are needed, in any order with the mapping. */
	release(test, handle);
	EXPECT_CU(test, cuMemUnmap(a.ptr, a.size), 0);
	MUST(test, cuMemMap(a.ptr, a.size, 0, a.handle, 0));
	area_close(test, &a);
}

/* Elsewhere there is none. */
static void c135_retain_nothing(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, g);
	CUmemGenericAllocationHandle handle = 0;

	EXPECT_CU(test, cuMemRetainAllocationHandle(&handle,
			(void *)(uintptr_t)ptr), 1);
	EXPECT_CU(test, cuMemRetainAllocationHandle(&handle, NULL), 1);
	unreserve(test, ptr, g);
	EXPECT_CU(test, cuMemRetainAllocationHandle(&handle,
			(void *)(uintptr_t)ptr), 1);
}

/* The properties of a handle are those that it was created with. */
static void c136_properties(struct kunit *test)
{
	struct bench *b = bench_of(test);
	struct area a = shared_open(test);
	CUmemAllocationProp prop;

	memset(&prop, 0xff, sizeof(prop));
	MUST(test, cuMemGetAllocationPropertiesFromHandle(&prop, a.handle));
	KUNIT_EXPECT_EQ(test, prop.type, b->prop.type);
	KUNIT_EXPECT_EQ(test, prop.location.type, b->prop.location.type);
	KUNIT_EXPECT_EQ(test, prop.location.id, b->prop.location.id);
	KUNIT_EXPECT_EQ(test, prop.requestedHandleTypes,
			b->prop.requestedHandleTypes);
	area_close(test, &a);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(c124_export_unasked),
	KUNIT_CASE(c125_export),
	KUNIT_CASE(c126_export_arguments),
	KUNIT_CASE(c127_export_other_type),
	KUNIT_CASE(c128_import),
	KUNIT_CASE(c129_import_elsewhere),
	KUNIT_CASE(c130_import_survives),
	KUNIT_CASE(c131_import_then_close),
	KUNIT_CASE(c132_import_other),
	KUNIT_CASE(c133_import_no_type),
	KUNIT_CASE(c134_retain),
	KUNIT_CASE(c135_retain_nothing),
	KUNIT_CASE(c136_properties),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_share",
	.init = vmm_bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
