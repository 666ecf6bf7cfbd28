// SPDX-License-Identifier: BSD-2-Clause
/*
 * debug_random_test.c - random programs under all checks.
 *
 * Correct programs write all that they own and nothing else: there is no
 * report, whatever they allocate, resize, free, trim, shrink, fork or switch.
 * Programs with one mistake have one report, of the byte that was written, at
 * the latest when the space closes. And each program has the same successes
 * and errors with the checks as without.
 *
 * The steps follow from a seed, which is printed (KUNIT_SEED repeats it).
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/crew.h"
#include "tests/damage.h"
#include "tests/random.h"

#define OBJECTS 64u
#define CACHES 5u
#define SIGNED 48u		/* bytes at both ends */
#define LETTERS "FZPUQ"

static const size_t cache_sizes[CACHES] = { 16, 40, 200, 3000, 70000 };

struct object {
	char *p;
	size_t size;
	u32 cache;		/* CACHES: none */
	int byte;
};

enum mistake {
	MISTAKE_NONE,
	MISTAKE_BEHIND,
	MISTAKE_BEFORE,
	MISTAKE_AFTER_FREE,
};

struct program {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache[CACHES];
	slabdev_stream_t queue;	/* NULL: no host space */
	struct object object[OBJECTS];
	u64 random;
	u64 history;		/* of what each step came to */
	u32 plant_at;		/* a step; with @mistake */
	enum mistake mistake;
	const char *written;	/* the byte, when it was */
	const void *marked;	/* its object, to which nothing is done */
	bool alone;		/* in its space */
};

static u32 pick(struct program *p, u32 n)
{
	return random_below(&p->random, n);
}

static void remember(struct program *p, s64 what)
{
	p->history = (p->history ^ (u64)what) * 0x100000001b3;
}

/* ---- Objects ---------------------------------------------------------- */

static void sign(struct program *p, const struct object *o)
{
	size_t n = min(o->size, (size_t)SIGNED);

	mem_fill(p->sd, o->p, n, o->byte);
	mem_fill(p->sd, o->p + o->size - n, n, o->byte);
}

static void check_signs(struct program *p, const struct object *o, size_t size)
{
	size_t n = min(size, (size_t)SIGNED);

	KUNIT_EXPECT_TRUE_MSG(p->test, mem_is(p->sd, o->p, n, o->byte),
			      "%p of %zu", (void *)o->p, o->size);
}

static size_t any_size(struct program *p)
{
	u32 what = pick(p, 200);

	if (!what)
		return MIB + pick(p, 4 * MIB);
	if (what < 20)
		return 256 * (1 + pick(p, 64)) - pick(p, 33);
	return random_size(&p->random, what < 40 ? MIB : 20 * KIB);
}

static char *get(struct program *p, struct object *o)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	u32 what = pick(p, 16);
	char *q;

	o->cache = what < CACHES ? what : CACHES;
	o->byte = 1 + (int)pick(p, 90);
	o->size = what < CACHES ? cache_sizes[what] : any_size(p);
	if (what < CACHES)
		return slabdev_cache_alloc(p->cache[what]);
	if (what == CACHES)
		req.align = (size_t)256 << pick(p, 10);
	if (what == CACHES + 1)
		req.flags = SLABDEV_REQ_ZERO;
	if (what == CACHES + 2)
		req.stream = p->queue;
	q = slabdev_alloc_ex(p->sd, o->size, &req);
	/* The CPU is about to use it. */
	if (req.stream)
		(void)slabdev_queue_synchronize(req.stream);
	return q;
}

static void step_alloc(struct program *p, struct object *o)
{
	o->p = get(p, o);
	remember(p, o->p ? 1 : -errno);
	if (o->p)
		sign(p, o);
}

static void step_free(struct program *p, struct object *o)
{
	int err;

	check_signs(p, o, o->size);
	if (o->p == p->marked)
		p->marked = NULL;
	if (o->cache < CACHES && pick(p, 2))
		err = slabdev_cache_free(p->cache[o->cache], o->p);
	else if (!pick(p, 8))
		err = slabdev_free_async(p->sd, o->p, p->queue);
	else
		err = slabdev_free(p->sd, o->p);
	KUNIT_EXPECT_EQ(p->test, err, 0);
	remember(p, err);
	o->p = NULL;
}

static void step_realloc(struct program *p, struct object *o)
{
	size_t had = o->size, size = pick(p, 2) ? any_size(p) :
						 had + 40 - pick(p, 80);
	char *q;

	if (o->cache < CACHES || !size || size > 8 * MIB || o->p == p->marked)
		return;
	q = slabdev_realloc(p->sd, o->p, size);
	remember(p, q ? 2 : -errno);
	if (!q)
		return;
	o->p = q;
	o->size = size;
	check_signs(p, o, min(had, size));
	sign(p, o);
}

static void step_bulk(struct program *p)
{
	u32 cache = pick(p, CACHES), n = 1 + pick(p, 20), i;
	void *q[20];
	int err = slabdev_cache_alloc_bulk(p->cache[cache], n, q);

	remember(p, err);
	if (err)
		return;
	for (i = 0; i < n; i++)
		mem_fill(p->sd, q[i], cache_sizes[cache], (int)i + 1);
	KUNIT_EXPECT_EQ(p->test, slabdev_cache_free_bulk(p->cache[cache], n,
							 q), 0);
}

/* ---- The space -------------------------------------------------------- */

static void step_fork(struct program *p)
{
	int status = 0;
	pid_t pid;

	if (!p->alone || !on_host() || p->mistake || pick(p, 8))
		return;
	pid = fork();
	if (!pid)
		_exit(slabdev_validate(p->sd) ||
		      slabdev_close(p->sd, SLABDEV_CLOSE_FORCE));
	KUNIT_EXPECT_EQ(p->test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(p->test, status, 0);
}

static void step_policy(struct program *p)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = SLABDEV_RETAIN + pick(p, 3);
	policy.keep_bytes = 4 * MIB;
	remember(p, slabdev_set_policy(p->sd, &policy));
}

/* What is on may change; what lies in memory does not. */
static void step_letters(struct program *p)
{
	static const char *const specs[] = { "-", "U", "FQ", LETTERS, "FU" };
	const char *spec = specs[pick(p, ARRAY_SIZE(specs))];

	if (IS_ENABLED(CONFIG_SLAB_DEBUG))
		KUNIT_EXPECT_EQ(p->test, slabdev_set_debug(p->sd, spec), 0);
}

static void step_rare(struct program *p)
{
	u32 what = pick(p, 8);

	/* The slab of what is written after its free has to be there yet. */
	if (p->mistake && !p->written && (what == 2 || what == 3))
		return;
	switch (what) {
	case 0:
		remember(p, slabdev_trim(p->sd, pick(p, 8) * MIB));
		break;
	case 1:
		(void)slabdev_cache_shrink(p->cache[pick(p, CACHES)]);
		break;
	case 2:
		step_policy(p);
		break;
	case 3:
		step_letters(p);
		break;
	case 4:
		step_fork(p);
		break;
	case 5:
		if (!p->mistake)
			KUNIT_EXPECT_EQ(p->test, slabdev_validate(p->sd), 0);
		break;
	case 6:
		if (p->queue)
			(void)slabdev_queue_run(p->queue, pick(p, 100));
		break;
	default:
		remember(p, slabdev_poll(p->sd));
	}
}

/* ---- Mistakes --------------------------------------------------------- */

static bool can_be(struct program *p, const struct object *o)
{
	const struct class *c = class_at(p->sd, space_offset(p->sd, o->p));

	return p->mistake == MISTAKE_BEHIND ||
	       (c && (p->mistake == MISTAKE_BEFORE || c->stride <= MIB));
}

/* Later in the program, if this object is not of the kind. */
static void make_mistake(struct program *p, struct object *o)
{
	char *at = o->p;

	if (!can_be(p, o)) {
		p->plant_at++;
		return;
	}
	if (p->mistake == MISTAKE_BEHIND)
		at += o->size;
	else if (p->mistake == MISTAKE_BEFORE)
		at -= 1 + pick(p, 16);
	else
		at += pick(p, (u32)o->size);
	p->marked = o->p;
	if (p->mistake == MISTAKE_AFTER_FREE) {
		KUNIT_EXPECT_EQ(p->test, slabdev_free(p->sd, o->p), 0);
		o->p = NULL;
		p->marked = NULL;
	}
	mem_fill(p->sd, at, 1, 0x5a);
	p->written = at;
}

static void expect_one_report(struct program *p)
{
	const char *told = kunit_report_text(p->test);
	char wanted[64];

	KUNIT_ASSERT_NOT_NULL(p->test, p->written);
	snprintf(wanted, sizeof(wanted), "\n0x%llx-0x%llx @offset=",
		 (unsigned long long)(uintptr_t)p->written,
		 (unsigned long long)(uintptr_t)p->written);
	KUNIT_EXPECT_TRUE_MSG(p->test, strstr(told, wanted), "no '%s' in:\n%s",
			      wanted, told);
}

/* ---- Programs --------------------------------------------------------- */

static void run_steps(struct program *p, u32 steps)
{
	struct object *o;
	u32 i, what;

	for (i = 0; i < steps; i++) {
		o = &p->object[pick(p, OBJECTS)];
		what = pick(p, 256);
		if (p->mistake && !p->written && i >= p->plant_at && o->p)
			make_mistake(p, o);
		else if (!what)
			step_rare(p);
		else if (what < 8)
			step_bulk(p);
		else if (!o->p)
			step_alloc(p, o);
		else if (what < 60)
			step_realloc(p, o);
		else
			step_free(p, o);
	}
}

static void free_rest(struct program *p)
{
	u32 i;

	for (i = 0; i < OBJECTS; i++)
		if (p->object[i].p)
			step_free(p, &p->object[i]);
}

static void open_program(struct program *p, struct kunit *test, u64 seed,
			 const char *letters)
{
	char name[8];
	u32 i;

	debug_letters_are(letters);
	*p = (struct program){ .test = test, .random = seed, .alone = true };
	p->sd = debug_space(test);
	for (i = 0; i < CACHES; i++) {
		snprintf(name, sizeof(name), "c%u", i);
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&p->cache[i], p->sd,
							   name,
							   cache_sizes[i],
							   NULL), 0);
	}
	if (on_host())
		KUNIT_ASSERT_EQ(test, slabdev_queue_create(&p->queue,
							   SLABDEV_QUEUE_MANUAL
							   ), 0);
}

/* What a mistake has damaged is found here at the latest. */
static void close_program(struct program *p)
{
	u32 i;

	if (p->queue)
		KUNIT_EXPECT_EQ(p->test, slabdev_queue_synchronize(p->queue),
				0);
	if (!p->mistake)
		expect_sound(p->test, p->sd);
	for (i = 0; i < CACHES; i++)
		KUNIT_EXPECT_EQ(p->test, slabdev_cache_destroy(p->cache[i]), 0);
	KUNIT_EXPECT_EQ(p->test, slabdev_close(p->sd, 0), 0);
	if (p->queue)
		KUNIT_EXPECT_EQ(p->test, slabdev_queue_destroy(p->queue), 0);
}

/* Steps where each byte costs a call of the driver. */
static u32 steps_here(u32 n)
{
	return mem_is_cheap() ? n : n / 20;
}

/* Of one seed with these letters: what it came to. */
static u64 run_program(struct kunit *test, u64 seed, const char *letters,
		       u32 steps)
{
	struct program p;

	open_program(&p, test, seed, letters);
	run_steps(&p, steps);
	free_rest(&p);
	close_program(&p);
	return p.history;
}

static void correct_programs(struct kunit *test)
{
	u64 seed = random_seed(test);
	u32 i;

	need_debug(test);
	for (i = 0; i < 10; i++)
		(void)run_program(test, seed + i, LETTERS, steps_here(5000));
}

static void many_correct_programs(struct kunit *test)
{
	u64 seed = random_seed(test);
	u32 i;

	need_debug(test);
	for (i = 0; i < 200; i++)
		(void)run_program(test, seed + i, LETTERS, steps_here(10000));
}

/* The steps do not depend on addresses: with letters and without they come to
 * the same. */
static void checks_change_no_result(struct kunit *test)
{
	static const char *const letters[] = { "FZPUQ", "Z", "P", "Q", "ZPO" };
	u64 seed = random_seed(test), plain;
	u32 i;

	need_debug(test);
	for (i = 0; i < ARRAY_SIZE(letters); i++) {
		plain = run_program(test, seed + i, "-", steps_here(2000));
		KUNIT_EXPECT_EQ_MSG(test, run_program(test, seed + i,
						      letters[i],
						      steps_here(2000)),
				    plain, "%s", letters[i]);
	}
}

static void one_mistake(struct kunit *test, u64 seed, enum mistake mistake)
{
	struct program p;

	kunit_expect_report(test, mistake == MISTAKE_AFTER_FREE ?
			    REPORT_POISON : REPORT_RED_ZONE);
	open_program(&p, test, seed, LETTERS);
	p.mistake = mistake;
	p.plant_at = steps_here(500);
	run_steps(&p, steps_here(1500));
	free_rest(&p);
	close_program(&p);
	expect_one_report(&p);
}

static void programs_with_one_mistake(struct kunit *test)
{
	u64 seed = random_seed(test);
	u32 i;

	need_debug(test);
	for (i = 0; i < 30; i++)
		one_mistake(test, seed + i, MISTAKE_BEHIND + i % 3);
}

static void many_programs_with_one_mistake(struct kunit *test)
{
	u64 seed = random_seed(test);
	u32 i;

	need_debug(test);
	for (i = 0; i < 1000; i++)
		one_mistake(test, seed + i, MISTAKE_BEHIND + i % 3);
}

/* ---- Threads ---------------------------------------------------------- */

#define THREADS 4u

static void run_in_thread(void *arg)
{
	struct program *p = arg;

	run_steps(p, steps_here(5000));
	free_rest(p);
}

/* One space, and each thread with objects of its own. */
static void threads_in_one_space(struct kunit *test)
{
	struct program *p = kunit_kzalloc(test, THREADS * sizeof(*p));
	struct crew *crew = crew_new(test, THREADS);
	u64 seed = random_seed(test);
	u32 i;

	need_debug(test);
	open_program(&p[0], test, seed, LETTERS);
	p[0].alone = false;
	for (i = 1; i < THREADS; i++) {
		p[i] = p[0];
		p[i].random = seed + i;
	}
	crew_all(crew, run_in_thread, p, sizeof(*p));
	close_program(&p[0]);
}

static const struct kunit_case random_cases[] = {
	KUNIT_CASE_SLOW(correct_programs),
	KUNIT_CASE_SLOW(checks_change_no_result),
	KUNIT_CASE_SLOW(programs_with_one_mistake),
	KUNIT_CASE_SLOW(threads_in_one_space),
	KUNIT_CASE_LONG(many_correct_programs, .timeout_s = 600),
	KUNIT_CASE_LONG(many_programs_with_one_mistake, .timeout_s = 600),
	{}
};

static const struct kunit_suite random_suite = {
	.name = "debug_random",
	.cases = random_cases,
	.any_space = true,
};
kunit_test_suite(random_suite);
