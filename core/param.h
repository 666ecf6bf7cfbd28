/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * param.h - parameters from the environment, read once.
 *
 * Every parameter is a row of the table in param.c: its SLABDEV_ name, how it
 * is parsed, its bounds, one line of help. They are read at the first open;
 * a later change of the environment has no effect. A value that does not parse
 * or is out of bounds, and a SLABDEV_ name that is not in the table, is
 * refused: params_get() fails and the error text names the variable, the
 * value, and what would be accepted. A process that gained privileges
 * (AT_SECURE) reads none.
 */
#ifndef CORE_PARAM_H
#define CORE_PARAM_H

#include "core/debug_spec.h"
#include "core/fault_attr.h"
#include "core/report_policy.h"

/* Same values as enum slabdev_policy_mode. */
enum param_policy {
	PARAM_POLICY_NONE,
	PARAM_RETAIN,
	PARAM_TRIM,
	PARAM_AGGRESSIVE,
};

/* Same values as enum slabdev_backing. */
enum param_backing {
	PARAM_BACKING_AUTO,
	PARAM_VMM,
	PARAM_POOL,
	PARAM_MALLOC,
};

/* Same values as enum slabdev_ordering. */
enum param_ordering {
	PARAM_ORDERING_NONE,
	PARAM_ORDER_STREAM,
	PARAM_ORDER_HOST,
};

struct params {
	u64 limit;		/* SLABDEV_LIMIT: bytes, 0: none given */
	u32 limit_permille;	/* SLABDEV_LIMIT: a fraction, 0: none given */
	u32 ranks;		/* SLABDEV_RANKS: share the limit, 0: none */
	u32 backing;		/* SLABDEV_BACKING: enum param_backing */
	u32 ordering;		/* SLABDEV_ORDERING: enum param_ordering */
	u64 reserve;		/* SLABDEV_RESERVE: bytes, 0: none */
	u64 sheaf_bytes;	/* SLABDEV_SHEAF: bytes a thread, 0: none */
	u32 policy;		/* SLABDEV_POLICY: enum param_policy */
	u64 keep_bytes;		/* SLABDEV_POLICY=trim:BYTES */
	bool assert_steady;	/* SLABDEV_ASSERT_STEADY: 0 or 1 */
	struct debug_spec debug; /* SLABDEV_DEBUG, else SLAB_DEBUG_ON */
	struct fault_setup failslab;	/* SLABDEV_FAILSLAB */
	struct report_policy report;	/* SLABDEV_REPORT */
	bool no_annotations;	/* SLABDEV_ANNOTATE: 0 tells no tool */
	bool stats;		/* SLABDEV_STATS: 0 hides from slabinfo */
	bool membarrier;	/* SLABDEV_MEMBARRIER: 0 takes locks */
	u64 guard_every;	/* SLABDEV_GUARD: one of so many, 0: none */
	u64 guard_min;		/* SLABDEV_GUARD: of these sizes, */
	u64 guard_max;		/* in bytes; 0: of all */
	u32 log_level;		/* SLABDEV_LOG: level[:file] */
	char log_path[256];
	char libcuda[256];	/* SLABDEV_LIBCUDA: path, "": the driver's */
};

/*
 * params_get - the parameters of this process
 * @out: set to the one copy
 *
 * Return 0, or -EINVAL with the error text set, each time again.
 */
int __must_check params_get(const struct params **out);

/* For tests: parse @env (NULL-terminated "NAME=value") into @p, as root would
 * with AT_SECURE set when @secure. */
int __must_check params_parse(struct params *p, char *const *env, bool secure);

/* Bytes with an optional suffix K, M, G, T (powers of 1024). 0 or -EINVAL. */
int __must_check param_parse_bytes(const char *text, u64 *bytes);

/*
 * One row of the table. Documentation/configuration.rst prints the texts; a
 * test compares.
 */
struct param_info {
	const char *name;
	const char *values;	/* what is accepted */
	const char *def;	/* what holds without it */
	const char *help;
	/* False when @value is not accepted; *@p may be half changed then. */
	bool (*parse)(struct params *p, const char *value);
	/* What comes behind "is not accepted", "" for nothing; or NULL. */
	bool (*why)(const char *value, char *why, size_t len);
};

const struct param_info *param_table(size_t *n);

#endif /* CORE_PARAM_H */
