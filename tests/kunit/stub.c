// SPDX-License-Identifier: BSD-2-Clause
/*
 * stub.c - replacements for functions of the library, while a case runs.
 *
 * The library asks static_stub_lookup from any thread and must not wait, so
 * the table is fixed and read without a lock: an entry is published by its
 * @real. Stubs change in the case's thread only, and the pointer to the lookup
 * while no other thread runs: the first stub comes before the case's threads,
 * the last goes after they were joined.
 */
#include "core/static_stub.h"
#include "tests/kunit/internal.h"

#define STUBS_MAX 32

static struct {
	void *real;
	void *replacement;
} stubs[STUBS_MAX];

static void *stub_lookup(void *real)
{
	for (unsigned int i = 0; i < STUBS_MAX; i++)
		if (load_acquire(&stubs[i].real) == real)
			return READ_ONCE(stubs[i].replacement);
	return NULL;
}

static void set_lookup(void *(*lookup)(void *))
{
	if (IS_ENABLED(CONFIG_STATIC_STUB))
		WRITE_ONCE(static_stub_lookup, lookup);
}

static void stub_remove(void *real)
{
	bool left = false;

	for (unsigned int i = 0; i < STUBS_MAX; i++) {
		if (stubs[i].real == real)
			store_release(&stubs[i].real, NULL);
		left |= stubs[i].real != NULL;
	}
	if (!left)
		set_lookup(NULL);
}

void kunit_stub_activate(struct kunit *test, void *real, void *replacement)
{
	unsigned int i;

	if (!IS_ENABLED(CONFIG_STATIC_STUB))
		kunit_skip(test, "needs CONFIG_STATIC_STUB");

	kunit_stub_deactivate(test, real);
	for (i = 0; i < STUBS_MAX && stubs[i].real; i++)
		;
	if (i == STUBS_MAX)
		KUNIT_FAIL_AND_ABORT(test, "more than %d static stubs",
				     STUBS_MAX);

	WRITE_ONCE(stubs[i].replacement, replacement);
	store_release(&stubs[i].real, real);
	set_lookup(stub_lookup);
	kunit_add_action(test, stub_remove, real);
}

void kunit_stub_deactivate(struct kunit *test, void *real)
{
	kunit_release_action(test, stub_remove, real);
}
