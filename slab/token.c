// SPDX-License-Identifier: BSD-2-Clause
/* token.c - see token.h. */
#include <errno.h>

#include "core/log.h"
#include "slab/slab.h"
#include "slab/token.h"

#define KIND_SHIFT 24
#define USE_SHIFT 32
#define GROW_STEP (64 * KIB)

static u64 make_word(u32 use, u32 owners)
{
	return (u64)use << USE_SHIFT | owners;
}

/* ---- Giving out --------------------------------------------------------- */

/* Addresses for as many entries as there may be, or, where they are scarce,
 * for half of those, and so on. */
static bool have_addresses_locked(struct token_table *t)
{
	u64 bytes = (u64)t->max * t->size;

	while (!t->entries.base && bytes) {
		if (!resv_init(&t->entries, bytes, GROW_STEP))
			break;
		bytes = bytes > GROW_STEP ? bytes / 2 : 0;
	}
	return t->entries.base;
}

/* One more entry in the table. */
static struct token *extend_locked(struct token_table *t, int *err)
{
	u32 index = t->end;
	struct token *h;
	u64 end = ((u64)index + 1) * t->size;

	if (!have_addresses_locked(t))
		*err = -ENOMEM;
	else if (index == t->max || end > t->entries.reserved)
		*err = -ENOSPC;
	else
		*err = resv_grow(&t->entries, end);
	if (*err)
		return NULL;
	h = token_entry(t, index);
	h->index = index;
	h->word = make_word(1, 0);
	store_release(&t->end, index + 1);
	return h;
}

/* With no lock held. */
static int say_why_not(const struct token_table *t, int err)
{
	if (err == -ENOSPC)
		return error_set(err, "%u %ss are there already: no more can "
				 "be told apart", load_acquire(&t->end),
				 t->what);
	return error_set(err, "no host memory for a %s", t->what);
}

void *token_new(struct token_table *t, struct slabdev *sd, int *err)
{
	struct token *h;

	*err = 0;
	lock_acquire(&t->lock);
	if (t->first_free != TOKEN_NONE) {
		h = token_entry(t, t->first_free);
		t->first_free = h->next_free;
	} else {
		h = extend_locked(t, err);
	}
	if (h) {
		t->nr++;
		if (sd)
			t->nr_of[sd->id]++;
		store_release(&h->sd, sd);
		store_release(&h->word, make_word(token_use(h), 1));
	}
	lock_release(&t->lock);
	if (!h)
		*err = say_why_not(t, *err);
	return h;
}

static void put_away_locked(struct token_table *t, struct token *h)
{
	t->nr--;
	if (h->sd)
		t->nr_of[h->sd->id]--;
	store_release(&h->sd, (struct slabdev *)NULL);
	/* Its numbers are used up: it stays as it is. */
	if (!token_use(h))
		return;
	h->next_free = t->first_free;
	t->first_free = h->index;
}

void token_free(struct token_table *t, struct token *h)
{
	lock_acquire(&t->lock);
	put_away_locked(t, h);
	lock_release(&t->lock);
}

void token_drop(struct token_table *t, struct token *h)
{
	(void)token_put(t, token_name(t, h), __func__);
	token_free(t, h);
}

void token_revive(struct token *h)
{
	store_release(&h->word, make_word(token_use(h) - 1, 1));
}

void *token_name(const struct token_table *t, const struct token *h)
{
	u64 word = load_acquire(&h->word);
	u32 use = (u32)(word >> USE_SHIFT) - !(u32)word;
	u64 name = make_word(use, h->index) | (u64)t->kind << KIND_SHIFT;

	return (void *)(uintptr_t)name;
}

/* ---- Looking up --------------------------------------------------------- */

/* The entry that a token names, and of which use; NULL: it names none. */
static struct token *named(const struct token_table *t, const void *token,
			    u32 *use)
{
	u64 name = (uintptr_t)token;
	u32 index = token_index(token);

	*use = (u32)(name >> USE_SHIFT);
	if (token_kind(token) != t->kind || !*use ||
	    index >= load_acquire(&t->end))
		return NULL;
	return token_entry(t, index);
}

static int refuse(const struct token_table *t, const struct token *h,
		  u32 use, const void *token, const char *call)
{
	u32 now = h ? token_use(h) : 0;

	/* A use that has not begun was never given out. */
	if (!token)
		return error_set(-EINVAL, "%s: the %s is NULL", call, t->what);
	if (!h || (now && use >= now))
		return error_set(-EINVAL, "%s: %p never was a%s %s", call,
				 token, *t->what == 'a' ? "n" : "", t->what);
	return error_set(-EALREADY, "%s: %s %p is there no more: it was given "
			 "back or destroyed, or its space was closed", call,
			 t->what, token);
}

int token_refused(const struct token_table *t, const void *token, int err)
{
	struct report r;

	report_start(&r, err == -EALREADY ? REPORT_DOUBLE_FREE :
					    REPORT_INVALID_POINTER, "-",
		     err == -EALREADY ? "The %s was given back before" :
					"No %s", t->what);
	report_line(&r, "%p: %s", token, error_get());
	report_line(&r, "nothing was changed");
	report_end(&r);
	return err;
}

void *token_take(struct token_table *t, const void *token, const char *call,
		 int *err)
{
	void *h = token_find(t, token, call, err);

	if (h)
		*err = (int)token_put(t, token, call);
	if (!*err)
		return h;
	(void)token_refused(t, token, *err);
	return NULL;
}

u32 token_owners_of(struct token_table *t, const void *token)
{
	u32 use;
	struct token *h = named(t, token, &use);
	u64 word = h ? load_acquire(&h->word) : 0;

	return word >> USE_SHIFT == use ? (u32)word : 0;
}

void *token_peek(struct token_table *t, const void *token)
{
	return token_owners_of(t, token) ?
	       token_entry(t, token_index(token)) : NULL;
}

void *token_find(struct token_table *t, const void *token, const char *call,
		 int *err)
{
	struct token *h = token_peek(t, token);
	u32 use;

	*err = 0;
	if (likely(h))
		return h;
	h = named(t, token, &use);
	*err = refuse(t, h, use, token, call);
	return NULL;
}

s64 token_get(struct token_table *t, const void *token, u32 most,
	      const char *call)
{
	u32 use;
	struct token *h = named(t, token, &use);
	u64 word = h ? load_acquire(&h->word) : 0;

	do {
		if (!h || word >> USE_SHIFT != use || !(u32)word)
			return refuse(t, h, use, token, call);
		if ((u32)word == most)
			return error_set(-EOVERFLOW, "%s: %s %p has %u owners "
					 "already", call, t->what, token,
					 most);
	} while (!__atomic_compare_exchange_n(&h->word, &word, word + 1, true,
					      __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return (u32)word + 1;
}

s64 token_put(struct token_table *t, const void *token, const char *call)
{
	u32 use, left;
	struct token *h = named(t, token, &use);
	u64 word = h ? load_acquire(&h->word) : 0;

	do {
		if (!h || word >> USE_SHIFT != use || !(u32)word)
			return refuse(t, h, use, token, call);
		left = (u32)word - 1;
		/* The last one: what others did with it comes before. */
	} while (!__atomic_compare_exchange_n(&h->word, &word,
					      left ? word - 1 :
						     make_word(use + 1, 0),
					      true, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return left;
}

/* ---- All of a space ----------------------------------------------------- */

u32 token_count(struct token_table *t, const struct slabdev *sd)
{
	u32 n;

	lock_acquire(&t->lock);
	n = t->nr_of[sd->id];
	lock_release(&t->lock);
	return n;
}

static void end_use_locked(struct token_table *t, struct token *h)
{
	if (token_owners(h))
		store_release(&h->word, make_word(token_use(h) + 1, 0));
	put_away_locked(t, h);
}

void token_end_space(struct token_table *t, const struct slabdev *sd)
{
	struct token *h;
	u32 i;

	lock_acquire(&t->lock);
	for (i = 0; t->nr_of[sd->id] && i < t->end; i++) {
		h = token_entry(t, i);
		if (h->sd == sd)
			end_use_locked(t, h);
	}
	lock_release(&t->lock);
}

/* ---- All tables --------------------------------------------------------- */

static struct token_table *const all[] = {
	&buf_tokens,
	&group_tokens,
	&arena_tokens,
	&manager_tokens,
};

void tokens_end_space(const struct slabdev *sd)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		token_end_space(all[i], sd);
}

void tokens_lock_for_fork(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		lock_acquire_for_fork(&all[i]->lock);
}

void tokens_unlock_for_fork(void)
{
	u32 i = ARRAY_SIZE(all);

	while (i--)
		lock_release_for_fork(&all[i]->lock);
}
