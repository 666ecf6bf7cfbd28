// SPDX-License-Identifier: BSD-2-Clause
/*
 * resource.c - what a case must not forget to give back.
 *
 * Everything is a deferred action on one stack; memory is an action that
 * frees it. A case without memory cannot go on: it fails and ends.
 */
#include "tests/kunit/internal.h"

static void out_of_memory(struct kunit *test)
{
	run_fail(test->run, "the test ran out of host memory");
	run_abort(test->run);
}

void kunit_add_action(struct kunit *test, kunit_action_fn fn, void *arg)
{
	struct kunit_run *run = test->run;
	struct kunit_action *action = malloc(sizeof(*action));

	if (!action) {
		fn(arg);
		out_of_memory(test);
	}
	action->fn = fn;
	action->arg = arg;

	pthread_mutex_lock(&run->lock);
	action->older = run->actions;
	run->actions = action;
	pthread_mutex_unlock(&run->lock);
}

struct kunit_action *run_pop_action(struct kunit_run *run)
{
	struct kunit_action *action;

	pthread_mutex_lock(&run->lock);
	action = run->actions;
	if (action)
		run->actions = action->older;
	pthread_mutex_unlock(&run->lock);
	return action;
}

static bool forget_action(struct kunit_run *run, kunit_action_fn fn, void *arg)
{
	struct kunit_action **link, *found;

	pthread_mutex_lock(&run->lock);
	link = &run->actions;
	while ((found = *link) && (found->fn != fn || found->arg != arg))
		link = &found->older;
	if (found)
		*link = found->older;
	pthread_mutex_unlock(&run->lock);

	free(found);
	return found;
}

void kunit_remove_action(struct kunit *test, kunit_action_fn fn, void *arg)
{
	forget_action(test->run, fn, arg);
}

void kunit_release_action(struct kunit *test, kunit_action_fn fn, void *arg)
{
	if (forget_action(test->run, fn, arg))
		fn(arg);
}

void *kunit_kmalloc(struct kunit *test, size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		out_of_memory(test);
	kunit_add_action(test, free, p);
	return p;
}

void *kunit_kzalloc(struct kunit *test, size_t size)
{
	return memset(kunit_kmalloc(test, size), 0, size);
}
