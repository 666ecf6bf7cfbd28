// SPDX-License-Identifier: BSD-2-Clause
/*
 * ptx_parse.c - a module: its header, and the heads of its kernels.
 *
 * The version comes first and decides alone: nothing is read of a text that is
 * newer than the driver. A target that is newer than the device is told only
 * if the whole text is right.
 */
#include <stdio.h>

#include "tests/model/ptx_text.h"

#define THREADS_MAX ((u64)INT32_MAX)

/* ---- Kernels -------------------------------------------------------- */

struct ptx_kernel *ptx_get(struct ptx_kernel *kernel)
{
	if (kernel)
		kernel->refs++;
	return kernel;
}

void ptx_put(struct ptx_kernel *kernel)
{
	if (!kernel || --kernel->refs)
		return;
	free(kernel->name);
	free(kernel->insns);
	free(kernel->reg_bytes);
	free(kernel->steps);
	free(kernel->places);
	free(kernel);
}

bool ptx_block_fits(const struct ptx_kernel *kernel, const u32 *block)
{
	u64 threads = 1, most = 1;
	u32 i;

	if (!kernel->block[0])
		return true;
	for (i = 0; i < PTX_DIMS; i++) {
		if (kernel->block_is_exact && block[i] != kernel->block[i])
			return false;
		threads *= block[i];
		if (__builtin_mul_overflow(most, kernel->block[i], &most))
			return true;
	}
	return threads <= most;
}

static struct ptx_kernel *find(const struct list *kernels, const char *name)
{
	struct ptx_kernel *k;
	struct list *node;

	for (node = kernels->next; node != kernels; node = node->next) {
		k = container_of(node, struct ptx_kernel, node);
		if (!strcmp(k->name, name))
			return k;
	}
	return NULL;
}

/* ---- Parameters ----------------------------------------------------- */

/* ".param .u64 name" */
static bool read_param(struct ptx_draft *d)
{
	struct ptx_text *t = d->t;
	struct ptx_kernel *k = d->k;
	struct ptx_token name;
	u8 type;

	if (!ptx_is_dot(t, "param"))
		return ptx_unexpected(t, "'.param'");
	if (!ptx_next(t))
		return false;
	type = t->token.kind == PTX_DOT ?
	       ptx_slot_value(PTX_SLOT_TYPE, t->token.start, t->token.n) : 0;
	if (type <= PTX_PRED)
		return ptx_unexpected(t, "the type of an integer");
	if (!ptx_next(t))
		return false;
	name = t->token;
	if (name.kind != PTX_WORD)
		return ptx_unexpected(t, "the name of a parameter");
	if (k->nr_params == KERNEL_PARAMS_MAX)
		return ptx_wrong(t, name.line, "the model takes %u parameters",
				 KERNEL_PARAMS_MAX);
	if (!ptx_declare(d, &name, PTX_NAME_PARAM, k->nr_params))
		return false;
	k->param_bytes[k->nr_params++] = ptx_bytes(type);
	return ptx_next(t);
}

static bool read_params(struct ptx_draft *d)
{
	bool more;

	if (!ptx_take_mark(d->t, '(', &more))
		return false;
	if (!more)
		return true;
	more = !ptx_is_mark(d->t, ')');
	while (more)
		if (!read_param(d) || !ptx_take_mark(d->t, ',', &more))
			return false;
	return ptx_expect(d->t, ')');
}

/* ---- Directives of performance -------------------------------------- */

static bool read_block(struct ptx_draft *d, bool exact)
{
	struct ptx_kernel *k = d->k;
	u64 v;
	bool more = true;
	u32 i;

	if (k->block[0] && k->block_is_exact != exact)
		return ptx_wrong(d->t, d->t->token.line,
				 ".maxntid and .reqntid at once");
	k->block_is_exact = exact;
	k->block[0] = k->block[1] = k->block[2] = 1;
	for (i = 0; more && i < PTX_DIMS; i++) {
		if (!ptx_take_number(d->t, THREADS_MAX, &v))
			return false;
		if (!v)
			return ptx_wrong(d->t, d->t->token.line,
					 "a block without threads");
		k->block[i] = (u32)v;
		if (!ptx_take_mark(d->t, ',', &more))
			return false;
	}
	return !more || ptx_unexpected(d->t, "at most three numbers");
}

static bool read_directives(struct ptx_draft *d)
{
	static const char *const hints[] = { "minnctapersm", "maxnctapersm",
					     "maxnreg" };
	struct ptx_text *t = d->t;
	bool exact, is_block, is_hint;
	u64 unused;
	size_t i;

	while (t->token.kind == PTX_DOT) {
		exact = ptx_is_dot(t, "reqntid");
		is_block = exact || ptx_is_dot(t, "maxntid");
		for (i = 0, is_hint = false; i < ARRAY_SIZE(hints); i++)
			is_hint = is_hint || ptx_is_dot(t, hints[i]);
		if (!is_block && !is_hint)
			return ptx_unexpected(t, "'{' or another directive");
		if (!ptx_next(t))
			return false;
		if (is_block ? !read_block(d, exact) :
			       !ptx_take_number(t, THREADS_MAX, &unused))
			return false;
	}
	return true;
}

/* ---- Entries -------------------------------------------------------- */

static bool read_kernel(struct ptx_draft *d)
{
	return ptx_next(d->t) && read_params(d) && read_directives(d) &&
	       ptx_expect(d->t, '{') && ptx_read_body(d);
}

/* At the name; every kernel that is begun is in the list. */
static bool read_entry(struct ptx_text *t, struct list *kernels)
{
	struct ptx_draft d = { .t = t };
	bool ok;

	if (t->token.kind != PTX_WORD)
		return ptx_unexpected(t, "the name of a kernel");
	d.k = calloc(1, sizeof(*d.k));
	if (!d.k)
		undefined(0, "the host has no memory for a kernel");
	d.k->refs = 1;
	d.k->name = strndup(t->token.start, t->token.n);
	if (!d.k->name)
		undefined(0, "the host has no memory for a kernel");
	ok = !find(kernels, d.k->name) ||
	     ptx_unexpected(t, "a name that no other kernel has");
	list_add_tail(&d.k->node, kernels);
	ok = ok && read_kernel(&d);
	if (ok)
		ptx_make_steps(d.k);
	ptx_names_free(&d.names);
	free(d.labels);
	return ok;
}

static bool read_entries(struct ptx_text *t, struct list *kernels)
{
	while (t->token.kind != PTX_END) {
		if ((ptx_is_dot(t, "visible") || ptx_is_dot(t, "weak")) &&
		    !ptx_next(t))
			return false;
		if (!ptx_is_dot(t, "entry"))
			return ptx_unexpected(t, "'.entry'");
		if (!ptx_next(t) || !read_entry(t, kernels))
			return false;
	}
	return true;
}

/* ---- The header ----------------------------------------------------- */

struct ptx_target {
	const char *name;
	u32 number;
	u32 version;		/* of PTX that it came with */
};

static const struct ptx_target targets[] = {
	{ "sm_20", 20, 20 }, { "sm_30", 30, 30 }, { "sm_32", 32, 40 },
	{ "sm_35", 35, 31 }, { "sm_37", 37, 41 }, { "sm_50", 50, 40 },
	{ "sm_52", 52, 41 }, { "sm_53", 53, 42 }, { "sm_60", 60, 50 },
	{ "sm_61", 61, 50 }, { "sm_62", 62, 50 }, { "sm_70", 70, 60 },
	{ "sm_72", 72, 61 }, { "sm_75", 75, 63 }, { "sm_80", 80, 70 },
	{ "sm_86", 86, 71 }, { "sm_87", 87, 74 }, { "sm_89", 89, 78 },
	{ "sm_90", 90, 78 }, { "sm_90a", 90, 80 },
	{ "sm_100", 100, 86 }, { "sm_100a", 100, 86 },
	{ "sm_103", 103, 88 }, { "sm_110", 110, 90 }, { "sm_120", 120, 87 },
	{ "sm_121", 121, 88 },
};

/* The newest that came with a driver: of CUDA 10.2 6.5, of 13.0 9.0. */
static u32 newest_version(void)
{
	u32 major = (u32)model_version / 1000;

	return major < 11 ? 65 : 10 * (major - 4);
}

static bool read_version(struct ptx_text *t)
{
	u32 line;

	if (!ptx_next(t))
		return false;
	if (!ptx_is_dot(t, "version"))
		return ptx_unexpected(t, "'.version'");
	line = t->token.line;
	if (!ptx_next_version(t, &t->version))
		return false;
	if (t->version <= newest_version())
		return true;
	ptx_wrong(t, line, "PTX newer than the driver");
	t->code = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
	return false;
}

static const struct ptx_target *target_of(const struct ptx_token *token)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(targets); i++)
		if (token->n == strlen(targets[i].name) &&
		    !memcmp(token->start, targets[i].name, token->n))
			return &targets[i];
	return NULL;
}

static bool read_target(struct ptx_text *t, const struct ptx_target **target)
{
	if (!ptx_is_dot(t, "target"))
		return ptx_unexpected(t, "'.target'");
	if (!ptx_next(t))
		return false;
	*target = t->token.kind == PTX_WORD ? target_of(&t->token) : NULL;
	if (!*target)
		return ptx_unexpected(t, "a target");
	if ((*target)->version > t->version)
		return ptx_wrong(t, t->token.line, "%s is newer than this version",
				 (*target)->name);
	t->target = (*target)->number;
	return ptx_next(t);
}

/* Without it some assemblers take 32, others the machine's. */
static bool read_address_size(struct ptx_text *t)
{
	u32 line = t->token.line;
	u64 bits;

	if (!ptx_is_dot(t, "address_size"))
		return ptx_unexpected(t, "'.address_size'");
	if (!ptx_next(t) || !ptx_take_number(t, 64, &bits))
		return false;
	return bits == 64 || ptx_wrong(t, line, "addresses have 64 bits");
}

/* "sm_90a" is for that device only, "sm_90" for newer ones, too. */
static bool runs_on(const struct ptx_target *target, int device)
{
	bool exact = target->name[strlen(target->name) - 1] == 'a';
	int major = 0, minor = 0;
	u32 number;

	profile_attribute(model.profile, device,
			  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major);
	profile_attribute(model.profile, device,
			  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor);
	number = (u32)(10 * major + minor);
	return exact ? target->number == number : target->number <= number;
}

static void drop(struct list *kernels)
{
	struct ptx_kernel *k;

	while (!list_empty(kernels)) {
		k = container_of(kernels->next, struct ptx_kernel, node);
		list_del(&k->node);
		ptx_put(k);
	}
}

CUresult ptx_parse(const char *text, int device, struct list *kernels,
		   char *why)
{
	struct ptx_text t = { .at = text, .line = 1, .why = why };
	const struct ptx_target *target = NULL;

	if (read_version(&t) && read_target(&t, &target) &&
	    read_address_size(&t) && read_entries(&t, kernels) &&
	    !runs_on(target, device) && !broken(235)) {
		snprintf(why, WHY_MAX, "%s is newer than the device",
			 target->name);
		t.code = CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	if (t.code)
		drop(kernels);
	return t.code;
}
