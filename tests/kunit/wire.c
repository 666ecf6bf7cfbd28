// SPDX-License-Identifier: BSD-2-Clause
/* wire.c - messages from worker to runner, see wire.h. */
#include "tests/kunit/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

int wire_open(int fds[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	return 0;
}

void wire_send(int fd, enum wire_type type, u64 value, const char *text)
{
	size_t len = strnlen(text, WIRE_TEXT_MAX - 1);
	struct {
		u32 type;
		u32 len;
		u64 value;
	} head = { type, (u32)len, value };
	struct iovec parts[] = {
		{ &head, sizeof(head) },
		{ (void *)(uintptr_t)text, len },
	};
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };

	static_assert(sizeof(head) == offsetof(struct wire_msg, text),
		      "the head is the fixed part of a message");

	while (sendmsg(fd, &msg, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

int wire_recv(int fd, struct wire_msg *msg)
{
	ssize_t got;

	do {
		got = recv(fd, msg, sizeof(*msg), MSG_DONTWAIT);
	} while (got < 0 && errno == EINTR);

	if (got < 0)
		return errno == EAGAIN ? 0 : -EPIPE;
	if (got < (ssize_t)offsetof(struct wire_msg, text))
		return -EPIPE;
	msg->text[msg->len] = '\0';
	return 1;
}
