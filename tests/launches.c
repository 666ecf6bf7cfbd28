// SPDX-License-Identifier: BSD-2-Clause
/* launches.c - see launches.h. */
#include "tests/launches.h"

#define PLACES 5u

static const char ptx[] =
".version 6.4\n"
".target sm_50\n"
".address_size 64\n"
".visible .entry graph_check(.param .u64 p, .param .u64 size, "
".param .u32 owner)\n"
"{\n"
"	ret;\n"
"}\n";

/* What a kernel found that was not his; the first one. */
static struct {
	u64 count;
	u64 addr, size;
	u32 owner, found;
} stranger;

static void model_check(const uint64_t *params)
{
	u64 addr = params[0], size = params[1];
	u32 owner = (u32)params[2], found = 0, i;

	for (i = 0; i < PLACES; i++) {
		u64 at = addr + (size - 4) / (PLACES - 1) * i / 4 * 4;

		if (cu.model_access(at, &found, sizeof(found), MODEL_READ))
			return;
		if (found == owner ||
		    __atomic_fetch_add(&stranger.count, 1, __ATOMIC_RELAXED))
			continue;
		stranger.addr = at;
		stranger.size = size;
		stranger.owner = owner;
		stranger.found = found;
	}
}

u64 strangers(void)
{
	return __atomic_load_n(&stranger.count, __ATOMIC_RELAXED);
}

void forget_strangers(void)
{
	__atomic_store_n(&stranger.count, 0, __ATOMIC_RELAXED);
}

void expect_no_stranger(struct kunit *test)
{
	KUNIT_ASSERT_EQ_MSG(test, strangers(), 0, "at 0x%llx, in %llu bytes "
			    "of %u, a kernel found the number of %u",
			    (unsigned long long)stranger.addr,
			    (unsigned long long)stranger.size, stranger.owner,
			    stranger.found);
}

/* ---- A space -------------------------------------------------------- */

void launches_open(struct launches *l, struct kunit *test,
		   const struct cuda_kind_param *kind, u64 limit)
{
	*l = (struct launches){ .next = 0 };
	forget_strangers();
	KUNIT_ASSERT_EQ(test, cu.model_kernel("graph_check", model_check), 0);
	stream_space_open(&l->s, test, kind, limit, SLABDEV_ORDER_STREAM);
	MUST(test, cuModuleLoadData(&l->module, ptx));
	MUST(test, cuModuleGetFunction(&l->check, l->module, "graph_check"));
}

void launches_close(struct launches *l)
{
	struct kunit *test = l->s.test;

	MUST(test, cuCtxSynchronize());
	expect_no_stranger(test);
	MUST(test, cuModuleUnload(l->module));
	stream_space_close(&l->s);
}

u32 new_owner(struct launches *l)
{
	return __atomic_add_fetch(&l->next, 1, __ATOMIC_RELAXED);
}

void own_on(struct launches *l, void *p, size_t size, u32 owner,
	    CUstream stream)
{
	MUST(l->s.test, cuMemsetD32Async(device_ptr(p), owner, size / 4,
					 stream));
}

void check_on(struct launches *l, void *p, size_t size, u32 owner,
	      CUstream stream)
{
	u64 addr = device_ptr(p), bytes = size;
	void *params[] = { &addr, &bytes, &owner };

	MUST(l->s.test, cuLaunchKernel(l->check, 1, 1, 1, 1, 1, 1, 0, stream,
				       params, NULL));
}

/* ---- Others --------------------------------------------------------- */

static void *get(struct launches *l, size_t size, CUstream stream)
{
	void *p = stream ? slabdev_alloc_async(l->s.sd, size, stream) :
			   slabdev_alloc(l->s.sd, size);

	KUNIT_ASSERT_NOT_NULL_MSG(l->s.test, p, "%zu bytes: %s", size,
				  slabdev_last_error());
	return p;
}

static void give(struct launches *l, void *p, CUstream stream)
{
	int err = stream ? slabdev_free_async(l->s.sd, p, stream) :
			   slabdev_free(l->s.sd, p);

	KUNIT_EXPECT_EQ_MSG(l->s.test, err, 0, "%s", slabdev_last_error());
}

void pass_by(struct launches *l, CUstream stream)
{
	static const size_t sizes[] = { 256, 5000, 5000, 300000, 3 * MIB };
	CUstream on = stream ? stream : l->s.bound;
	u32 owner[ARRAY_SIZE(sizes)];
	void *p[ARRAY_SIZE(sizes)];

	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		p[i] = get(l, sizes[i], stream);
		owner[i] = new_owner(l);
		own_on(l, p[i], sizes[i], owner[i], on);
	}
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		check_on(l, p[i], sizes[i], owner[i], on);
		give(l, p[i], stream);
	}
}

static void use_cache(struct launches *l)
{
	struct slabdev_cache *cache;
	struct kunit *test = l->s.test;
	void *p[40];

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, l->s.sd, "short",
						   5000, NULL), 0);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = slabdev_cache_alloc(cache);
		KUNIT_ASSERT_NOT_NULL(test, p[i]);
		own_on(l, p[i], 5000, new_owner(l), l->s.bound);
	}
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p[i]), 0);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_cache_destroy(cache), 0, "%s",
			    slabdev_last_error());
}

static void change_policy(struct launches *l, u32 mode)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = mode;
	KUNIT_EXPECT_EQ(l->s.test, slabdev_set_policy(l->s.sd, &policy), 0);
}

void disturb(struct launches *l, u32 round)
{
	switch (round % 8) {
	case 0:
		KUNIT_EXPECT_EQ(l->s.test, slabdev_trim(l->s.sd, 0), 0);
		break;
	case 1:
	case 2:
	case 3:
		pass_by(l, l->s.lane[round % 8 - 1]);
		break;
	case 4:
		use_cache(l);
		break;
	case 5:
		change_policy(l, SLABDEV_AGGRESSIVE);
		pass_by(l, NULL);
		break;
	case 6:
		KUNIT_EXPECT_EQ(l->s.test, slabdev_poll(l->s.sd), 0);
		break;
	default:
		change_policy(l, SLABDEV_RETAIN);
		pass_by(l, NULL);
		break;
	}
}

/* ---- One graph ------------------------------------------------------ */

void replay_begin(struct replay *g, struct launches *l, CUstream stream,
		   CUstreamCaptureMode mode, bool declared)
{
	*g = (struct replay){ .l = l, .stream = stream,
			       .owner = new_owner(l) };
	if (declared)
		KUNIT_ASSERT_EQ_MSG(l->s.test,
				    slabdev_capture_begin(l->s.sd, stream,
							  &g->memory), 0,
				    "%s", slabdev_last_error());
	MUST(l->s.test, cuStreamBeginCapture(stream, mode));
}

void replay_use(struct replay *g, void *p, size_t size, CUstream stream)
{
	check_on(g->l, p, size, g->owner, stream);
	own_on(g->l, p, size, g->owner, stream);
	KUNIT_ASSERT_LT(g->l->s.test, g->n, REPLAY_OBJECTS);
	g->object[g->n++] = (struct replay_object){ p, size };
}

void *replay_get(struct replay *g, size_t size)
{
	void *p = get(g->l, size, g->stream);

	replay_use(g, p, size, g->stream);
	return p;
}

void replay_give(struct replay *g, void *p)
{
	give(g->l, p, g->stream);
}

void replay_stop(struct replay *g)
{
	struct kunit *test = g->l->s.test;

	MUST(test, cuStreamEndCapture(g->stream, &g->graph));
	if (g->memory)
		KUNIT_EXPECT_EQ(test, slabdev_capture_end(g->memory), 0);
	MUST(test, cuGraphInstantiateWithFlags(&g->exec, g->graph, 0));
	for (u32 i = 0; i < g->n; i++)
		own_on(g->l, g->object[i].p, g->object[i].size, g->owner,
		       g->stream);
}

void replay_end(struct replay *g)
{
	replay_stop(g);
	MUST(g->l->s.test, cuStreamSynchronize(g->stream));
}

void replay_launch(struct replay *g, CUstream stream)
{
	MUST(g->l->s.test, cuGraphLaunch(g->exec, stream));
}

void replay_destroy(struct replay *g)
{
	EXPECT_CU(g->l->s.test, cuGraphExecDestroy(g->exec), 0);
	EXPECT_CU(g->l->s.test, cuGraphDestroy(g->graph), 0);
}

void replay_release(struct replay *g)
{
	replay_destroy(g);
	KUNIT_EXPECT_EQ_MSG(g->l->s.test, slabdev_graph_release(g->memory), 0,
			    "%s", slabdev_last_error());
}
