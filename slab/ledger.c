// SPDX-License-Identifier: BSD-2-Clause
/*
 * ledger.c - the books of managers: what a space's counters say, and the high
 * water that the manager keeps (manager.h).
 *
 * A quotient of nothing is no number: before the first allocation the functions
 * that divide say so, and give none.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/cancel.h"
#include "core/log.h"
#include "core/usercopy.h"
#include "slab/health.h"
#include "slab/manager.h"
#include "slab/stats.h"

/*
 * A peak that the caller sees: at least what is live, and at most what was ever
 * out of the slabs, @most, whatever the program has freed by other calls.
 */
static u64 peak_of(struct high_water *w, u64 current, u64 most)
{
	s64 peak = READ_ONCE(w->peak);

	while (peak < (s64)current &&
	       !__atomic_compare_exchange_n(&w->peak, &peak, (s64)current, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return min(max((u64)peak, current), max(most, current));
}

/* @most: see peak_of(). */
static int read_space(struct managed *s, struct slabdev_ledger *l, u64 *most,
		      const char *call)
{
	struct slabdev_stats st;
	int err = managed_check(s);

	if (!err)
		err = space_check(s->sd, call);
	if (err)
		return err;
	stats_collect(s->sd, &st);
	*most = st.peak_live;
	*l = (struct slabdev_ledger){
		.allocs = st.allocs,
		.frees = st.frees,
		.active = st.allocs - st.frees,
		.failed = st.failed + READ_ONCE(s->refused),
		.alloc_bytes = st.alloc_bytes,
		.free_bytes = st.free_bytes,
		.current = st.alloc_bytes - st.free_bytes,
		.reused = st.reused,
		.reused_bytes = st.reused_bytes,
		.arena_bytes = st.arena_bytes,
		.spaces = 1,
		.kind = s->kind,
		.device = s->device,
	};
	snprintf(l->spec, sizeof(l->spec), "%s", managed_spec(s));
	l->peak = peak_of(&s->water, l->current, *most);
	return 0;
}

static void add(struct slabdev_ledger *sum, const struct slabdev_ledger *l)
{
	sum->allocs += l->allocs;
	sum->frees += l->frees;
	sum->active += l->active;
	sum->failed += l->failed;
	sum->alloc_bytes += l->alloc_bytes;
	sum->free_bytes += l->free_bytes;
	sum->current += l->current;
	sum->reused += l->reused;
	sum->reused_bytes += l->reused_bytes;
	sum->arena_bytes += l->arena_bytes;
	sum->spaces++;
}

static int read_total(struct manager *m, struct slabdev_ledger *sum,
		      const char *call)
{
	u32 i, nr = load_acquire(&m->nr);
	struct slabdev_ledger l;
	u64 most, all = 0;
	int err;

	*sum = (struct slabdev_ledger){
		.failed = READ_ONCE(m->refused),
		.device = SLABDEV_NO_DEVICE,
	};
	for (i = 0; i < nr; i++) {
		if (!load_acquire(&m->space[i].sd))
			continue;
		err = read_space(&m->space[i], &l, &most, call);
		if (err)
			return err;
		add(sum, &l);
		all += most;
	}
	sum->peak = peak_of(&m->water, sum->current, all);
	return 0;
}

/* The open space with a number; NULL: there are not so many. */
static struct managed *open_place(struct manager *m, int index)
{
	u32 i, nr = load_acquire(&m->nr);

	for (i = 0; index >= 0 && i < nr; i++)
		if (load_acquire(&m->space[i].sd) && !index--)
			return &m->space[i];
	return NULL;
}

static int count_places(struct manager *m)
{
	int n = 0;

	while (open_place(m, n))
		n++;
	return n;
}

/* ---- The calls ---------------------------------------------------------- */

int slabdev_manager_ledger(struct slabdev_manager *token, u32 kind, int device,
			   struct slabdev_ledger *ledger, size_t size)
{
	struct slabdev_ledger own;
	struct manager *m;
	u64 most;
	int err;

	m = manager_find(token, "slabdev_manager_ledger", &err);
	if (!m)
		return err;
	err = manager_check_pair(kind, device);
	if (!err)
		err = read_space(manager_place(m, kind, device), &own, &most,
				 "slabdev_manager_ledger");
	return err ? err : copy_struct_to_user(ledger, size, &own, sizeof(own),
					       "ledger");
}

int slabdev_manager_count(struct slabdev_manager *token)
{
	struct manager *m;
	int err;

	m = manager_find(token, "slabdev_manager_count", &err);
	return m ? count_places(m) : err;
}

int slabdev_manager_ledger_at(struct slabdev_manager *token, int index,
			      struct slabdev_ledger *ledger, size_t size)
{
	struct slabdev_ledger own;
	struct managed *s;
	struct manager *m;
	u64 most;
	int err;

	m = manager_find(token, "slabdev_manager_ledger_at", &err);
	if (!m)
		return err;
	s = open_place(m, index);
	if (!s)
		return error_set(-ENOENT, "slabdev_manager_ledger_at: there is "
				 "no number %d, manager %s has %d spaces",
				 index, m->name, count_places(m));
	err = read_space(s, &own, &most, "slabdev_manager_ledger_at");
	return err ? err : copy_struct_to_user(ledger, size, &own, sizeof(own),
					       "ledger");
}

int slabdev_manager_total(struct slabdev_manager *token,
			  struct slabdev_ledger *ledger, size_t size)
{
	struct slabdev_ledger own;
	struct manager *m;
	int err;

	m = manager_find(token, "slabdev_manager_total", &err);
	if (m)
		err = read_total(m, &own, "slabdev_manager_total");
	return err ? err : copy_struct_to_user(ledger, size, &own, sizeof(own),
					       "ledger");
}

/* ---- Quotients ---------------------------------------------------------- */

static int check_data(const struct slabdev_ledger *l, const double *to,
		      const char *call)
{
	if (!l || !to)
		return error_set(-EINVAL, "%s: %s is NULL", call,
				 l ? "the result" : "ledger");
	if (!l->allocs)
		return error_set(-ENODATA, "%s: nothing was allocated yet",
				 call);
	return 0;
}

int slabdev_ledger_efficiency(const struct slabdev_ledger *ledger,
			      double *efficiency)
{
	int err = check_data(ledger, efficiency, "slabdev_ledger_efficiency");

	if (err)
		return err;
	/* All of it was allocated and freed by calls of the space itself. */
	if (!ledger->peak)
		return error_set(-ENODATA, "slabdev_ledger_efficiency: nothing "
				 "was live when it was looked at");
	*efficiency = (double)ledger->current / (double)ledger->peak;
	return 0;
}

int slabdev_ledger_average(const struct slabdev_ledger *ledger, double *bytes)
{
	int err = check_data(ledger, bytes, "slabdev_ledger_average");

	if (!err)
		*bytes = (double)ledger->alloc_bytes / (double)ledger->allocs;
	return err;
}

int slabdev_ledger_hit_rate(const struct slabdev_ledger *ledger,
			    double *by_calls, double *by_bytes)
{
	static const double wanted;
	int err = check_data(ledger, &wanted, "slabdev_ledger_hit_rate");

	if (err)
		return err;
	if (by_calls)
		*by_calls = (double)ledger->reused / (double)ledger->allocs;
	if (by_bytes)
		*by_bytes = (double)ledger->reused_bytes /
			    (double)ledger->alloc_bytes;
	return 0;
}

/* ---- The report --------------------------------------------------------- */

static void print_percent(FILE *out, int err, double part)
{
	if (err)
		fprintf(out, " %7s", "-");
	else
		fprintf(out, " %5.1f %%", 100.0 * part);
}

static void print_ledger(FILE *out, const char *name,
			 const struct slabdev_ledger *l)
{
	double efficiency = 0, rate = 0;
	int no_efficiency = slabdev_ledger_efficiency(l, &efficiency);
	int no_rate = slabdev_ledger_hit_rate(l, &rate, NULL);

	fprintf(out, "%-18s %10llu %10llu %8llu %8llu %15llu %15llu", name,
		(unsigned long long)l->allocs, (unsigned long long)l->frees,
		(unsigned long long)l->active, (unsigned long long)l->failed,
		(unsigned long long)l->current, (unsigned long long)l->peak);
	print_percent(out, no_efficiency, efficiency);
	print_percent(out, no_rate, rate);
	fprintf(out, "\n");
}

int slabdev_manager_report(struct slabdev_manager *token, FILE *out)
{
	NO_CANCELLATION;
	static const char call[] = "slabdev_manager_report";
	struct slabdev_ledger l, total;
	struct manager *m;
	u64 most;
	int err, i;

	m = manager_find(token, call, &err);
	if (!m)
		return err;
	if (!out)
		return error_set(-EINVAL, "%s: out is NULL", call);
	err = read_total(m, &total, call);
	if (err)
		return err;
	fprintf(out, "manager %s\n%-18s %10s %10s %8s %8s %15s %15s %7s %7s\n",
		m->name, "space", "allocs", "frees", "active", "failed",
		"bytes", "peak bytes", "of peak", "reused");
	for (i = 0; i < count_places(m); i++)
		if (!read_space(open_place(m, i), &l, &most, call))
			print_ledger(out, l.spec, &l);
	print_ledger(out, "total", &total);
	if (fflush(out) || ferror(out))
		return error_set(-EIO, "the report could not be written");
	return 0;
}
