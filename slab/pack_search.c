// SPDX-License-Identifier: BSD-2-Clause
/*
 * pack_search.c - the search: depth first, with many beginnings.
 *
 * A *descent* looks for a plan within a capacity. At each step it takes the
 * candidates (pack_state.h) from the lowest offset up; of those with the same
 * offset first the one that comes earliest by its rate, where one that fits
 * between walls comes earlier: an edge of its life-time is then an edge of the
 * valley that it is put in, and no narrow gap is left there that nothing would
 * fill.
 *
 * When what is left falls into parts that share no section, they are planned
 * one after the other. A part for which there is no plan is not the fault of
 * the parts before it: the descent goes back to where they were separated.
 *
 * Whether a descent goes well is decided at its beginning, and after a bad one
 * it takes time without end to get back there. So a descent has a number of
 * steps, and then another one begins: with another mixture of tastes, and with
 * the weights that dead ends have left. The numbers of steps are those of Luby,
 * Sinclair and Zuckerman (1993): 1 1 2 1 1 2 4 ..., times what a descent needs
 * at least.
 *
 * Every other descent aims at the goal itself, and those between at a total
 * between that and the best so far; the nearer to the latter, the more often
 * they missed. A descent that has tried everything proves that there is no such
 * plan, and raises the goal.
 */
#include "core/overflow.h"
#include "slab/pack_state.h"

/* A step of a descent, and the parts that are to be planned after it. */
struct frame {
	struct part part;
	u32 back;		/* the frame to go back to */
	u32 todo;		/* parts that come after this one */
	u32 pick;		/* the block that is placed, PACK_NONE: none */
	u32 nr_log, nr_parts;	/* before it was placed */
};

struct waiting {
	u32 first, last;
	u32 back;
	u32 next;
};

enum outcome { FOUND, IMPOSSIBLE, GIVEN_UP };

struct search {
	struct pack *p;
	struct state state;
	u64 *rate;		/* by block */
	u64 wall_bonus;
	struct frame *frame;
	struct waiting *waiting;
	u32 nr_frames, nr_parts;
	u64 nr_steps;
	struct pack_mem mem;
};

/* ---- Candidates ---------------------------------------------------------- */

static u64 rate(const struct search *s, u32 i)
{
	const struct pack *p = s->p;
	const struct state *st = &s->state;
	u64 at = st->least[i], rate = s->rate[i];

	if (!p->begin[i] || st->floor[p->begin[i] - 1] > at)
		rate += s->wall_bonus;
	if (p->end[i] == p->nr_sections || st->floor[p->end[i]] > at)
		rate += s->wall_bonus;
	return rate;
}

/* The next candidate of @f; the one before is passed over. */
static bool pick_next(struct search *s, struct frame *f)
{
	struct state *st = &s->state;
	u64 at, best = 0, r, lowest = f->part.roof;
	u32 i, pick = PACK_NONE;

	if (f->pick != PACK_NONE)
		state_pass_over(st, f->pick);
	for (i = f->part.first; i < f->part.last; i++) {
		at = st->least[i];
		if (st->placed[i] || at > lowest || at >= f->part.roof ||
		    state_is_passed(st, i, f->part.now))
			continue;
		r = rate(s, i);
		if (at < lowest || pick == PACK_NONE || r > best) {
			lowest = at;
			best = r;
			pick = i;
		}
	}
	s->p->looks += f->part.last - f->part.first;
	f->pick = pick;
	if (pick == PACK_NONE)
		return false;
	f->part.now = lowest;
	f->nr_log = st->nr_log;
	return true;
}

/* ---- Parts --------------------------------------------------------------- */

/*
 * The part that comes first in blocks first .. last - 1; *rest is where the
 * next one begins. False: all are placed.
 */
static bool first_part(struct search *s, u32 *first, u32 last, u32 *rest)
{
	const struct pack *p = s->p;
	const bool *placed = s->state.placed;
	u32 i, end;

	while (*first < last && placed[*first])
		++*first;
	s->p->looks += last - *first;
	if (*first == last)
		return false;
	end = p->end[*first];
	for (i = *first + 1; i < last; i++) {
		if (placed[i])
			continue;
		if (p->begin[i] >= end)
			break;
		end = max(end, p->end[i]);
	}
	*rest = i;
	return true;
}

static u32 wait(struct search *s, u32 first, u32 last, u32 back, u32 next)
{
	s->waiting[s->nr_parts] = (struct waiting){ first, last, back, next };
	return s->nr_parts++;
}

/* A frame for what is next to be planned; false: nothing is. */
static bool open_frame(struct search *s, u32 first, u32 last, u32 back,
		       u32 todo)
{
	struct waiting *w;
	u32 rest;

	while (!first_part(s, &first, last, &rest)) {
		if (todo == PACK_NONE)
			return false;
		w = &s->waiting[todo];
		first = w->first;
		last = w->last;
		back = w->back;
		todo = w->next;
	}
	if (rest < last)
		todo = wait(s, rest, last, back, todo);
	s->frame[s->nr_frames++] = (struct frame){
		.part = { .first = first, .last = rest,
			  .now = back == PACK_NONE ? 0 :
				 s->frame[back].part.now },
		.back = back, .todo = todo, .pick = PACK_NONE,
		.nr_parts = s->nr_parts,
	};
	return true;
}

/* ---- A descent ----------------------------------------------------------- */

/* To the last frame that has a candidate left; false: none has. */
static bool go_back(struct search *s, bool dead)
{
	struct frame *f = &s->frame[s->nr_frames - 1];

	while (dead || !pick_next(s, f)) {
		if (f->back == PACK_NONE)
			return false;
		s->nr_frames = f->back + 1;
		f = &s->frame[f->back];
		state_undo(&s->state, f->nr_log);
		s->nr_parts = f->nr_parts;
		dead = false;
	}
	return true;
}

static enum outcome descend(struct search *s, u64 capacity, u64 steps)
{
	struct frame *f;
	u64 end = s->nr_steps + steps;
	u32 last;

	state_reset(&s->state, capacity);
	s->nr_frames = 0;
	s->nr_parts = 0;
	open_frame(s, 0, s->p->nr, PACK_NONE, PACK_NONE);
	for (;;) {
		f = &s->frame[s->nr_frames - 1];
		if (!go_back(s, !state_infer(&s->state, &f->part)))
			return IMPOSSIBLE;
		if (s->nr_steps++ == end || pack_is_spent(s->p))
			return GIVEN_UP;
		last = s->nr_frames - 1;
		f = &s->frame[last];
		state_place(&s->state, f->pick);
		if (!open_frame(s, f->part.first, f->part.last, last, f->todo))
			return FOUND;
	}
}

/* ---- Descents ------------------------------------------------------------ */

/* The @i-th number of Luby's sequence, from 1. */
static u64 luby(u64 i)
{
	while (!is_power_of_2(i + 1))
		i -= ((u64)1 << ilog2(i + 1)) - 1;
	return (i + 1) / 2;
}

static void change_taste(struct search *s)
{
	struct pack *p = s->p;
	struct pack_taste taste = pack_random_taste(p);
	u64 weight = pack_random(p, 256);
	u32 i;

	s->wall_bonus = (u64)pack_random(p, 12 << 10) << 6;
	for (i = 0; i < p->nr; i++)
		s->rate[i] = pack_rate(p, &taste, i) +
			     weight * pack_log2(s->state.weight[i]);
	state_forget(&s->state);
}

/* A total between the goal and the best, after @missed descents in a row that
 * did not get there; the goal itself where nothing else would be of use. */
static u64 nearer(const struct pack *p, u32 missed)
{
	u64 room = p->best - p->goal;

	if (room <= p->unit || p->capacity < p->best)
		return p->goal;
	room >>= min(3 + missed / 8, 63u);
	return p->best - max(align_down(room, p->unit), p->unit);
}

static void run(struct search *s)
{
	struct pack *p = s->p;
	enum outcome got;
	u64 aim, round, nr_goal = 0;
	u32 missed = 0;

	for (round = 0; !pack_is_done(p) && !pack_is_spent(p); round++) {
		change_taste(s);
		aim = round % 2 ? nearer(p, missed) : p->goal;
		got = descend(s, aim, (p->nr + 500) *
			      luby(aim == p->goal ? ++nr_goal : missed + 1));
		if (got == FOUND)
			pack_keep(p);
		else if (got == IMPOSSIBLE)
			p->goal = aim + p->unit;
		if (got != GIVEN_UP)
			missed = 0;
		else if (aim != p->goal)
			missed++;
	}
}

static void lay_out(struct search *s)
{
	u64 n = s->p->nr;

	s->rate = pack_take(&s->mem, n, sizeof(*s->rate));
	s->frame = pack_take(&s->mem, n + 1, sizeof(*s->frame));
	s->waiting = pack_take(&s->mem, n + 1, sizeof(*s->waiting));
	state_lay_out(&s->state, &s->mem);
}

int pack_search(struct pack *p)
{
	struct search s = { .p = p, .state = { .p = p } };
	int err;

	lay_out(&s);
	err = pack_mem_commit(&s.mem);
	if (err)
		return err;
	lay_out(&s);
	run(&s);
	pack_mem_fini(&s.mem);
	return 0;
}
