/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expect.h - the EXPECT and ASSERT families
 *
 * Every operand is evaluated once, before the message, and its source text
 * kept. Integers of any types are compared as numbers, not after C's
 * conversions: -1 is less than 1u, and is not equal to UINT_MAX. The _MSG forms
 * take a printf format that explains a failure.
 *
 * KUNIT_VALUE() chooses by type how an operand is compared and printed. The
 * conditional in KUNIT_TYPE() turns arrays into pointers and bit-fields, bool
 * and char into int, so that each operand has one of the types listed. (A
 * bit-field wider than int keeps a type of its own and needs a cast.)
 *
 * Included by kunit.h.
 */
#ifndef TESTS_KUNIT_EXPECT_H
#define TESTS_KUNIT_EXPECT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

struct kunit;

enum kunit_op {
	KUNIT_OP_EQ,
	KUNIT_OP_NE,
	KUNIT_OP_LT,
	KUNIT_OP_LE,
	KUNIT_OP_GT,
	KUNIT_OP_GE,
};

enum kunit_value_kind {
	KUNIT_SIGNED,
	KUNIT_UNSIGNED,
	KUNIT_FLOAT,
	KUNIT_POINTER,
};

struct kunit_value {
	enum kunit_value_kind kind;
	union {
		long long s;
		unsigned long long u;
		double f;
		const volatile void *p;
	};
};

/**
 * struct kunit_site - the constant part of one check
 * @file: where it stands
 * @line: where it stands
 * @fatal: an ASSERT
 * @op: the relation that must hold
 * @left: source text of the first operand, or of the condition
 * @right: source text of the second
 */
struct kunit_site {
	const char *file;
	int line;
	bool fatal;
	enum kunit_op op;
	const char *left;
	const char *right;
};

static inline struct kunit_value kunit_value_s(long long s)
{
	return (struct kunit_value){ .kind = KUNIT_SIGNED, .s = s };
}

static inline struct kunit_value kunit_value_u(unsigned long long u)
{
	return (struct kunit_value){ .kind = KUNIT_UNSIGNED, .u = u };
}

static inline struct kunit_value kunit_value_f(double f)
{
	return (struct kunit_value){ .kind = KUNIT_FLOAT, .f = f };
}

static inline struct kunit_value kunit_value_p(const volatile void *p)
{
	return (struct kunit_value){ .kind = KUNIT_POINTER, .p = p };
}

#define KUNIT_TYPE(x) typeof(1 ? (x) : (x))

#define KUNIT_VALUE(x) _Generic((x),					\
	int: kunit_value_s,						\
	long: kunit_value_s,						\
	long long: kunit_value_s,					\
	unsigned int: kunit_value_u,					\
	unsigned long: kunit_value_u,					\
	unsigned long long: kunit_value_u,				\
	float: kunit_value_f,						\
	double: kunit_value_f,						\
	long double: kunit_value_f,					\
	default: kunit_value_p)(x)

void kunit_check_bool(struct kunit *test, const struct kunit_site *site,
		      bool value, bool wanted, const char *fmt, ...)
	__printf(5, 6);
void kunit_check_values(struct kunit *test, const struct kunit_site *site,
			struct kunit_value left, struct kunit_value right,
			const char *fmt, ...)
	__printf(5, 6);
void kunit_check_str(struct kunit *test, const struct kunit_site *site,
		     const char *left, const char *right, const char *fmt, ...)
	__printf(5, 6);
void kunit_check_mem(struct kunit *test, const struct kunit_site *site,
		     const void *left, const void *right, size_t size,
		     const char *fmt, ...)
	__printf(6, 7);
void kunit_check_errno(struct kunit *test, const struct kunit_site *site,
		       const void *p, int err, int wanted);
void kunit_check_report(struct kunit *test, const struct kunit_site *site,
			const char *wanted);
void kunit_check_fail(struct kunit *test, const struct kunit_site *site,
		      const char *fmt, ...)
	__printf(3, 4);

#define KUNIT_SITE(is_fatal, oper, left_text, right_text)		\
	static const struct kunit_site kunit_site_ = {			\
		.file = __FILE__, .line = __LINE__, .fatal = is_fatal,	\
		.op = KUNIT_OP_##oper,					\
		.left = left_text, .right = right_text,			\
	}

#define KUNIT_BOOL(test, fatal, cond, wanted, text, ...)		\
do {									\
	KUNIT_SITE(fatal, EQ, text, NULL);				\
	const bool kunit_cond_ = !!(cond);				\
									\
	kunit_check_bool(test, &kunit_site_, kunit_cond_, wanted,	\
			 __VA_ARGS__);					\
} while (0)

#define KUNIT_VALUES(test, fatal, oper, l, r, ltext, rtext, ...)	\
do {									\
	KUNIT_SITE(fatal, oper, ltext, rtext);				\
	const KUNIT_TYPE(l) kunit_left_ = (l);				\
	const KUNIT_TYPE(r) kunit_right_ = (r);				\
									\
	kunit_check_values(test, &kunit_site_,				\
			   KUNIT_VALUE(kunit_left_),			\
			   KUNIT_VALUE(kunit_right_), __VA_ARGS__);	\
} while (0)

#define KUNIT_PTRS(test, fatal, oper, l, r, ltext, rtext, ...)		\
do {									\
	KUNIT_SITE(fatal, oper, ltext, rtext);				\
	const volatile void *const kunit_left_ = (l);			\
	const volatile void *const kunit_right_ = (r);			\
									\
	kunit_check_values(test, &kunit_site_,				\
			   kunit_value_p(kunit_left_),			\
			   kunit_value_p(kunit_right_), __VA_ARGS__);	\
} while (0)

#define KUNIT_STRS(test, fatal, oper, l, r, ltext, rtext, ...)		\
do {									\
	KUNIT_SITE(fatal, oper, ltext, rtext);				\
	const char *const kunit_left_ = (l);				\
	const char *const kunit_right_ = (r);				\
									\
	kunit_check_str(test, &kunit_site_, kunit_left_, kunit_right_,	\
			__VA_ARGS__);					\
} while (0)

#define KUNIT_MEMS(test, fatal, oper, l, r, size, ltext, rtext, ...)	\
do {									\
	KUNIT_SITE(fatal, oper, ltext, rtext);				\
	const void *const kunit_left_ = (l);				\
	const void *const kunit_right_ = (r);				\
	const size_t kunit_size_ = (size);				\
									\
	kunit_check_mem(test, &kunit_site_, kunit_left_, kunit_right_,	\
			kunit_size_, __VA_ARGS__);			\
} while (0)

#define KUNIT_ERRNO(test, fatal, ptr, err, text, errtext)		\
do {									\
	KUNIT_SITE(fatal, EQ, text, errtext);				\
	const void *kunit_ptr_;						\
									\
	errno = 0;							\
	kunit_ptr_ = (ptr);						\
	kunit_check_errno(test, &kunit_site_, kunit_ptr_, errno, err);	\
} while (0)

#define KUNIT_REPORT(test, fatal, wanted, text)				\
do {									\
	KUNIT_SITE(fatal, EQ, text, NULL);				\
									\
	kunit_check_report(test, &kunit_site_, wanted);			\
} while (0)

#define KUNIT_VERDICT(test, fatal, ...)					\
do {									\
	KUNIT_SITE(fatal, EQ, NULL, NULL);				\
									\
	kunit_check_fail(test, &kunit_site_, __VA_ARGS__);		\
} while (0)

/** KUNIT_SUCCEED - says that reaching this line is the success */
#define KUNIT_SUCCEED(test) ((void)(test))
/** KUNIT_FAIL - fails the case, which goes on */
#define KUNIT_FAIL(test, fmt, ...) \
	KUNIT_VERDICT(test, false, fmt, ##__VA_ARGS__)
/** KUNIT_FAIL_AND_ABORT - fails the case and ends it */
#define KUNIT_FAIL_AND_ABORT(test, fmt, ...) \
	KUNIT_VERDICT(test, true, fmt, ##__VA_ARGS__)

/* ---- EXPECT: records a failure, and the case goes on ----------------- */

#define KUNIT_EXPECT_TRUE(test, cond) \
	KUNIT_BOOL(test, false, cond, true, #cond, NULL)
#define KUNIT_EXPECT_TRUE_MSG(test, cond, fmt, ...) \
	KUNIT_BOOL(test, false, cond, true, #cond, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_FALSE(test, cond) \
	KUNIT_BOOL(test, false, cond, false, #cond, NULL)
#define KUNIT_EXPECT_FALSE_MSG(test, cond, fmt, ...) \
	KUNIT_BOOL(test, false, cond, false, #cond, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_EQ(test, left, right) \
	KUNIT_VALUES(test, false, EQ, left, right, #left, #right, NULL)
#define KUNIT_EXPECT_EQ_MSG(test, left, right, fmt, ...) \
	KUNIT_VALUES(test, false, EQ, left, right, #left, #right, \
		     fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_NE(test, left, right) \
	KUNIT_VALUES(test, false, NE, left, right, #left, #right, NULL)
#define KUNIT_EXPECT_NE_MSG(test, left, right, fmt, ...) \
	KUNIT_VALUES(test, false, NE, left, right, #left, #right, \
		     fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_LT(test, left, right) \
	KUNIT_VALUES(test, false, LT, left, right, #left, #right, NULL)
#define KUNIT_EXPECT_LT_MSG(test, left, right, fmt, ...) \
	KUNIT_VALUES(test, false, LT, left, right, #left, #right, \
		     fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_LE(test, left, right) \
	KUNIT_VALUES(test, false, LE, left, right, #left, #right, NULL)
#define KUNIT_EXPECT_LE_MSG(test, left, right, fmt, ...) \
	KUNIT_VALUES(test, false, LE, left, right, #left, #right, \
		     fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_GT(test, left, right) \
	KUNIT_VALUES(test, false, GT, left, right, #left, #right, NULL)
#define KUNIT_EXPECT_GT_MSG(test, left, right, fmt, ...) \
	KUNIT_VALUES(test, false, GT, left, right, #left, #right, \
		     fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_GE(test, left, right) \
	KUNIT_VALUES(test, false, GE, left, right, #left, #right, NULL)
#define KUNIT_EXPECT_GE_MSG(test, left, right, fmt, ...) \
	KUNIT_VALUES(test, false, GE, left, right, #left, #right, \
		     fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_PTR_EQ(test, left, right) \
	KUNIT_PTRS(test, false, EQ, left, right, #left, #right, NULL)
#define KUNIT_EXPECT_PTR_EQ_MSG(test, left, right, fmt, ...) \
	KUNIT_PTRS(test, false, EQ, left, right, #left, #right, \
		   fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_PTR_NE(test, left, right) \
	KUNIT_PTRS(test, false, NE, left, right, #left, #right, NULL)
#define KUNIT_EXPECT_PTR_NE_MSG(test, left, right, fmt, ...) \
	KUNIT_PTRS(test, false, NE, left, right, #left, #right, \
		   fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_NULL(test, ptr) \
	KUNIT_PTRS(test, false, EQ, ptr, NULL, #ptr, "NULL", NULL)
#define KUNIT_EXPECT_NULL_MSG(test, ptr, fmt, ...) \
	KUNIT_PTRS(test, false, EQ, ptr, NULL, #ptr, "NULL", \
		   fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_NOT_NULL(test, ptr) \
	KUNIT_PTRS(test, false, NE, ptr, NULL, #ptr, "NULL", NULL)
#define KUNIT_EXPECT_NOT_NULL_MSG(test, ptr, fmt, ...) \
	KUNIT_PTRS(test, false, NE, ptr, NULL, #ptr, "NULL", \
		   fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_STREQ(test, left, right) \
	KUNIT_STRS(test, false, EQ, left, right, #left, #right, NULL)
#define KUNIT_EXPECT_STREQ_MSG(test, left, right, fmt, ...) \
	KUNIT_STRS(test, false, EQ, left, right, #left, #right, \
		   fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_STRNEQ(test, left, right) \
	KUNIT_STRS(test, false, NE, left, right, #left, #right, NULL)
#define KUNIT_EXPECT_STRNEQ_MSG(test, left, right, fmt, ...) \
	KUNIT_STRS(test, false, NE, left, right, #left, #right, \
		   fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_MEMEQ(test, left, right, size) \
	KUNIT_MEMS(test, false, EQ, left, right, size, #left, #right, NULL)
#define KUNIT_EXPECT_MEMEQ_MSG(test, left, right, size, fmt, ...) \
	KUNIT_MEMS(test, false, EQ, left, right, size, #left, #right, \
		   fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_MEMNEQ(test, left, right, size) \
	KUNIT_MEMS(test, false, NE, left, right, size, #left, #right, NULL)
#define KUNIT_EXPECT_MEMNEQ_MSG(test, left, right, size, fmt, ...) \
	KUNIT_MEMS(test, false, NE, left, right, size, #left, #right, \
		   fmt, ##__VA_ARGS__)
/* @ptr is NULL and errno says @err; errno is 0 before @ptr is evaluated. */
#define KUNIT_EXPECT_ERRNO(test, ptr, err) \
	KUNIT_ERRNO(test, false, ptr, err, #ptr, #err)
/* The youngest report of the library contains @wanted. */
#define KUNIT_EXPECT_REPORT_HAS(test, wanted) \
	KUNIT_REPORT(test, false, wanted, #wanted)

/* ---- ASSERT: records a failure and ends the case --------------------- */

#define KUNIT_ASSERT_TRUE(test, cond) \
	KUNIT_BOOL(test, true, cond, true, #cond, NULL)
#define KUNIT_ASSERT_TRUE_MSG(test, cond, fmt, ...) \
	KUNIT_BOOL(test, true, cond, true, #cond, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_FALSE(test, cond) \
	KUNIT_BOOL(test, true, cond, false, #cond, NULL)
#define KUNIT_ASSERT_FALSE_MSG(test, cond, fmt, ...) \
	KUNIT_BOOL(test, true, cond, false, #cond, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_EQ(test, left, right) \
	KUNIT_VALUES(test, true, EQ, left, right, #left, #right, NULL)
#define KUNIT_ASSERT_EQ_MSG(test, left, right, fmt, ...) \
	KUNIT_VALUES(test, true, EQ, left, right, #left, #right, \
		     fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_NE(test, left, right) \
	KUNIT_VALUES(test, true, NE, left, right, #left, #right, NULL)
#define KUNIT_ASSERT_NE_MSG(test, left, right, fmt, ...) \
	KUNIT_VALUES(test, true, NE, left, right, #left, #right, \
		     fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_LT(test, left, right) \
	KUNIT_VALUES(test, true, LT, left, right, #left, #right, NULL)
#define KUNIT_ASSERT_LT_MSG(test, left, right, fmt, ...) \
	KUNIT_VALUES(test, true, LT, left, right, #left, #right, \
		     fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_LE(test, left, right) \
	KUNIT_VALUES(test, true, LE, left, right, #left, #right, NULL)
#define KUNIT_ASSERT_LE_MSG(test, left, right, fmt, ...) \
	KUNIT_VALUES(test, true, LE, left, right, #left, #right, \
		     fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_GT(test, left, right) \
	KUNIT_VALUES(test, true, GT, left, right, #left, #right, NULL)
#define KUNIT_ASSERT_GT_MSG(test, left, right, fmt, ...) \
	KUNIT_VALUES(test, true, GT, left, right, #left, #right, \
		     fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_GE(test, left, right) \
	KUNIT_VALUES(test, true, GE, left, right, #left, #right, NULL)
#define KUNIT_ASSERT_GE_MSG(test, left, right, fmt, ...) \
	KUNIT_VALUES(test, true, GE, left, right, #left, #right, \
		     fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_PTR_EQ(test, left, right) \
	KUNIT_PTRS(test, true, EQ, left, right, #left, #right, NULL)
#define KUNIT_ASSERT_PTR_EQ_MSG(test, left, right, fmt, ...) \
	KUNIT_PTRS(test, true, EQ, left, right, #left, #right, \
		   fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_PTR_NE(test, left, right) \
	KUNIT_PTRS(test, true, NE, left, right, #left, #right, NULL)
#define KUNIT_ASSERT_PTR_NE_MSG(test, left, right, fmt, ...) \
	KUNIT_PTRS(test, true, NE, left, right, #left, #right, \
		   fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_NULL(test, ptr) \
	KUNIT_PTRS(test, true, EQ, ptr, NULL, #ptr, "NULL", NULL)
#define KUNIT_ASSERT_NULL_MSG(test, ptr, fmt, ...) \
	KUNIT_PTRS(test, true, EQ, ptr, NULL, #ptr, "NULL", fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_NOT_NULL(test, ptr) \
	KUNIT_PTRS(test, true, NE, ptr, NULL, #ptr, "NULL", NULL)
#define KUNIT_ASSERT_NOT_NULL_MSG(test, ptr, fmt, ...) \
	KUNIT_PTRS(test, true, NE, ptr, NULL, #ptr, "NULL", fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_STREQ(test, left, right) \
	KUNIT_STRS(test, true, EQ, left, right, #left, #right, NULL)
#define KUNIT_ASSERT_STREQ_MSG(test, left, right, fmt, ...) \
	KUNIT_STRS(test, true, EQ, left, right, #left, #right, \
		   fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_STRNEQ(test, left, right) \
	KUNIT_STRS(test, true, NE, left, right, #left, #right, NULL)
#define KUNIT_ASSERT_STRNEQ_MSG(test, left, right, fmt, ...) \
	KUNIT_STRS(test, true, NE, left, right, #left, #right, \
		   fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_MEMEQ(test, left, right, size) \
	KUNIT_MEMS(test, true, EQ, left, right, size, #left, #right, NULL)
#define KUNIT_ASSERT_MEMEQ_MSG(test, left, right, size, fmt, ...) \
	KUNIT_MEMS(test, true, EQ, left, right, size, #left, #right, \
		   fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_MEMNEQ(test, left, right, size) \
	KUNIT_MEMS(test, true, NE, left, right, size, #left, #right, NULL)
#define KUNIT_ASSERT_MEMNEQ_MSG(test, left, right, size, fmt, ...) \
	KUNIT_MEMS(test, true, NE, left, right, size, #left, #right, \
		   fmt, ##__VA_ARGS__)
/* @ptr is NULL and errno says @err; errno is 0 before @ptr is evaluated. */
#define KUNIT_ASSERT_ERRNO(test, ptr, err) \
	KUNIT_ERRNO(test, true, ptr, err, #ptr, #err)
/* The youngest report of the library contains @wanted. */
#define KUNIT_ASSERT_REPORT_HAS(test, wanted) \
	KUNIT_REPORT(test, true, wanted, #wanted)

#endif /* TESTS_KUNIT_EXPECT_H */
