// SPDX-License-Identifier: BSD-2-Clause
/*
 * census_test.c - vmm_validate() finds what is wrong in vmm/.
 *
 * One fault of each kind is planted in a vmm that has some of everything: two
 * reservations, handles in use, idle, spare, and lost with and without an
 * address, a hole, and numbers that are held. The census has to name what does
 * not hold, and nothing once the fault is taken out again. There is a fault for each sentence of
 * vmm/validate.c.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/poke.h"
#include "tests/vmm_space.h"
#include "vmm/fault.h"
#include "vmm/internal.h"

struct ground {
	struct space *s;
	struct vmm *v;
	struct vmm_fault f;
	struct vmm_handle *used, *other, *idle, *idle_first, *idle_long;
	struct vmm_handle *spare, *lost, *lost_unmapped;
	struct vmm_handle extra;	/* for lists that have one too many */
	u32 gap;		/* the number between the reservations */
	struct pokes pokes;
};

/* ---- The ground ------------------------------------------------------- */

static struct vmm_handle *map_one(struct ground *g, u32 nr)
{
	return *vmm_chunk(g->v, space_map(g->s, nr, nr));
}

static struct vmm_handle *map_and_put(struct ground *g, u32 nr,
				      enum vmm_giveback how)
{
	struct vmm_handle *h = map_one(g, nr);

	space_unmap(g->s, h->first, how);
	return h;
}

static struct vmm_handle *lose(struct ground *g, struct vmm_handle *h,
			       enum vmm_op op)
{
	kunit_expect_report(g->s->test, REPORT_LOST);
	vmm_fault_arm(&g->f, op, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(g->s->test, vmm_unmap(g->v, h->first, VMM_RELEASE),
			-EIO);
	return h;
}

static int census_init(struct kunit *test)
{
	struct ground *g = kunit_kzalloc(test, sizeof(*g));
	struct vmm_handle *spare;
	u32 first;

	test->priv = g;
	g->s = space_new(test);
	g->v = &g->s->v;
	vmm_fault_init(&g->f, g->s->host_ops, g->s->host_dev);
	g->s->ops = &g->f.table;
	g->s->dev = &g->f;
	space_open(g->s, 64, 40);
	g->used = map_one(g, 1);
	g->other = map_one(g, 1);
	g->lost = map_one(g, 1);
	g->lost_unmapped = map_one(g, 1);
	spare = map_one(g, 1);
	g->spare = map_one(g, 1);
	map_and_put(g, 2, VMM_KEEP_MAPPED);
	g->idle_long = map_and_put(g, 3, VMM_KEEP_MAPPED);
	g->idle_first = map_one(g, 1);
	map_one(g, 39);
	g->idle = map_one(g, 1);
	space_unmap(g->s, g->idle_first->first, VMM_KEEP_MAPPED);
	space_unmap(g->s, g->idle->first, VMM_KEEP_MAPPED);
	space_unmap(g->s, spare->first, VMM_KEEP_HANDLE);
	space_unmap(g->s, g->spare->first, VMM_KEEP_HANDLE);
	lose(g, g->lost, VMM_OP_UNMAP);
	lose(g, g->lost_unmapped, VMM_OP_RELEASE);
	KUNIT_ASSERT_EQ(test, vmm_map_guarded(g->v, 2, &first), 0);
	KUNIT_ASSERT_EQ(test, vmm_unmap_guarded(g->v, first, VMM_RELEASE), 0);
	KUNIT_ASSERT_EQ(test, vmm_hold(g->v, 3, &first), 0);
	KUNIT_ASSERT_EQ(test, vmm_map_held(g->v, first, 2, 2), 0);
	KUNIT_ASSERT_EQ(test, g->v->nr_res, 2);
	g->gap = g->v->res[0].first_chunk + g->v->res[0].nr_chunks;
	return 0;
}

static void census_exit(struct kunit *test)
{
	struct ground *g = test->priv;

	space_end(g->s);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&g->f));
	vmm_fault_fini(&g->f);
}

/* ---- The plants ------------------------------------------------------- */

/* One more at the end of a list. */
static void list_extra(struct ground *g, struct list *head, u32 nr,
		       enum vmm_state state)
{
	g->extra = (struct vmm_handle){ .nr = nr, .state = state };
	g->extra.node.next = head;
	g->extra.node.prev = head->prev;
	POKE(head->prev->next, &g->extra.node);
	POKE(head->prev, &g->extra.node);
}

PLANT(range_of_numbers, POKE(g->v->addresses.nr_free, 1))
PLANT(range_of_idle, POKE(g->v->idle_runs.nr_free, 7))
PLANT(chunk_of_another, POKE(*vmm_chunk(g->v, g->idle_long->first + 1),
			     g->used))
PLANT(passing_state, POKE(g->used->state, VMM_MAPPED))
PLANT(no_handle, POKE(*vmm_chunk(g->v, g->used->first), NULL))
PLANT(idle_in_use, POKE(g->used->state, VMM_IDLE))
PLANT(unaligned, POKE(g->v->res[0].addr, g->v->res[0].addr + 4096))
PLANT(before_its_addresses, POKE(g->v->res[1].raw_addr,
				 g->v->res[1].addr + 4096))
PLANT(too_many_open, POKE(g->v->res[0].nr_open, 41))
PLANT(mapped_elsewhere, POKE(*vmm_chunk(g->v, g->used->first), g->other))
PLANT(mapped_before, POKE(*vmm_chunk(g->v, g->other->first), g->used))
PLANT(nr_used, POKE(g->v->res[0].nr_used, g->v->res[0].nr_used + 1))
PLANT(behind_its_addresses,
      POKE(g->v->res[0].raw_size, g->v->res[0].raw_size - 4 * MIB))
PLANT(vacant_with_address, POKE(g->v->res[1].is_vacant, true);
      POKE(g->v->res[1].nr_used, 0))
PLANT(vacant_in_use, POKE(g->v->res[1].is_vacant, true);
      POKE(g->v->res[1].addr, 0))
PLANT(vacant_with_idle, POKE(g->v->res[1].is_vacant, true);
      POKE(g->v->res[1].addr, 0);
      POKE(g->v->res[1].nr_used, 0))
PLANT(lost_links, POKE(g->lost->node.prev, &g->used->node))
PLANT(single_links, POKE(g->idle->node.prev, &g->used->node))
PLANT(stamp_to_come, POKE(g->idle->stamp, g->v->last_stamp + 1))
PLANT(stamps_in_disorder, POKE(g->idle_first->stamp, g->idle->stamp + 1))
PLANT(used_single, list_extra(g, &g->v->idle_singles, 1, VMM_ACCESSIBLE);
      g->extra.stamp = g->idle->stamp)
PLANT(long_single, list_extra(g, &g->v->idle_singles, 2, VMM_IDLE);
      g->extra.stamp = g->idle->stamp)
PLANT(single_too_many, list_extra(g, &g->v->idle_singles, 1, VMM_IDLE);
      g->extra.stamp = g->idle->stamp)
PLANT(single_in_bin, list_extra(g, &g->v->idle[0], 1, VMM_IDLE))
PLANT(wrong_bin, list_extra(g, &g->v->idle[1], 4, VMM_IDLE))
PLANT(idle_long_too_many, list_extra(g, &g->v->idle[1], 2, VMM_IDLE);
      POKE(g->v->nr_idle, g->v->nr_idle + 1))
PLANT(walls, POKE(g->v->nr_walls, g->v->nr_walls + 1))
PLANT(hole_chunks, POKE(g->v->hole_chunks, g->v->nr_walls + 1))
PLANT(held_nowhere, POKE(g->v->nr_held, g->v->nr_held + 1))
PLANT(links, POKE(g->spare->node.prev, &g->used->node))
PLANT(idle_links, POKE(g->idle_long->node.next, &g->idle_long->node))
PLANT(spare_of_two, POKE(g->spare->nr, 2))
PLANT(spare_in_use, POKE(g->spare->state, VMM_ACCESSIBLE))
PLANT(spare_with_address, POKE(g->spare->first, 3))
PLANT(nr_spare, POKE(g->s->cnt.spare_handles, 3))
PLANT(used_in_idle_list, POKE(g->idle_long->state, VMM_ACCESSIBLE))
PLANT(nr_idle, POKE(g->v->nr_idle, 1))
PLANT(lost_not_lost, POKE(g->lost_unmapped->state, VMM_CREATED))
PLANT(lost_unlisted,
      POKE(g->lost->node.prev->next, g->lost->node.next);
      POKE(g->lost->node.next->prev, g->lost->node.prev))
PLANT(handles, POKE(g->s->cnt.handles, 1))
PLANT(created, POKE(g->s->cnt.created, g->s->cnt.created - 2 * MIB))
PLANT(idle, POKE(g->s->cnt.idle, 0))
PLANT(lost, POKE(g->s->cnt.lost, 0))
PLANT(peak, POKE(g->s->cnt.peak_created, 0))
PLANT(limit, POKE(g->s->cnt.limit, GIB))
PLANT(limit_exceeded, POKE(g->v->limit_chunks, 10); POKE(g->s->cnt.limit,
							  20 * MIB))
PLANT(adjacent, POKE(g->v->res[0].nr_chunks, 41);
      POKE(g->v->res[0].raw_size, g->v->res[0].raw_size + 2 * MIB))
PLANT(beyond_the_end, POKE(g->v->max_chunks, g->v->res[1].first_chunk + 3))
PLANT(reserved, POKE(g->s->cnt.reserved, 0))
PLANT(held_idle, POKE(g->idle->is_held, true))
PLANT(held, POKE(g->v->nr_held, 0))
PLANT(calls, POKE(g->s->cnt.fails[VMM_OP_MAP], 1000))

static const struct plant plants[] = {
	P(range_of_numbers, "range: nr_free is not the sum of the free runs"),
	P(range_of_idle, "range: nr_free is not the sum of the free runs"),
	P(chunk_of_another, "vmm: a handle does not own all of its chunks"),
	P(passing_state, "vmm: a mapped handle is in no lasting state"),
	P(no_handle, "vmm: the free numbers and the chunk table disagree"),
	P(idle_in_use, "vmm: the idle runs and the chunk table disagree"),
	P(unaligned, "vmm: a reservation is not aligned within its addresses"),
	P(before_its_addresses,
	  "vmm: a reservation is not aligned within its addresses"),
	P(too_many_open, "vmm: more numbers are open than reserved"),
	P(mapped_elsewhere, "vmm: a chunk's handle is mapped elsewhere"),
	P(mapped_before, "vmm: a chunk's handle is mapped elsewhere"),
	P(nr_used, "vmm: the chunks in use of a reservation were counted "
	  "wrongly"),
	P(behind_its_addresses,
	  "vmm: a reservation is not aligned within its addresses"),
	P(vacant_with_address,
	  "vmm: a reservation that was given back is in use"),
	P(vacant_in_use, "vmm: a reservation that was given back is in use"),
	P(vacant_with_idle, "vmm: an idle chunk is missing from its list"),
	P(lost_links, "vmm: a list is not linked both ways"),
	P(single_links, "vmm: a list is not linked both ways"),
	P(stamp_to_come, "vmm: an idle chunk is missing from its list"),
	P(stamps_in_disorder, "vmm: a wrong handle among the idle chunks"),
	P(used_single, "vmm: a wrong handle among the idle chunks"),
	P(long_single, "vmm: a wrong handle among the idle chunks"),
	P(single_too_many, "vmm: an idle chunk is missing from its list"),
	P(single_in_bin, "vmm: a wrong handle in an idle list"),
	P(wrong_bin, "vmm: a wrong handle in an idle list"),
	P(idle_long_too_many,
	  "vmm: an idle mapping is missing from its list"),
	P(walls, "vmm: the numbers without memory were counted wrongly"),
	P(hole_chunks, "vmm: the numbers without memory were counted wrongly"),
	P(held_nowhere, "vmm: the held numbers were counted wrongly"),
	P(links, "vmm: a list is not linked both ways"),
	P(idle_links, "vmm: a list is not linked both ways"),
	P(spare_of_two, "vmm: a spare handle is not a free single chunk"),
	P(spare_in_use, "vmm: a spare handle is not a free single chunk"),
	P(spare_with_address, "vmm: a spare handle is not a free single chunk"),
	P(nr_spare, "vmm: spare_handles is not the length of its list"),
	P(used_in_idle_list, "vmm: a wrong handle in an idle list"),
	P(nr_idle, "vmm: an idle mapping is missing from its list"),
	P(lost_not_lost, "vmm: the list of lost handles has another"),
	P(lost_unlisted, "vmm: a lost mapping is missing from its list"),
	P(handles, "vmm: handles were counted wrongly"),
	P(created, "vmm: created bytes were counted wrongly"),
	P(idle, "vmm: idle bytes were counted wrongly"),
	P(lost, "vmm: lost bytes were counted wrongly"),
	P(peak, "vmm: more was created than the peak or the limit"),
	P(limit_exceeded, "vmm: more was created than the peak or the limit"),
	P(limit, "vmm: another limit is published"),
	P(adjacent, "vmm: two reservations have adjacent numbers"),
	P(beyond_the_end, "vmm: a reservation is numbered beyond the end"),
	P(reserved, "vmm: reserved bytes were counted wrongly"),
	P(held_idle, "vmm: memory at held numbers is idle"),
	P(held, "vmm: the held numbers were counted wrongly"),
	P(calls, "vmm: more calls failed than were made"),
};

KUNIT_ARRAY_PARAM(plant, plants, plant_describe);

static void plant_is_found(struct kunit *test)
{
	const struct plant *p = test->param_value;
	struct ground *g = test->priv;

	EXPECT_VALID(g->s);
	p->plant(g);
	KUNIT_EXPECT_STREQ(test, vmm_validate(g->v) ?: "nothing", p->sentence);
	poke_back(&g->pokes);
	EXPECT_VALID(g->s);
}

/* Numbers that no reservation has open show in the sums only. */
static void number_outside_is_found(struct kunit *test)
{
	struct ground *g = test->priv;

	KUNIT_ASSERT_EQ(test, range_add(&g->v->addresses, g->gap, 1), 0);
	KUNIT_EXPECT_STREQ(test, vmm_validate(g->v) ?: "nothing",
			   "vmm: free numbers were counted wrongly");
	range_remove(&g->v->addresses, g->gap, 1);
	KUNIT_ASSERT_EQ(test, range_add(&g->v->idle_runs, g->gap, 1), 0);
	KUNIT_EXPECT_STREQ(test, vmm_validate(g->v) ?: "nothing",
			   "vmm: an idle chunk is missing from the idle runs");
	range_remove(&g->v->idle_runs, g->gap, 1);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(plant_is_found, plant_gen_params),
	KUNIT_CASE(number_outside_is_found),
	{ 0 }
};

static const struct kunit_suite census_suite = {
	.name = "census",
	.init = census_init,
	.exit = census_exit,
	.cases = cases,
};
kunit_test_suite(census_suite);
