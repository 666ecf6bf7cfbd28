// SPDX-License-Identifier: BSD-2-Clause
/* share_hostile.c - descriptors, numbers and messages that no export is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/descriptors.h"
#include "tests/share_space.h"

/* ---- Hostile exports ------------------------------------------------ */

static int memfd_with(size_t bytes, int seals)
{
	int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, (off_t)bytes) ||
			(seals && fcntl(fd, F_ADD_SEALS, seals)))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void refuse_import(struct kunit *test, const struct slabdev_share *share,
			  int err, const char *text)
{
	struct slabdev_import *im = NULL;

	KUNIT_EXPECT_EQ_MSG(test, slabdev_import(&im, NULL, share), err,
			    "%s: %s", text, slabdev_last_error());
	EXPECT_ERROR_HAS(test, text);
	KUNIT_EXPECT_NULL(test, im);
}

/* A file as it should be, but open for reading only. */
static int read_only_memfd(size_t size)
{
	int fd = memfd_with(size, F_SEAL_SHRINK), again;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	close(fd);
	return again;
}

void hostile_descriptors_are_refused(struct kunit *test)
{
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	const struct {
		int fd, err;
		const char *text;
	} bad[] = {
		{ memfd_with(2 * MIB, 0), -EINVAL, "sealed" },
		{ memfd_with(2 * MIB, F_SEAL_GROW), -EINVAL, "sealed" },
		{ memfd_with(MIB, F_SEAL_SHRINK), -EINVAL, "bytes" },
		{ memfd_with(4 * MIB, F_SEAL_SHRINK), -EINVAL, "bytes" },
		{ memfd_with(0, F_SEAL_SHRINK), -EINVAL, "bytes" },
		{ memfd_with(2 * MIB, F_SEAL_SHRINK | F_SEAL_WRITE), -EPERM,
		  "mmap" },
		{ read_only_memfd(2 * MIB), -EACCES, "mmap" },
		{ open("/dev/null", O_RDWR | O_CLOEXEC), -EINVAL, "sealed" },
		{ open("/dev/zero", O_RDWR | O_CLOEXEC), -EINVAL, "sealed" },
		{ open("/proc/self/exe", O_RDONLY | O_CLOEXEC), -EINVAL,
		  "sealed" },
		{ socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), -EINVAL,
		  "sealed" },
		{ 1 << 20, -EINVAL, "sealed" },
	};
	u32 before = count_descriptors(test);

	share.kind = SLABDEV_SHARE_HOST;
	share.type = SLABDEV_HANDLE_FD;
	share.bytes = 4096;
	share.handle_bytes = 2 * MIB;
	for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_ASSERT_GE(test, bad[i].fd, 0);
		share.fd = bad[i].fd;
		refuse_import(test, &share, bad[i].err, bad[i].text);
	}
	KUNIT_EXPECT_EQ(test, count_descriptors(test), before);
	for (u32 i = 0; i + 1 < ARRAY_SIZE(bad); i++)
		close(bad[i].fd);
}

void hostile_numbers_are_refused(struct kunit *test)
{
	struct slabdev_share good = SLABDEV_SHARE_INIT, s;

	good.kind = SLABDEV_SHARE_HOST;
	good.type = SLABDEV_HANDLE_FD;
	good.bytes = 4096;
	good.handle_bytes = 2 * MIB;
	good.fd = memfd_with(2 * MIB, F_SEAL_SHRINK);
#define REFUSE(field, value, text)				\
	do {							\
		s = good;					\
		s.field = (value);				\
		refuse_import(test, &s, -EINVAL, text);		\
	} while (0)
	REFUSE(size, 0, "size");
	REFUSE(kind, 0, "kind");
	REFUSE(kind, 3, "kind");
	REFUSE(type, SLABDEV_HANDLE_NONE, "type");
	REFUSE(type, SLABDEV_HANDLE_FABRIC, "type");
	REFUSE(type, SLABDEV_HANDLE_AUTO, "type");
	REFUSE(fd, -1, "fd");
	REFUSE(fd, -100, "fd");
	REFUSE(reserved, 1, "reserved");
	REFUSE(bytes, 0, "within");
	REFUSE(bytes, 2 * MIB + 1, "within");
	REFUSE(bytes, UINT64_MAX, "within");
	REFUSE(offset, 2 * MIB, "within");
	REFUSE(offset, UINT64_MAX - 4095, "within");
	REFUSE(offset, 2 * MIB - 4095, "within");
	REFUSE(handle_bytes, 0, "handle_bytes");
	REFUSE(handle_bytes, UINT64_MAX, "handle_bytes");
	REFUSE(handle_bytes, 2 * MIB + 4096, "multiple");
	REFUSE(handle_bytes, 4 * MIB, "bytes");
	REFUSE(uuid[0], '%', "uuid");
	s = good;
	memset(s.uuid, 'a', sizeof(s.uuid));
	refuse_import(test, &s, -EINVAL, "uuid");
#undef REFUSE
	close(good.fd);
}

/* ---- The socket ----------------------------------------------------- */

/* Send @n bytes of garbage with @nr descriptors, and close. */
static void send_garbage(struct kunit *test, int sock, size_t n, u32 nr)
{
	const int fd = STDERR_FILENO;
	char bytes[400], room[CMSG_SPACE(8 * sizeof(int))];
	struct iovec iov = { bytes, n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	memset(bytes, 0x5a, sizeof(bytes));
	memset(room, 0, sizeof(room));
	if (nr) {
		msg.msg_control = room;
		msg.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nr * sizeof(int));
		for (u32 i = 0; i < nr; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(fd), &fd, sizeof(fd));
	}
	KUNIT_EXPECT_EQ(test, sendmsg(sock, &msg, MSG_NOSIGNAL), (ssize_t)n);
}

void garbage_from_a_socket_is_refused(struct kunit *test)
{
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };
	static const size_t lengths[] = { 1, 151, 152, 153, 400 };
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	u32 before = count_descriptors(test);
	int pair[2], err;
	bool cut;

	for (u32 i = 0; i < 2 * 5 * 9; i++) {
		cut = types[i % 2] == SOCK_STREAM && lengths[i / 2 % 5] < 152;
		KUNIT_ASSERT_EQ(test, socketpair(AF_UNIX, types[i % 2] |
						 SOCK_CLOEXEC, 0, pair), 0);
		send_garbage(test, pair[1], lengths[i / 2 % 5], i / 10);
		close(pair[1]);
		err = slabdev_share_receive(pair[0], &share);
		if (i / 10 < 2 && cut)
			KUNIT_EXPECT_EQ(test, err, -EPIPE);
		else
			KUNIT_EXPECT_EQ(test, err, -EPROTO);
		KUNIT_EXPECT_EQ(test, share.fd, -1);
		close(pair[0]);
		KUNIT_EXPECT_EQ(test, count_descriptors(test), before);
	}
}

void socket_that_is_closed_is_told(struct kunit *test)
{
	struct slabdev *sd = open_shared(test);
	struct slabdev_share in = SLABDEV_SHARE_INIT, share;
	void *p = must_alloc(test, sd, 1000);
	int pair[2];

	share = must_export(test, sd, p);
	KUNIT_ASSERT_EQ(test, socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	close(pair[1]);
	KUNIT_EXPECT_EQ(test, slabdev_share_send(pair[0], &share), -EPIPE);
	KUNIT_EXPECT_EQ(test, slabdev_share_receive(pair[0], &in), -EPIPE);
	close(pair[0]);
	KUNIT_EXPECT_EQ(test, slabdev_share_send(-1, &share), -EBADF);
	KUNIT_EXPECT_EQ(test, slabdev_share_send(share.fd, &share), -ENOTSOCK);
	EXPECT_EXPORT_ENDED(test, sd, p, &share);
	KUNIT_EXPECT_EQ(test, slabdev_share_send(pair[0], &share), -EINVAL);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}
