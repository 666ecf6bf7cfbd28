// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_stream_mix_test.c - random work on several streams, on the driver model.
 *
 * Every object has a number. A kernel that works on an object finds in it the
 * number of the kernel that was submitted before it on the same object, at both
 * ends and in the middle, and leaves its own. Streams are held back and let go
 * at random, so that kernels run long after their objects were freed: if memory
 * is given away too early, two of them meet in it, and one finds what it did
 * not leave.
 *
 * The program is correct by construction: work on another stream is ordered by
 * an event, or told by slabdev_use(). Whatever it is, the books must balance
 * all the time, and at the end everything goes back.
 */
#include "core/log.h"
#include "tests/cuda_space.h"
#include "tests/random.h"

#define NR_STREAMS 6u
#define NR_OBJECTS 400u
#define LIMIT (192 * MIB)
#define WORDS 3u

struct stream_state {
	CUstream handle;
	bool attached;
	bool held;
};

struct object {
	void *p;
	size_t size;
	u32 home;		/* the stream that it is ordered by */
	u64 left;		/* by the last kernel; 0: none yet */
	bool zeroed;
};

struct mix {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache, *tiny;
	struct kernel_fn {
		CUmodule module;
		CUfunction fn;
	} kernel;
	u64 state;
	u64 step;
	u64 next;
	struct stream_state stream[NR_STREAMS];	/* 0: the bound one */
	struct object object[NR_OBJECTS];
};

/* What the kernels found wrong first. */
static struct {
	u64 count;
	u64 addr, expected, found;
} wrong;

static const char ptx[] =
".version 6.4\n"
".target sm_50\n"
".address_size 64\n"
".visible .entry mix_step(.param .u64 p, .param .u64 size, "
".param .u64 before, .param .u64 after)\n"
"{\n"
"	ret;\n"
"}\n";

/* Places in an object: both ends, and the middle. */
static u64 place(u64 addr, u64 size, u32 i)
{
	return addr + (size - sizeof(u64)) / 2 * i;
}

static void model_step(const uint64_t *params)
{
	u64 addr = params[0], size = params[1], found;
	u32 i;

	for (i = 0; i < WORDS && size >= WORDS * sizeof(u64);
	     i++) {
		u64 at = place(addr, size, i);

		cu.model_access(at, &found, sizeof(found), MODEL_READ);
		if (params[2] != ~(u64)0 && found != params[2] &&
		    !__atomic_fetch_add(&wrong.count, 1, __ATOMIC_RELAXED)) {
			wrong.addr = at;
			wrong.expected = params[2];
			wrong.found = found;
		}
	}
	for (i = 0; i < WORDS && size >= WORDS * sizeof(u64);
	     i++)
		cu.model_access(place(addr, size, i), (void *)&params[3],
				sizeof(u64), MODEL_WRITE);
}

static void launch(struct mix *m, struct object *o, u32 stream)
{
	u64 addr = (u64)(uintptr_t)o->p, size = o->size;
	u64 before = o->left ? o->left : o->zeroed ? 0 : ~(u64)0;
	u64 after = ++m->next;
	void *params[] = { &addr, &size, &before, &after };

	MUST(m->test, cuLaunchKernel(m->kernel.fn, 1, 1, 1, 1, 1, 1, 0,
				     m->stream[stream].handle, params, NULL));
	o->left = after;
}

/* ---- Streams ------------------------------------------------------------- */

static u32 any_stream(struct mix *m)
{
	return random_below(&m->state, NR_STREAMS);
}

static void let_go(struct mix *m, u32 i)
{
	if (!m->stream[i].held)
		return;
	KUNIT_ASSERT_EQ(m->test,
			cu.model_stream_release(m->stream[i].handle), 0);
	m->stream[i].held = false;
}

static void let_all_go(struct mix *m)
{
	for (u32 i = 0; i < NR_STREAMS; i++)
		let_go(m, i);
}

static void hold_or_let_go(struct mix *m)
{
	/* The bound one as often as all others. */
	u32 i = random_below(&m->state, 2) ? 0 : any_stream(m);

	if (m->stream[i].held) {
		let_go(m, i);
		return;
	}
	KUNIT_ASSERT_EQ(m->test, cu.model_stream_hold(m->stream[i].handle), 0);
	m->stream[i].held = true;
}

static void order(struct mix *m, u32 before, u32 after)
{
	CUevent event;

	if (before == after)
		return;
	MUST(m->test, cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	MUST(m->test, cuEventRecord(event, m->stream[before].handle));
	MUST(m->test, cuStreamWaitEvent(m->stream[after].handle, event, 0));
	MUST(m->test, cuEventDestroy(event));
}

static void begin_stream(struct mix *m, u32 i)
{
	m->stream[i].handle = new_stream(m->test, CU_STREAM_NON_BLOCKING);
	m->stream[i].attached = i && i % 3;
	if (m->stream[i].attached)
		KUNIT_ASSERT_EQ(m->test,
				slabdev_stream_attach(m->sd,
						      m->stream[i].handle), 0);
}

static void finish_stream(struct mix *m, u32 i)
{
	int err;

	/* It may be behind any of the others. */
	let_all_go(m);
	err = slabdev_stream_detach(m->sd, m->stream[i].handle);
	/* One that was neither attached nor told of is not known. */
	KUNIT_EXPECT_TRUE(m->test, !err || (!m->stream[i].attached &&
					    err == -EINVAL));
	end_stream(m->test, m->stream[i].handle);
}

/* ---- Objects ------------------------------------------------------------- */

/* Of few classes, so that sheaves fill and slabs empty. */
static size_t any_size(struct mix *m)
{
	static const size_t sizes[] = { 200, 3000, 40000, 300000 };

	if (!random_below(&m->state, 60))
		return 1 + random_below(&m->state, 5 * MIB);
	return sizes[random_below(&m->state, ARRAY_SIZE(sizes))];
}

static void *get(struct mix *m, struct object *o)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	CUstream stream = m->stream[o->home].handle;

	switch (random_below(&m->state, 8)) {
	case 0:
		o->size = 3000;
		return o->home ? slabdev_cache_alloc_async(m->cache, stream) :
				 slabdev_cache_alloc(m->cache);
	case 1:
		o->size = 48;
		return o->home ? slabdev_cache_alloc_async(m->tiny, stream) :
				 slabdev_cache_alloc(m->tiny);
	case 2:
		o->zeroed = true;
		req.flags = SLABDEV_REQ_ZERO;
		req.stream = stream;
		return slabdev_alloc_ex(m->sd, o->size, &req);
	default:
		return o->home ? slabdev_alloc_async(m->sd, o->size, stream) :
				 slabdev_alloc(m->sd, o->size);
	}
}

static void allocate(struct mix *m, struct object *o)
{
	*o = (struct object){ .size = any_size(m), .home = any_stream(m) };
	o->p = get(m, o);
	KUNIT_ASSERT_NOT_NULL_MSG(m->test, o->p, "step %llu: %s",
				  (unsigned long long)m->step,
				  slabdev_last_error());
	launch(m, o, o->home);
}

static void free_object(struct mix *m, struct object *o)
{
	int err;

	if (o->home)
		err = slabdev_free_async(m->sd, o->p,
					 m->stream[o->home].handle);
	else
		err = slabdev_free(m->sd, o->p);
	KUNIT_EXPECT_EQ_MSG(m->test, err, 0, "step %llu: %s",
			    (unsigned long long)m->step, slabdev_last_error());
	o->p = NULL;
}

/* On another stream, which then is the object's. */
static void move_home(struct mix *m, struct object *o)
{
	u32 to = any_stream(m);

	order(m, o->home, to);
	o->home = to;
	launch(m, o, to);
}

/* On another stream, and the free on its own: the library is told. */
static void use_elsewhere(struct mix *m, struct object *o)
{
	u32 to = any_stream(m);
	int err;

	order(m, o->home, to);
	launch(m, o, to);
	err = slabdev_use(m->sd, o->p, m->stream[to].handle);
	KUNIT_EXPECT_EQ_MSG(m->test, err, 0, "step %llu: %s",
			    (unsigned long long)m->step, slabdev_last_error());
	/* Nothing else may happen to it: its own stream is not behind. */
	free_object(m, o);
}

static void resize(struct mix *m, struct object *o)
{
	size_t size = 1 + random_below(&m->state, 64 * KIB);
	void *p;

	/* A cache's cannot be. */
	if (o->size == 3000 || o->size == 48 || o->size < 24)
		return;
	size = max(size, (size_t)24);
	p = o->home ? slabdev_realloc_async(m->sd, o->p, size,
					    m->stream[o->home].handle) :
		      slabdev_realloc(m->sd, o->p, size);
	KUNIT_ASSERT_NOT_NULL_MSG(m->test, p, "%s", slabdev_last_error());
	o->p = p;
	/* Only the first word is where it was. */
	o->size = size;
	o->left = 0;
	o->zeroed = false;
	launch(m, o, o->home);
}

/* ---- The space ------------------------------------------------------------ */

static void change_policy(struct mix *m)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = SLABDEV_RETAIN + random_below(&m->state, 3);
	policy.keep_bytes = random_below(&m->state, 32 * MIB);
	policy.flags = random_below(&m->state, 2) ?
		       SLABDEV_POLICY_STREAM_WAITS : 0;
	/* Aggressive waits for what is not done. */
	let_all_go(m);
	KUNIT_EXPECT_EQ(m->test, slabdev_set_policy(m->sd, &policy), 0);
}

static void renew_stream(struct mix *m)
{
	u32 i = any_stream(m);

	if (!i)
		return;
	for (u32 k = 0; k < NR_OBJECTS; k++)
		if (m->object[k].p && m->object[k].home == i)
			free_object(m, &m->object[k]);
	finish_stream(m, i);
	begin_stream(m, i);
}

static void check(struct mix *m)
{
	expect_sound(m->test, m->sd);
	KUNIT_ASSERT_EQ_MSG(m->test, wrong.count, 0, "step %llu: at 0x%llx a "
			    "kernel found %llu instead of %llu",
			    (unsigned long long)m->step,
			    (unsigned long long)wrong.addr,
			    (unsigned long long)wrong.found,
			    (unsigned long long)wrong.expected);
}

static void free_many(struct mix *m)
{
	for (u32 k = 0; k < NR_OBJECTS; k++)
		if (m->object[k].p && random_below(&m->state, 4))
			free_object(m, &m->object[k]);
}

static void rare_step(struct mix *m)
{
	switch (random_below(&m->state, 8)) {
	case 4:
	case 5:
		free_many(m);
		break;
	case 0:
		change_policy(m);
		break;
	case 1:
		let_all_go(m);
		KUNIT_EXPECT_EQ(m->test, slabdev_trim(m->sd, 0), 0);
		break;
	case 2:
		renew_stream(m);
		break;
	case 3:
		check(m);
		break;
	default:
		KUNIT_EXPECT_EQ(m->test, slabdev_poll(m->sd), 0);
		break;
	}
}

static void step(struct mix *m)
{
	struct object *o = &m->object[random_below(&m->state, NR_OBJECTS)];

	m->step++;
	/* Whoever holds the streams must not have the library wait for them. */
	if (stats_of(m->test, m->sd).mapped > LIMIT / 4 * 3)
		let_all_go(m);
	if (!random_below(&m->state, 50))
		hold_or_let_go(m);
	if (!random_below(&m->state, 200))
		rare_step(m);
	if (!o->p)
		allocate(m, o);
	else if (random_below(&m->state, 3) == 0)
		free_object(m, o);
	else if (random_below(&m->state, 4) == 0)
		move_home(m, o);
	else if (random_below(&m->state, 4) == 0)
		use_elsewhere(m, o);
	else if (random_below(&m->state, 8) == 0)
		resize(m, o);
	else
		launch(m, o, o->home);
}

/*
 * Many objects of one size are worked on in stream @from, which is held, and
 * freed; then as many are got for stream @to, and worked on.
 */
static void hand_over(struct mix *m, u32 from, u32 to, size_t size)
{
	u32 home[2] = { from, to };

	if (from == to)
		return;
	KUNIT_ASSERT_EQ(m->test, cu.model_stream_hold(m->stream[from].handle),
			0);
	m->stream[from].held = true;
	for (u32 round = 0; round < 2; round++) {
		for (u32 k = 0; k < NR_OBJECTS; k++) {
			struct object *o = &m->object[k];

			*o = (struct object){ .size = size,
					      .home = home[round] };
			o->p = o->home ?
			       slabdev_alloc_async(m->sd, size,
						   m->stream[o->home].handle) :
			       slabdev_alloc(m->sd, size);
			KUNIT_ASSERT_NOT_NULL_MSG(m->test, o->p, "%s",
						  slabdev_last_error());
			launch(m, o, o->home);
		}
		for (u32 k = 0; k < NR_OBJECTS && !round; k++)
			free_object(m, &m->object[k]);
	}
	/* What was submitted first runs last: it must have hit nobody. */
	MUST(m->test, cuStreamSynchronize(m->stream[to].handle));
	let_go(m, from);
	MUST(m->test, cuCtxSynchronize());
	for (u32 k = 0; k < NR_OBJECTS; k++) {
		launch(m, &m->object[k], to);
		free_object(m, &m->object[k]);
	}
	MUST(m->test, cuCtxSynchronize());
	check(m);
	/* The limit must not be reached while a stream is held. */
	KUNIT_EXPECT_EQ(m->test, slabdev_trim(m->sd, 0), 0);
}

/* ---- The test ------------------------------------------------------------- */

static void mix_begin(struct mix *m, struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	*m = (struct mix){ .test = test, .state = random_seed(test) };
	wrong.count = 0;
	cu.model_kernel("mix_step", model_step);
	MUST(test, cuModuleLoadData(&m->kernel.module, ptx));
	MUST(test, cuModuleGetFunction(&m->kernel.fn, m->kernel.module,
				       "mix_step"));
	m->stream[0].handle = new_stream(test, CU_STREAM_NON_BLOCKING);
	attr.limit = LIMIT;
	attr.stream = m->stream[0].handle;
	attr.pending_bytes = 8 * MIB;
	m->sd = cuda_open(test, "cuda:0", &attr);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&m->cache, m->sd, "mix",
						   3000, NULL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&m->tiny, m->sd, "tiny", 48,
						   NULL), 0);
	for (u32 i = 1; i < NR_STREAMS; i++)
		begin_stream(m, i);
}

static void mix_end(struct mix *m)
{
	for (u32 k = 0; k < NR_OBJECTS; k++)
		if (m->object[k].p)
			free_object(m, &m->object[k]);
	let_all_go(m);
	for (u32 i = 1; i < NR_STREAMS; i++)
		finish_stream(m, i);
	KUNIT_EXPECT_EQ(m->test, slabdev_cache_destroy(m->cache), 0);
	KUNIT_EXPECT_EQ(m->test, slabdev_cache_destroy(m->tiny), 0);
	KUNIT_EXPECT_EQ(m->test, slabdev_trim(m->sd, 0), 0);
	check(m);
	KUNIT_EXPECT_EQ(m->test, stats_of(m->test, m->sd).mapped, 0);
	KUNIT_EXPECT_EQ(m->test, stats_of(m->test, m->sd).pending, 0);
	cuda_close(m->test, m->sd);
	end_stream(m->test, m->stream[0].handle);
	EXPECT_CU(m->test, cuModuleUnload(m->kernel.module), 0);
}

static void run(struct kunit *test, u64 steps)
{
	struct mix *m = kunit_kzalloc(test, sizeof(*m));

	mix_begin(m, test);
	while (m->step < steps && !wrong.count)
		step(m);
	mix_end(m);
	kunit_info(test, "%llu kernels found what they were to find",
		   (unsigned long long)m->next);
}

static void many_change_hands(struct kunit *test)
{
	static const size_t sizes[] = { 200, 3000, 40000, 100000 };
	struct mix *m = kunit_kzalloc(test, sizeof(*m));
	u32 i, k;

	mix_begin(m, test);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (k = 0; k < NR_STREAMS; k++) {
			hand_over(m, k, (k + 1) % NR_STREAMS, sizes[i]);
			hand_over(m, 0, k, sizes[i]);
			hand_over(m, k, 0, sizes[i]);
		}
	mix_end(m);
}

static void mix(struct kunit *test)
{
	run(test, 20000);
}

static void long_mix(struct kunit *test)
{
	run(test, 1000000);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(many_change_hands),
	KUNIT_CASE(mix),
	KUNIT_CASE(long_mix, .is_long = true, .timeout_s = 1200),
	{ 0 }
};

static const struct kunit_suite cuda_stream_mix_suite = {
	.name = "cuda_stream_mix",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cases,
};
kunit_test_suite(cuda_stream_mix_suite);
