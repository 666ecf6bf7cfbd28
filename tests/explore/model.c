// SPDX-License-Identifier: BSD-2-Clause
/*
 * model.c - which accesses are ordered, and which words contended.
 *
 * Each routine has a vector clock: what it knows of the others' time. A release
 * (an unlock, a store with release order) leaves the clock at the address, and
 * the routine's own time goes on; an acquire joins what was left there. An
 * access at time T of routine A is before one of B if B knows A at T or later.
 *
 * For each byte the last time is kept at which each routine read and wrote it,
 * by atomic and by plain access. Two accesses of different routines without
 * order, one of them a write, make their words contended, which outlasts the
 * run; if one of the two is plain, it is a race. Bytes, since neighbours in a
 * word may be different variables under different locks; points of decision
 * are kept by words, since one too many does no harm.
 */
#include "tests/explore/explore.h"

#define HASH_SIZE 65536u
#define WORDS_MAX 32768u	/* taking back from all classes looks at many */
#define IGNORED_MAX 8u

/* Times of the last access, by routine; 0: none in this run. */
struct byte {
	u16 plain_read[ROUTINES_MAX], plain_write[ROUTINES_MAX];
	u16 atomic_read[ROUTINES_MAX], atomic_write[ROUTINES_MAX];
};

struct word {
	u64 number;		/* address / 8 */
	u16 released[ROUTINES_MAX];	/* the clock left here */
	u8 lockers;		/* a bit for each routine that locked it */
	struct byte byte[8];
};

/* Of this run: the fork begins with what was never touched. */
static struct word words[WORDS_MAX];
static u32 nr_words;
static u16 hash[HASH_SIZE];	/* index in words, from 1 */
static u16 clocks[ROUTINES_MAX][ROUTINES_MAX] = {
	{ 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 },
};

static struct {
	u64 addr;
	u32 size;
} ignored[IGNORED_MAX];
static u32 nr_ignored;

static u32 hash_of(u64 number, u32 size)
{
	return (u32)(number * 0x9e3779b97f4a7c15u >> 40) & (size - 1);
}

/* ---- Contended words -------------------------------------------------- */

static u64 number_of(const volatile void *addr)
{
	return (u64)(uintptr_t)addr / 8;
}

bool is_point(const volatile void *addr)
{
	u64 number = number_of(addr);
	u32 i = hash_of(number, CONTENDED_MAX);

	if (search->replay)
		return true;
	for (; search->contended[i]; i = (i + 1) % CONTENDED_MAX)
		if (search->contended[i] == number)
			return true;
	return false;
}

void model_ignore(const void *addr, u32 size)
{
	if (nr_ignored == IGNORED_MAX)
		run_failed("more than %u ignored counters", IGNORED_MAX);
	ignored[nr_ignored].addr = (uintptr_t)addr;
	ignored[nr_ignored++].size = size;
}

static bool is_ignored(u64 number)
{
	u32 i;

	for (i = 0; i < nr_ignored; i++)
		if (number * 8 - ignored[i].addr < ignored[i].size)
			return true;
	return false;
}

static void set_contended(u64 number)
{
	u32 i = hash_of(number, CONTENDED_MAX);

	if (is_ignored(number))
		return;
	for (; search->contended[i]; i = (i + 1) % CONTENDED_MAX)
		if (search->contended[i] == number)
			return;
	if (++search->nr_contended > CONTENDED_MAX / 2)
		run_failed("more than %u contended words", CONTENDED_MAX / 2);
	search->contended[i] = number;
	search->grown = true;
}

/* ---- Words of this run ------------------------------------------------ */

static struct word *word_at(u64 number)
{
	u32 i = hash_of(number, HASH_SIZE);

	for (; hash[i]; i = (i + 1) % HASH_SIZE)
		if (words[hash[i] - 1].number == number)
			return &words[hash[i] - 1];
	if (nr_words == WORDS_MAX)
		run_failed("more than %u words", WORDS_MAX);
	words[nr_words++].number = number;
	hash[i] = (u16)nr_words;
	return &words[nr_words - 1];
}

static bool any_unordered(const u16 *times)
{
	int i;

	for (i = 0; i < ROUTINES_MAX; i++)
		if (times[i] > clocks[running][i])
			return true;
	return false;
}

static void touch(struct word *w, struct byte *b, unsigned int access)
{
	bool atomic = access & ACCESS_ATOMIC, write = access & ACCESS_WRITE;
	bool plain_other, atomic_other;
	u16 *mine;

	plain_other = any_unordered(b->plain_write) ||
		      (write && any_unordered(b->plain_read));
	atomic_other = any_unordered(b->atomic_write) ||
		       (write && any_unordered(b->atomic_read));
	if (plain_other || atomic_other)
		set_contended(w->number);
	if (plain_other || (atomic_other && !atomic))
		note_race();
	if (atomic)
		mine = write ? b->atomic_write : b->atomic_read;
	else
		mine = write ? b->plain_write : b->plain_read;
	mine[running] = clocks[running][running];
}

void model_access(const volatile void *addr, u32 size, unsigned int access)
{
	uintptr_t at = (uintptr_t)addr, end = at + size;
	struct word *w = NULL;

	for (; at < end; at++) {
		if (!w || w->number != at / 8)
			w = word_at(at / 8);
		touch(w, &w->byte[at % 8], access);
	}
}

/* ---- Order ------------------------------------------------------------ */

static void join(u16 *to, const u16 *from)
{
	int i;

	for (i = 0; i < ROUTINES_MAX; i++)
		to[i] = max(to[i], from[i]);
}

void model_acquire(const volatile void *addr)
{
	join(clocks[running], word_at(number_of(addr))->released);
}

void model_release(const volatile void *addr)
{
	u16 *mine = clocks[running];

	join(word_at(number_of(addr))->released, mine);
	if (++mine[running] == UINT16_MAX)
		run_failed("too many releases");
}

void model_forget_releases(const volatile void *addr)
{
	struct word *w = word_at(number_of(addr));
	int i;

	for (i = 0; i < ROUTINES_MAX; i++)
		w->released[i] = 0;
}

void model_lock(const volatile void *lock)
{
	struct word *w = word_at(number_of(lock));

	w->lockers |= (u8)(1u << running);
	if (w->lockers & (w->lockers - 1))
		set_contended(w->number);
}
