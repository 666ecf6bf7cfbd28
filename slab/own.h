/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * own.h - objects that belong to a buffer, a group or an arena.
 *
 * What such a thing has is an object like any other, with the books, the checks
 * and the debug letters of its space, and with a note (note.h) that says whose
 * it is: as long as it does, the object's address is refused by every free and
 * by slabdev_realloc(), in words that name the owner, and leak reports name it
 * too.
 *
 * Failure: what cannot have its note is given back, and no figure has changed
 * but that of failures.
 */
#ifndef SLAB_OWN_H
#define SLAB_OWN_H

#include "slab/token.h"
#include "slab/stream.h"

struct slabdev_req;

/*
 * own_alloc - an object for the owner @what with the token @name
 * @sd: which space_check() has seen
 * @req: checked and used as by slabdev_alloc_ex(); NULL: defaults
 *
 * @what is a static string such as "buffer". NULL with errno set.
 */
void *own_alloc(struct slabdev *sd, size_t size, const struct slabdev_req *req,
		const char *what, const void *name) __must_check;
/*
 * own_use - work in the stream of @o uses what @name owns, as slabdev_use()
 *
 * 0, also when it owns it no more; -ENOMEM, -ENOSPC.
 */
int own_use(struct slabdev *sd, void *p, const void *name,
	    const struct order *o) __must_check;
/* 0; or why own_free() would refuse now: -EBUSY. */
int own_may_free(struct slabdev *sd, const void *p) __must_check;
/*
 * own_free - the owner gives it back, in the order @o
 *
 * 0; -EBUSY it is exported: it still belongs to the owner.
 */
int own_free(struct slabdev *sd, void *p, const struct order *o);

/* Who owns an object, for reports. */
struct owner {
	const char *kind;	/* "buffer", ... */
	const char *call;	/* that gives it back: "slabdev_buf_put()" */
	char text[128];		/* "buffer 0x...", and what is known of it */
};

/* The owner of the object at @offset; false: nobody owns it. */
bool own_find(struct slabdev *sd, u64 offset, struct owner *owner);

#endif /* SLAB_OWN_H */
