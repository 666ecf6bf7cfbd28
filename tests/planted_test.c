// SPDX-License-Identifier: BSD-2-Clause
/*
 * planted_test.c - the consistency walk finds what is wrong in slab/.
 *
 * One fault of each kind is planted in the structures of a space that has some
 * of everything: the walk has to name the sentence that does not hold. Then the
 * fault is taken out again, and the walk finds nothing. There is a fault for
 * each sentence of slab/validate.c; census_test.c has those of the vmm,
 * range_test.c those of a range.
 *
 * What every plant overwrites is remembered by poke(), so that a plant is the
 * assignment alone.
 */
#include "slab/alloc.h"
#include "slab/class.h"
#include "slab/heap.h"
#include "slab/tiny.h"
#include "tests/open_space.h"
#include "tests/poke.h"

#define UNUSED_ID 118u		/* a class number that no cache has */
#define MOST 200u

/*
 * The space:
 *
 *   lists     slabs of two slices with three live objects and two free ones
 *   fresh     two slabs that no object was taken from yet
 *   sheaves   full sheaves in the thread's bin and the barn, empty ones in the
 *             barn, live objects, and a slab with free ones
 *   kept      a slab with its one object live, and a kept one
 *   tiny      live and free objects of 48 bytes
 *   general   an object of 1,000 bytes in 1,024, and one of 200 in 256
 *   large, huge, and free slices
 */
struct ground {
	struct kunit *test;
	struct slabdev *sd;
	struct class *lists, *fresh, *sheaves, *kept, *tiny;
	void *p[MOST];
	void *live_in_list, *live_in_sheaves, *live_kept, *live_tiny;
	void *general, *one_granule, *large, *huge;
	u32 free_slice;
	struct pokes pokes;
};

/* ---- What is where ---------------------------------------------------- */

static u64 offset_of(const struct ground *g, const void *p)
{
	return space_offset(g->sd, p);
}

static struct slab *slab_at(const struct ground *g, const void *p)
{
	struct slab *s = g->sd->slabs + (offset_of(g, p) >> SLICE_SHIFT);

	return s - s->back;
}

static slot_t granule_of(const struct ground *g, const void *p)
{
	return (slot_t)(offset_of(g, p) >> GRANULE_SHIFT);
}

static tag_t *tag_at(const struct ground *g, const void *p)
{
	return &g->sd->tags[granule_of(g, p)];
}

static slot_t slot_at(const struct class *c, const void *p)
{
	return (slot_t)(space_offset(c->sd, p) >> c->shift);
}

/* The @n-th slab of the only list that the class has. */
static struct slab *listed(const struct class *c, u32 n)
{
	u32 slice = c->list[__builtin_ctz(c->lists)];

	while (n--)
		slice = c->sd->slabs[slice].next;
	return c->sd->slabs + slice;
}

static struct slab *last_listed(const struct class *c)
{
	struct slab *s = listed(c, 0);

	while (s->next != RANGE_NONE)
		s = c->sd->slabs + s->next;
	return s;
}

static struct heap *my_heap(const struct ground *g)
{
	return thread_self->heap[g->sd->id];
}

static struct slabdev_seg_counters *counters_of(const struct class *c)
{
	struct heap *h = thread_self->heap[c->sd->id];

	return &h->block[c->id / CLASS_WINDOW]->c[c->id % CLASS_WINDOW];
}

static struct bin *bin_of(const struct class *c)
{
	return heap_bin(thread_self->heap[c->sd->id], c);
}

/* A free object of one granule, next to the only live one. */
static slot_t free_granule(const struct ground *g)
{
	return granule_of(g, g->one_granule) ^ 1;
}

/* A free object that is in its slab. */
static slot_t slot_in_slab(const struct class *c)
{
	struct slab *s = listed(c, 0);

	return slab_first_slot(c, s) +
	       (u32)__builtin_ctzll(*slab_bits(s)) * c->step;
}

/* ---- The ground ------------------------------------------------------- */

static struct class *new_class(struct ground *g, const char *name, size_t size)
{
	struct slabdev_cache *cache = NULL;

	KUNIT_ASSERT_EQ(g->test, slabdev_cache_create(&cache, g->sd, name, size,
						      NULL), 0);
	return cache_class(cache);
}

static void take(struct ground *g, struct class *c, u32 n)
{
	KUNIT_ASSERT_EQ(g->test, slabdev_cache_alloc_bulk(class_cache(c), n,
							  g->p), 0);
}

static void give(struct ground *g, u32 i)
{
	EXPECT_FREED(g->test, g->sd, g->p[i]);
}

static void shrink(struct ground *g, struct class *c)
{
	KUNIT_EXPECT_EQ(g->test, slabdev_cache_shrink(class_cache(c)), 0);
}

static void make_lists(struct ground *g)
{
	struct class *c = new_class(g, "lists", 6000);
	u32 i;

	g->lists = c;
	KUNIT_ASSERT_EQ(g->test, c->nr, 5);
	KUNIT_ASSERT_EQ(g->test, c->span, 2);
	take(g, c, 50);
	for (i = 0; i < 50; i++) {
		if (slot_index(c, slab_at(g, g->p[i]), slot_at(c, g->p[i])) < 2)
			give(g, i);
		else
			g->live_in_list = g->p[i];
	}
	shrink(g, c);
	KUNIT_ASSERT_NE(g->test, listed(c, 2)->next, RANGE_NONE);
	g->fresh = new_class(g, "fresh", 6000);
	KUNIT_ASSERT_EQ(g->test, slabdev_cache_prefill(class_cache(g->fresh),
						       10), 0);
}

static void make_sheaves(struct ground *g)
{
	struct class *c = new_class(g, "sheaves", 6000);
	u32 i;

	g->sheaves = c;
	take(g, c, 20);
	for (i = 2; i < 20; i++)
		give(g, i);
	g->live_in_sheaves = g->p[0];
	shrink(g, c);
	/* Empty ones that a full barn gave out, and full ones that it took. */
	take(g, c, 4 * c->sheaf_cap);
	for (i = 0; i < 4 * c->sheaf_cap; i++)
		give(g, i);
	for (i = 0; i < 3 * c->sheaf_cap; i++)
		g->p[i] = slabdev_cache_alloc(class_cache(c));
	for (i = 0; i < 2 * c->sheaf_cap; i++)
		give(g, i);
	KUNIT_ASSERT_NOT_NULL(g->test, c->full);
	KUNIT_ASSERT_NOT_NULL(g->test, c->empty);
	KUNIT_ASSERT_GT(g->test, bin_of(c)->main->n, 1);
	KUNIT_ASSERT_LT(g->test, bin_of(c)->main->n, c->sheaf_cap);
}

static void make_others(struct ground *g)
{
	u32 i;

	g->kept = new_class(g, "kept", 2 * MIB);
	take(g, g->kept, 2);
	give(g, 1);
	g->live_kept = g->p[0];
	KUNIT_ASSERT_NE(g->test, g->kept->list[LIST_EMPTY], RANGE_NONE);
	g->tiny = new_class(g, "tiny", 48);
	take(g, g->tiny, 200);
	for (i = 1; i < 200; i++)
		give(g, i);
	g->live_tiny = g->p[0];
	g->general = must_alloc(g->test, g->sd, 1000);
	g->one_granule = must_alloc(g->test, g->sd, 200);
	g->large = must_alloc(g->test, g->sd, 3 * MIB + 5);
	g->huge = must_alloc(g->test, g->sd, 65 * MIB);
	KUNIT_ASSERT_EQ(g->test, slabdev_prime(g->sd, 4 * MIB), 0);
	for (i = 0; i < RANGE_NR_BINS; i++)
		if (g->sd->pool.slices.bin[i] != RANGE_NONE)
			g->free_slice = g->sd->pool.slices.bin[i];
}

static int planted_init(struct kunit *test)
{
	struct ground *g = kunit_kzalloc(test, sizeof(*g));

	test->priv = g;
	g->test = test;
	g->sd = case_space(test, 256 * MIB);
	/* Or the lack of memory would take back what is set up below. */
	KUNIT_ASSERT_EQ(test, slabdev_prime(g->sd, 32 * MIB), 0);
	make_lists(g);
	make_sheaves(g);
	make_others(g);
	return 0;
}

/* ---- The plants ------------------------------------------------------- */

/* Slabs. */
PLANT(other_nr, POKE(listed(g->lists, 0)->nr, 4))
PLANT(other_state, POKE(listed(g->lists, 0)->state, SLAB_TINY))
PLANT(live_and_in_slab,
      struct slab *s = slab_at(g, g->live_in_list);
      POKE(s->free, s->free | (u64)1 << slot_index(g->lists, s,
			       slot_at(g->lists, g->live_in_list))))
PLANT(live_in_slab_of_tiny,
      struct slab *s = slab_at(g, g->live_tiny);
      u32 i = slot_index(g->tiny, s, slot_at(g->tiny, g->live_tiny));
      POKE(s->tiny->free[i / 64], s->tiny->free[i / 64] |
				  (u64)1 << i % 64))
PLANT(other_nr_free, POKE(listed(g->lists, 0)->nr_free, 3))
PLANT(bit_beyond, struct slab *s = listed(g->lists, 0);
      POKE(s->free, s->free | (u64)1 << 63))
PLANT(bit_beyond_of_tiny, struct slab *s = slab_at(g, g->live_tiny);
      POKE(s->tiny->free[5], s->tiny->free[5] | (u64)1 << 63))
PLANT(lost_bit, struct slab *s = listed(g->lists, 0);
      POKE(s->free, s->free & (s->free - 1)))
PLANT(in_no_list,
      struct slab *s = listed(g->lists, 1);
      POKE(g->sd->slabs[s->prev].next, s->next);
      POKE(g->sd->slabs[s->next].prev, s->prev);
      POKE(g->lists->rec->partial, g->lists->rec->partial - 1))
PLANT(leads_elsewhere, POKE(listed(g->lists, 0)[1].back, 0))
PLANT(slab_inside, POKE(listed(g->lists, 0)[1].state, SLAB_OBJECTS))
PLANT(run_in_two,
      u32 at = (u32)(listed(g->lists, 0) - g->sd->slabs) + 1;
      u64 *heads = (u64 *)(void *)g->sd->pool.slices.heads.base;
      POKE(heads[at / 64], heads[at / 64] | (u64)1 << at % 64))

/* Tags. */
PLANT(other_code, POKE(*tag_at(g, g->live_in_list), tag_make(12)))
PLANT(long_rounding, POKE(*rounding_pair(g->sd, granule_of(g, g->general)),
			  1024))
PLANT(rounding_of_free, POKE(*rounding_byte(g->sd, free_granule(g)), 3))
PLANT(tag_inside, POKE(tag_at(g, g->live_in_list)[3], 1))
PLANT(tag_behind_the_last,
      struct class *c = g->lists;
      slot_t first = slab_first_slot(c, slab_at(g, g->live_in_list));
      POKE(g->sd->tags[first + c->nr * c->step], tag_make(c->code)))
PLANT(tag_of_tiny, POKE(*tag_at(g, g->live_tiny), TAG_LIVE))
PLANT(tag_of_free, POKE(g->sd->tags[(u64)g->free_slice * 64 + 9], TAG_LIVE))
PLANT(slab_of_free, POKE(g->sd->slabs[g->free_slice + 1].state, SLAB_LARGE))
PLANT(tag_lost, POKE(*tag_at(g, g->live_in_list), 0))

/* Lists. */
PLANT(slab_of_others,
      POKE(last_listed(g->lists)->next,
	   (u32)(slab_at(g, g->live_in_sheaves) - g->sd->slabs)))
PLANT(no_slice, POKE(last_listed(g->lists)->next, 0x7fffffff))
PLANT(prev_beyond, POKE(listed(g->lists, 1)->prev, 0x7fffffff))
PLANT(list_in_a_circle,
      POKE(last_listed(g->lists)->next,
	   (u32)(listed(g->lists, 0) - g->sd->slabs)))
PLANT(linked_one_way, POKE(listed(g->fresh, 1)->prev, 0))
PLANT(other_bin, POKE(listed(g->fresh, 0)->list, 1))
PLANT(list_of_fewer,
      struct class *c = g->fresh;
      struct slab *first = listed(c, 0);
      struct slab *second = listed(c, 1);
      POKE(first->list, 1); POKE(second->list, 1);
      POKE(c->list[1], c->list[2]); POKE(c->list[2], RANGE_NONE);
      POKE(c->lists, 1u << 1))
PLANT(list_beyond, POKE(listed(g->lists, 0)->list, NR_LISTS))
PLANT(no_such_list, POKE(g->lists->lists, g->lists->lists | 32))
PLANT(partial_count, POKE(g->lists->rec->partial, 3))
PLANT(slab_count, POKE(g->lists->rec->slabs, 6))
PLANT(empty_count, POKE(g->kept->rec->empty, 0))
PLANT(keeps_a_full_one,
      POKE(g->kept->list[LIST_EMPTY],
	   (u32)(slab_at(g, g->live_kept) - g->sd->slabs)))
PLANT(other_record, POKE(g->tiny->rec->stride, 64))

/* Sheaves. */
PLANT(sheaf_of_others, POKE(bin_of(g->sheaves)->main->class, g->lists->id))
PLANT(sheaf_overfull, struct sheaf *s = bin_of(g->sheaves)->main;
      POKE(s->n, s->cap + 1))
PLANT(other_capacity, struct sheaf *s = bin_of(g->sheaves)->main;
      POKE(s->cap, s->cap + 1))
PLANT(foreign_slot, POKE(bin_of(g->sheaves)->main->slot[0],
			 slot_at(g->lists, g->live_in_list)))
PLANT(slot_inside, struct sheaf *s = bin_of(g->sheaves)->main;
      POKE(s->slot[0], s->slot[0] + 1))
PLANT(slot_beyond, POKE(bin_of(g->sheaves)->main->slot[0], 0xfffffff0))
PLANT(slot_leads_before,
      POKE(bin_of(g->sheaves)->main->slot[0],
	   g->free_slice << (SLICE_SHIFT - GRANULE_SHIFT));
      POKE(g->sd->slabs[g->free_slice].back, UINT16_MAX))
PLANT(slot_in_the_tail,
      struct class *c = g->sheaves;
      POKE(bin_of(c)->main->slot[0], c->nr * c->step +
	   slab_first_slot(c, slab_at(g, g->live_in_sheaves))))
PLANT(slot_of_a_gone_slab,
      struct slab *s = g->sd->slabs + g->free_slice;
      POKE(s->class, g->sheaves->id); POKE(s->nr, g->sheaves->nr);
      POKE(s->back, 0); POKE(s->free, 0);
      POKE(bin_of(g->sheaves)->main->slot[0],
	   g->free_slice << (SLICE_SHIFT - GRANULE_SHIFT)))
PLANT(slot_in_its_slab, POKE(bin_of(g->sheaves)->main->slot[0],
			     slot_in_slab(g->sheaves)))
PLANT(slot_live, POKE(bin_of(g->sheaves)->main->slot[0],
		      slot_at(g->sheaves, g->live_in_sheaves)))
PLANT(slot_twice, struct sheaf *s = bin_of(g->sheaves)->main;
      POKE(s->slot[1], s->slot[0]))
PLANT(slot_in_two_sheaves, struct sheaf *s = bin_of(g->sheaves)->main;
      POKE(s->slot[s->n], g->sheaves->full->slot[0]);
      POKE(s->n, s->n + 1))
PLANT(no_class, POKE(my_heap(g)->bin[UNUSED_ID].main,
		     bin_of(g->sheaves)->main))
PLANT(barn_slot_live, POKE(g->sheaves->full->slot[3],
			   slot_at(g->sheaves, g->live_in_sheaves)))
PLANT(barn_not_full, POKE(g->sheaves->full->n, g->sheaves->full->n - 1))
PLANT(barn_in_a_circle, POKE(g->sheaves->full->next, g->sheaves->full))
PLANT(empties_in_a_circle, POKE(g->sheaves->empty->next, g->sheaves->empty))
PLANT(barn_overfull, POKE(g->sheaves->barn_max, g->sheaves->nr_full - 1))
PLANT(barn_count, POKE(g->sheaves->nr_full, g->sheaves->nr_full + 1))
PLANT(barn_published, POKE(g->sheaves->rec->barn_full, 77))
PLANT(barn_not_empty, POKE(g->sheaves->empty->n, 1))
PLANT(barn_empties, POKE(g->sheaves->nr_empty, g->sheaves->nr_empty + 1))
PLANT(charge_of_space, POKE(g->sd->charged, g->sd->charged + 1))
PLANT(charge_of_thread, POKE(my_heap(g)->charged, 0);
      POKE(g->sd->charged, 0))

/* Large objects. */
PLANT(large_code, POKE(*tag_at(g, g->large), tag_make(CODE_SHARED)))
PLANT(large_size, POKE(slab_at(g, g->large)->size, 4 * MIB))
PLANT(huge_size, POKE(slab_at(g, g->huge)->size, 0))
PLANT(large_tag_lost, POKE(*tag_at(g, g->large), 0))
PLANT(large_bytes, POKE(g->sd->rec->large_bytes, MIB))

/* Figures. */
PLANT(alloc_count, POKE(counters_of(g->tiny)->allocs, 1))
PLANT(byte_count, POKE(counters_of(g->tiny)->free_bytes, 0))
PLANT(out_bytes, POKE(g->sd->rec->out_bytes, g->sd->rec->out_bytes + 1))
PLANT(thread_count, POKE(g->sd->rec->nr_threads, 2))

/* The pool. */
PLANT(pool_published, POKE(g->sd->rec->pool_free, 0))
PLANT(pool_used,
      struct pool_chunk *c = (struct pool_chunk *)(void *)
			     g->sd->pool.chunks.base;
      POKE(c->used, c->used - 1))
PLANT(pool_vacant,
      u64 *map = (u64 *)(void *)g->sd->pool.vacant.base;
      POKE(*map, *map ^ 1))
PLANT(vmm_spares, POKE(g->sd->vmm.cnt->spare_handles, 77))
PLANT(pool_range, POKE(g->sd->pool.slices.nr_free, 1))

#define DOES_NOT_HOLD "validate: does not hold: "

static const struct plant plants[] = {
	P(other_nr, "a slab has the objects of its class"),
	P(other_state, "a slab is tiny if its class is"),
	P(live_and_in_slab, "an object in its slab is not live"),
	P(live_in_slab_of_tiny, "an object in its slab is not live"),
	P(other_nr_free, "a slab counts its free objects"),
	P(bit_beyond, "a slab has no bits beyond its objects"),
	P(bit_beyond_of_tiny, "a slab has no bits beyond its objects"),
	P(lost_bit, "a slab counts its free objects"),
	P(in_no_list, "a slab with free and other objects is in a list"),
	P(leads_elsewhere, "the slices of a slab lead back to it"),
	P(slab_inside, "no slab begins inside another"),
	P(run_in_two, "a slab's slices are one run of the pool"),
	P(other_code, "a live object's tag has the code of its class"),
	P(long_rounding, "a live object's rounding is less than its size"),
	P(rounding_of_free, "a free object of one granule has no rounding"),
	P(tag_inside, "a tag is where an object begins"),
	P(tag_behind_the_last, "a tag is where an object begins"),
	P(tag_of_tiny, "a tag is where an object begins"),
	P(tag_of_free, "no object is live outside the runs of the pool"),
	P(slab_of_free, "no slab is outside the runs of the pool"),
	P(tag_lost, "counters and tags have as many live objects"),
	P(slab_of_others, "a list has slabs of its class only"),
	P(no_slice, "a list has slices of the pool only"),
	P(prev_beyond, "a slab with free and other objects is in a list"),
	P(list_in_a_circle, "a list is linked both ways"),
	P(linked_one_way, "a list is linked both ways"),
	P(other_bin, "a slab knows its list"),
	P(list_of_fewer, "a slab is in the list of its free objects"),
	P(list_beyond, "a slab with free and other objects is in a list"),
	P(no_such_list, "a class knows which lists have slabs"),
	P(partial_count, "a class counts its partial slabs"),
	P(slab_count, "a class counts its slabs"),
	P(empty_count, "a class counts its empty slabs"),
	P(keeps_a_full_one,
	  "a slab knows its list"),
	P(other_record, "a class is what its record says"),
	P(sheaf_of_others, "a sheaf knows its class"),
	P(sheaf_overfull, "a sheaf has no more objects than it has room for"),
	P(other_capacity, "a sheaf has no more objects than it has room for"),
	P(foreign_slot, "what is in a sheaf is an object of its class"),
	P(slot_inside, "what is in a sheaf is an object of its class"),
	P(slot_beyond, "what is in a sheaf is an object of its class"),
	P(slot_leads_before, "what is in a sheaf is an object of its class"),
	P(slot_in_the_tail, "what is in a sheaf is an object of its class"),
	P(slot_of_a_gone_slab, "what is in a sheaf is an object of its class"),
	P(slot_in_its_slab, "an object in a sheaf is not in its slab"),
	P(slot_live, "an object in a sheaf is not live"),
	P(slot_twice, "an object is in a sheaf once"),
	P(slot_in_two_sheaves, "an object is in one place only"),
	P(no_class, "a sheaf in a bin has a class"),
	P(barn_slot_live, "an object in a sheaf is not live"),
	P(barn_not_full, "a full sheaf is full"),
	P(barn_in_a_circle, "a barn counts its full sheaves"),
	P(empties_in_a_circle, "a barn counts its empty sheaves"),
	P(barn_overfull, "a barn counts its full sheaves"),
	P(barn_count, "a barn counts its full sheaves"),
	P(barn_published, "a barn counts its full sheaves"),
	P(barn_not_empty, "an empty sheaf is empty"),
	P(barn_empties, "a barn counts its empty sheaves"),
	P(charge_of_space, "a space is charged what its threads are"),
	P(charge_of_thread, "a thread is charged for its sheaves"),
	P(large_code, "a large object's tag has the code of large ones"),
	P(large_size, "a large object has the slices for its size"),
	P(huge_size, "a large object has the slices for its size"),
	P(large_tag_lost, "counters and tags have as many live objects"),
	P(large_bytes, "a space counts the bytes of its large objects"),
	P(alloc_count, "counters and tags have as many live objects"),
	P(byte_count, "counters and tags have as many live bytes"),
	P(out_bytes, "a space counts the bytes that are out of its slabs"),
	P(thread_count, "a space counts its threads"),
	P(pool_published, "the pool publishes how many slices are free"),
	P(pool_used, "a chunk counts its slices in use"),
	P(pool_vacant, "a chunk counts its slices in use"),
	P(vmm_spares, "vmm: spare_handles is not the length of its list"),
	P(pool_range, "range: nr_free is not the sum of the free runs"),
};

KUNIT_ARRAY_PARAM(plant, plants, plant_describe);

static void plant_is_found(struct kunit *test)
{
	const struct plant *p = test->param_value;
	struct ground *g = test->priv;
	char text[200];

	expect_sound(test, g->sd);
	p->plant(g);
	kunit_expect_report(test, REPORT_CORRUPT);
	KUNIT_EXPECT_EQ(test, slabdev_validate(g->sd), -EUCLEAN);
	snprintf(text, sizeof(text), DOES_NOT_HOLD "%s", p->sentence);
	KUNIT_EXPECT_STREQ(test, slabdev_last_error(), text);
	poke_back(&g->pokes);
	expect_sound(test, g->sd);
}

static char *slab_begin(const struct ground *g, const struct slab *s)
{
	return to_ptr(g->sd->base + slab_offset(g->sd, s));
}

/* The report says where it is: in which slab, or at which object; what is in no
 * place is at the beginning of the space. */
static void place_is_named(struct kunit *test)
{
	struct ground *g = test->priv;
	char *slab = slab_begin(g, listed(g->lists, 0)), text[40];
	char *space = to_ptr(g->sd->base);
	const struct {
		void (*plant)(struct ground *g);
		const void *at;
	} placed[] = {
		{ other_nr, slab }, { other_state, slab },
		{ other_nr_free, slab }, { bit_beyond, slab },
		{ run_in_two, slab }, { leads_elsewhere, slab + SLICE_SIZE },
		{ slab_inside, slab + SLICE_SIZE },
		{ in_no_list, slab_begin(g, listed(g->lists, 1)) },
		{ linked_one_way, slab_begin(g, listed(g->fresh, 1)) },
		{ other_bin, slab_begin(g, listed(g->fresh, 0)) },
		{ list_of_fewer, slab_begin(g, listed(g->fresh, 0)) },
		{ slab_of_others,
		  slab_begin(g, slab_at(g, g->live_in_sheaves)) },
		{ live_and_in_slab, g->live_in_list },
		{ live_in_slab_of_tiny, g->live_tiny },
		{ other_code, g->live_in_list },
		{ tag_inside, (char *)g->live_in_list + 3 * GRANULE },
		{ foreign_slot, g->live_in_list },
		{ slot_live, g->live_in_sheaves },
		{ barn_slot_live, g->live_in_sheaves },
		{ no_slice, space }, { no_such_list, space },
		{ partial_count, space }, { empty_count, space },
		{ other_record, space }, { sheaf_of_others, space },
		{ sheaf_overfull, space }, { no_class, space },
		{ barn_not_full, space }, { barn_count, space },
		{ barn_not_empty, space }, { barn_empties, space },
		{ thread_count, space },
	};

	for (u32 i = 0; i < ARRAY_SIZE(placed); i++) {
		placed[i].plant(g);
		kunit_expect_report(test, REPORT_CORRUPT);
		KUNIT_EXPECT_EQ(test, slabdev_validate(g->sd), -EUCLEAN);
		snprintf(text, sizeof(text), "at %p", placed[i].at);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(kunit_report_text(test),
						       text), "%s: %s", text,
					  kunit_report_text(test));
		poke_back(&g->pokes);
	}
}

/* Each cache's own walk sees its own faults, and names it. */
static void cache_is_named(struct kunit *test)
{
	struct ground *g = test->priv;

	partial_count(g);
	KUNIT_EXPECT_EQ(test, slabdev_cache_validate(class_cache(g->tiny)), 0);
	kunit_expect_report(test, REPORT_CORRUPT);
	KUNIT_EXPECT_EQ(test, slabdev_cache_validate(class_cache(g->lists)),
			-EUCLEAN);
	KUNIT_EXPECT_REPORT_HAS(test, ", cache lists");
	poke_back(&g->pokes);
	KUNIT_EXPECT_EQ(test, slabdev_cache_validate(class_cache(g->lists)),
			0);
}

/* Slices without memory behind them: where the huge object was. */
static void slices_without_memory_are_found(struct kunit *test)
{
	struct ground *g = test->priv;
	u32 slice = (u32)(offset_of(g, g->huge) >> SLICE_SHIFT);
	struct range *slices = &g->sd->pool.slices;

	EXPECT_FREED(test, g->sd, g->huge);
	KUNIT_EXPECT_EQ(test, slabdev_trim(g->sd, 0), 0);
	KUNIT_ASSERT_EQ(test, range_add(slices, slice, 128), 0);
	KUNIT_ASSERT_TRUE(test, range_alloc_at(slices, slice, 128));
	kunit_expect_report(test, REPORT_CORRUPT);
	KUNIT_EXPECT_EQ(test, slabdev_validate(g->sd), -EUCLEAN);
	KUNIT_EXPECT_STREQ(test, slabdev_last_error(), DOES_NOT_HOLD
			   "the slices of the pool are in memory that is "
			   "mapped");
	range_free(slices, slice, 128);
	range_remove(slices, slice, 128);
	expect_sound(test, g->sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(plant_is_found, plant_gen_params),
	KUNIT_CASE(place_is_named),
	KUNIT_CASE(cache_is_named),
	KUNIT_CASE(slices_without_memory_are_found),
	{ 0 }
};

static const struct kunit_suite planted_suite = {
	.name = "planted",
	.init = planted_init,
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(planted_suite);
