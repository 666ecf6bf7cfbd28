// SPDX-License-Identifier: BSD-2-Clause
/*
 * metapool_test.c - memory for descriptors: zeroed, aligned, type-stable.
 */
#include <errno.h>
#include <pthread.h>

#include "core/metapool.h"
#include "core/os.h"
#include "tests/kunit/kunit.h"

#define NR_OBJECTS 3000
#define OBJECT_SIZE 200

static void fini(void *arg)
{
	metapool_fini(arg);
}

static struct metapool *make(struct kunit *test, size_t object_size)
{
	struct metapool *m = kunit_kzalloc(test, sizeof(*m));

	metapool_init(m, object_size, "test pool");
	kunit_add_action(test, fini, m);
	return m;
}

static bool all_are(const char *p, char byte, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (p[i] != byte)
			return false;
	return true;
}

/*
 * Fill each object with a byte of its own and read them all back: objects that
 * overlapped would disagree. Enough of them for several blocks.
 */
static void objects_are_zeroed_and_apart(struct kunit *test)
{
	struct metapool *m = make(test, OBJECT_SIZE);
	char **object = kunit_kzalloc(test, NR_OBJECTS * sizeof(*object));
	int i;

	for (i = 0; i < NR_OBJECTS; i++) {
		object[i] = metapool_alloc(m);
		KUNIT_ASSERT_NOT_NULL(test, object[i]);
		KUNIT_ASSERT_EQ(test, (uintptr_t)object[i] % CACHE_LINE, 0);
		KUNIT_ASSERT_TRUE(test, all_are(object[i], 0, OBJECT_SIZE));
		memset(object[i], i + 1, OBJECT_SIZE);
	}
	for (i = 0; i < NR_OBJECTS; i++)
		KUNIT_ASSERT_TRUE(test, all_are(object[i], (char)(i + 1),
						OBJECT_SIZE));
	KUNIT_EXPECT_GE(test, m->bytes, (u64)NR_OBJECTS * OBJECT_SIZE);
	KUNIT_EXPECT_GT(test, m->bytes, m->block_size);
}

static void freed_object_comes_back_zeroed(struct kunit *test)
{
	struct metapool *m = make(test, OBJECT_SIZE);
	void *first = metapool_alloc(m);
	void *second = metapool_alloc(m);
	u64 bytes;

	KUNIT_ASSERT_NOT_NULL(test, first);
	KUNIT_ASSERT_NOT_NULL(test, second);
	bytes = m->bytes;
	memset(first, 0xff, OBJECT_SIZE);
	memset(second, 0xff, OBJECT_SIZE);
	metapool_free(m, first);
	metapool_free(m, second);
	KUNIT_EXPECT_PTR_EQ(test, metapool_alloc(m), second);
	KUNIT_EXPECT_TRUE(test, all_are(second, 0, OBJECT_SIZE));
	KUNIT_EXPECT_PTR_EQ(test, metapool_alloc(m), first);
	KUNIT_EXPECT_TRUE(test, all_are(first, 0, OBJECT_SIZE));
	KUNIT_EXPECT_EQ(test, m->bytes, bytes);
}

/* New ones are as the system gave them, whoever asks. */
static void stale_object_keeps_its_bytes(struct kunit *test)
{
	struct metapool *m = make(test, OBJECT_SIZE);
	char *object = metapool_alloc_stale(m);

	KUNIT_ASSERT_NOT_NULL(test, object);
	KUNIT_EXPECT_TRUE(test, all_are(object, 0, OBJECT_SIZE));
	memset(object, 0xff, OBJECT_SIZE);
	metapool_free(m, object);
	KUNIT_ASSERT_PTR_EQ(test, metapool_alloc_stale(m), object);
	KUNIT_EXPECT_TRUE(test, all_are(object + sizeof(void *), (char)0xff,
					OBJECT_SIZE - sizeof(void *)));
	metapool_free(m, object);
	KUNIT_ASSERT_PTR_EQ(test, metapool_alloc(m), object);
	KUNIT_EXPECT_TRUE(test, all_are(object, 0, OBJECT_SIZE));
}

/* A stale reader of a freed object must not fault, however many are freed. */
static void freed_objects_stay_readable(struct kunit *test)
{
	struct metapool *m = make(test, OBJECT_SIZE);
	char **object = kunit_kzalloc(test, NR_OBJECTS * sizeof(*object));
	u64 bytes;
	int i;

	for (i = 0; i < NR_OBJECTS; i++)
		object[i] = metapool_alloc(m);
	bytes = m->bytes;
	for (i = 0; i < NR_OBJECTS; i++)
		metapool_free(m, object[i]);
	for (i = 0; i < NR_OBJECTS; i++)
		KUNIT_ASSERT_TRUE(test, all_are(object[i] + sizeof(void *), 0,
						OBJECT_SIZE - sizeof(void *)));
	KUNIT_EXPECT_EQ(test, m->bytes, bytes);
}

static void every_size_from_one_byte_on(struct kunit *test)
{
	static const size_t sizes[] = { 1, 8, 63, 64, 65, 4096, 100000 };
	struct metapool *m;
	char *a, *b;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		m = make(test, sizes[i]);
		a = metapool_alloc(m);
		b = metapool_alloc(m);
		KUNIT_ASSERT_NOT_NULL(test, a);
		KUNIT_ASSERT_NOT_NULL(test, b);
		memset(a, 1, sizes[i]);
		KUNIT_EXPECT_TRUE(test, all_are(b, 0, sizes[i]));
		memset(b, 2, sizes[i]);
		KUNIT_EXPECT_TRUE(test, all_are(a, 1, sizes[i]));
	}
}

static int refuse_reserve(size_t size, void **addr)
{
	(void)size;
	(void)addr;
	return -ENOMEM;
}

static int refuse_commit(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return -ENOMEM;
}

static unsigned int nr_unreserved;

static int count_unreserve(void *addr, size_t size)
{
	nr_unreserved++;
	/* The same call; this one has no replacement. */
	return os_unmap(addr, size);
}

static void no_memory_is_null_and_not_for_ever(struct kunit *test)
{
	struct metapool *m = make(test, OBJECT_SIZE);

	kunit_activate_static_stub(test, os_reserve, refuse_reserve);
	KUNIT_EXPECT_NULL(test, metapool_alloc(m));
	kunit_deactivate_static_stub(test, os_reserve);

	nr_unreserved = 0;
	kunit_activate_static_stub(test, os_commit, refuse_commit);
	kunit_activate_static_stub(test, os_unreserve, count_unreserve);
	KUNIT_EXPECT_NULL(test, metapool_alloc(m));
	KUNIT_EXPECT_EQ(test, nr_unreserved, 1);
	kunit_deactivate_static_stub(test, os_commit);
	kunit_deactivate_static_stub(test, os_unreserve);
	KUNIT_EXPECT_EQ(test, m->bytes, 0);

	KUNIT_EXPECT_NOT_NULL(test, metapool_alloc(m));
}

static void fini_gives_every_block_back(struct kunit *test)
{
	struct metapool m;
	u64 blocks;
	int i;

	metapool_init(&m, OBJECT_SIZE, "given back");
	for (i = 0; i < NR_OBJECTS; i++)
		KUNIT_ASSERT_NOT_NULL(test, metapool_alloc(&m));
	blocks = m.bytes / m.block_size;
	nr_unreserved = 0;
	kunit_activate_static_stub(test, os_unreserve, count_unreserve);
	metapool_fini(&m);
	KUNIT_EXPECT_EQ(test, nr_unreserved, blocks);
	KUNIT_EXPECT_EQ(test, m.bytes, 0);
}

#define NR_THREADS 4
#define NR_ROUNDS 5000
#define NR_HELD 8

struct worker {
	struct metapool *pool;
	bool failed;
};

/* Marks what it holds; finds another thread's mark if an object has two. */
static void *work(void *arg)
{
	struct worker *w = arg;
	void **held[NR_HELD] = { 0 };
	int i, slot;

	for (i = 0; i < NR_ROUNDS; i++) {
		slot = i * 7 % NR_HELD;
		if (held[slot]) {
			w->failed |= held[slot][1] != w;
			metapool_free(w->pool, held[slot]);
		}
		held[slot] = metapool_alloc(w->pool);
		if (!held[slot] || held[slot][1]) {
			w->failed = true;
			return NULL;
		}
		held[slot][1] = w;
	}
	for (slot = 0; slot < NR_HELD; slot++)
		metapool_free(w->pool, held[slot]);
	return NULL;
}

static void threads_never_share_an_object(struct kunit *test)
{
	struct metapool *m = make(test, OBJECT_SIZE);
	struct worker w[NR_THREADS];
	pthread_t thread[NR_THREADS];
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		w[i] = (struct worker){ .pool = m };
		KUNIT_ASSERT_EQ(test, pthread_create(&thread[i], NULL, work,
						     &w[i]), 0);
	}
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(thread[i], NULL);
		KUNIT_EXPECT_FALSE(test, w[i].failed);
	}
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(objects_are_zeroed_and_apart),
	KUNIT_CASE(freed_object_comes_back_zeroed),
	KUNIT_CASE(stale_object_keeps_its_bytes),
	KUNIT_CASE(freed_objects_stay_readable),
	KUNIT_CASE(every_size_from_one_byte_on),
	KUNIT_CASE(no_memory_is_null_and_not_for_ever),
	KUNIT_CASE(fini_gives_every_block_back),
	KUNIT_CASE(threads_never_share_an_object),
	{ 0 }
};

static const struct kunit_suite metapool_suite = {
	.name = "metapool",
	.cases = cases,
};
kunit_test_suite(metapool_suite);
