/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vmm_hold.h - a space whose calls of the backend may fail, and holds in it.
 */
#ifndef TESTS_VMM_HOLD_H
#define TESTS_VMM_HOLD_H

#include "slab/space.h"
#include "tests/open_space.h"
#include "tests/vmm_failing.h"
#include "vmm/fault.h"
#include "vmm/internal.h"

struct hold_case {
	struct space *s;
	struct vmm *v;
	struct vmm_fault f;
};

static inline u32 hold(struct hold_case *t, u32 nr)
{
	u32 first = 0;

	KUNIT_ASSERT_EQ_MSG(t->s->test, vmm_hold(t->v, nr, &first), 0, "%s",
			    error_get());
	EXPECT_VALID(t->s);
	return first;
}

static inline void must_map_held(struct hold_case *t, u32 at, u32 nr,
				 u32 handle_chunks)
{
	KUNIT_ASSERT_EQ_MSG(t->s->test,
			    vmm_map_held(t->v, at, nr, handle_chunks), 0, "%s",
			    error_get());
	EXPECT_VALID(t->s);
}

static inline void must_unmap_held(struct hold_case *t, u32 at, u32 nr,
				   enum vmm_giveback how)
{
	KUNIT_ASSERT_EQ_MSG(t->s->test, vmm_unmap_held(t->v, at, &nr, how), 0,
			    "%s", error_get());
	KUNIT_EXPECT_EQ(t->s->test, nr, 0);
	EXPECT_VALID(t->s);
}

static inline void put(struct hold_case *t, u32 chunk, u8 byte)
{
	KUNIT_EXPECT_EQ(t->s->test, vmm_fill(t->v, vmm_chunk_addr(t->v, chunk),
					     1, byte, NULL), 0);
}

/* The cases of the suite that are in vmm_hold_fail.c. */
void lost_memory_keeps_its_place(struct kunit *test);
void a_hold_ends_with_lost_memory(struct kunit *test);
void closing_ends_holds(struct kunit *test);
void each_call_fails_once(struct kunit *test);

#endif /* TESTS_VMM_HOLD_H */
