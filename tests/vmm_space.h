/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vmm_space.h - an open vmm over host memory, for the tests of vmm/.
 *
 * The backend is the host's, or whatever a test puts around it before
 * space_open(). space_mark() remembers the call counters, EXPECT_CALLS() says
 * how many calls of each kind came since.
 */
#ifndef TESTS_VMM_SPACE_H
#define TESTS_VMM_SPACE_H

#include "core/log.h"
#include "core/overflow.h"
#include "tests/kunit/kunit.h"
#include "vmm/vmm.h"

struct space {
	struct kunit *test;
	struct vmm v;
	struct vmm_counters cnt;
	struct vmm_counters mark;
	const struct vmm_ops *host_ops;
	void *host_dev;
	const struct vmm_ops *ops;
	void *dev;
	bool is_open;
};

static inline struct space *space_new(struct kunit *test)
{
	struct space *s = kunit_kzalloc(test, sizeof(*s));

	s->test = test;
	KUNIT_ASSERT_EQ(test, vmm_backend_find("host", NULL, &s->host_ops,
					       &s->host_dev), 0);
	s->ops = s->host_ops;
	s->dev = s->host_dev;
	return s;
}

/* Limit and reservation in chunks of 2 MiB; 0 as in struct vmm_config. */
static inline int space_try_open(struct space *s, u64 limit, u64 reserve)
{
	const struct vmm_config cfg = {
		.limit = limit * VMM_MIN_CHUNK,
		.reserve = reserve * VMM_MIN_CHUNK,
		.counters = &s->cnt,
		.name = "test",
	};
	int err;

	s->cnt = (struct vmm_counters){ 0 };
	err = vmm_open(&s->v, s->ops, s->dev, &cfg);
	s->is_open = !err;
	return err;
}

static inline void space_open(struct space *s, u64 limit, u64 reserve)
{
	KUNIT_ASSERT_EQ_MSG(s->test, space_try_open(s, limit, reserve), 0,
			    "%s", error_get());
}

static inline int space_close(struct space *s)
{
	s->is_open = false;
	return vmm_close(&s->v);
}

/* Close what is open, and check that nothing is left of it. */
static inline void space_end(struct space *s)
{
	if (s->is_open) {
		KUNIT_EXPECT_STREQ(s->test, vmm_validate(&s->v) ?: "", "");
		KUNIT_EXPECT_EQ(s->test, space_close(s), 0);
		KUNIT_EXPECT_EQ(s->test, s->cnt.created, 0);
		KUNIT_EXPECT_EQ(s->test, s->cnt.reserved, 0);
		KUNIT_EXPECT_EQ(s->test, s->cnt.handles, 0);
		KUNIT_EXPECT_EQ(s->test, s->cnt.idle, 0);
		KUNIT_EXPECT_EQ(s->test, s->cnt.lost, 0);
	}
	vmm_backend_put(s->host_ops, s->host_dev);
}

/* A mapping that must succeed; every chunk of it takes a byte. */
static inline u32 space_map(struct space *s, u32 nr, u32 handle_chunks)
{
	u32 first = 0;
	u64 addr;

	KUNIT_ASSERT_EQ_MSG(s->test, vmm_map(&s->v, nr, handle_chunks, &first),
			    0, "%s", error_get());
	for (u32 i = 0; i < nr; i++) {
		addr = vmm_addr(&s->v, vmm_chunk_offset(&s->v, first + i));
		KUNIT_ASSERT_EQ(s->test, vmm_fill(&s->v, addr, 1, 1, NULL), 0);
	}
	return first;
}

/* Each of @nr single-chunk handles from @first on. */
static inline void space_unmap_singles(struct space *s, u32 first, u32 nr,
				       enum vmm_giveback how)
{
	for (u32 i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ(s->test, vmm_unmap(&s->v, first + i, how), 0);
}

static inline void space_unmap(struct space *s, u32 first,
			       enum vmm_giveback how)
{
	space_unmap_singles(s, first, 1, how);
}

static inline void space_mark(struct space *s)
{
	s->mark = s->cnt;
}

static inline u64 space_calls(const struct space *s, enum vmm_op op)
{
	return s->cnt.calls[op] - s->mark.calls[op];
}

#define EXPECT_CALLS(s, create, map, access, unmap, release)		\
do {									\
	KUNIT_EXPECT_EQ((s)->test, space_calls(s, VMM_OP_CREATE), create); \
	KUNIT_EXPECT_EQ((s)->test, space_calls(s, VMM_OP_MAP), map);	\
	KUNIT_EXPECT_EQ((s)->test, space_calls(s, VMM_OP_SET_ACCESS), access); \
	KUNIT_EXPECT_EQ((s)->test, space_calls(s, VMM_OP_UNMAP), unmap); \
	KUNIT_EXPECT_EQ((s)->test, space_calls(s, VMM_OP_RELEASE), release); \
} while (0)

#define EXPECT_VALID(s) \
	KUNIT_EXPECT_STREQ((s)->test, vmm_validate(&(s)->v) ?: "", "")

#define EXPECT_ERROR_HAS(s, text) \
	KUNIT_EXPECT_TRUE_MSG((s)->test, strstr(error_get(), text), "%s", \
			      error_get())

#endif /* TESTS_VMM_SPACE_H */
