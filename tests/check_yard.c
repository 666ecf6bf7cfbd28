// SPDX-License-Identifier: BSD-2-Clause
/* check_yard.c - see check_yard.h. */
#include "tests/check_yard.h"

struct yard *yard_open(struct kunit *test)
{
	struct yard *y = kunit_kzalloc(test, sizeof(*y));

	debug_letters_are("-");
	stream_space_open(&y->s, test, test->param_value, GIB,
			  SLABDEV_ORDER_STREAM);
	y->p = must_alloc(test, y->s.sd, YARD_BYTES);
	memset(y->copy, YARD_GOOD, YARD_BYTES);
	mem_write(y->s.sd, y->p, y->copy, YARD_BYTES);
	return y;
}

void yard_close(struct yard *y)
{
	EXPECT_FREED(y->s.test, y->s.sd, y->p);
	stream_space_close(&y->s);
}

void yard_put(struct yard *y, u64 at, u8 byte)
{
	y->copy[at] = byte;
	mem_fill(y->s.sd, y->p + at, 1, byte);
}

int yard_look(struct yard *y, struct vmm_check *range, u32 nr)
{
	return vmm_check(&y->s.sd->vmm, range, nr);
}

struct vmm_check yard_range(const struct yard *y, u64 at, u64 size)
{
	return (struct vmm_check){
		.addr = device_ptr(y->p) + at,
		.size = size,
		.byte = YARD_GOOD,
		.first_bad = 77,
	};
}

static u64 first_bad(const struct yard *y, const struct vmm_check *r)
{
	u64 at = r->addr - device_ptr(y->p), i;

	for (i = 0; i < r->size; i++)
		if (y->copy[at + i] != r->byte)
			return i;
	return VMM_CHECK_CLEAN;
}

void yard_expect(struct yard *y, struct vmm_check *range, u32 nr)
{
	struct kunit *test = y->s.test;
	u32 i;

	KUNIT_ASSERT_EQ_MSG(test, yard_look(y, range, nr), 0, "%s",
			    slabdev_last_error());
	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ_MSG(test, range[i].first_bad,
				    first_bad(y, &range[i]),
				    "range %u of %u: %llu bytes at %llu", i,
				    nr, (unsigned long long)range[i].size,
				    (unsigned long long)(range[i].addr -
							 device_ptr(y->p)));
}
