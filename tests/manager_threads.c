// SPDX-License-Identifier: BSD-2-Clause
/* manager_threads.c - managers in threads, in callbacks, and after forks. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os.h"
#include "slab/manager.h"
#include "tests/crew.h"
#include "tests/manager_space.h"

struct asker {
	struct kunit *test;
	struct slabdev_manager *m;
	struct slabdev *sd;
};

static void ask(void *arg)
{
	struct asker *a = arg;
	void *p = slabdev_manager_alloc(a->m, HOST, 100, 0);

	KUNIT_EXPECT_NOT_NULL(a->test, p);
	KUNIT_EXPECT_EQ(a->test, slabdev_manager_space(a->m, HOST, &a->sd), 0);
	KUNIT_EXPECT_EQ(a->test, slabdev_manager_free(a->m, p), 0);
}

void first_users_at_once_get_one_space(struct kunit *test)
{
	struct crew *crew = crew_new(test, 6);
	struct asker askers[6];

	for (u32 round = 0; round < 20; round++) {
		struct slabdev_manager *m = new_manager(test, NULL);

		for (u32 i = 0; i < 6; i++)
			askers[i] = (struct asker){ test, m, NULL };
		crew_all(crew, ask, askers, sizeof(*askers));
		for (u32 i = 0; i < 6; i++)
			KUNIT_EXPECT_PTR_EQ(test, askers[i].sd,
					    host_of(test, m));
		KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), 1);
		KUNIT_EXPECT_EQ(test, total_of(test, m).allocs, 6);
		KUNIT_EXPECT_EQ(test, total_of(test, m).current, 0);
		end_manager(test, m);
	}
	crew_dismiss(crew);
}

static struct slabdev_manager *asked;
static int answer;

/* Called somewhere below an open, as a function of the user may be. */
static int ask_from_within(const char *name, size_t size, void **addr)
{
	struct slabdev *sd;

	(void)name;
	(void)size;
	(void)addr;
	answer = slabdev_manager_space(asked, HOST, &sd);
	return -ENOSYS;
}

void call_from_within_an_open_does_not_hang(struct kunit *test)
{
	asked = new_manager(test, "sim");
	answer = 0;
	kunit_activate_static_stub(test, os_shared_segment, ask_from_within);
	(void)host_of(test, asked);
	KUNIT_EXPECT_EQ(test, answer, -EDEADLK);
	kunit_deactivate_static_stub(test, os_shared_segment);
	end_manager(test, asked);
}

static void in_child(struct kunit *test, struct slabdev_manager *m, void *p)
{
	struct slabdev_manager *fresh = new_manager(test, NULL);
	struct slabdev_ledger l = total_of(test, m);

	KUNIT_EXPECT_EQ(test, l.current, 1000);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, p), 0);
	p = slabdev_manager_alloc(m, HOST, 500, 0);
	KUNIT_EXPECT_EQ(test, total_of(test, m).current, 500);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, p), 0);
	end_manager(test, m);
	end_manager(test, fresh);
}

/* The child has copies of its own; the turn of a thread that it has not is
 * nobody's. White-box: the parent is made to look as if it was opening. */
void manager_survives_a_fork(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, NULL);
	void *p = slabdev_manager_alloc(m, HOST, 1000, 0);
	struct manager *inside;
	int err, status = -1;
	pid_t pid;

	inside = manager_find(m, "test", &err);
	KUNIT_ASSERT_NOT_NULL(test, inside);
	inside->turn = (u64)(u32)getpid() << 32 | 1;
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		alarm(60);
		in_child(test, m, p);
		_exit(0);
	}
	inside->turn = 0;
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ_MSG(test, status, 0, "wait status %#x", status);
	KUNIT_EXPECT_EQ(test, total_of(test, m).current, 1000);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, p), 0);
	end_manager(test, m);
}
