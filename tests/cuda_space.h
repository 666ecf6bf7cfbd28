/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuda_space.h - spaces on the model of the driver, and what must hold there.
 *
 * A suite whose .init is cuda_space_init() and whose .exit is cuda_space_exit()
 * has the model in every case, with nothing counted; device 0's primary context
 * is retained by the case and current, so that it can make streams and work of
 * its own. At the end nothing may be left in the model, and there must not have
 * been a violation: none of the mistakes that a driver lets pass.
 *
 * The parameters of the library and the machine of the model are read once a
 * process: a case that wants others is isolated, and says so first.
 */
#ifndef TESTS_CUDA_SPACE_H
#define TESTS_CUDA_SPACE_H

#include <slabdev/slabdev.h>

#include "tests/contract/driver.h"
#include "tests/open_space.h"

/* "cuda:0", and how a space is opened on it. */
struct cuda_kind_param {
	const char *name, *spec;
	uint32_t backing;
};

/* Every kind of memory that a CUDA device has. */
extern const struct cuda_kind_param cuda_kinds[5];
#define CUDA_KIND_VMM (&cuda_kinds[0])

static inline bool kind_is_for_the_cpu(const struct cuda_kind_param *kind)
{
	return kind >= &cuda_kinds[3];
}

/* Have the library find the model, as the machine @profile; NULL: h200. */
void cuda_model(struct kunit *test, const char *profile);
/* The same with the driver of an age, "12.0". */
void cuda_model_age(struct kunit *test, const char *age);

int cuda_space_init(struct kunit *test);
void cuda_space_exit(struct kunit *test);

struct slabdev *cuda_open(struct kunit *test, const char *spec,
			  const struct slabdev_attr *attr);
/* The kind with that limit, on that stream (NULL: the default), whose order a
 * free is in, whatever the kind. */
struct slabdev *cuda_open_kind(struct kunit *test,
			       const struct cuda_kind_param *kind,
			       uint64_t limit, CUstream stream);
/* Nothing is live and all is well: closes. */
void cuda_close(struct kunit *test, struct slabdev *sd);

/* Calls that manage memory, of any kind, so far. */
uint64_t cuda_management_calls(void);

static inline CUdeviceptr device_ptr(const void *p)
{
	return (CUdeviceptr)(uintptr_t)p;
}

/* Work on an object, put into @stream. */
void cuda_submit_fill(struct kunit *test, void *p, size_t size,
		      unsigned char byte, CUstream stream);
/* The byte at @p, once all work is done. */
unsigned char cuda_byte(struct kunit *test, const void *p);

#define EXPECT_NO_VIOLATION(test) \
	KUNIT_EXPECT_EQ_MSG(test, cu.model_violations(), 0, "%s", \
			    cu.model_last_violation())

#define EXPECT_LAST_ERROR_HAS(test, text) \
	KUNIT_EXPECT_TRUE_MSG(test, strstr(slabdev_last_error(), text), \
			      "no '%s' in: %s", text, slabdev_last_error())

#endif /* TESTS_CUDA_SPACE_H */
