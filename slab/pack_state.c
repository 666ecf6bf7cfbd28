// SPDX-License-Identifier: BSD-2-Clause
/* pack_state.c - see pack_state.h. */
#include <string.h>

#include "core/overflow.h"
#include "slab/pack_state.h"

void state_lay_out(struct state *s, struct pack_mem *m)
{
	const struct pack *p = s->p;
	u64 n = p->nr, k = p->nr_sections;

	s->least = pack_take(m, n, sizeof(*s->least));
	s->passed = pack_take(m, n, sizeof(*s->passed));
	s->weight = pack_take(m, n, sizeof(*s->weight));
	s->placed = pack_take(m, n, sizeof(*s->placed));
	s->floor = pack_take(m, k, sizeof(*s->floor));
	s->rest = pack_take(m, k, sizeof(*s->rest));
	s->base = pack_take(m, k, sizeof(*s->base));
	/*
	 * Each block is placed once, raises each rival and each section at
	 * most once, and is passed over once for each time it was raised. A
	 * block has at most as many sections as rivals, and one.
	 */
	s->log = pack_take(m, 6 * p->nr_pairs + 4 * n, sizeof(*s->log));
}

void state_reset(struct state *s, u64 capacity)
{
	const struct pack *p = s->p;
	u32 k = p->nr_sections;

	s->capacity = capacity;
	memset(s->least, 0, p->nr * sizeof(*s->least));
	memset(s->passed, 0, p->nr * sizeof(*s->passed));
	memset(s->placed, 0, p->nr * sizeof(*s->placed));
	memset(s->floor, 0, k * sizeof(*s->floor));
	memcpy(s->rest, p->height, k * sizeof(*s->rest));
	s->nr_log = 0;
}

/* ---- Changes ------------------------------------------------------------- */

static void note(struct state *s, u32 kind, u32 index, u64 value)
{
	s->log[s->nr_log++] = (struct undo){ .value = value, .index = index,
					     .kind = kind };
}

void state_place(struct state *s, u32 i)
{
	struct pack *p = s->p;
	u64 at = s->least[i], top = at + p->bytes[i];
	u32 r, j, k;

	p->trial[i] = at;
	s->placed[i] = true;
	note(s, UNDO_PLACED, i, 0);
	for (k = p->begin[i]; k < p->end[i]; k++) {
		note(s, UNDO_FLOOR, k, s->floor[k]);
		s->floor[k] = top;
		s->rest[k] -= p->bytes[i];
	}
	for (r = p->first_rival[i]; r < p->first_rival[i + 1]; r++) {
		j = p->rival[r];
		if (s->placed[j] || s->least[j] >= top)
			continue;
		note(s, UNDO_LEAST, j, s->least[j]);
		s->least[j] = align_up(top, p->mask[j] + 1);
	}
	p->looks += p->first_rival[i + 1] - p->first_rival[i];
}

void state_pass_over(struct state *s, u32 i)
{
	note(s, UNDO_PASSED, i, s->passed[i]);
	s->passed[i] = s->least[i] + 1;
}

static void take_back(struct state *s, u32 i)
{
	const struct pack *p = s->p;
	u32 k;

	s->placed[i] = false;
	for (k = p->begin[i]; k < p->end[i]; k++)
		s->rest[k] += p->bytes[i];
}

void state_undo(struct state *s, u32 nr_log)
{
	const struct undo *u;

	while (s->nr_log > nr_log) {
		u = &s->log[--s->nr_log];
		if (u->kind == UNDO_LEAST)
			s->least[u->index] = u->value;
		else if (u->kind == UNDO_PASSED)
			s->passed[u->index] = u->value;
		else if (u->kind == UNDO_FLOOR)
			s->floor[u->index] = u->value;
		else
			take_back(s, u->index);
	}
}

/* ---- What follows -------------------------------------------------------- */

void state_forget(struct state *s)
{
	u32 i;

	for (i = 0; i < s->p->nr; i++)
		s->weight[i] -= s->weight[i] / 8;
}

static void blame_section(struct state *s, const struct part *part, u32 k)
{
	const struct pack *p = s->p;
	u32 i;

	for (i = part->first; i < part->last && p->begin[i] <= k; i++)
		if (!s->placed[i] && p->end[i] > k)
			s->weight[i] += 16;
}

/* On top of its lowest rival; UINT64_MAX when there is none. */
static u64 raised(struct state *s, u32 i, u64 now)
{
	struct pack *p = s->p;
	u64 top, lowest = UINT64_MAX;
	u32 r, j;

	for (r = p->first_rival[i]; r < p->first_rival[i + 1]; r++) {
		j = p->rival[r];
		if (s->placed[j])
			continue;
		top = max(s->least[j], now) + p->bytes[j];
		lowest = min(lowest, top);
	}
	p->looks += p->first_rival[i + 1] - p->first_rival[i];
	return lowest == UINT64_MAX ? lowest :
		align_up(lowest, p->mask[i] + 1);
}

/* The lowest offset of each, and the lowest of each section. */
static bool find_lows(struct state *s, struct part *part)
{
	struct pack *p = s->p;
	u64 low;
	u32 i, k;

	for (i = part->first; i < part->last; i++) {
		if (s->placed[i])
			continue;
		low = s->least[i];
		part->roof = min(part->roof, low + p->bytes[i]);
		if (state_is_passed(s, i, part->now))
			low = raised(s, i, part->now);
		if (low > s->capacity || p->bytes[i] > s->capacity - low) {
			s->weight[i] += 16;
			return false;
		}
		for (k = p->begin[i]; k < p->end[i]; k++)
			s->base[k] = min(s->base[k], low);
		p->looks += p->end[i] - p->begin[i];
	}
	return true;
}

bool state_infer(struct state *s, struct part *part)
{
	struct pack *p = s->p;
	u32 from = p->begin[part->first], to = from, i, k;

	for (i = part->first; i < part->last; i++)
		if (!s->placed[i])
			to = max(to, p->end[i]);
	for (k = from; k < to; k++)
		s->base[k] = UINT64_MAX;
	p->looks += 2 * (part->last - part->first) + 2 * (to - from);
	part->roof = UINT64_MAX;
	if (!find_lows(s, part))
		return false;
	for (k = from; k < to; k++) {
		if (!s->rest[k])
			continue;
		if (s->base[k] > s->capacity ||
		    s->rest[k] > s->capacity - s->base[k]) {
			blame_section(s, part, k);
			return false;
		}
	}
	return true;
}
