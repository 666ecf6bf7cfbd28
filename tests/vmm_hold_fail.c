// SPDX-License-Identifier: BSD-2-Clause
/* vmm_hold_fail.c - holds whose memory the backend loses or does not give. */
#include <errno.h>

#include "tests/vmm_hold.h"

/* ---- Failure ------------------------------------------------------------- */

/* Memory that is lost has its addresses until it goes; then they are held
 * again, and no one's. */
void lost_memory_keeps_its_place(struct kunit *test)
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
void a_hold_ends_with_lost_memory(struct kunit *test)
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
void closing_ends_holds(struct kunit *test)
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
void each_call_fails_once(struct kunit *test)
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
