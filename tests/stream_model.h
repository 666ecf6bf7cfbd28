/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_model.h - programs on the model of the driver, see stream_program.h.
 *
 * All streams are held. Now and then one is let go until nothing can run any
 * more, and so are all while the library waits for one: whatever the program
 * does, it is the same in each run, if it is one thread. Stream 0 is the bound
 * stream, the last two others may be the default streams of the process and of
 * the thread.
 */
#ifndef TESTS_STREAM_MODEL_H
#define TESTS_STREAM_MODEL_H

#include "tests/cuda_space.h"
#include "tests/stream_program.h"

/* What the programs of a case have together. */
struct stream_model {
	struct kunit *test;
	CUcontext ctx;
	CUmodule module;
	CUfunction step, nothing;
	CUstream bound;
	bool defaults;		/* programs use the default streams, too */
};

/* @legacy: the bound stream is the legacy one. */
void stream_model_begin(struct stream_model *m, struct kunit *test,
			bool legacy, bool defaults);
void stream_model_end(struct stream_model *m);

/* In each thread, around the program's streams. */
void stream_model_enter(struct stream_model *m, struct program *p);
void stream_model_leave(struct program *p);

#endif /* TESTS_STREAM_MODEL_H */
