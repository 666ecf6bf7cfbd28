// SPDX-License-Identifier: BSD-2-Clause
/*
 * guard_fault_test.c - accesses that fault, and what the handler says of them.
 *
 * Each is made in a child process, which has to be killed by it; what it wrote
 * to standard error is matched. The child sets the default first, since a
 * sanitizer may have a handler of its own.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/guard_space.h"
#include "tests/sanitizers.h"

#define LIMIT (256 * MIB)
#define KILLED_LATE_S 120

struct fault;

struct scene {
	struct kunit *test;
	struct slabdev *sd;
	char *p;
	const struct fault *fault;
	int status;		/* of the child */
	char said[16384];	/* on standard error */
};

/* ---- Children ------------------------------------------------------------ */

static void set_default(int sig)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	sigemptyset(&action.sa_mask);
	sigaction(sig, &action, NULL);
}

static void become_child(struct scene *s, int out, void (*fn)(struct scene *s))
{
	const struct rlimit no_core = { 0, 0 };

	dup2(out, STDERR_FILENO);
	setrlimit(RLIMIT_CORE, &no_core);
	set_default(SIGSEGV);
	set_default(SIGBUS);
	alarm(KILLED_LATE_S);
	fn(s);
	_exit(99);
}

static void read_all(struct scene *s, int fd)
{
	size_t at = 0;
	ssize_t n;

	while ((n = read(fd, s->said + at, sizeof(s->said) - 1 - at)) > 0)
		at += (size_t)n;
	s->said[at] = '\0';
}

static void in_child(struct scene *s, void (*fn)(struct scene *s))
{
	int fd[2];
	pid_t pid;

	KUNIT_ASSERT_EQ(s->test, pipe2(fd, O_CLOEXEC), 0);
	pid = fork();
	KUNIT_ASSERT_GE(s->test, pid, 0);
	if (!pid)
		become_child(s, fd[1], fn);
	close(fd[1]);
	read_all(s, fd[0]);
	close(fd[0]);
	KUNIT_ASSERT_EQ(s->test, waitpid(pid, &s->status, 0), pid);
}

#define EXPECT_KILLED(s, sig) \
	KUNIT_EXPECT_TRUE_MSG((s)->test, WIFSIGNALED((s)->status) && \
			      WTERMSIG((s)->status) == (sig), \
			      "wait status %#x; it said: %s", (s)->status, \
			      (s)->said)
#define EXPECT_SAID(s, text) \
	KUNIT_EXPECT_TRUE_MSG((s)->test, strstr((s)->said, text), \
			      "no '%s' in: %s", text, (s)->said)
#define EXPECT_SILENCE(s) KUNIT_EXPECT_STREQ((s)->test, (s)->said, "")

static struct scene *scene_of(struct kunit *test)
{
	struct scene *s = kunit_kzalloc(test, sizeof(*s));

	s->test = test;
	s->sd = guard_open(test, LIMIT, 1);
	return s;
}

static void scene_end(struct scene *s)
{
	close_space(s->test, s->sd);
}

static void set_byte(volatile char *p)
{
	*p = 1;
}

static char get_byte(const volatile char *p)
{
	return *p;
}

/* ---- Faults -------------------------------------------------------------- */

static void write_past_the_end(struct scene *s)
{
	set_byte(s->p + 512);
}

static void read_past_the_end(struct scene *s)
{
	(void)get_byte(s->p + 512 + 3);
}

static void write_past_the_slack(struct scene *s)
{
	set_byte(s->p + 256);
}

static void write_before(struct scene *s)
{
	set_byte(s->p - 1);
}

static void write_after_free(struct scene *s)
{
	(void)slabdev_free(s->sd, s->p);
	set_byte(s->p + 10);
}

/* The nearest byte that faults is the first one past the end, or behind the
 * slack; before an object only one that has all of its mapping. */
static const struct fault {
	const char *name;
	void (*fn)(struct scene *s);
	size_t size;
	const char *headline, *where;
} faults[] = {
	{ "write past the end", write_past_the_end, 512,
	  "Access beyond guarded memory", "is 1 byte behind the end of" },
	{ "read past the end", read_past_the_end, 512,
	  "Access beyond guarded memory", "is 4 bytes behind the end of" },
	{ "write past the slack", write_past_the_slack, 100,
	  "Access beyond guarded memory", "is 157 bytes behind the end of" },
	{ "write before", write_before, CHUNK,
	  "Access beyond guarded memory", "is 1 byte before the start of" },
	{ "write after free", write_after_free, 512,
	  "Use after free of guarded memory", "is 10 bytes into" },
	{ "write after free of a large one", write_after_free, 5 * MIB,
	  "Use after free of guarded memory", "is 10 bytes into" },
};

static void describe_fault(const struct fault *f, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", f->name);
}
KUNIT_ARRAY_PARAM(fault, faults, describe_fault);

/* Without a handler that anybody asked for: a signal, and not a word. */
static void it_faults(struct kunit *test)
{
	const struct fault *f = test->param_value;
	struct scene *s = scene_of(test);

	s->p = must_alloc(test, s->sd, f->size);
	in_child(s, f->fn);
	EXPECT_KILLED(s, SIGSEGV);
	EXPECT_SILENCE(s);
	EXPECT_FREED(test, s->sd, s->p);
	scene_end(s);
}

static void explain_and_fault(struct scene *s)
{
	if (!slabdev_guard_handler(1))
		s->fault->fn(s);
}

static void faults_are_explained(struct kunit *test)
{
	struct scene *s = scene_of(test);
	struct guard_record g;
	char text[128];
	u32 i;

	s->fault = test->param_value;
	s->p = must_alloc(test, s->sd, s->fault->size);
	KUNIT_ASSERT_TRUE(test, guard_record_find((u64)(uintptr_t)s->p, &g));
	/* It is none of these. */
	for (i = 0; i < 5; i++)
		EXPECT_FREED(test, s->sd, must_alloc(test, s->sd, 77));
	in_child(s, explain_and_fault);
	EXPECT_KILLED(s, SIGSEGV);
	snprintf(text, sizeof(text), "BUG slabdev test: %s: ", g.class);
	EXPECT_SAID(s, text);
	EXPECT_SAID(s, s->fault->headline);
	EXPECT_SAID(s, s->fault->where);
	snprintf(text, sizeof(text), "the object %p of %zu bytes",
		 (void *)s->p, s->fault->size);
	EXPECT_SAID(s, text);
	snprintf(text, sizeof(text), "Allocated by thread %d", getpid());
	EXPECT_SAID(s, text);
	/* The line of the call, and not the next one. */
	snprintf(text, sizeof(text), "\n  0x%llx (",
		 (unsigned long long)(uintptr_t)g.alloc.pc[0] - 1);
	EXPECT_SAID(s, text);
	EXPECT_SAID(s, "/run+0x");
	EXPECT_SAID(s, "the instruction goes on to fault");
	KUNIT_EXPECT_EQ(test, !strstr(s->said, "Freed by thread"),
			!strstr(s->fault->name, "after free"));
	EXPECT_FREED(test, s->sd, s->p);
	scene_end(s);
}

/* ---- Before and after ---------------------------------------------------- */

static void fault_elsewhere(struct scene *s)
{
	static volatile uintptr_t nowhere = 16;

	(void)s;
	if (!slabdev_guard_handler(1))
		set_byte((volatile char *)nowhere);
}

static void others_faults_pass(struct kunit *test)
{
	struct scene *s = scene_of(test);

	in_child(s, fault_elsewhere);
	EXPECT_KILLED(s, SIGSEGV);
	EXPECT_SILENCE(s);
	scene_end(s);
}

static void say_and_exit(int sig)
{
	(void)sig;
	_exit(write(STDERR_FILENO, "mine\n", 5) == 5 ? 7 : 8);
}

static void say_address_and_exit(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	_exit(info->si_addr ? 9 : 10);
}

static void with_a_handler(struct scene *s)
{
	struct sigaction action = { .sa_handler = say_and_exit };

	sigaction(SIGSEGV, &action, NULL);
	explain_and_fault(s);
}

static void with_an_informed_handler(struct scene *s)
{
	struct sigaction action = { .sa_sigaction = say_address_and_exit };

	action.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &action, NULL);
	explain_and_fault(s);
}

static void the_handler_before_is_called(struct kunit *test)
{
	struct scene *s = scene_of(test);

	s->fault = &faults[0];
	s->p = must_alloc(test, s->sd, 512);
	in_child(s, with_a_handler);
	KUNIT_EXPECT_EQ_MSG(test, s->status, 7 << 8, "%s", s->said);
	EXPECT_SAID(s, "is 1 byte behind the end of");
	EXPECT_SAID(s, "\nmine\n");
	in_child(s, with_an_informed_handler);
	KUNIT_EXPECT_EQ_MSG(test, s->status, 9 << 8, "%s", s->said);
	EXPECT_SAID(s, "is 1 byte behind the end of");
	EXPECT_FREED(test, s->sd, s->p);
	scene_end(s);
}

#define REQUIRE(condition, code)					\
do {									\
	if (!(condition))						\
		_exit(code);						\
} while (0)

/* ---- As the kernel would call it ----------------------------------------- */

/* Which signals it finds blocked. */
static void say_mask_and_exit(int sig)
{
	sigset_t now;

	(void)pthread_sigmask(SIG_BLOCK, NULL, &now);
	_exit(30 + sigismember(&now, sig) + 2 * sigismember(&now, SIGUSR1) +
	      4 * sigismember(&now, SIGUSR2));
}

static void with_a_mask(struct scene *s)
{
	struct sigaction action = { .sa_handler = say_mask_and_exit };

	sigaddset(&action.sa_mask, SIGUSR1);
	sigaction(SIGSEGV, &action, NULL);
	explain_and_fault(s);
}

static void without_a_mask(struct scene *s)
{
	struct sigaction action = { .sa_handler = say_mask_and_exit };

	action.sa_flags = SA_NODEFER;
	sigaction(SIGSEGV, &action, NULL);
	explain_and_fault(s);
}

static void the_handler_has_its_mask(struct kunit *test)
{
	struct scene *s;

	if (IS_THREAD_SANITIZED)
		kunit_skip(test, "the sanitizer's handlers mask all signals");
	s = scene_of(test);
	s->fault = &faults[0];
	s->p = must_alloc(test, s->sd, 512);
	in_child(s, with_a_mask);
	KUNIT_EXPECT_EQ_MSG(test, s->status, 33 << 8, "%s", s->said);
	in_child(s, without_a_mask);
	KUNIT_EXPECT_EQ_MSG(test, s->status, 30 << 8, "%s", s->said);
	EXPECT_FREED(test, s->sd, s->p);
	scene_end(s);
}

/* The instruction comes again, and faults again. */
static void say_once(int sig)
{
	if (write(STDERR_FILENO, "once\n", 5) != 5)
		_exit(sig);
}

static void with_one_call(struct scene *s)
{
	struct sigaction action = { .sa_handler = say_once };

	action.sa_flags = SA_RESETHAND;
	sigaction(SIGSEGV, &action, NULL);
	explain_and_fault(s);
}

static void with_one_call_and_removed(struct scene *s)
{
	struct sigaction action = { .sa_handler = say_once }, now;

	action.sa_flags = SA_RESETHAND;
	sigaction(SIGSEGV, &action, NULL);
	REQUIRE(slabdev_guard_handler(1) == 0, 1);
	/* Nobody's instruction comes again. */
	REQUIRE(raise(SIGSEGV) == 0, 2);
	REQUIRE(slabdev_guard_handler(0) == 0, 3);
	sigaction(SIGSEGV, NULL, &now);
	REQUIRE(now.sa_handler == SIG_DFL, 4);
	s->fault->fn(s);
}

static void the_handler_is_called_once(struct kunit *test)
{
	struct scene *s = scene_of(test);
	const char *once;

	s->fault = &faults[0];
	s->p = must_alloc(test, s->sd, 512);
	in_child(s, with_one_call);
	EXPECT_KILLED(s, SIGSEGV);
	once = strstr(s->said, "once\n");
	KUNIT_EXPECT_TRUE(test, once && !strstr(once + 1, "once\n"));
	in_child(s, with_one_call_and_removed);
	EXPECT_KILLED(s, SIGSEGV);
	KUNIT_EXPECT_STREQ(test, s->said, "once\n");
	EXPECT_FREED(test, s->sd, s->p);
	scene_end(s);
}

/* What was sent is sent on: the address in it means nothing. */
static void send_itself_one(struct scene *s)
{
	(void)s;
	if (!slabdev_guard_handler(1))
		(void)kill(getpid(), SIGSEGV);
	/* It comes at the latest with the next call of the kernel. */
	for (;;)
		(void)getppid();
}

static void sent_signals_pass(struct kunit *test)
{
	struct scene *s = scene_of(test);

	in_child(s, send_itself_one);
	EXPECT_KILLED(s, SIGSEGV);
	EXPECT_SILENCE(s);
	scene_end(s);
}

static void set_and_remove(struct scene *s)
{
	struct sigaction mine = { .sa_handler = say_and_exit }, now;

	REQUIRE(slabdev_guard_handler(0) == 0, 1);
	sigaction(SIGBUS, &mine, NULL);
	REQUIRE(slabdev_guard_handler(1) == 0, 2);
	REQUIRE(slabdev_guard_handler(1) == 0, 3);
	REQUIRE(slabdev_guard_handler(0) == 0, 4);
	sigaction(SIGBUS, NULL, &now);
	REQUIRE(now.sa_handler == say_and_exit, 5);
	sigaction(SIGSEGV, NULL, &now);
	REQUIRE(now.sa_handler == SIG_DFL, 6);
	REQUIRE(slabdev_guard_handler(1) == 0, 11);
	sigaction(SIGSEGV, &mine, NULL);
	REQUIRE(slabdev_guard_handler(0) == -EBUSY, 12);
	set_default(SIGSEGV);
	s->fault->fn(s);
}

static void it_can_be_removed(struct kunit *test)
{
	struct scene *s = scene_of(test);

	s->fault = &faults[0];
	s->p = must_alloc(test, s->sd, 512);
	in_child(s, set_and_remove);
	EXPECT_KILLED(s, SIGSEGV);
	EXPECT_SILENCE(s);
	EXPECT_FREED(test, s->sd, s->p);
	scene_end(s);
}

/* Neither set nor removed behind somebody's back, and said so. */
static void replace_it(struct scene *s)
{
	struct sigaction action = { .sa_handler = say_and_exit };

	(void)s;
	REQUIRE(slabdev_guard_handler(1) == 0, 1);
	REQUIRE(slabdev_guard_handler(1) == 0, 2);
	sigaction(SIGBUS, &action, NULL);
	REQUIRE(slabdev_guard_handler(1) == -EBUSY, 3);
	REQUIRE(slabdev_guard_handler(0) == -EBUSY, 4);
	_exit(0);
}

static void others_handlers_stay(struct kunit *test)
{
	struct scene *s = scene_of(test);

	in_child(s, replace_it);
	KUNIT_EXPECT_EQ_MSG(test, s->status, 0, "%#x: %s", s->status, s->said);
	scene_end(s);
}

/* On the other stack, where there is one. */
static void overflow(struct scene *s)
{
	static char stack[64 * KIB];
	const stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };

	sigaltstack(&other, NULL);
	explain_and_fault(s);
}

static void the_other_stack_is_used(struct kunit *test)
{
	struct scene *s = scene_of(test);

	s->fault = &faults[0];
	s->p = must_alloc(test, s->sd, 512);
	in_child(s, overflow);
	EXPECT_KILLED(s, SIGSEGV);
	EXPECT_SAID(s, "is 1 byte behind the end of");
	EXPECT_FREED(test, s->sd, s->p);
	scene_end(s);
}

/* ---- Forks --------------------------------------------------------------- */

/* What the parent had the child has, too, and can free. */
static void go_on_in_child(struct scene *s)
{
	struct slabdev_guard_stats st;
	char *p;

	REQUIRE(slabdev_guard_stats(s->sd, &st, sizeof(st)) == 0, 1);
	REQUIRE(st.live == 1, 2);
	REQUIRE(slabdev_validate(s->sd) == 0, 3);
	p = slabdev_alloc(s->sd, 1000);
	REQUIRE(p, 4);
	REQUIRE(slabdev_free(s->sd, s->p) == 0, 5);
	REQUIRE(slabdev_free(s->sd, p) == 0, 6);
	REQUIRE(slabdev_validate(s->sd) == 0, 7);
	REQUIRE(slabdev_guard_stats(s->sd, &st, sizeof(st)) == 0, 8);
	REQUIRE(st.live == 0 && st.bytes == 0, 9);
	REQUIRE(slabdev_close(s->sd, 0) == 0, 10);
	_exit(0);
}

static void forks_have_guards(struct kunit *test)
{
	struct scene *s = scene_of(test);
	char *freed = must_alloc(test, s->sd, 100);

	s->p = must_alloc(test, s->sd, 512);
	EXPECT_FREED(test, s->sd, freed);
	in_child(s, go_on_in_child);
	KUNIT_EXPECT_EQ_MSG(test, s->status, 0, "%#x: %s", s->status, s->said);
	EXPECT_FREED(test, s->sd, s->p);
	scene_end(s);
}

static void nothing(void *p)
{
	(void)p;
}

/* What the parent's queue still had is free in the child, and counted once. */
static void expect_nothing_in_child(struct scene *s)
{
	struct slabdev_guard_stats st;

	REQUIRE(slabdev_validate(s->sd) == 0, 1);
	REQUIRE(slabdev_guard_stats(s->sd, &st, sizeof(st)) == 0, 2);
	REQUIRE(st.live == 0 && st.bytes == 0, 3);
	REQUIRE(s->sd->rec->large_bytes == 0, 4);
	REQUIRE(s->sd->rec->out_bytes == 0, 5);
	REQUIRE(slabdev_close(s->sd, 0) == 0, 6);
	_exit(0);
}

static void forks_end_what_is_pending(struct kunit *test)
{
	struct scene *s = scene_of(test);
	slabdev_stream_t queue = NULL;
	char *p = must_alloc(test, s->sd, 5000);

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&queue,
						   SLABDEV_QUEUE_MANUAL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(queue, nothing, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(s->sd, p, queue), 0);
	in_child(s, expect_nothing_in_child);
	KUNIT_EXPECT_EQ_MSG(test, s->status, 0, "%#x: %s", s->status, s->said);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(queue), 0);
	scene_end(s);
}

/* By the parameter itself. */
static void the_parameter_chooses(struct kunit *test)
{
	struct slabdev *sd;
	void *p[6];
	u32 i;

	setenv("SLABDEV_GUARD", "3,1K-2K", 1);
	sd = open_space(test, LIMIT);
	for (i = 0; i < 6; i++)
		p[i] = must_alloc(test, sd, 1500);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded, 2);
	for (i = 0; i < 6; i++)
		EXPECT_FREED(test, sd, p[i]);
	close_space(test, sd);
}

static const struct kunit_case guard_fault_cases[] = {
	KUNIT_CASE_PARAM(it_faults, fault_gen_params),
	KUNIT_CASE_PARAM(faults_are_explained, fault_gen_params),
	KUNIT_CASE(others_faults_pass),
	KUNIT_CASE(the_handler_before_is_called),
	KUNIT_CASE(the_handler_has_its_mask),
	KUNIT_CASE(the_handler_is_called_once),
	KUNIT_CASE(sent_signals_pass),
	KUNIT_CASE(it_can_be_removed),
	KUNIT_CASE(others_handlers_stay),
	KUNIT_CASE(the_other_stack_is_used),
	KUNIT_CASE(forks_have_guards),
	KUNIT_CASE(forks_end_what_is_pending),
	KUNIT_CASE_ISOLATED(the_parameter_chooses),
	{ 0 },
};

static const struct kunit_suite guard_fault_suite = {
	.name = "guard_fault",
	.cases = guard_fault_cases,
};
kunit_test_suite(guard_fault_suite);
