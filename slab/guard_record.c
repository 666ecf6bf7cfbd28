// SPDX-License-Identifier: BSD-2-Clause
/* guard_record.c - see guard_record.h. */
#include "core/os.h"
#include "core/stack.h"
#include "slab/guard.h"
#include "slab/guard_record.h"

struct entry {
	u32 seq;		/* odd: it is being changed */
	u32 next;		/* unmapped later, + 1; 0: none */
	struct guard_record r;
};

static struct lock table_lock = LOCK_INIT(LOCK_META, "guards");
/* Locking: table_lock to change it. */
static struct entry table[GUARD_RECORDS];
/* Locking: table_lock. */
static u32 nr_begun;		/* those from here on were never taken */
static u32 first_unmapped, last_unmapped;	/* + 1; 0: none */
static u64 last_age;

void guard_lock_for_fork(void)
{
	lock_acquire_for_fork(&table_lock);
}

void guard_unlock_for_fork(void)
{
	lock_release_for_fork(&table_lock);
}

/* From the program's call on, if it is known where that was. */
void guard_who(struct guard_who *who)
{
	*who = (struct guard_who){ .tid = (u32)os_gettid() };
	who->nr = stack_capture(who->pc, GUARD_FRAMES, thread_self->site);
}

/* ---- Changes ------------------------------------------------------------ */

/*
 * Word by word: one side may be read, or written, meanwhile. Released and
 * acquired: who has a new word has the odd number before it too, and who has an
 * old one looks at the number afterwards.
 */
static void copy_record(struct guard_record *to,
			const struct guard_record *from)
{
	const u64 *in = (const u64 *)(const void *)from;
	u64 *out = (u64 *)(void *)to;

	for (size_t i = 0; i < sizeof(*to) / sizeof(u64); i++)
		store_release(&out[i], load_acquire(&in[i]));
}

static void change_locked(u32 i, struct guard_record *what)
{
	struct entry *e = &table[i];

	what->age = ++last_age;
	WRITE_ONCE(e->seq, e->seq + 1);
	copy_record(&e->r, what);
	store_release(&e->seq, e->seq + 1);
}

static void append_locked(u32 i)
{
	table[i].next = 0;
	if (last_unmapped)
		table[last_unmapped - 1].next = i + 1;
	else
		first_unmapped = i + 1;
	last_unmapped = i + 1;
}

static u32 take_oldest_locked(void)
{
	u32 i = first_unmapped - 1;

	first_unmapped = table[i].next;
	if (!first_unmapped)
		last_unmapped = 0;
	return i;
}

u32 guard_record_take(void)
{
	u32 i = GUARD_NONE;

	lock_acquire(&table_lock);
	if (nr_begun < GUARD_RECORDS)
		i = nr_begun++;
	else if (first_unmapped)
		i = take_oldest_locked();
	lock_release(&table_lock);
	return i;
}

void guard_record_set(u32 i, const struct guard_record *what)
{
	struct guard_record r = *what;

	lock_acquire(&table_lock);
	change_locked(i, &r);
	lock_release(&table_lock);
}

void guard_record_freed(u32 i, const struct guard_who *who)
{
	struct guard_record r;

	lock_acquire(&table_lock);
	r = table[i].r;
	r.state = GUARD_FREED;
	r.free = *who;
	change_locked(i, &r);
	lock_release(&table_lock);
}

static void leave(u32 i, enum guard_state state)
{
	struct guard_record r;

	lock_acquire(&table_lock);
	r = table[i].r;
	r.state = state;
	change_locked(i, &r);
	append_locked(i);
	lock_release(&table_lock);
}

void guard_record_drop(u32 i)
{
	leave(i, GUARD_UNUSED);
}

void guard_record_unmapped(u32 i)
{
	leave(i, GUARD_UNMAPPED);
}

/* What lived when the space was closed can be taken again, too. */
void guard_records_forget(const struct slabdev *space)
{
	struct guard_record r;
	bool listed;
	u32 i;

	lock_acquire(&table_lock);
	for (i = 0; i < nr_begun; i++) {
		r = table[i].r;
		if (r.space != space)
			continue;
		listed = r.state == GUARD_UNMAPPED || r.state == GUARD_UNUSED;
		r = (struct guard_record){ .state = GUARD_UNUSED };
		change_locked(i, &r);
		if (!listed)
			append_locked(i);
	}
	lock_release(&table_lock);
}

/* ---- Questions ---------------------------------------------------------- */

bool guard_record_get(u32 i, struct guard_record *copy)
{
	const struct entry *e = &table[i];
	u32 seq = load_acquire(&e->seq);

	if (!seq || seq & 1)
		return false;
	copy_record(copy, &e->r);
	return READ_ONCE(e->seq) == seq && copy->state != GUARD_UNUSED;
}

static bool is_near(const struct guard_record *r, u64 addr)
{
	return addr - (r->from - r->wall) < r->to - r->from + 2 * r->wall;
}

/* One that lives rather than one that did, and of those the latest. */
static bool is_better(const struct guard_record *r,
		      const struct guard_record *than)
{
	bool lives = r->state == GUARD_LIVE, lived = than->state == GUARD_LIVE;

	return lives == lived ? r->age > than->age : lives;
}

bool guard_record_find(u64 addr, struct guard_record *copy)
{
	struct guard_record r;
	bool found = false;
	u32 i;

	for (i = 0; i < GUARD_RECORDS; i++) {
		if (!guard_record_get(i, &r) || !is_near(&r, addr) ||
		    (found && !is_better(&r, copy)))
			continue;
		*copy = r;
		found = true;
	}
	return found;
}
