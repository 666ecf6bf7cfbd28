// SPDX-License-Identifier: BSD-2-Clause
/*
 * reserved.c - the addresses that the library holds.
 */
#include <errno.h>
#include <sys/mman.h>

#include "core/os.h"
#include "tests/reserved.h"

struct reserved reserved;

static int count_reserve(size_t size, void **addr)
{
	void *p;

	if (reserved.refuse_at && !--reserved.refuse_at)
		return -ENOMEM;
	p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		 MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	reserved.held += size;
	*addr = p;
	return 0;
}

static int count_unreserve(void *addr, size_t size)
{
	if (reserved.refuse_unreserve)
		return -ENOMEM;
	reserved.held -= size;
	return munmap(addr, size) ? -EINVAL : 0;
}

void reserved_watch(struct kunit *test)
{
	kunit_activate_static_stub(test, os_reserve, count_reserve);
	kunit_activate_static_stub(test, os_unreserve, count_unreserve);
	reserved = (struct reserved){ 0 };
}

void reserved_ignore(struct kunit *test)
{
	kunit_deactivate_static_stub(test, os_reserve);
	kunit_deactivate_static_stub(test, os_unreserve);
}
