// SPDX-License-Identifier: BSD-2-Clause
/*
 * vmm_hold_test.c - addresses of one owner, and the memory that comes and goes
 * there: vmm/hold.c.
 *
 * The backend is the host's behind the wrapper that fails calls, and keeps the
 * books of what exists.
 */
#include <errno.h>

#include "slab/space.h"
#include "tests/open_space.h"
#include "tests/random.h"
#include "tests/vmm_space.h"
#include "vmm/fault.h"
#include "vmm/internal.h"

struct hold_case {
	struct space *s;
	struct vmm *v;
	struct vmm_fault f;
};

static int hold_test_init(struct kunit *test)
{
	struct hold_case *t = kunit_kzalloc(test, sizeof(*t));

	test->priv = t;
	t->s = space_new(test);
	t->v = &t->s->v;
	vmm_fault_init(&t->f, t->s->host_ops, t->s->host_dev);
	t->s->ops = &t->f.table;
	t->s->dev = &t->f;
	return 0;
}

static void hold_test_exit(struct kunit *test)
{
	struct hold_case *t = test->priv;

	if (!t)
		return;
	space_end(t->s);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));
	vmm_fault_fini(&t->f);
}

static u32 hold(struct hold_case *t, u32 nr)
{
	u32 first = 0;

	KUNIT_ASSERT_EQ_MSG(t->s->test, vmm_hold(t->v, nr, &first), 0, "%s",
			    error_get());
	EXPECT_VALID(t->s);
	return first;
}

static void must_map_held(struct hold_case *t, u32 at, u32 nr,
			  u32 handle_chunks)
{
	KUNIT_ASSERT_EQ_MSG(t->s->test,
			    vmm_map_held(t->v, at, nr, handle_chunks), 0, "%s",
			    error_get());
	EXPECT_VALID(t->s);
}

static void must_unmap_held(struct hold_case *t, u32 at, u32 nr,
			    enum vmm_giveback how)
{
	KUNIT_ASSERT_EQ_MSG(t->s->test, vmm_unmap_held(t->v, at, &nr, how), 0,
			    "%s", error_get());
	KUNIT_EXPECT_EQ(t->s->test, nr, 0);
	EXPECT_VALID(t->s);
}

static void put(struct hold_case *t, u32 chunk, u8 byte)
{
	KUNIT_EXPECT_EQ(t->s->test, vmm_fill(t->v, vmm_chunk_addr(t->v, chunk),
					     1, byte, NULL), 0);
}

static u8 get(struct hold_case *t, u32 chunk)
{
	u8 byte = 0;

	KUNIT_EXPECT_EQ(t->s->test, vmm_read(t->v, &byte,
					     vmm_chunk_addr(t->v, chunk), 1),
			0);
	return byte;
}

/* ---- Addresses ----------------------------------------------------------- */

static void a_hold_maps_nothing(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 free_before, first;

	space_open(t->s, 32, 64);
	KUNIT_ASSERT_EQ(test, vmm_run_alloc(t->v, 1, &first), 0);
	range_free(&t->v->addresses, first, 1);
	space_mark(t->s);
	first = hold(t, 40);
	free_before = t->v->addresses.nr_free;
	EXPECT_CALLS(t->s, 0, 0, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, t->v->nr_held, 40);
	KUNIT_EXPECT_EQ(test, first, 24);
	vmm_unhold(t->v, first, 40);
	EXPECT_VALID(t->s);
	KUNIT_EXPECT_EQ(test, t->v->addresses.nr_free, free_before + 40);
	KUNIT_EXPECT_EQ(test, t->v->nr_walls, 0);
	EXPECT_CALLS(t->s, 0, 0, 0, 0, 0);
}

/* Whatever others map, and however holes are opened for them, it is not at
 * held addresses. */
static void nobody_else_maps_there(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 held, at, i;

	space_open(t->s, 32, 32);
	held = hold(t, 20);
	for (i = 0; i < 6; i++) {
		KUNIT_ASSERT_EQ(test, vmm_map_guarded(t->v, 1, &at), 0);
		KUNIT_EXPECT_EQ(test, vmm_unmap_guarded(t->v, at,
							VMM_KEEP_HANDLE), 0);
	}
	for (i = 0; i < 12; i++) {
		at = space_map(t->s, 1, 1);
		KUNIT_EXPECT_FALSE(test, at >= held && at < held + 20);
	}
	EXPECT_VALID(t->s);
	KUNIT_EXPECT_EQ(test, vmm_extend(t->v, held, 1, 1), -EBUSY);
	/* The reservation is full: what comes next is in another. */
	at = space_map(t->s, 8, 8);
	KUNIT_EXPECT_GE(test, at, 33);
	vmm_unhold(t->v, held, 20);
}

/* The highest addresses that are free, in whatever reservation. */
static void holds_are_high(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 a, b, c;

	space_open(t->s, 64, 64);
	a = hold(t, 16);
	b = hold(t, 16);
	c = hold(t, 16);
	KUNIT_EXPECT_EQ(test, a, 48);
	KUNIT_EXPECT_EQ(test, b, 32);
	KUNIT_EXPECT_EQ(test, c, 16);
	vmm_unhold(t->v, b, 16);
	KUNIT_EXPECT_EQ(test, hold(t, 10), 38);
	KUNIT_EXPECT_EQ(test, space_map(t->s, 3, 1), 0);
	/* No run is long enough: a further reservation. */
	KUNIT_EXPECT_GT(test, hold(t, 40), 64);
	EXPECT_VALID(t->s);
}

static void objects_keep_a_quarter(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 most, first = 42;

	space_open(t->s, 16, 64);
	most = t->v->max_chunks - t->v->max_chunks / 4;
	KUNIT_EXPECT_EQ(test, vmm_hold(t->v, most + 1, &first), -ENOMEM);
	EXPECT_ERROR_HAS(t->s, "held");
	KUNIT_EXPECT_EQ(test, first, 42);
	while (!vmm_hold(t->v, 16, &first))
		;
	KUNIT_EXPECT_EQ(test, t->v->nr_held, most / 16 * 16);
	EXPECT_VALID(t->s);
	space_map(t->s, 16, 1);
}

static void what_is_refused(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 at, nr, first = 42;

	space_open(t->s, 16, 64);
	KUNIT_EXPECT_EQ(test, vmm_hold(t->v, 0, &first), -EINVAL);
	KUNIT_EXPECT_EQ(test, first, 42);
	at = hold(t, 8);
	KUNIT_EXPECT_EQ(test, vmm_map_held(t->v, at, 0, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, vmm_map_held(t->v, at, 1, 0), -EINVAL);
	must_map_held(t, at, 4, 2);
	KUNIT_EXPECT_EQ(test, vmm_map_held(t->v, at + 3, 2, 1), -EBUSY);
	for (nr = 1; nr < 8; nr++) {
		u32 left = nr;

		/* In a handle, or where nothing is mapped. */
		if (nr == 2 || nr == 4)
			continue;
		KUNIT_EXPECT_EQ(test, vmm_unmap_held(t->v, at, &left,
						     VMM_RELEASE), -EINVAL);
		KUNIT_EXPECT_EQ(test, left, nr);
	}
	/* What begins before stays. */
	nr = 3;
	KUNIT_EXPECT_EQ(test, vmm_unmap_held(t->v, at + 1, &nr, VMM_RELEASE),
			0);
	KUNIT_EXPECT_EQ(test, nr, 1);
	must_unmap_held(t, at, 2, VMM_RELEASE);
	vmm_unhold(t->v, at, 8);
}

/* ---- Memory -------------------------------------------------------------- */

static void memory_grows_in_place(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 at, i;

	space_open(t->s, 32, 64);
	at = hold(t, 32);
	for (i = 0; i < 32; i++) {
		space_mark(t->s);
		must_map_held(t, at + i, 1, 1);
		EXPECT_CALLS(t->s, 1, 1, 1, 0, 0);
		put(t, at + i, (u8)i);
	}
	for (i = 0; i < 32; i++)
		KUNIT_EXPECT_EQ(test, get(t, at + i), i);
	KUNIT_EXPECT_EQ(test, t->v->nr_walls, 0);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 1, 1, &i), -EDQUOT);
	space_mark(t->s);
	must_unmap_held(t, at + 8, 24, VMM_RELEASE);
	EXPECT_CALLS(t->s, 0, 0, 0, 24, 24);
	must_map_held(t, at + 8, 24, 24);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, get(t, at + i), i);
	must_unmap_held(t, at, 32, VMM_RELEASE);
	vmm_unhold(t->v, at, 32);
}

/* Handles go from held addresses to others, and back, without being made. */
static void spare_handles_serve(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 at, other;

	space_open(t->s, 8, 64);
	at = hold(t, 8);
	must_map_held(t, at, 8, 1);
	must_unmap_held(t, at + 2, 6, VMM_KEEP_HANDLE);
	KUNIT_EXPECT_EQ(test, t->s->cnt.spare_handles, 6);
	space_mark(t->s);
	other = space_map(t->s, 6, 1);
	EXPECT_CALLS(t->s, 0, 6, 1, 0, 0);
	space_unmap_singles(t->s, other, 6, VMM_KEEP_MAPPED);
	space_mark(t->s);
	must_map_held(t, at + 2, 6, 1);
	EXPECT_CALLS(t->s, 0, 6, 1, 6, 0);
	must_unmap_held(t, at, 8, VMM_KEEP_HANDLE);
	vmm_unhold(t->v, at, 8);
}

/* Idle memory of another shape goes back, if the limit says so. */
static void idle_memory_makes_room(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 at, other;

	space_open(t->s, 8, 64);
	at = hold(t, 8);
	other = space_map(t->s, 6, 6);
	KUNIT_EXPECT_EQ(test, vmm_map_held(t->v, at, 4, 4), -EDQUOT);
	EXPECT_VALID(t->s);
	space_unmap(t->s, other, VMM_KEEP_MAPPED);
	must_map_held(t, at, 4, 4);
	KUNIT_EXPECT_EQ(test, t->s->cnt.idle, 0);
	must_unmap_held(t, at, 4, VMM_RELEASE);
	vmm_unhold(t->v, at, 8);
}

/* ---- Failure ------------------------------------------------------------- */

/* Memory that is lost has its addresses until it goes; then they are held
 * again, and no one's. */
static void lost_memory_keeps_its_place(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 at, nr = 4, i;

	space_open(t->s, 16, 64);
	at = hold(t, 8);
	must_map_held(t, at, 4, 1);
	kunit_expect_report(test, REPORT_LOST);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 2, 2, -EIO);
	KUNIT_EXPECT_EQ(test, vmm_unmap_held(t->v, at, &nr, VMM_RELEASE),
			-EIO);
	KUNIT_EXPECT_EQ(test, nr, 2);
	KUNIT_EXPECT_EQ(test, t->s->cnt.lost, CHUNK);
	EXPECT_VALID(t->s);
	/* Tried again, in vain, and then not. */
	KUNIT_EXPECT_EQ(test, vmm_map_held(t->v, at + 2, 2, 1), -EBUSY);
	EXPECT_ERROR_HAS(t->s, "still mapped");
	EXPECT_VALID(t->s);
	must_map_held(t, at + 2, 2, 1);
	KUNIT_EXPECT_EQ(test, t->s->cnt.lost, 0);
	for (i = 0; i < 4; i++)
		put(t, at + i, 1);
	must_unmap_held(t, at, 4, VMM_RELEASE);
	vmm_unhold(t->v, at, 8);
}

/* The hold ends first: the addresses are free when the memory goes. */
static void a_hold_ends_with_lost_memory(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 at, nr = 4, free_before;

	space_open(t->s, 16, 64);
	at = hold(t, 8);
	free_before = t->v->addresses.nr_free;
	must_map_held(t, at, 4, 2);
	kunit_expect_report(test, REPORT_LOST);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, vmm_unmap_held(t->v, at, &nr, VMM_RELEASE),
			-EIO);
	must_unmap_held(t, at, 2, VMM_RELEASE);
	vmm_unhold(t->v, at, 8);
	EXPECT_VALID(t->s);
	KUNIT_EXPECT_EQ(test, t->v->addresses.nr_free, free_before + 6);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(t->v, 0, true), 0);
	EXPECT_VALID(t->s);
	KUNIT_EXPECT_EQ(test, t->v->addresses.nr_free, free_before + 8);
	KUNIT_EXPECT_EQ(test, t->v->nr_walls, 0);
}

/* What nobody gave back is given back at the end. */
static void closing_ends_holds(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 at, nr = 2;

	space_open(t->s, 16, 64);
	at = hold(t, 8);
	must_map_held(t, at, 2, 1);
	must_map_held(t, at + 2, 2, 2);
	at = hold(t, 4);
	must_map_held(t, at, 2, 1);
	kunit_expect_report(test, REPORT_LOST);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, vmm_unmap_held(t->v, at, &nr, VMM_RELEASE),
			-EIO);
	KUNIT_EXPECT_EQ(test, space_close(t->s), 0);
	KUNIT_EXPECT_EQ(test, t->s->cnt.reserved, 0);
}

/* ---- Each call fails ----------------------------------------------------- */

#define SCRIPT_HELD 10u

/* How far the script's two holds are mapped; each step may fail. */
struct script {
	struct hold_case *t;
	u32 at[2];
	u32 mapped[2];
	bool held[2];
	u32 failures;
};

static void check_books(struct script *sc)
{
	struct hold_case *t = sc->t;
	struct kunit *test = t->s->test;

	EXPECT_VALID(t->s);
	KUNIT_EXPECT_EQ(test, t->f.handles, t->s->cnt.handles);
	KUNIT_EXPECT_EQ(test, t->f.created_bytes, t->s->cnt.created);
}

static void begin(struct script *sc, u32 i)
{
	sc->mapped[i] = 0;
	sc->held[i] = !vmm_hold(sc->t->v, SCRIPT_HELD, &sc->at[i]);
	sc->failures += !sc->held[i];
	check_books(sc);
}

static void grow(struct script *sc, u32 i, u32 nr, u32 handle_chunks)
{
	struct kunit *test = sc->t->s->test;
	int err;

	if (!sc->held[i] || sc->mapped[i] + nr > SCRIPT_HELD)
		return;
	err = vmm_map_held(sc->t->v, sc->at[i] + sc->mapped[i], nr,
			   handle_chunks);
	if (!err) {
		sc->mapped[i] += nr;
		put(sc->t, sc->at[i] + sc->mapped[i] - 1, 1);
	} else {
		sc->failures++;
		KUNIT_EXPECT_STRNEQ(test, error_get(), "");
	}
	check_books(sc);
}

static void shrink(struct script *sc, u32 i, u32 to, enum vmm_giveback how)
{
	struct kunit *test = sc->t->s->test;
	u32 nr;
	int err;

	while (sc->held[i] && sc->mapped[i] > to) {
		nr = sc->mapped[i] - to;
		err = vmm_unmap_held(sc->t->v, sc->at[i] + to, &nr, how);
		KUNIT_EXPECT_TRUE(test, !err || err == -EIO);
		sc->failures += err != 0;
		sc->mapped[i] = to + nr;
		check_books(sc);
		if (!err)
			return;
	}
}

static void end(struct script *sc, u32 i)
{
	shrink(sc, i, 0, VMM_RELEASE);
	if (sc->held[i])
		vmm_unhold(sc->t->v, sc->at[i], SCRIPT_HELD);
	sc->held[i] = false;
	check_books(sc);
}

static void run_script(struct script *sc)
{
	struct hold_case *t = sc->t;
	u32 other;

	begin(sc, 0);
	grow(sc, 0, 1, 1);
	grow(sc, 0, 4, 1);
	begin(sc, 1);
	grow(sc, 1, 3, 3);
	grow(sc, 1, 4, 2);
	shrink(sc, 0, 2, VMM_KEEP_HANDLE);
	sc->failures += vmm_map(t->v, 3, 1, &other) != 0;
	check_books(sc);
	grow(sc, 0, 6, 1);
	shrink(sc, 1, 3, VMM_RELEASE);
	grow(sc, 1, 5, 1);
	shrink(sc, 0, 1, VMM_KEEP_HANDLE);
	grow(sc, 1, 2, 1);
	end(sc, 1);
	grow(sc, 0, 7, 7);
	begin(sc, 1);
	end(sc, 0);
}

static const enum vmm_op swept[] = {
	VMM_OP_RESERVE, VMM_OP_CREATE, VMM_OP_MAP, VMM_OP_SET_ACCESS,
	VMM_OP_UNMAP, VMM_OP_RELEASE,
};

/* How many calls of that kind the script makes when nothing fails. */
static u64 count_calls(struct hold_case *t, enum vmm_op op)
{
	struct script sc = { .t = t };
	u64 calls;

	vmm_fault_arm(&t->f, op, 0, 0, 0);
	space_open(t->s, 24, 16);
	run_script(&sc);
	KUNIT_EXPECT_EQ(t->s->test, sc.failures, 0);
	calls = t->f.calls[op];
	KUNIT_EXPECT_EQ(t->s->test, space_close(t->s), 0);
	return calls;
}

/* One report more than have come may come. */
static void announce_lost(struct kunit *test, u32 *announced)
{
	if (kunit_report_count(test, REPORT_LOST) < *announced)
		return;
	kunit_expect_report(test, REPORT_LOST);
	++*announced;
}

/*
 * Each call of the script fails once, as a lack of memory or for good. What is
 * lost is told of; so many reports are not known before, since another call may
 * bring it back first.
 */
static void each_call_fails_once(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 announced = 0, i;
	u64 calls, n;

	for (i = 0; i < ARRAY_SIZE(swept); i++) {
		calls = count_calls(t, swept[i]);
		KUNIT_EXPECT_GT(test, calls, 0);
		for (n = 1; n <= calls; n++) {
			struct script sc = { .t = t };

			announce_lost(test, &announced);
			vmm_fault_arm(&t->f, swept[i], n, 1,
				      n % 2 ? -EIO : -ENOMEM);
			if (space_try_open(t->s, 24, 16))
				continue;
			run_script(&sc);
			KUNIT_EXPECT_EQ(test, space_close(t->s), 0);
			KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));
		}
	}
	/* The one announced that was not needed. */
	if (kunit_report_count(test, REPORT_LOST) < announced) {
		u32 at, nr = 1;

		vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 1, -EIO);
		space_open(t->s, 24, 16);
		at = hold(t, 1);
		must_map_held(t, at, 1, 1);
		KUNIT_EXPECT_EQ(test, vmm_unmap_held(t->v, at, &nr,
						     VMM_RELEASE), -EIO);
	}
}

/* ---- At random ----------------------------------------------------------- */

#define NR_HOLDS 5u
#define HOLD_MAX 12u
#define NR_OTHERS 6u

/* What is where; every mapped chunk has a byte that nobody else wrote. */
struct twin {
	struct hold_case *t;
	u64 state;
	u32 at[NR_HOLDS], nr[NR_HOLDS], mapped[NR_HOLDS];
	u8 byte[NR_HOLDS][HOLD_MAX];
	u32 other[NR_OTHERS], other_nr[NR_OTHERS];
	u8 next;
};

static void random_grow(struct twin *w, u32 i)
{
	u32 nr = 1 + random_below(&w->state, 4), k;

	if (w->mapped[i] + nr > w->nr[i] ||
	    vmm_map_held(w->t->v, w->at[i] + w->mapped[i], nr, nr % 3 ? 1 : nr))
		return;
	for (k = 0; k < nr; k++) {
		w->byte[i][w->mapped[i]] = ++w->next;
		put(w->t, w->at[i] + w->mapped[i]++, w->next);
	}
}

static void random_shrink(struct twin *w, u32 i)
{
	u32 to = random_below(&w->state, w->mapped[i] + 1);
	u32 nr = w->mapped[i] - to;

	KUNIT_EXPECT_EQ(w->t->s->test,
			vmm_unmap_held(w->t->v, w->at[i] + to, &nr,
				       random_below(&w->state, 2) ?
				       VMM_RELEASE : VMM_KEEP_HANDLE), 0);
	w->mapped[i] = to + nr;
}

static void random_hold(struct twin *w, u32 i)
{
	u32 nr = w->mapped[i];

	if (!w->nr[i]) {
		w->nr[i] = 1 + random_below(&w->state, HOLD_MAX);
		if (vmm_hold(w->t->v, w->nr[i], &w->at[i]))
			w->nr[i] = 0;
		return;
	}
	KUNIT_EXPECT_EQ(w->t->s->test,
			vmm_unmap_held(w->t->v, w->at[i], &nr, VMM_RELEASE), 0);
	KUNIT_EXPECT_EQ(w->t->s->test, nr, 0);
	vmm_unhold(w->t->v, w->at[i], w->nr[i]);
	w->nr[i] = w->mapped[i] = 0;
}

/* Others map and give back beside it, and write over all that they have. */
static void random_other(struct twin *w)
{
	u32 i = random_below(&w->state, NR_OTHERS), k;
	u32 nr = w->other_nr[i];

	w->other_nr[i] = 0;
	if (nr) {
		KUNIT_EXPECT_EQ(w->t->s->test,
				vmm_unmap(w->t->v, w->other[i],
					  random_below(&w->state, 3)), 0);
		return;
	}
	nr = 1 + random_below(&w->state, 5);
	if (vmm_map(w->t->v, nr, nr, &w->other[i]))
		return;
	w->other_nr[i] = nr;
	for (k = 0; k < nr; k++)
		put(w->t, w->other[i] + k, 0);
}

static void check_twin(struct twin *w)
{
	u32 i, k;

	EXPECT_VALID(w->t->s);
	for (i = 0; i < NR_HOLDS; i++)
		for (k = 0; k < w->mapped[i]; k++)
			KUNIT_EXPECT_EQ(w->t->s->test, get(w->t, w->at[i] + k),
					w->byte[i][k]);
}

static void random_steps(struct kunit *test)
{
	struct twin w = { .t = test->priv, .state = random_seed(test) };
	u32 step, i;

	space_open(w.t->s, 40, 64);
	for (step = 0; step < 3000; step++) {
		i = random_below(&w.state, NR_HOLDS);
		switch (random_below(&w.state, 8)) {
		case 0:
			random_hold(&w, i);
			break;
		case 1:
		case 2:
			random_shrink(&w, i);
			break;
		case 3:
		case 4:
			random_other(&w);
			break;
		default:
			random_grow(&w, i);
			break;
		}
		if (step % 8 == 0)
			check_twin(&w);
	}
	check_twin(&w);
}

static const struct kunit_case hold_test_cases[] = {
	KUNIT_CASE(a_hold_maps_nothing),
	KUNIT_CASE(nobody_else_maps_there),
	KUNIT_CASE(holds_are_high),
	KUNIT_CASE(objects_keep_a_quarter),
	KUNIT_CASE(what_is_refused),
	KUNIT_CASE(memory_grows_in_place),
	KUNIT_CASE(spare_handles_serve),
	KUNIT_CASE(idle_memory_makes_room),
	KUNIT_CASE(lost_memory_keeps_its_place),
	KUNIT_CASE(a_hold_ends_with_lost_memory),
	KUNIT_CASE(closing_ends_holds),
	KUNIT_CASE(each_call_fails_once),
	KUNIT_CASE(random_steps),
	{ 0 }
};

static const struct kunit_suite hold_test_suite = {
	.name = "vmm_hold",
	.init = hold_test_init,
	.exit = hold_test_exit,
	.cases = hold_test_cases,
};
kunit_test_suite(hold_test_suite);
