// SPDX-License-Identifier: BSD-2-Clause
/*
 * validate.c - check every invariant of the vmm, read-only.
 *
 * Walks the chunk table of every reservation and each list, counts what it
 * sees, and compares with the counters: a handle that is in no list and at no
 * chunk shows as a difference in bytes. What the backend really has cannot be
 * proved from here; the fault wrapper keeps books for that.
 */
#include "vmm/internal.h"

/* What the walk has seen, in handles and chunks. */
struct census {
	u64 handles;
	u64 chunks;
	u64 idle_chunks;
	u64 idle_singles;
	u64 idle_long;
	u64 lost_chunks;
	u64 lost_mapped;
	u64 free_numbers;
	u64 walls;
	u64 held;		/* of handles there */
};

/* One handle in the table, seen at its first chunk. */
static const char *count_mapped(const struct vmm *v,
				const struct vmm_handle *h, u32 chunk,
				struct census *c)
{
	for (u32 i = 0; i < h->nr; i++)
		if (*vmm_chunk(v, chunk + i) != h)
			return "vmm: a handle does not own all of its chunks";
	c->held += h->is_held ? h->nr : 0;
	switch (h->state) {
	case VMM_ACCESSIBLE:
		break;
	case VMM_IDLE:
		if (h->is_held)
			return "vmm: memory at held numbers is idle";
		c->idle_chunks += h->nr;
		c->idle_singles += h->nr == 1;
		c->idle_long += h->nr > 1;
		break;
	case VMM_LOST:
		c->lost_mapped++;
		return NULL;	/* counted on its list */
	default:
		return "vmm: a mapped handle is in no lasting state";
	}
	c->handles++;
	c->chunks += h->nr;
	return NULL;
}

/* A range that is asked for one number after the other: a run may be long, and
 * is looked up once. */
struct cursor {
	const struct range *r;
	u32 end;		/* of the run that was looked up */
	bool is_free;
};

static bool is_free(struct cursor *at, u32 number)
{
	u32 head;

	if (number < at->end)
		return at->is_free;
	head = number < at->r->end ? range_head(at->r, number) : RANGE_NONE;
	at->is_free = head != RANGE_NONE && range_is_free(at->r, head);
	at->end = head == RANGE_NONE ? number + 1 :
				       head + range_len(at->r, head);
	return at->is_free;
}

/* In both ranges a number is free exactly when the table says so. */
static const char *check_number(const struct vmm *v, u32 chunk,
				struct cursor *addresses,
				struct cursor *idle_runs, struct census *c)
{
	const struct vmm_handle *h = *vmm_chunk(v, chunk);
	bool idle = h && h->state == VMM_IDLE && h->nr == 1;

	if (is_free(addresses, chunk) != !h)
		return "vmm: the free numbers and the chunk table disagree";
	if (is_free(idle_runs, chunk) != idle)
		return "vmm: the idle runs and the chunk table disagree";
	c->free_numbers += !h;
	return NULL;
}

static const char *walk_reservation(const struct vmm *v,
				    const struct vmm_reservation *res,
				    struct census *c)
{
	struct cursor addresses = { .r = &v->addresses };
	struct cursor idle_runs = { .r = &v->idle_runs };
	u32 end = res->first_chunk + res->nr_open;
	const struct vmm_handle *h;
	const char *broken;
	u32 used = 0;

	if (res->is_vacant)
		return !res->nr_used && !res->addr ? NULL :
		       "vmm: a reservation that was given back is in use";
	if (!is_aligned(res->addr, v->chunk_size) ||
	    res->addr < res->raw_addr ||
	    res->addr + vmm_bytes(v, res->nr_chunks) >
	    res->raw_addr + res->raw_size)
		return "vmm: a reservation is not aligned within its addresses";
	if (res->nr_open > res->nr_chunks)
		return "vmm: more numbers are open than reserved";
	for (u32 chunk = res->first_chunk; chunk < end; chunk++) {
		broken = check_number(v, chunk, &addresses, &idle_runs, c);
		if (broken)
			return broken;
		h = *vmm_chunk(v, chunk);
		if (!h)
			continue;
		used++;
		if (h->state == VMM_WALL) {
			c->walls++;
			continue;
		}
		if (h->first > chunk || chunk - h->first >= h->nr)
			return "vmm: a chunk's handle is mapped elsewhere";
		broken = h->first == chunk ? count_mapped(v, h, chunk, c) :
					     NULL;
		if (broken)
			return broken;
	}
	return used == res->nr_used ? NULL :
	       "vmm: the chunks in use of a reservation were counted wrongly";
}

/* A list that runs in a circle without its head is found by its links, too. */
static bool is_linked(const struct list *head)
{
	const struct list *at;

	for (at = head; at->next->prev == at; at = at->next)
		if (at->next == head)
			return true;
	return false;
}

static const char *check_lists(const struct vmm *v)
{
	bool linked = is_linked(&v->spare) && is_linked(&v->lost) &&
		      is_linked(&v->idle_singles);

	for (u32 bin = 0; linked && bin < VMM_IDLE_BINS; bin++)
		linked = is_linked(&v->idle[bin]);
	return linked ? NULL : "vmm: a list is not linked both ways";
}

static const char *walk_spare(const struct vmm *v, struct census *c)
{
	const struct vmm_handle *h;
	u64 nr = 0;

	list_for_each_entry(h, &v->spare, node) {
		if (h->nr != 1 || h->state != VMM_CREATED ||
		    h->first != VMM_NO_CHUNK)
			return "vmm: a spare handle is not a free single chunk";
		nr++;
	}
	if (nr != v->cnt->spare_handles)
		return "vmm: spare_handles is not the length of its list";
	c->handles += nr;
	c->chunks += nr;
	c->idle_chunks += nr;
	return NULL;
}

static const char *walk_idle(const struct vmm *v, const struct census *c)
{
	const struct vmm_handle *h;
	u64 nr = 0, stamp = 0;

	list_for_each_entry(h, &v->idle_singles, node) {
		if (h->state != VMM_IDLE || h->nr != 1 || h->stamp < stamp)
			return "vmm: a wrong handle among the idle chunks";
		stamp = h->stamp;
		nr++;
	}
	if (nr != c->idle_singles || stamp > v->last_stamp)
		return "vmm: an idle chunk is missing from its list";
	nr = 0;
	for (u32 bin = 0; bin < VMM_IDLE_BINS; bin++) {
		list_for_each_entry(h, &v->idle[bin], node) {
			if (h->state != VMM_IDLE || h->nr < 2 ||
			    ilog2(h->nr) != bin)
				return "vmm: a wrong handle in an idle list";
			nr++;
		}
	}
	if (nr != v->nr_idle || nr != c->idle_long)
		return "vmm: an idle mapping is missing from its list";
	if (c->idle_singles != vmm_nr_idle_singles(v))
		return "vmm: an idle chunk is missing from the idle runs";
	return NULL;
}

static const char *walk_lost(const struct vmm *v, struct census *c)
{
	const struct vmm_handle *h;
	u64 mapped = 0;

	list_for_each_entry(h, &v->lost, node) {
		if (h->state != VMM_LOST)
			return "vmm: the list of lost handles has another";
		mapped += h->first != VMM_NO_CHUNK;
		c->lost_chunks += h->nr;
		c->chunks += h->nr;
		c->handles++;
	}
	if (mapped != c->lost_mapped)
		return "vmm: a lost mapping is missing from its list";
	return NULL;
}

static const char *check_counters(const struct vmm *v, const struct census *c)
{
	if (c->handles != v->cnt->handles)
		return "vmm: handles were counted wrongly";
	if (vmm_bytes(v, c->chunks) != v->cnt->created)
		return "vmm: created bytes were counted wrongly";
	if (vmm_bytes(v, c->idle_chunks) != v->cnt->idle)
		return "vmm: idle bytes were counted wrongly";
	if (vmm_bytes(v, c->lost_chunks) != v->cnt->lost)
		return "vmm: lost bytes were counted wrongly";
	if (c->walls != v->nr_walls || v->hole_chunks > v->nr_walls)
		return "vmm: the numbers without memory were counted wrongly";
	if (c->held > v->nr_held ||
	    v->nr_held - c->held > v->nr_walls - v->hole_chunks)
		return "vmm: the held numbers were counted wrongly";
	if (c->free_numbers != v->addresses.nr_free)
		return "vmm: free numbers were counted wrongly";
	if (v->cnt->created > v->cnt->peak_created ||
	    v->cnt->created > vmm_bytes(v, v->limit_chunks))
		return "vmm: more was created than the peak or the limit";
	if (v->cnt->limit != vmm_bytes(v, v->limit_chunks))
		return "vmm: another limit is published";
	return NULL;
}

/* Work is counted without the lock: a call first, then that it failed. */
static const char *check_calls(const struct vmm *v)
{
	for (u32 op = 0; op < VMM_NR_OPS; op++) {
		u64 fails = load_acquire(&v->cnt->fails[op]);

		if (fails > READ_ONCE(v->cnt->calls[op]))
			return "vmm: more calls failed than were made";
	}
	return NULL;
}

static const char *check_reserved(const struct vmm *v)
{
	u64 reserved = 0;

	for (u32 i = 0; i < v->nr_res; i++) {
		if (!v->res[i].is_vacant)
			reserved += vmm_bytes(v, v->res[i].nr_chunks);
		if (i && v->res[i].first_chunk <= v->res[i - 1].first_chunk +
						  v->res[i - 1].nr_chunks)
			return "vmm: two reservations have adjacent numbers";
		if (v->res[i].first_chunk + v->res[i].nr_chunks > v->max_chunks)
			return "vmm: a reservation is numbered beyond the end";
	}
	if (reserved != v->cnt->reserved)
		return "vmm: reserved bytes were counted wrongly";
	return NULL;
}

static const char *validate_locked(const struct vmm *v)
{
	struct census c = { 0 };
	const char *broken;

	broken = range_validate(&v->addresses);
	if (!broken)
		broken = range_validate(&v->idle_runs);
	for (u32 i = 0; !broken && i < v->nr_res; i++)
		broken = walk_reservation(v, &v->res[i], &c);
	if (!broken)
		broken = check_lists(v);
	if (!broken)
		broken = walk_spare(v, &c);
	if (!broken)
		broken = walk_idle(v, &c);
	if (!broken)
		broken = walk_lost(v, &c);
	if (!broken)
		broken = check_counters(v, &c);
	if (!broken)
		broken = check_reserved(v);
	if (!broken)
		broken = check_calls(v);
	return broken;
}

const char *vmm_validate(struct vmm *v)
{
	const char *broken;

	lock_acquire(&v->lock);
	broken = validate_locked(v);
	lock_release(&v->lock);
	return broken;
}
