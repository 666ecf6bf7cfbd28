// SPDX-License-Identifier: BSD-2-Clause
/*
 * window.c - an object of each rank that its two neighbours map.
 *
 * An export is a descriptor, which goes from process to process over a UNIX
 * socket and in no other way. Every rank listens at a name without a file,
 * which MPI tells the others. A connection is made when it is queued, and an
 * export is short enough to be sent before anybody receives it: so first all
 * connect, then all send, then all receive, and nobody waits for a neighbour
 * that waits for him.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ranks.h"

#define NAME_BYTES 64

struct name {
	char text[NAME_BYTES];
};

/* ---- Names -------------------------------------------------------------- */

/* A name that begins with a zero byte is no file. */
static socklen_t set_address(struct sockaddr_un *a, const struct name *name)
{
	size_t len = strlen(name->text);

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	memcpy(a->sun_path + 1, name->text, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

static int listen_at(const struct name *name)
{
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un a;
	socklen_t len = set_address(&a, name);

	if (s < 0 || bind(s, (const struct sockaddr *)&a, len) || listen(s, 2))
		give_up("a socket to listen at");
	return s;
}

static int connect_to(const struct name *name)
{
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un a;
	socklen_t len = set_address(&a, name);

	if (s < 0 || connect(s, (const struct sockaddr *)&a, len))
		give_up("a neighbour's socket");
	return s;
}

/* The name is no secret: memory is for one's own processes only. */
static void check_peer(int s)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
	    peer.uid != geteuid())
		give_up("a process of somebody else");
}

/* ---- Exports and imports ------------------------------------------------ */

static void send_to_next(int listener, const struct slabdev_share *share)
{
	int s = accept(listener, NULL, NULL);

	if (s < 0)
		give_up("accept");
	check_peer(s);
	if (slabdev_share_send(s, share))
		give_up("slabdev_share_send");
	close(s);
}

static struct slabdev_import *receive(const struct memory *m, int s)
{
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct slabdev_import *import;

	check_peer(s);
	if (slabdev_share_receive(s, &share))
		give_up("slabdev_share_receive");
	close(s);
	if (slabdev_import(&import, m->spec, &share))
		give_up("slabdev_import");
	close(share.fd);
	return import;
}

static void trade(struct window *w, int listener, const struct name *names)
{
	int s[2], side;

	for (side = LEFT; side <= RIGHT; side++)
		s[side] = connect_to(&names[w->neighbour[side]]);
	for (side = LEFT; side <= RIGHT; side++)
		send_to_next(listener, &w->share);
	for (side = LEFT; side <= RIGHT; side++)
		w->of[side] = receive(w->memory, s[side]);
}

/* The same calls were made everywhere, so the window is at the same offset. */
static void check_offset(const struct window *w)
{
	unsigned long long mine = slabdev_offset(w->memory->sd, w->p), least,
			   most;

	MPI_Allreduce(&mine, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN,
		      MPI_COMM_WORLD);
	MPI_Allreduce(&mine, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX,
		      MPI_COMM_WORLD);
	if (least != most)
		give_up("ranks with different layouts");
}

void window_open(struct window *w, struct memory *m, void *p)
{
	struct name name = { "" }, *names;
	int rank, ranks, listener;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	*w = (struct window){
		.memory = m, .p = p, .share = SLABDEV_SHARE_INIT,
		.neighbour = { (rank + ranks - 1) % ranks, (rank + 1) % ranks },
	};
	check_offset(w);
	if (slabdev_export(m->sd, p, &w->share))
		give_up("slabdev_export");
	names = calloc((size_t)ranks, sizeof(*names));
	if (!names)
		give_up("no memory");
	snprintf(name.text, sizeof(name.text), "slabdev-mpi-%ld",
		 (long)getpid());
	listener = listen_at(&name);
	MPI_Allgather(&name, sizeof(name), MPI_BYTE, names, sizeof(name),
		      MPI_BYTE, MPI_COMM_WORLD);
	trade(w, listener, names);
	close(listener);
	free(names);
}

void window_close(struct window *w)
{
	int side;

	for (side = LEFT; side <= RIGHT; side++)
		if (slabdev_import_close(w->of[side]))
			give_up("slabdev_import_close");
	/* Nobody writes here any more. */
	MPI_Barrier(MPI_COMM_WORLD);
	if (slabdev_export_end(w->memory->sd, w->p, &w->share))
		give_up("slabdev_export_end");
}

void *window_there(const struct window *w, int side, const void *p)
{
	struct slabdev *sd = w->memory->sd;
	uint64_t at = slabdev_offset(sd, p) - slabdev_offset(sd, w->p);

	return (char *)slabdev_import_ptr(w->of[side]) + at;
}
