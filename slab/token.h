/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * token.h - names for what users own: buffers, groups, arenas,
 * managers.
 *
 * A token is given out as a pointer and is none: it names an *entry* of a
 * table, and the *use* of the entry.
 *
 *   63 .. 32   31 .. 24   23 .. 0
 *   use        kind       entry
 *
 * Entries are type-stable: the table never gives memory back, so that whatever
 * token comes is looked up without a fault. An entry whose use has ended gets
 * the next number before it is used again, and is not used again when there is
 * none: a stale token is told from every live one, for ever.
 *
 * The first word of an entry has the number of its use and a count of owners,
 * together, so that both change in one exchange: while the count is 0 nobody
 * may own it again, and a use with other numbers is not touched.
 *
 * There is one table a kind in a process, for all spaces: a token that is used
 * after its space was closed finds that its use has ended.
 *
 * Locking: the table's lock, for giving out entries and taking them back, and
 * for walks; it takes no other lock. Looking up takes none: whoever has a
 * token owns it, or makes a mistake that is found.
 */
#ifndef SLAB_TOKEN_H
#define SLAB_TOKEN_H

#include "core/lock.h"
#include "core/resv.h"
#include "core/thread.h"

struct slabdev;

#define TOKEN_MAX (1u << 24)
#define TOKEN_NONE ((u32)-1)

enum token_kind {
	TOKEN_BUFFER = 1,
	TOKEN_GROUP,
	TOKEN_ARENA,
	TOKEN_MANAGER,
};

/* What each entry begins with. */
struct token {
	u64 word;		/* atomic: use << 32 | owners */
	struct slabdev *sd;	/* const while in use; NULL: of none */
	u32 next_free;		/* table lock */
	u32 index;		/* const */
};

struct token_table {
	struct lock lock;
	struct resv entries;
	const char *what;	/* const: "buffer", ... */
	enum token_kind kind;	/* const */
	u32 size;		/* const: bytes of an entry */
	u32 max;		/* const: entries */
	u32 end;		/* released: so many were ever used */
	u32 first_free;		/* lock */
	u32 nr;			/* lock: in use */
	u32 nr_of[SPACE_MAX];	/* lock: the same, by the number of a space */
};

#define TOKEN_TABLE_INIT(table_kind, table_what, entry_size, max_entries) \
	{ LOCK_INIT(LOCK_TOKENS, table_what), { 0 }, table_what, \
	  table_kind, entry_size, max_entries, 0, TOKEN_NONE, 0, { 0 } }

/*
 * token_new - an entry for a new use, with one owner
 * @sd: whose it is, or NULL
 *
 * The rest of the entry holds what its last use left; the caller fills it in
 * before it gives the token away. NULL with *@err -ENOMEM or -ENOSPC, and the
 * error text.
 */
void *token_new(struct token_table *t, struct slabdev *sd, int *err)
	__must_check;
/* What the user gets for an entry in use; or had, until token_free(). */
void *token_name(const struct token_table *t, const struct token *h);
/*
 * token_find - the entry of a token that somebody owns
 * @call: the public function, for the error text
 *
 * NULL with *@err -EALREADY its use has ended, -EINVAL it never was one; the
 * error text is set.
 */
void *token_find(struct token_table *t, const void *token, const char *call,
		 int *err) __must_check;
/*
 * token_get, token_put - one owner more, or less
 *
 * Owners afterwards; -EALREADY, -EINVAL as token_find(), -EOVERFLOW @most
 * there are already. When token_put() returns 0 the use has ended, and the
 * entry is the caller's alone, until token_free().
 */
s64 token_get(struct token_table *t, const void *token, u32 most,
	      const char *call);
s64 token_put(struct token_table *t, const void *token, const char *call);
/* Ends the use of a token that has one owner, which one caller can: the entry is
 * that caller's. NULL with *@err, and a report that it could not be. */
void *token_take(struct token_table *t, const void *token, const char *call,
		 int *err) __must_check;
/* token_put() returned 0, but cannot be: the use goes on, with one owner. */
void token_revive(struct token *h);
/* The entry may be used anew. */
void token_free(struct token_table *t, struct token *h);
/* The use of an entry with one owner ends, and the entry may be used anew. */
void token_drop(struct token_table *t, struct token *h);
/* How many the token has now; 0: it is stale, or none. */
u32 token_owners_of(struct token_table *t, const void *token);
/* The same as token_find() without a word: NULL. */
void *token_peek(struct token_table *t, const void *token);
/* A token could not be given back, for @err: a report with the error text.
 * Return @err. */
int token_refused(const struct token_table *t, const void *token, int err);

/* The parts of a token, whatever it is worth. */
static inline u32 token_kind(const void *token)
{
	return (uintptr_t)token >> 24 & 0xff;
}

static inline u32 token_index(const void *token)
{
	return (uintptr_t)token & (TOKEN_MAX - 1);
}

/* An entry that was in use at some time. */
static inline void *token_entry(const struct token_table *t, u32 index)
{
	return t->entries.base + (u64)index * t->size;
}

/* Owners of an entry; 0: its use has ended. */
static inline u32 token_owners(const struct token *h)
{
	return (u32)READ_ONCE(h->word);
}

/* The number of its use. */
static inline u32 token_use(const struct token *h)
{
	return (u32)(READ_ONCE(h->word) >> 32);
}

/* How many of @sd are in use. */
u32 token_count(struct token_table *t, const struct slabdev *sd);
/* The space has been closed: no use of it goes on. Walks the entries only if
 * some are in use. */
void token_end_space(struct token_table *t, const struct slabdev *sd);

/* ---- All tables of the process ------------------------------------------ */

extern struct token_table buf_tokens;
extern struct token_table group_tokens;
extern struct token_table arena_tokens;
extern struct token_table manager_tokens;

void tokens_end_space(const struct slabdev *sd);
/* Around a fork. */
void tokens_lock_for_fork(void);
void tokens_unlock_for_fork(void);

#endif /* SLAB_TOKEN_H */
