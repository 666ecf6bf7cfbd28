// SPDX-License-Identifier: BSD-2-Clause
/*
 * ptx_test.c - kernels that the model executes from their text: which threads
 * there are, branches, vectors, atomic operations, graphs, and how a kernel
 * makes the device fail. What instructions compute is in ptx_ops_test.c.
 *
 * Where a device fails the case has a process of its own.
 */
#include <stdio.h>

#include "tests/ptx_lab.h"

#define OUT ((u64)1 << 20)
#define THREADS 64u

/* "in" and "out" are loaded, %r0 is the number of the thread in its row. */
#define KERNEL(name, body)						\
".visible .entry " name "(.param .u64 in, .param .u64 out)\n{\n"	\
".reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<24>; .reg .b64 %d<8>;\n" \
" ld.param.u64 %d0, [in];\n ld.param.u64 %d1, [out];\n"		\
" mov.u32 %r0, %ctaid.x;\n mov.u32 %r1, %ntid.x;\n mov.u32 %r2, %tid.x;\n" \
" mad.lo.u32 %r0, %r0, %r1, %r2;\n" body "}\n"

static int model_bench_init(struct kunit *test)
{
	model_only(test);
	return vmm_bench_init(test);
}

/* After this nothing can be given back, and nothing is asked. */
static void leave_it(struct kunit *test)
{
	test->priv = NULL;
}

/* ---- Threads -------------------------------------------------------- */

static const char threads_text[] = PTX_HEAD
".visible .entry who(.param .u64 out)\n"
".maxntid 4, 3, 2\n"
"{\n"
" .reg .b32 %v<13>, %block, %thread, %n;\n"
" .reg .b64 %at;\n"
" mov.u32 %v0, %tid.x;    mov.u32 %v1, %tid.y;    mov.u32 %v2, %tid.z;\n"
" mov.u32 %v3, %ntid.x;   mov.u32 %v4, %ntid.y;   mov.u32 %v5, %ntid.z;\n"
" mov.u32 %v6, %ctaid.x;  mov.u32 %v7, %ctaid.y;  mov.u32 %v8, %ctaid.z;\n"
" mov.u32 %v9, %nctaid.x; mov.u32 %v10, %nctaid.y;\n"
" mov.u32 %v11, %nctaid.z; mov.u32 %v12, %laneid;\n"
" mad.lo.u32 %block, %v8, %v10, %v7;\n"
" mad.lo.u32 %block, %block, %v9, %v6;\n"
" mad.lo.u32 %thread, %v2, %v4, %v1;\n"
" mad.lo.u32 %thread, %thread, %v3, %v0;\n"
" mul.lo.u32 %n, %v3, %v4;\n"
" mul.lo.u32 %n, %n, %v5;\n"
" mad.lo.u32 %n, %block, %n, %thread;\n"
" ld.param.u64 %at, [out];\n"
" mad.wide.u32 %at, %n, 64, %at;\n"
" st.global.v4.u32 [%at], {%v0, %v1, %v2, %v3};\n"
" st.global.v4.u32 [%at+16], {%v4, %v5, %v6, %v7};\n"
" st.global.v4.u32 [%at+32], {%v8, %v9, %v10, %v11};\n"
" st.global.v4.u32 [%at+48], {%v12, 1, 1, 1};\n"
" // No ret: it ends here.\n"
"}\n";

static void launch_all(struct lab *l, const u32 *g, const u32 *b, int want)
{
	u64 out = l->a.ptr + OUT;
	void *params[] = { &out };

	EXPECT_CU(l->test, cuLaunchKernel(lab_kernel(l, "who"), g[0], g[1],
					  g[2], b[0], b[1], b[2], 0, NULL,
					  params, NULL), want);
}

/* Every thread of every block, once, with its place. */
static void threads_know_their_place(struct kunit *test)
{
	static const u32 g[] = { 3, 2, 5 }, b[] = { 4, 3, 2 };
	struct lab l = lab_open(test, threads_text);
	u32 found[16], n, i;

	launch_all(&l, g, b, 0);
	MUST(test, cuCtxSynchronize());
	for (n = 0; n < 30 * 24; n++) {
		u32 t = n % 24, c = n / 24;
		const u32 want[] = {
			t % 4, t / 4 % 3, t / 12, 4, 3, 2,
			c % 3, c / 3 % 2, c / 6, 3, 2, 5, t, 1, 1, 1,
		};

		lab_get(&l, OUT + (u64)64 * n, found, sizeof(found));
		for (i = 0; i < ARRAY_SIZE(want); i++)
			KUNIT_ASSERT_EQ_MSG(test, found[i], want[i],
					    "thread %u, value %u", n, i);
	}
	lab_get(&l, OUT + (u64)64 * n, found, sizeof(found));
	KUNIT_EXPECT_EQ(test, found[13], 0);
	lab_close(&l);
}

/* What the hardware has not, and what the kernel was not compiled for. */
static void shapes_are_checked(struct kunit *test)
{
	struct lab l = lab_open(test, threads_text);

	launch_all(&l, (u32[]){ 1, 1, 1 }, (u32[]){ 25, 1, 1 }, 701);
	launch_all(&l, (u32[]){ 1, 1, 1 }, (u32[]){ 1, 1, 65 }, 1);
	launch_all(&l, (u32[]){ 1, 1, 1 }, (u32[]){ 1025, 1, 1 }, 1);
	launch_all(&l, (u32[]){ 1, 1, 1 }, (u32[]){ 1u << 31, 1u << 31, 4 }, 1);
	launch_all(&l, (u32[]){ 1, 65536, 1 }, (u32[]){ 1, 1, 1 }, 1);
	launch_all(&l, (u32[]){ 0, 1, 1 }, (u32[]){ 1, 1, 1 }, 1);
	launch_all(&l, (u32[]){ 1, 1, 1 }, (u32[]){ 24, 1, 1 }, 0);
	MUST(test, cuCtxSynchronize());
	lab_close(&l);
}

/* ---- Branches, vectors, registers ----------------------------------- */

static const char flow_text[] = PTX_HEAD
/* Steps until 3n+1 reaches 1, by a loop with two ways. */
KERNEL("collatz",
" add.u32 %r3, %r0, 1;\n mov.u32 %r4, 0;\n"
"AGAIN:\n"
" setp.eq.u32 %p0, %r3, 1;\n"
" @%p0 bra DONE;\n"
" add.u32 %r4, %r4, 1;\n"
" and.b32 %r5, %r3, 1;\n"
" setp.eq.u32 %p1, %r5, 0;\n"
" @!%p1 mad.lo.u32 %r3, %r3, 3, 1;\n"
" @%p1 shr.u32 %r3, %r3, 1;\n"
" bra.uni AGAIN;\n"
"DONE: mad.wide.u32 %d1, %r0, 4, %d1;\n"
" st.global.u32 [%d1], %r4;\n"
" ret;\n")
/* Only those below 10 come to the store, which nobody else could do. */
KERNEL("few",
" setp.ge.u32 %p0, %r0, 10;\n"
" mad.wide.u32 %d1, %r0, 4, %d1;\n"
" @%p0 mov.u64 %d1, 4096;\n"
" @%p0 exit;\n"
" st.global.u32 [%d1], 7;\n")
/* Turned round, and a part left out. */
KERNEL("turn",
" mad.wide.u32 %d0, %r0, 16, %d0;\n mad.wide.u32 %d1, %r0, 16, %d1;\n"
" ld.global.v4.u8 {%h0, %h1, %h2, %h3}, [%d0];\n"
" st.global.v4.u8 [%d1], {%h3, %h2, %h1, %h0};\n"
" ld.global.v4.u8 {%h0, _, %h2, _}, [%d0+4];\n"
" st.global.v4.u8 [%d1+4], {%h0, 5, %h2, %h0};\n"
" ld.global.v2.s16 {%r3, _}, [%d0+8];\n"
" st.global.u32 [%d1+8], %r3;\n"
" ld.global.v2.s16 {%r3, %r4}, [%d0+12];\n"
" st.global.v2.b16 [%d1+12], {%r4, %r3};\n");

static u32 collatz(u32 n)
{
	u32 steps = 0;

	for (; n != 1; steps++)
		n = n % 2 ? 3 * n + 1 : n / 2;
	return steps;
}

static void loops_end(struct kunit *test)
{
	struct lab l = lab_open(test, flow_text);
	u32 found[1000], i;

	lab_run(&l, "collatz", 10, 100, 0, OUT);
	lab_get(&l, OUT, found, sizeof(found));
	for (i = 0; i < ARRAY_SIZE(found); i++)
		KUNIT_ASSERT_EQ(test, found[i], collatz(i + 1));
	lab_run(&l, "few", 2, 32, 0, OUT);
	lab_get(&l, OUT, found, sizeof(found));
	for (i = 0; i < 32; i++)
		KUNIT_ASSERT_EQ(test, found[i], i < 10 ? 7 : collatz(i + 1));
	lab_close(&l);
}

static void vectors_move(struct kunit *test)
{
	struct lab l = lab_open(test, flow_text);
	u8 in[16 * THREADS], out[sizeof(in)];
	u32 i;

	for (i = 0; i < sizeof(in); i++)
		in[i] = (u8)(17 * i + 130);
	lab_put(&l, 0, in, sizeof(in));
	lab_run(&l, "turn", 2, THREADS / 2, 0, OUT);
	lab_get(&l, OUT, out, sizeof(out));
	for (i = 0; i < THREADS; i++) {
		const u8 *a = &in[(size_t)16 * i];
		u8 sign = a[9] & 0x80 ? 0xff : 0;
		const u8 want[16] = {
			a[3], a[2], a[1], a[0], a[4], 5, a[6], a[4],
			a[8], a[9], sign, sign, a[14], a[15], a[12], a[13],
		};

		KUNIT_ASSERT_EQ_MSG(test, memcmp(&out[(size_t)16 * i], want,
						 16), 0, "thread %u", i);
	}
	lab_close(&l);
}

/* ---- Atomic operations ---------------------------------------------- */

static const char atomics_text[] =
".version 6.4\n.target sm_70\n.address_size 64\n"
#define ATOMIC(op, type, r, log)					\
KERNEL(#op "_" #type, " mad.wide.u32 %d2, %r0, 8, %d0;\n"		\
" mad.wide.u32 %d3, %r0, 8, %d1;\n ld.global.u64 %d4, [%d2];\n"	\
" cvt.u32.u64 %r4, %d4;\n"						\
" atom.global." #op "." #type " %" #r "5, [%d1+8192], %" #r "4;\n"	\
" red.relaxed.gpu.global.add.u32 [%d1+8200], 1;\n"			\
" st.global.b" #log " [%d3], %" #r "5;\n")
ATOMIC(add, u32, r, 32) ATOMIC(add, s32, r, 32) ATOMIC(add, u64, d, 64)
ATOMIC(min, u32, r, 32) ATOMIC(min, s32, r, 32) ATOMIC(min, u64, d, 64)
ATOMIC(min, s64, d, 64) ATOMIC(max, u32, r, 32) ATOMIC(max, s32, r, 32)
ATOMIC(max, u64, d, 64) ATOMIC(max, s64, d, 64) ATOMIC(and, b32, r, 32)
ATOMIC(and, b64, d, 64) ATOMIC(or, b32, r, 32) ATOMIC(or, b64, d, 64)
ATOMIC(xor, b32, r, 32) ATOMIC(xor, b64, d, 64) ATOMIC(exch, b32, r, 32)
ATOMIC(exch, b64, d, 64)
/* Thread n turns n into n + 1; only one order of the threads goes through. */
KERNEL("steps",
" cvt.u64.u32 %d2, %r0;\n add.u64 %d3, %d2, 1;\n"
" atom.acq_rel.sys.global.cas.b64 %d4, [%d1], %d2, %d3;\n"
" atom.global.cas.b32 _, [%d1+8], 1000, 5;\n"
" red.global.max.u64 [%d1+16], %d4;\n");

typedef u64 (*combine_fn)(u64 old, u64 v);

#define COMBINE(name, T, expr)						\
static u64 combine_##name(u64 old_, u64 v_)				\
{									\
	const T old = (T)old_, v = (T)v_;				\
									\
	(void)old;							\
	return (u64)(expr);						\
}
COMBINE(add, u64, old + v)
COMBINE(min_u32, u32, old < v ? old : v)
COMBINE(max_u32, u32, old < v ? v : old)
COMBINE(min_s32, int32_t, old < v ? old : v)
COMBINE(max_s32, int32_t, old < v ? v : old)
COMBINE(min_u64, u64, old < v ? old : v)
COMBINE(max_u64, u64, old < v ? v : old)
COMBINE(min_s64, s64, old < v ? old : v)
COMBINE(max_s64, s64, old < v ? v : old)
COMBINE(and, u64, old & v)
COMBINE(or, u64, old | v)
COMBINE(xor, u64, old ^ v)
COMBINE(exch, u64, v)

static const struct atomic {
	const char *name;
	combine_fn fn;
	u64 mask;
} atomics[] = {
	{ "add_u32", combine_add, UINT32_MAX },
	{ "add_s32", combine_add, UINT32_MAX },
	{ "add_u64", combine_add, UINT64_MAX },
	{ "min_u32", combine_min_u32, UINT32_MAX },
	{ "min_s32", combine_min_s32, UINT32_MAX },
	{ "min_u64", combine_min_u64, UINT64_MAX },
	{ "min_s64", combine_min_s64, UINT64_MAX },
	{ "max_u32", combine_max_u32, UINT32_MAX },
	{ "max_s32", combine_max_s32, UINT32_MAX },
	{ "max_u64", combine_max_u64, UINT64_MAX },
	{ "max_s64", combine_max_s64, UINT64_MAX },
	{ "and_b32", combine_and, UINT32_MAX },
	{ "and_b64", combine_and, UINT64_MAX },
	{ "or_b32", combine_or, UINT32_MAX },
	{ "or_b64", combine_or, UINT64_MAX },
	{ "xor_b32", combine_xor, UINT32_MAX },
	{ "xor_b64", combine_xor, UINT64_MAX },
	{ "exch_b32", combine_exch, UINT32_MAX },
	{ "exch_b64", combine_exch, UINT64_MAX },
};

/* The threads in their order, each on what the one before left. */
static void check_atomic(struct lab *l, const struct atomic *a, const u64 *in)
{
	u64 cells[] = { 0x80000000deadbeef, 0 }, out[THREADS] = { 0 };
	u64 old = cells[0] & a->mask, rest = cells[0] & ~a->mask;
	u32 i;

	lab_put(l, OUT + 8192, cells, sizeof(cells));
	lab_put(l, OUT, out, sizeof(out));
	lab_run(l, a->name, 2, THREADS / 2, 0, OUT);
	lab_get(l, OUT, out, sizeof(out));
	lab_get(l, OUT + 8192, cells, sizeof(cells));
	for (i = 0; i < THREADS; i++) {
		KUNIT_ASSERT_EQ_MSG(l->test, out[i], old, "%s, thread %u",
				    a->name, i);
		old = a->fn(old, in[i]) & a->mask;
	}
	KUNIT_ASSERT_EQ_MSG(l->test, cells[0], old | rest, "%s", a->name);
	KUNIT_EXPECT_EQ(l->test, cells[1], THREADS);
}

static void atomics_combine(struct kunit *test)
{
	struct lab l = lab_open(test, atomics_text);
	u64 in[THREADS], v[3] = { 0 };
	u32 i;

	for (i = 0; i < THREADS; i++)
		in[i] = (i + 1) * 0x9e3779b97f4a7c15u;
	lab_put(&l, 0, in, sizeof(in));
	for (i = 0; i < ARRAY_SIZE(atomics); i++)
		check_atomic(&l, &atomics[i], in);
	v[1] = 1000;
	lab_put(&l, OUT, v, sizeof(v));
	lab_run(&l, "steps", 2, THREADS / 2, 0, OUT);
	lab_get(&l, OUT, v, sizeof(v));
	KUNIT_EXPECT_EQ(test, v[0], THREADS);
	KUNIT_EXPECT_EQ(test, v[1], 5);
	KUNIT_EXPECT_EQ(test, v[2], THREADS - 1);
	lab_close(&l);
}

/* ---- Modules and graphs --------------------------------------------- */

#define STORE(value) PTX_HEAD						\
KERNEL("add", " red.global.add.u64 [%d1], " value ";\n")

static const char one_text[] = STORE("1"), ten_text[] = STORE("10");

/* The same name in two modules; work in flight outlives its module. */
static void modules_are_apart(struct kunit *test)
{
	struct lab l = lab_open(test, one_text);
	CUmodule one = l.module;
	u64 found;

	lab_run(&l, "add", 1, 3, 0, OUT);
	MUST(test, cuModuleLoadData(&l.module, ten_text));
	lab_run(&l, "add", 1, 2, 0, OUT);
	lab_get(&l, OUT, &found, sizeof(found));
	KUNIT_EXPECT_EQ(test, found, 23);
	KUNIT_ASSERT_EQ(test, cu.model_stream_hold(NULL), 0);
	KUNIT_EXPECT_EQ(test, lab_start(&l, "add", 1, 1, 0, OUT), 0);
	EXPECT_CU(test, cuModuleUnload(l.module), 0);
	KUNIT_ASSERT_EQ(test, cu.model_stream_release(NULL), 0);
	l.module = one;
	lab_run(&l, "add", 1, 1, 0, OUT);
	lab_get(&l, OUT, &found, sizeof(found));
	KUNIT_EXPECT_EQ(test, found, 34);
	lab_close(&l);
}

/* Parameters and shape are those of the capture, each time. */
static void graphs_replay_text(struct kunit *test)
{
	struct lab l = lab_open(test, one_text);
	CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	u64 addrs[] = { 0, l.a.ptr + OUT }, found;
	void *params[] = { &addrs[0], &addrs[1] };
	CUgraphExec exec;
	CUgraph graph;
	u32 i;

	MUST(test, cuStreamBeginCapture(stream,
					CU_STREAM_CAPTURE_MODE_RELAXED));
	MUST(test, cuLaunchKernel(lab_kernel(&l, "add"), 2, 1, 1, 3, 1, 1, 0,
				  stream, params, NULL));
	MUST(test, cuStreamEndCapture(stream, &graph));
	addrs[1] = 0;
	MUST(test, cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (i = 0; i < 5; i++)
		MUST(test, cuGraphLaunch(exec, stream));
	MUST(test, cuStreamSynchronize(stream));
	lab_get(&l, OUT, &found, sizeof(found));
	KUNIT_EXPECT_EQ(test, found, 5 * 2 * 3);
	EXPECT_CU(test, cuGraphExecDestroy(exec), 0);
	EXPECT_CU(test, cuGraphDestroy(graph), 0);
	end_stream(test, stream);
	lab_close(&l);
}

static void stand_in(const uint64_t *params)
{
	u64 v = 1000;

	cu.model_access(params[1], &v, sizeof(v), MODEL_WRITE);
}

static void function_goes_before_text(struct kunit *test)
{
	struct lab l = lab_open(test, one_text);
	u64 found;

	cu.model_kernel("add", stand_in);
	lab_run(&l, "add", 1, 1, 0, OUT);
	lab_get(&l, OUT, &found, sizeof(found));
	KUNIT_EXPECT_EQ(test, found, 1000);
	lab_close(&l);
}

/* ---- What has no value ---------------------------------------------- */

static const char garbage_text[] = PTX_HEAD
KERNEL("unset", " add.u32 %r4, %r5, 1;\n st.global.u32 [%d1], %r4;\n")
KERNEL("unset_guard", " @%p1 st.global.u32 [%d1], 1;\n")
KERNEL("by_zero", " mov.u32 %r4, 0;\n div.u32 %r5, %r0, %r4;\n"
" rem.u32 %r5, %r0, %r4;\n")
KERNEL("fine", " mov.u32 %r5, 0;\n add.u32 %r4, %r5, 1;\n");

static void expect_violations(struct lab *l, const char *name, u64 n,
			      const char *text)
{
	cu.model_reset();
	lab_run(l, name, 1, 1, 0, OUT);
	KUNIT_EXPECT_EQ(l->test, cu.model_violations(), n);
	KUNIT_EXPECT_STREQ(l->test, cu.model_last_violation(), text);
}

static void garbage_is_noticed(struct kunit *test)
{
	struct lab l = lab_open(test, garbage_text);

	expect_violations(&l, "unset", 1, "kernel unset, line 13: a register "
			  "is read that nothing was written to");
	expect_violations(&l, "unset_guard", 1, "kernel unset_guard, line 25: "
			  "a register is read that nothing was written to");
	expect_violations(&l, "by_zero", 2,
			  "kernel by_zero, line 38: a division by zero");
	expect_violations(&l, "fine", 0, "");
	lab_close(&l);
}

/* ---- Faults --------------------------------------------------------- */

static const char faults_text[] = PTX_HEAD
KERNEL("load4", " ld.global.u32 %r4, [%d0];\n st.global.u32 [%d1], %r4;\n")
KERNEL("load16", " ld.global.v2.u64 {%d2, _}, [%d0];\n"
" st.global.u64 [%d1], %d2;\n")
KERNEL("store8", " st.global.u64 [%d0], 1;\n")
KERNEL("atom8", " atom.global.add.u64 %d2, [%d0], 1;\n")
KERNEL("fill", "AGAIN: st.global.u8 [%d0], 1;\n add.u64 %d0, %d0, 1;\n"
" bra AGAIN;\n")
KERNEL("forever", "AGAIN: bra AGAIN;\n")
KERNEL("guarded", " setp.ne.u32 %p0, %r0, %r0;\n"
" @%p0 st.global.u32 [%d0+1], 1;\n @%p0 ld.global.u32 %r4, [%d0+2];\n"
" st.global.u32 [%d1], 9;\n");

static const struct fault {
	const char *kernel;
	u64 in;
	int code;
	const char *says;
} faults[] = {
	{ "load4", 2, 716, "kernel load4, line 13, thread (0,0,0) of block "
	  "(0,0,0): is not aligned: 0x" },
	{ "load4", 4, 0, NULL },
	{ "load16", 8, 716, "is not aligned: 0x" },
	{ "load16", 16, 0, NULL },
	{ "store8", 4, 716, "is not aligned: 0x" },
	{ "atom8", 12, 716, "is not aligned: 0x" },
	{ "load4", 2 << 20, 700, "may not read at 0x" },
	{ "load4", (2 << 20) - 4, 0, NULL },
	{ "load16", 2 << 20, 700, "may not read at 0x" },
	{ "store8", 2 << 20, 700, "may not write at 0x" },
	{ "atom8", 2 << 20, 700, "may not read at 0x" },
	{ "load4", (u64)1 << 46, 700, "may not read at 0x" },
	{ "load4", (2 << 20) + 2, 716, "is not aligned: 0x" },
	{ "fill", (2 << 20) - 1000, 700, "may not write at 0x" },
	{ "guarded", 0, 0, NULL },
	{ "forever", 0, 702, "does not end after instructions: 0x" },
};

static void describe_fault(const struct fault *f, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %#llx", f->kernel,
		 (unsigned long long)f->in);
}
KUNIT_ARRAY_PARAM(fault, faults, describe_fault);

static void note_log(void *data, CUlogLevel level, char *message,
		     size_t length)
{
	(void)level;
	snprintf(data, 512, "%.*s", (int)length, message);
}

static void fault_in_child(struct kunit *test)
{
	const struct fault *f = test->param_value;
	CUlogsCallbackHandle log;
	char text[512] = "";
	struct lab l;

	bench_open(test);
	l = lab_open(test, faults_text);
	MUST(test, cuLogsRegisterCallback(note_log, text, &log));
	KUNIT_EXPECT_EQ(test, lab_start(&l, f->kernel, 1, 1, f->in, OUT), 0);
	EXPECT_CU(test, cuCtxSynchronize(), f->code);
	EXPECT_CU(test, cuCtxSynchronize(), f->code);
	EXPECT_CU(test, cuModuleUnload(l.module), f->code);
	if (f->says)
		KUNIT_EXPECT_TRUE_MSG(test, strstr(text, f->says), "%s", text);
}

/* The device fails for good, and says which line did it. */
static void kernel_faults(struct kunit *test)
{
	model_only(test);
	KUNIT_EXPECT_EQ(test, in_fork(test, fault_in_child), 0);
}

/* What went before the fault is there, what comes behind is not. */
static void read_only_memory(struct kunit *test)
{
	struct lab l = lab_open(test, faults_text);
	CUmemAccessDesc desc = bench_of(test)->rw;
	struct area b = area_open(test, bench_of(test)->g);

	desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
	MUST(test, cuMemSetAccess(b.ptr, b.size, &desc, 1));
	lab_run(&l, "load4", 1, 1, b.ptr - l.a.ptr, OUT);
	KUNIT_EXPECT_EQ(test, lab_start(&l, "atom8", 1, 1, b.ptr - l.a.ptr,
					OUT), 0);
	EXPECT_CU(test, cuCtxSynchronize(), 700);
	leave_it(test);
}

/* Mapped when it was launched, but not when its turn comes. */
static void unmapped_before_its_turn(struct kunit *test)
{
	struct lab l = lab_open(test, faults_text);
	struct area b = area_open(test, bench_of(test)->g);

	bench_of(test)->expects_violation = true;
	KUNIT_ASSERT_EQ(test, cu.model_stream_hold(NULL), 0);
	KUNIT_EXPECT_EQ(test, lab_start(&l, "load4", 1, 1, b.ptr - l.a.ptr,
					OUT), 0);
	area_close(test, &b);
	KUNIT_EXPECT_EQ(test, cu.model_violations(), 1);
	KUNIT_ASSERT_EQ(test, cu.model_stream_release(NULL), 0);
	EXPECT_CU(test, cuCtxSynchronize(), 700);
	leave_it(test);
}

/* ---- The assembler -------------------------------------------------- */

static void texts_assemble(struct kunit *test)
{
	static const char *const texts[] = {
		threads_text, flow_text, atomics_text, one_text, ten_text,
		garbage_text, faults_text,
	};
	const char *says;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		KUNIT_EXPECT_TRUE_MSG(test, ptxas_takes(test, texts[i],
				      "sm_75", &says), "%s", says);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(threads_know_their_place),
	KUNIT_CASE(shapes_are_checked),
	KUNIT_CASE(loops_end),
	KUNIT_CASE(vectors_move),
	KUNIT_CASE(atomics_combine),
	KUNIT_CASE(modules_are_apart),
	KUNIT_CASE(graphs_replay_text),
	KUNIT_CASE_ISOLATED(function_goes_before_text),
	KUNIT_CASE_ISOLATED(garbage_is_noticed),
	KUNIT_CASE_ISOLATED(read_only_memory),
	KUNIT_CASE_ISOLATED(unmapped_before_its_turn),
	KUNIT_CASE(texts_assemble),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "ptx",
	.init = model_bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);

/* Of a process that has not called the driver: each run is a child of it. */
static const struct kunit_case fault_cases[] = {
	KUNIT_CASE_PARAM(kernel_faults, fault_gen_params, .isolated = true,
			 .slow = true),
	{ 0 }
};

static const struct kunit_suite fault_suite = {
	.name = "ptx_fault",
	.cases = fault_cases,
};
kunit_test_suite(fault_suite);
