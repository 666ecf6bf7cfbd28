/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_space.h - a space on the model of the driver, and streams of its
 * device that can be held back.
 *
 * What is put into a stream that is held stays there until it is let go, so a
 * case decides when memory is in use and when it is not. At the end all streams
 * run through, all memory goes back, and no work has met memory that was gone.
 */
#ifndef TESTS_STREAM_SPACE_H
#define TESTS_STREAM_SPACE_H

#include "tests/cuda_space.h"

#define NR_LANES 3u

struct stream_space {
	struct kunit *test;
	struct slabdev *sd;
	CUstream bound;
	CUstream lane[NR_LANES];	/* not attached */
};

/* @kind: NULL is VMM; @ordering: an enum slabdev_ordering. */
void stream_space_open(struct stream_space *s, struct kunit *test,
		       const struct cuda_kind_param *kind, u64 limit,
		       u32 ordering);
/* Nothing is live or attached: all goes back, and the space closes. */
void stream_space_close(struct stream_space *s);
/* The streams and what was checked at the end, where the case has closed. */
void stream_space_end(struct stream_space *s);

void hold(struct stream_space *s, CUstream stream);
void let_go(struct stream_space *s, CUstream stream);
/* All that was put into the stream runs; it must be free to. */
void run_through(struct stream_space *s, CUstream stream);

void attach(struct stream_space *s, CUstream stream);
void detach(struct stream_space *s, CUstream stream);
/* An object with work on it in the stream. */
void *get_on(struct stream_space *s, size_t size, CUstream stream);
void give_on(struct stream_space *s, void *p, CUstream stream);
/* Sound, and then the figures. */
struct slabdev_stats sums(struct stream_space *s);
/* After a poll nothing waits for a stream. */
void expect_nothing_pending(struct stream_space *s);

#endif /* TESTS_STREAM_SPACE_H */
