// SPDX-License-Identifier: BSD-2-Clause
/*
 * share_socket.c - an export on its way through a UNIX socket.
 *
 * One message of fixed length, with the descriptor beside its first byte. On a
 * stream it may arrive in pieces; a socket that keeps records has it in one, or
 * it is not ours.
 *
 * The receiver trusts nothing. Whatever descriptors come are found and closed,
 * unless it is the one that belongs there: behind the first piece there is no
 * room for any, so that the kernel drops them.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "core/cancel.h"
#include "core/log.h"
#include "core/os.h"
#include "slab/share.h"

#define WIRE_MAGIC UINT64_C(0x3165726168736473)	/* "sdshare1" */

struct wire {
	u64 magic;
	u32 kind;
	u32 type;
	u64 offset;
	u64 bytes;
	u64 handle_bytes;
	unsigned char fabric[64];
	char uuid[48];
};
static_assert(sizeof(struct wire) == 152, "a message has no padding");

/* Room for one descriptor, and for credentials if the socket passes them. */
union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(3 * sizeof(u32))];
};

static int socket_error(const char *call, int err)
{
	char buf[64];

	return error_set(err, "%s: %s", call,
			 strerror_r(-err, buf, sizeof(buf)));
}

/* After a failure: 0 to try again, or the error. */
static int wait_for(int socket, short events)
{
	struct pollfd p = { .fd = socket, .events = events };

	if (errno == EINTR)
		return 0;
	if (errno != EAGAIN && errno != EWOULDBLOCK)
		return -errno;
	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

/* ---- Sending -------------------------------------------------------- */

/* Put @fd beside the message; -1: none. */
static void attach(struct msghdr *msg, union control *c, int fd)
{
	struct cmsghdr *header;

	if (fd < 0)
		return;
	memset(c, 0, sizeof(*c));
	msg->msg_control = c;
	msg->msg_controllen = CMSG_SPACE(sizeof(fd));
	header = CMSG_FIRSTHDR(msg);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
}

static int send_all(int socket, const struct wire *w, int fd)
{
	struct iovec left = { (void *)(uintptr_t)w, sizeof(*w) };
	struct msghdr msg = { .msg_iov = &left, .msg_iovlen = 1 };
	union control control;
	ssize_t n;
	int err;

	attach(&msg, &control, fd);
	while (left.iov_len) {
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
		if (n < 0) {
			err = wait_for(socket, POLLOUT);
			if (err)
				return err;
			continue;
		}
		/* The descriptor went with the first byte. */
		msg.msg_control = NULL;
		msg.msg_controllen = 0;
		left.iov_base = (char *)left.iov_base + n;
		left.iov_len -= (size_t)n;
	}
	return 0;
}

int slabdev_share_send(int socket, const struct slabdev_share *user_share)
{
	NO_CANCELLATION;
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct wire w = { .magic = WIRE_MAGIC };
	int err = share_check_in(&share, user_share, "slabdev_share_send");

	if (err)
		return err;
	w.kind = share.kind;
	w.type = share.type;
	w.offset = share.offset;
	w.bytes = share.bytes;
	w.handle_bytes = share.handle_bytes;
	memcpy(w.fabric, share.fabric, sizeof(w.fabric));
	memcpy(w.uuid, share.uuid, sizeof(w.uuid));
	err = send_all(socket, &w, share.fd);
	if (err == -ECONNRESET)
		err = -EPIPE;
	return err ? socket_error("slabdev_share_send", err) : 0;
}

/* ---- Receiving ------------------------------------------------------ */

static bool has_records(int socket)
{
	socklen_t len = sizeof(int);
	int type = SOCK_STREAM;

	(void)getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &len);
	return type != SOCK_STREAM;
}

/* Keep the first descriptor that came, and close all others: how many. */
static u32 take_descriptors(struct msghdr *msg, int *kept)
{
	struct cmsghdr *header;
	u32 i, n, nr = 0;
	int fd;

	for (header = CMSG_FIRSTHDR(msg); header;
	     header = CMSG_NXTHDR(msg, header)) {
		if (header->cmsg_level != SOL_SOCKET ||
		    header->cmsg_type != SCM_RIGHTS)
			continue;
		n = (u32)((header->cmsg_len - CMSG_LEN(0)) / sizeof(fd));
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd),
			       sizeof(fd));
			if (nr++)
				(void)os_close(fd);
			else
				*kept = fd;
		}
	}
	return nr;
}

/* One piece, and what came beside it. Bytes, 0 at the end, or -errno. */
static ssize_t receive_piece(int socket, struct msghdr *msg)
{
	ssize_t n;
	int err;

	for (;;) {
		n = recvmsg(socket, msg, MSG_CMSG_CLOEXEC);
		if (n >= 0)
			return n;
		err = wait_for(socket, POLLIN);
		if (err)
			return err;
	}
}

/*
 * The first piece, with the descriptor. What was cut off beside it is a lack of
 * descriptors if not even one has come, else there were more than one.
 */
static ssize_t receive_first(int socket, struct wire *w, int *fd)
{
	struct iovec all = { w, sizeof(*w) };
	union control control;
	struct msghdr msg = {
		.msg_iov = &all, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	ssize_t n = receive_piece(socket, &msg);
	u32 nr;

	if (n < 0)
		return n;
	nr = take_descriptors(&msg, fd);
	if (!nr && (msg.msg_flags & MSG_CTRUNC))
		return -EMFILE;
	if (nr > 1 || (msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC)))
		return -EPROTO;
	if (!n)
		return -EPIPE;
	return has_records(socket) && (size_t)n != sizeof(*w) ? -EPROTO : n;
}

static int receive_all(int socket, struct wire *w, int *fd)
{
	struct iovec left;
	struct msghdr msg = { .msg_iov = &left, .msg_iovlen = 1 };
	ssize_t n = receive_first(socket, w, fd);

	if (n < 0)
		return (int)n;
	left.iov_base = (char *)w + n;
	left.iov_len = sizeof(*w) - (size_t)n;
	while (left.iov_len) {
		n = receive_piece(socket, &msg);
		if (n <= 0)
			return n ? (int)n : -EPIPE;
		if (msg.msg_flags & MSG_CTRUNC)
			return -EPROTO;
		left.iov_base = (char *)left.iov_base + n;
		left.iov_len -= (size_t)n;
	}
	return 0;
}

static int read_wire(struct slabdev_share *share, const struct wire *w, int fd)
{
	struct slabdev_share came = SLABDEV_SHARE_INIT;
	struct slabdev_share checked = SLABDEV_SHARE_INIT;

	if (w->magic != WIRE_MAGIC)
		return error_set(-EPROTO, "slabdev_share_receive: what came is "
				 "no export");
	came.kind = w->kind;
	came.type = w->type;
	came.fd = fd;
	came.offset = w->offset;
	came.bytes = w->bytes;
	came.handle_bytes = w->handle_bytes;
	memcpy(came.fabric, w->fabric, sizeof(came.fabric));
	memcpy(came.uuid, w->uuid, sizeof(came.uuid));
	if (share_check_in(&checked, &came, "slabdev_share_receive"))
		return -EPROTO;
	share_copy_out(share, &checked);
	return 0;
}

int slabdev_share_receive(int socket, struct slabdev_share *share)
{
	NO_CANCELLATION;
	struct wire w;
	int fd = -1;
	int err;

	err = share_check_out(share, "slabdev_share_receive");
	if (err)
		return err;
	err = receive_all(socket, &w, &fd);
	if (err == -ECONNRESET)
		err = -EPIPE;
	err = err ? socket_error("slabdev_share_receive", err) :
		    read_wire(share, &w, fd);
	if (err && fd >= 0)
		(void)os_close(fd);
	return err;
}
