// SPDX-License-Identifier: BSD-2-Clause
/* stream_space.c - see stream_space.h. */
#include "tests/stream_space.h"

void stream_space_open(struct stream_space *s, struct kunit *test,
		       const struct cuda_kind_param *kind, u64 limit,
		       u32 ordering)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	u32 i;

	kind = kind ?: CUDA_KIND_VMM;
	*s = (struct stream_space){ .test = test };
	s->bound = new_stream(test, CU_STREAM_NON_BLOCKING);
	for (i = 0; i < NR_LANES; i++)
		s->lane[i] = new_stream(test, CU_STREAM_NON_BLOCKING);
	attr.limit = limit;
	attr.backing = kind->backing;
	attr.stream = s->bound;
	attr.ordering = ordering;
	attr.name = "test";
	s->sd = cuda_open(test, kind->spec, &attr);
}

void stream_space_end(struct stream_space *s)
{
	u32 i;

	EXPECT_NO_VIOLATION(s->test);
	for (i = 0; i < NR_LANES; i++)
		end_stream(s->test, s->lane[i]);
	end_stream(s->test, s->bound);
}

void stream_space_close(struct stream_space *s)
{
	MUST(s->test, cuCtxSynchronize());
	expect_nothing_pending(s);
	KUNIT_EXPECT_EQ(s->test, slabdev_trim(s->sd, 0), 0);
	KUNIT_EXPECT_EQ(s->test, sums(s).mapped, 0);
	cuda_close(s->test, s->sd);
	stream_space_end(s);
}

void hold(struct stream_space *s, CUstream stream)
{
	KUNIT_ASSERT_EQ(s->test, cu.model_stream_hold(stream), 0);
}

void let_go(struct stream_space *s, CUstream stream)
{
	KUNIT_ASSERT_EQ(s->test, cu.model_stream_release(stream), 0);
}

void run_through(struct stream_space *s, CUstream stream)
{
	EXPECT_CU(s->test, cuStreamSynchronize(stream), 0);
}

void attach(struct stream_space *s, CUstream stream)
{
	KUNIT_ASSERT_EQ_MSG(s->test, slabdev_stream_attach(s->sd, stream), 0,
			    "%s", slabdev_last_error());
}

void detach(struct stream_space *s, CUstream stream)
{
	KUNIT_EXPECT_EQ_MSG(s->test, slabdev_stream_detach(s->sd, stream), 0,
			    "%s", slabdev_last_error());
}

void *get_on(struct stream_space *s, size_t size, CUstream stream)
{
	void *p = slabdev_alloc_async(s->sd, size, stream);

	KUNIT_ASSERT_NOT_NULL_MSG(s->test, p, "%zu bytes: %s", size,
				  slabdev_last_error());
	cuda_submit_fill(s->test, p, size, 0x11, stream);
	return p;
}

void give_on(struct stream_space *s, void *p, CUstream stream)
{
	KUNIT_EXPECT_EQ_MSG(s->test, slabdev_free_async(s->sd, p, stream), 0,
			    "%s", slabdev_last_error());
}

struct slabdev_stats sums(struct stream_space *s)
{
	return expect_sound(s->test, s->sd);
}

void expect_nothing_pending(struct stream_space *s)
{
	KUNIT_EXPECT_EQ(s->test, slabdev_poll(s->sd), 0);
	KUNIT_EXPECT_EQ(s->test, sums(s).pending, 0);
}
