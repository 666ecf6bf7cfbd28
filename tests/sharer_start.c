// SPDX-License-Identifier: BSD-2-Clause
/* sharer_start.c - starting tests/sharer, and talking to it; see sharer.h. */
#include "tests/sharer.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "tests/program.h"

static struct sharer_answer read_answer(struct kunit *test, struct sharer *s)
{
	struct sharer_answer a = { 0 };

	KUNIT_ASSERT_EQ(test, recv(s->sock, &a, sizeof(a), MSG_WAITALL),
			(ssize_t)sizeof(a));
	return a;
}

/* In the child: only what exec needs. */
static void run(const char *path, int sock, const char *spec)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", sock);
	fcntl(sock, F_SETFD, 0);
	alarm(60);
	execl(path, path, number, spec, (char *)NULL);
	_exit(127);
}

struct sharer_answer sharer_start(struct kunit *test, struct sharer *s,
				  const char *spec,
				  const struct slabdev_share *share)
{
	const char *path = program_path(test, "tests/sharer");
	int pair[2];

	KUNIT_ASSERT_EQ(test, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
					 pair), 0);
	s->pid = fork();
	KUNIT_ASSERT_GE(test, s->pid, 0);
	if (!s->pid)
		run(path, pair[1], spec);
	close(pair[1]);
	s->sock = pair[0];
	KUNIT_ASSERT_EQ_MSG(test, slabdev_share_send(s->sock, share), 0, "%s",
			    slabdev_last_error());
	return read_answer(test, s);
}

struct sharer_answer sharer_next(struct kunit *test, struct sharer *s)
{
	KUNIT_ASSERT_EQ(test, write(s->sock, "n", 1), 1);
	return read_answer(test, s);
}

void sharer_end(struct kunit *test, struct sharer *s)
{
	int status = -1;

	KUNIT_EXPECT_EQ(test, send(s->sock, "q", 1, MSG_NOSIGNAL), 1);
	close(s->sock);
	KUNIT_ASSERT_EQ(test, waitpid(s->pid, &status, 0), s->pid);
	KUNIT_EXPECT_EQ_MSG(test, status, 0, "wait status %#x", status);
}
