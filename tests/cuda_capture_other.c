// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_capture_other.c - several graphs at once, what is refused in a capture,
 * and captures that nobody declared.
 */
#include <errno.h>

#include "core/log.h"
#include "tests/cuda_capture.h"

/* ---- Two graphs, and what is refused --------------------------------- */

void two_captures_at_once(struct kunit *test)
{
	struct capture c, d;
	void *p, *q;

	capture_open(&c, test);
	d = c;
	d.stream = c.s.lane[1];
	declare(&c);
	declare(&d);
	begin(&c);
	begin(&d);
	p = get_on(&c.s, 5000, c.stream);
	give_on(&c.s, p, c.stream);
	q = get_on(&c.s, 5000, d.stream);
	KUNIT_EXPECT_PTR_NE(test, p, q);
	give_on(&c.s, q, d.stream);
	KUNIT_EXPECT_EQ(test, sums(&c.s).graphs, 2);
	end(&d);
	end(&c);
	declare_end(&c);
	declare_end(&d);
	expect_apart(&c, (void *[]){ p, q }, 2);
	release_graph(&d);
	expect_apart(&c, &p, 1);
	KUNIT_EXPECT_GT(test, sums(&c.s).held, 0);
	release_graph(&c);
	KUNIT_EXPECT_EQ(test, sums(&c.s).held, 0);
	stream_space_close(&c.s);
}

/* The same object in two graphs. */
void used_by_two_graphs(struct kunit *test)
{
	struct capture c, d;
	void *p;

	capture_open(&c, test);
	d = c;
	d.stream = c.s.lane[1];
	p = must_alloc(test, c.s.sd, 5000);
	declare(&c);
	declare(&d);
	KUNIT_EXPECT_EQ(test, slabdev_use(c.s.sd, p, c.stream), 0);
	KUNIT_EXPECT_EQ(test, slabdev_use(c.s.sd, p, d.stream), 0);
	declare_end(&c);
	declare_end(&d);
	EXPECT_FREED(test, c.s.sd, p);
	release_graph(&d);
	KUNIT_EXPECT_GT_MSG(test, sums(&c.s).held, 0,
			    "the other graph still has it");
	expect_apart(&c, &p, 1);
	release_graph(&c);
	KUNIT_EXPECT_EQ(test, sums(&c.s).held, 0);
	stream_space_close(&c.s);
}

void refusals(struct kunit *test)
{
	struct slabdev_graph *none = NULL;
	struct capture c;

	capture_open(&c, test);
	KUNIT_EXPECT_EQ(test, slabdev_capture_begin(c.s.sd, NULL, &none),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_capture_begin(c.s.sd,
						    SLABDEV_STREAM_LEGACY,
						    &none), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_capture_begin(c.s.sd, c.stream, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(NULL), 0);
	declare(&c);
	KUNIT_EXPECT_EQ(test, slabdev_capture_begin(c.s.sd, c.stream, &none),
			-EBUSY);
	KUNIT_EXPECT_NULL(test, none);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(c.graph), -EBUSY);
	KUNIT_EXPECT_EQ(test, sums(&c.s).graphs, 1);
	declare_end(&c);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(c.graph), -EINVAL);
	release_graph(&c);
	stream_space_close(&c.s);
}

void detach_in_a_capture(struct kunit *test)
{
	struct capture c;

	capture_open(&c, test);
	attach(&c.s, c.stream);
	declare(&c);
	begin(&c);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(c.s.sd, c.stream), -EBUSY);
	KUNIT_EXPECT_EQ(test, sums(&c.s).streams, 1);
	end(&c);
	declare_end(&c);
	detach(&c.s, c.stream);
	release_graph(&c);
	stream_space_close(&c.s);
}

/* The graph may still be launched: the space is not closed under it. */
void close_with_a_graph(struct kunit *test)
{
	struct capture c;
	int err;

	capture_open(&c, test);
	declare(&c);
	begin(&c);
	give_on(&c.s, get_on(&c.s, 5000, c.stream), c.stream);
	end(&c);
	declare_end(&c);
	err = slabdev_close(c.s.sd, 0);
	KUNIT_EXPECT_EQ(test, err, -EBUSY);
	if (err) {
		KUNIT_EXPECT_GT(test, strlen(slabdev_last_error()), 0);
		err = slabdev_close(c.s.sd, SLABDEV_CLOSE_FORCE);
		KUNIT_EXPECT_EQ(test, err, 0);
	}
	stream_space_end(&c.s);
}

/* ---- Not declared ---------------------------------------------------- */

void undeclared_is_noticed_and_held(struct kunit *test)
{
	struct capture c;
	void *p, *q;

	capture_open(&c, test);
	p = get_on(&c.s, 5000, c.stream);
	q = get_on(&c.s, 5000, c.stream);
	run_through(&c.s, c.stream);
	begin(&c);
	kunit_expect_report(test, REPORT_CAPTURE);
	give_on(&c.s, p, c.stream);
	give_on(&c.s, q, c.stream);
	end(&c);
	MUST(test, cuCtxSynchronize());
	KUNIT_EXPECT_EQ(test, slabdev_poll(c.s.sd), 0);
	KUNIT_EXPECT_GE(test, sums(&c.s).pending, 10000);
	expect_apart(&c, (void *[]){ p, q }, 2);
	KUNIT_EXPECT_EQ(test, slabdev_close(c.s.sd, 0), 0);
	stream_space_end(&c.s);
}

/* Other streams go on, whose frees need events too, in each mode. */
void others_go_on(struct kunit *test)
{
	struct capture c;

	capture_open(&c, test);
	c.mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	begin(&c);
	for (u32 i = 0; i < 100; i++)
		give_on(&c.s, get_on(&c.s, 5000, c.s.lane[1]), c.s.lane[1]);
	MUST(test, cuStreamSynchronize(c.s.lane[1]));
	c.calls = forbidden_calls();
	end(&c);
	stream_space_close(&c.s);
}
