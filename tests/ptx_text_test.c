// SPDX-License-Identifier: BSD-2-Clause
/*
 * ptx_text_test.c - what the model does not take for PTX, and that no text
 * whatever makes it crash. Where NVIDIA's assembler is installed it is asked
 * about each of these texts, too.
 */
#include <stdio.h>

#include "tests/kunit/spawn.h"
#include "tests/ptx_lab.h"
#include "tests/random.h"

#define BODY_REGS							\
".reg .pred %p<4>;\n.reg .b8 %c;\n.reg .b16 %h<4>;\n.reg .b32 %r<8>;\n" \
".reg .b64 %d<8>;\n"
#define KERNEL(body)							\
PTX_HEAD ".visible .entry k(.param .u64 p, .param .u32 v)\n{\n" BODY_REGS \
body "\nret;\n}\n"
/* The line of the body's first instruction. */
#define BODY_LINE "line 11: "

/* ---- Texts that are taken ------------------------------------------- */

static const char *const good[] = {
	PTX_HEAD,
	PTX_HEAD ".entry k(){}",
	PTX_HEAD ".entry k { ret; }",
	PTX_HEAD ".visible .entry $k(.param.u64 a) .maxntid 32, 2\n"
	".minnctapersm 2 .maxnreg 32 { ret; } /* end */ // end",
	PTX_HEAD ".weak .entry a(.param .b8 x, .param .s16 y) .reqntid 32 {}\n"
	".entry _b() { exit; }",
	".version 7.8\n.target sm_90\n.address_size 64\n",
	"// first\n.version 4.0 /* x\n*/ .target sm_50 .address_size 64",
	KERNEL("add.u32 %r1, 5, - 6;"),
	KERNEL("add .u32 %r1, %r2, 0xfU;add.u32%r1,%r2,%r3;"),
	KERNEL("L: M: bra N; N:"),
	KERNEL(".reg .u32 a, b<3>, %tid2; mov.u32 b2, %laneid;"),
	KERNEL("ld.volatile.global.u32 %r1, [%d1+-4];"),
	KERNEL("ld.global.ca.u8 %d1, [%d1]; ld.global.nc.v4.u8 "
	       "{%r1, _, %r2, %r3}, [%d1+12];"),
	KERNEL("ld.u32 %r1, [%d1]; st.wb.u32 [%d1], 5;"),
	KERNEL("ld.param.u32 %r1, [p+4]; ld.param.v2.u32 {%r1, %r2}, [p];"),
	KERNEL("cvt.u32.u8 %r1, %c; cvt.u8.u32 %c, %r1; ld.global.u8 %c, "
	       "[%d1];"),
	KERNEL("atom.global.add.u32 _, [%d1], 1;"),
	KERNEL("@! %p1 bra L; @ %p2 ret.uni; mov.pred %p1, 1; L:"),
	KERNEL("mul.wide.u16 %r1, %h1, 70000;"),
};

static CUresult load(const char *text)
{
	CUmodule module;
	CUresult ret = cu.cuModuleLoadData(&module, text);

	return ret ? ret : cu.cuModuleUnload(module);
}

static void good_texts_are_taken(struct kunit *test)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		KUNIT_EXPECT_EQ_MSG(test, load(good[i]), CUDA_SUCCESS, "%s",
				    good[i]);
}

/* ---- Texts that are refused ----------------------------------------- */

/* ASSEMBLER: it refuses the text, too. MODEL: it is the model that is strict,
 * or has it not.
 */
enum judge { ASSEMBLER, MODEL };

static const struct bad {
	const char *text;
	const char *says;
	enum judge judge;
} bad[] = {
#define BAD(text, says) { text, says, ASSEMBLER },
#define NOT_HERE(text, says) { text, says, MODEL },
#define BAD_INSN(text, says) { KERNEL(text), BODY_LINE says, ASSEMBLER },
#define NOT_HERE_INSN(text, says) { KERNEL(text), BODY_LINE says, MODEL },
	/* The header. */
	BAD("", "line 1: the text ends, '.version' wanted")
	BAD("no module at all", "line 1: 'no', '.version' wanted")
	BAD(".version 6.4\n", "line 2: the text ends, '.target' wanted")
	BAD(".version 6\n.target sm_50\n", "line 1: no version")
	BAD(".version 6.40\n.target sm_50\n", "line 1: no version")
	BAD(".version 3.1\n.target sm_50\n.address_size 64\n.entry k(){}",
	    "line 2: sm_50 is newer than this version")
	BAD(".version 6.4\n.target sm_51\n", "line 2: 'sm_51', a target wanted")
	BAD(".target sm_50\n.version 6.4\n", "line 1: '.target', '.version'")
	NOT_HERE(".version 6.4\n.target sm_50\n", "'.address_size' wanted")
	NOT_HERE(".version 6.4\n.target sm_50\n.address_size 32\n",
		 "line 3: addresses have 64 bits")
	BAD(PTX_HEAD PTX_HEAD, "line 4: '.version', '.entry' wanted")
	BAD(PTX_HEAD "junk", "line 4: 'junk', '.entry' wanted")
	NOT_HERE(PTX_HEAD ".func f() { ret; }", "'.func', '.entry' wanted")
	NOT_HERE(PTX_HEAD ".global .u32 x;", "'.global', '.entry' wanted")
	BAD(PTX_HEAD "\001", "line 4: a character 0x1")
	BAD(PTX_HEAD "// \303\244\n\303\244", "line 5: a character 0xc3")
	BAD(PTX_HEAD "/* x", "line 4: a comment does not end")
	/* Kernels. */
	BAD(PTX_HEAD ".entry 9k(){}", "line 4: no integer")
	BAD(PTX_HEAD ".entry _(){}", "'_', the name of a kernel wanted")
	BAD(PTX_HEAD ".entry k(){}\n.entry k(){}",
	    "line 5: 'k', a name that no other kernel has wanted")
	BAD(PTX_HEAD ".entry k(){};", "line 4: ';', '.entry' wanted")
	BAD(PTX_HEAD ".entry k()", "line 4: the text ends, '{' wanted")
	BAD(PTX_HEAD ".entry k(){", "the text ends, an instruction wanted")
	BAD(PTX_HEAD ".entry k(){}}", "'}', '.entry' wanted")
	BAD(PTX_HEAD ".entry k(,){}", "',', '.param' wanted")
	BAD(PTX_HEAD ".entry k(.param .u64 a .param .u64 b){}",
	    "'.param', ')' wanted")
	BAD(PTX_HEAD ".entry k(.param .u64 a,){}", "')', '.param' wanted")
	BAD(PTX_HEAD ".entry k(.param .u64 p, .param .u64 p){}",
	    "'p' is a name since line 4")
	BAD(PTX_HEAD ".entry k(.param .pred p){}", "'.pred', the type of an")
	BAD(PTX_HEAD ".entry k(.reg .u32 p){}", "'.reg', '.param' wanted")
	NOT_HERE(PTX_HEAD ".entry k(.param .f32 p){}", "'.f32', the type of")
	NOT_HERE(PTX_HEAD ".entry k(.param .b8 p[16]){}", "'[', ')' wanted")
	NOT_HERE(PTX_HEAD ".entry k(.param .align 8 .b8 p){}", "'.align', the")
	BAD(PTX_HEAD ".entry k() .maxntid 0 {}", "a block without threads")
	BAD(PTX_HEAD ".entry k() .maxntid 1 .reqntid 1 {}",
	    ".maxntid and .reqntid at once")
	BAD(PTX_HEAD ".entry k() .maxntid 1,1,1,1 {}", "at most three numbers")
	BAD(PTX_HEAD ".entry k() .nosuch 1 {}", "'{' or another directive")
	/* Declarations and labels. */
	BAD_INSN(".reg .u32 %r1;", "'%r1' is a name since line 9")
	BAD_INSN(".reg .u32 v;", "'v' is a name since line 4")
	BAD_INSN(".reg .u32 a<2>, a1;", "'a1' is a name since line 11")
	BAD_INSN(".reg .u32 a<-1>;", "'-', a number wanted")
	BAD_INSN(".reg .u128 a;", "'.u128', the type of an integer wanted")
	NOT_HERE_INSN(".reg .f32 a;", "'.f32', the type of an integer wanted")
	NOT_HERE_INSN(".reg .u32 a<100000>;", "the number is larger than 65536")
	BAD_INSN("mov.u32 a, 1; .reg .u32 a;", "'a' is no register")
	BAD_INSN("L: L:", "the label 'L' twice")
	BAD_INSN("p: ret;", "'p' is no label")
	BAD_INSN("bra NOWHERE;", "there is no such label")
	BAD_INSN("bra %r1;", "'%r1' is no label")
	BAD_INSN("@%p1 L: ret;", "the model has no instruction 'L'")
	BAD_INSN("@%p1 @%p2 ret;", "'@', an instruction wanted")
	BAD_INSN("@%r1 ret;", "'%r1' is no predicate")
	BAD_INSN("@1 ret;", "'1', a register wanted")
	BAD_INSN(";", "';', an instruction wanted")
	NOT_HERE_INSN("{ ret; }", "'{', an instruction wanted")
	NOT_HERE_INSN(".pragma \"nounroll\";", "'.pragma', an instruction")
	/* Opcodes and modifiers. */
	BAD_INSN("nosuch.u32 %r1, %r2;", "the model has no instruction 'nosuch'")
	BAD_INSN("ADD.u32 %r1, %r1, %r1;", "the model has no instruction 'ADD'")
	BAD_INSN("add.U32 %r1, %r1, %r1;", "'.U32', another modifier wanted")
	BAD_INSN("add.b32 %r1, %r1, %r1;", "add: not a type of it")
	BAD_INSN("add.u8 %c, %c, %c;", "add: not a type of it")
	BAD_INSN("add %r1, %r1, %r1;", "'%r1', another modifier wanted")
	BAD_INSN("add. u32 %r1, %r1, %r1;", "'.', another modifier wanted")
	BAD_INSN("and.u32 %r1, %r1, %r1;", "and: not a type of it")
	BAD_INSN("min.b32 %r1, %r1, %r1;", "min: not a type of it")
	BAD_INSN("shl.u32 %r1, %r1, 1;", "shl: not a type of it")
	BAD_INSN("not.b8 %c, %c;", "not: not a type of it")
	BAD_INSN("clz.u32 %r1, %r1;", "clz: not a type of it")
	BAD_INSN("bfind.b32 %r1, %r1;", "bfind: not a type of it")
	BAD_INSN("mov.u8 %c, %c;", "mov: not a type of it")
	BAD_INSN("cvt.b32.b64 %r1, %d1;", "cvt: not a type of it")
	BAD_INSN("cvt.u32 %r1, %r1;", "'%r1', another modifier wanted")
	BAD_INSN("mul.u32 %r1, %r1, %r1;", "'.u32', another modifier wanted")
	BAD_INSN("mul.wide.u64 %d1, %d1, %d1;", "mul: nothing is wider")
	BAD_INSN("setp.lt.b32 %p1, %r1, %r2;", "setp: bits have no order")
	BAD_INSN("setp.lo.s32 %p1, %r1, %r2;", "setp: lo, ls, hi, hs are for")
	BAD_INSN("setp.equ.u32 %p1, %r1, %r2;", "'.equ', another modifier")
	BAD_INSN("setp.eq.u8 %p1, %c, %c;", "setp: not a type of it")
	BAD_INSN("selp.u8 %c, %c, %c, %p1;", "selp: not a type of it")
	BAD_INSN("bra.foo L; L:", "'.foo', no modifier here wanted")
	NOT_HERE_INSN("bar.sync 0;", "the model has no instruction 'bar'")
	NOT_HERE_INSN("ld.u32.global %r1, [%d1];", "'.global', no modifier here")
	NOT_HERE_INSN("add.sat.s32 %r1, %r1, 1;", "'.sat', another modifier")
	/* Operands. */
	BAD_INSN("add.u32 %r1, %r2;", "';', ',' wanted")
	BAD_INSN("add.u32 %r1, %r2, %r3, %r4;", "',', ';' wanted")
	BAD_INSN("add.u32 %r1, %r2, %d3;", "'%d3' has not the size of the type")
	BAD_INSN("add.u64 %d1, %d1, %r1;", "'%r1' has not the size of the type")
	BAD_INSN("add.u32 %r9, %r1, %r2;", "'%r9' is no register")
	BAD_INSN("add.u32 %r1, %p1, %r2;", "'%p1' has not the size of the type")
	BAD_INSN("add.u32 %p1, %r1, %r2;", "'%p1' has not the size of the type")
	BAD_INSN("add.u32 5, %r1, %r2;", "'5', a register wanted")
	BAD_INSN("add.u32 _, %r1, %r2;", "'_', a register wanted")
	BAD_INSN("add.u32 %r1, %tid.x, 5;", "'%tid' is no register")
	BAD_INSN("add.u32 %r1, %r1, 1.0;", "no integer")
	BAD_INSN("add.u32 %r1, %r1, 08;", "a number has no digits")
	BAD_INSN("add.u32 %r1, %r1, 0x;", "a number has no digits")
	BAD_INSN("add.u32 %r1, %r1, 5x;", "no integer")
	NOT_HERE_INSN("add.u32 %r1, %r1, 18446744073709551616;",
		      "a number has more than 64 bits")
	NOT_HERE_INSN("add.u32 %r1, %r1, 1+2;", "'+', ';' wanted")
	NOT_HERE_INSN("add.u32 %r01, %r1, 1;", "'%r01' is no register")
	BAD_INSN("mov.u32 %r1, %d1;", "'%d1' has not the size of the type")
	BAD_INSN("mov.u32 %r1, %p1;", "'%p1' has not the size of the type")
	BAD_INSN("mov.u32 %r1, %tid;", "';', '.x', '.y' or '.z' wanted")
	BAD_INSN("mov.u32 %r1, %laneid.x;", "'.x', ';' wanted")
	BAD_INSN("mov.u64 %d1, %tid.x;", "'%tid' has 32 bits")
	BAD_INSN("mov.u32 %tid.x, %r1;", "'%tid' is no register")
	BAD_INSN("mul.wide.u32 %r1, %r1, 2;", "'%r1' has not the size")
	BAD_INSN("mad.wide.u32 %d1, %r1, 2, %r2;", "'%r2' has not the size")
	BAD_INSN("mad.lo.u32 %r1, %r1, 2;", "';', ',' wanted")
	BAD_INSN("shl.b64 %d1, %d1, %d2;", "'%d2' has not the size")
	BAD_INSN("shl.b16 %h1, %h1, %h2;", "'%h2' has not the size")
	BAD_INSN("clz.b64 %d1, %d2;", "'%d1' has not the size")
	BAD_INSN("brev.b64 %r1, %d2;", "'%r1' has not the size")
	BAD_INSN("setp.eq.u32 %r1, %r1, %r2;", "'%r1' has not the size")
	BAD_INSN("cvt.u32.u64 %r1, %r2;", "'%r2' has not the size")
	BAD_INSN("cvt.u64.u32 %r1, %r2;", "'%r1' has not the size")
	BAD_INSN("selp.u32 %r1, %r2, %r3, %r4;", "'%r4' has not the size")
	BAD_INSN("ret %r1;", "'%r1', ';' wanted")
	BAD(KERNEL("ret"), "line 12: 'ret', ';' wanted")
	/* Memory. */
	BAD_INSN("ld.global.u32 %r1, [%d1-4];", "'-', ']' wanted")
	BAD_INSN("ld.global.u32 %r1, [4];", "'4', a register wanted")
	BAD_INSN("ld.global.u32 %r1, [p];", "'p' is no register")
	BAD_INSN("ld.global.u32 %r1, %d1;", "'%d1', '[' wanted")
	NOT_HERE_INSN("ld.global.u32 %r1, [%r1];", "'%r1' has not the size")
	BAD_INSN("ld.global.u64 %r1, [%d1];", "'%r1' has not the size")
	BAD_INSN("ld.global.v2.u32 {%r1, %d1}, [%d1]; ld.global.v4.u64 {%d1, "
		 "%d2, %d3, %d4}, [%d1];", "ld: more than 16 bytes at once")
	BAD_INSN("ld.global.v2.u32 {%r1}, [%d1];", "'}', ',' wanted")
	BAD_INSN("ld.global.v3.u32 {%r1, %r2, %r3}, [%d1];", "'.v3', another")
	BAD_INSN("ld.nc.u32 %r1, [%d1];", "ld: .nc needs .global")
	BAD_INSN("ld.volatile.global.cg.u32 %r1, [%d1];", "ld: an order and a")
	BAD_INSN("ld.relaxed.gpu.global.u32 %r1, [%d1];", "ld: orders need")
	BAD_INSN("ld.global.wb.u32 %r1, [%d1];", "'.wb', another modifier")
	BAD_INSN("st.global.ca.u32 [%d1], 1;", "'.ca', another modifier wanted")
	BAD_INSN("st.global.u64 [%d1], %r1;", "'%r1' has not the size")
	BAD_INSN("st.global.v2.u32 [%d1], {%r1, _};", "'_', a register wanted")
	BAD_INSN("st.param.u32 [v], %r1;", "st: parameters can only be loaded")
	BAD_INSN("ld.param.u32 %r1, [nosuch];", "'nosuch' is no parameter")
	BAD_INSN("ld.volatile.param.u32 %r1, [v];", "ld: parameters have no")
	NOT_HERE_INSN("ld.param.u64 %d1, [v];", "'v' is a smaller parameter")
	NOT_HERE_INSN("ld.param.u32 %r1, [v+4];", "'v' is a smaller parameter")
	NOT_HERE_INSN("ld.param.u32 %r1, [p+2];", "'p' is a smaller parameter")
	NOT_HERE_INSN("ld.shared.u32 %r1, [%d1];", "'.shared', another modifier")
	/* Atomic operations. */
	BAD_INSN("atom.global.add.s64 %d1, [%d1], 1;", "atom: not a type of")
	BAD_INSN("atom.global.min.b64 %d1, [%d1], 1;", "atom: not a type of")
	BAD_INSN("atom.global.and.u32 %r1, [%d1], 1;", "atom: not a type of")
	BAD_INSN("atom.global.exch.u32 %r1, [%d1], 1;", "atom: not a type of")
	BAD_INSN("atom.global.cas.b32 %r1, [%d1], 1;", "';', ',' wanted")
	BAD_INSN("atom.global.gpu.add.u32 %r1, [%d1], 1;", "'.gpu', another")
	BAD_INSN("atom.gpu.global.add.u32 %r1, [%d1], 1;", "atom: scopes need")
	BAD_INSN("atom.relaxed.global.add.u32 %r1, [%d1], 1;", "atom: orders")
	BAD_INSN("red.global.exch.b32 [%d1], 1;", "red: not an operation")
	BAD_INSN("red.global.cas.b32 [%d1], 1, 2;", "red: not an operation")
	BAD_INSN("red.global.add.u32 %r1, [%d1], 1;", "'%r1', '[' wanted")
};

static void note_log(void *data, CUlogLevel level, char *message,
		     size_t length)
{
	(void)level;
	snprintf(data, 512, "%.*s", (int)length, message);
}

/* With the line, and what would have been right. */
static void bad_texts_are_refused(struct kunit *test)
{
	CUlogsCallbackHandle log;
	char text[512];
	size_t i;

	MUST(test, cuLogsRegisterCallback(note_log, text, &log));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		text[0] = '\0';
		KUNIT_EXPECT_EQ_MSG(test, load(bad[i].text),
				    CUDA_ERROR_INVALID_PTX, "%s", bad[i].text);
		KUNIT_EXPECT_TRUE_MSG(test, strstr(text, bad[i].says),
				      "%s\n%s", text, bad[i].text);
	}
	EXPECT_CU(test, cuLogsUnregisterCallback(log), 0);
}

/* What is right, but not for this driver or this device. */
static void others_have_codes_of_their_own(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, load(".version 9.1\n.target sm_50\n"
				   ".address_size 64\n"), 222);
	KUNIT_EXPECT_EQ(test, load(".version 99.0 what comes then"), 222);
	KUNIT_EXPECT_EQ(test, load(".version 8.6\n.target sm_100\n"
				   ".address_size 64\n"), 209);
	KUNIT_EXPECT_EQ(test, load(".version 8.6\n.target sm_100\n"
				   ".address_size 64\njunk"), 218);
	KUNIT_EXPECT_EQ(test, load(".version 8.6\n.target sm_100a\n"
				   ".address_size 64\n"), 209);
	KUNIT_EXPECT_EQ(test, load(".version 8.0\n.target sm_90a\n"
				   ".address_size 64\n"), 0);
}

/* ---- Mutations ------------------------------------------------------ */

#define MUTATIONS 10000u
#define MUTANT_MAX 8192u

static const char whole[] =
"// a kernel with some of everything\n" PTX_HEAD
".visible .entry sum(.param .u64 in, .param .u64 out, .param .u32 n)\n"
".maxntid 256, 1, 1\n{\n" BODY_REGS
"	ld.param.u64 %d0, [in];\n"
"	ld.param.u64 %d1, [out];\n"
"	ld.param.u32 %r0, [n];\n"
"	mov.u32 %r1, %tid.x;\n"
"	setp.ge.u32 %p0, %r1, %r0;\n"
"	@%p0 bra DONE;\n"
"	mov.u64 %d2, 0; /* the sum */\n"
"LOOP:	mad.wide.u32 %d3, %r1, 8, %d0;\n"
"	ld.global.ca.v2.u32 {%r2, %r3}, [%d3+0x10];\n"
"	cvt.u64.u32 %d4, %r2;\n"
"	add.u64 %d2, %d2, %d4;\n"
"	add.u32 %r1, %r1, 256;\n"
"	setp.lt.u32 %p1, %r1, %r0;\n"
"	@!%p1 atom.global.cas.b64 %d5, [%d1+-8], %d2, %d4;\n"
"	@%p1 bra.uni LOOP;\n"
"	red.global.min.u64 [%d1], %d2;\n"
"DONE:	ret;\n"
"}\n";

static const char *const pieces[] = {
	"{", "}", "[", "]", "<", ">", ",", ";", ":", "@", "!", "/*", "*/", "//",
	".u64", ".v4", ".reg", ".entry", ".param", "%r1", "%p1", "%tid.x", "-",
	"0x", "99999999999999999999", "65536", "\n", "\200", ".", "_", "ld",
	"atom.global.add.u32 %r1, [%d1], 1;", "LOOP:", "%r<65536>",
};

/* Bytes go, come twice, change, or give way to a piece of PTX. */
static void mutate(char *text, u64 *state)
{
	size_t n = strlen(text), from = random_below(state, (u32)n + 1);
	size_t length = random_below(state, 12);
	const char *piece = pieces[random_below(state, ARRAY_SIZE(pieces))];
	char copy[MUTANT_MAX], other[16] = { 0 };

	length = min(length, n - from);
	memcpy(other, text + from, length);
	memcpy(copy, text, n + 1);
	switch (random_below(state, 5)) {
	case 0:
		piece = "";
		break;
	case 1:
		piece = other;
		length = 0;
		break;
	case 2:
		length = min((size_t)1, length);
		other[0] = (char)(1 + random_below(state, 255));
		other[1] = '\0';
		piece = other;
		break;
	case 3:
		text[from] = '\0';
		return;
	default:
		break;
	}
	snprintf(text, MUTANT_MAX, "%.*s%s%s", (int)from, copy, piece,
		 copy + from + length);
}

static void mutants_do_no_harm(struct kunit *test)
{
	u64 state = random_seed(test);
	u32 i, k, taken = 0;
	char text[MUTANT_MAX];

	for (i = 0; i < MUTATIONS; i++) {
		CUresult ret;

		snprintf(text, sizeof(text), "%s", whole);
		for (k = random_below(&state, 4) + 1; k && *text; k--)
			mutate(text, &state);
		ret = load(text);
		KUNIT_ASSERT_TRUE_MSG(test, !ret || ret == 218 || ret == 209 ||
				      ret == 222, "%d: %s", ret, text);
		taken += !ret;
	}
	kunit_info(test, "%u of %u were taken", taken, MUTATIONS);
	KUNIT_EXPECT_EQ(test, load(whole), 0);
}

/* Every beginning of a text; only the whole is one, and its header. */
static void beginnings_are_refused(struct kunit *test)
{
	size_t end = strlen(whole) - 1, header = 0, i;
	char text[sizeof(whole)];

	header = (size_t)(strstr(whole, "64\n") - whole) + 2;
	for (i = 0; i < end; i++) {
		memcpy(text, whole, i);
		text[i] = '\0';
		KUNIT_EXPECT_EQ_MSG(test, load(text), i == header ||
				    i == header + 1 ? 0 : 218, "%zu", i);
	}
}

/* ---- The assembler -------------------------------------------------- */

static void assembler_agrees(struct kunit *test)
{
	const char *says;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		KUNIT_EXPECT_TRUE_MSG(test, ptxas_takes(test, good[i], "sm_90",
				      &says), "%s\n%s", says, good[i]);
	KUNIT_EXPECT_TRUE_MSG(test, ptxas_takes(test, whole, "sm_90", &says),
			      "%s", says);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (bad[i].judge == ASSEMBLER)
			KUNIT_EXPECT_FALSE_MSG(test, ptxas_takes(test,
					       bad[i].text, "sm_90", &says),
					       "it is taken: %s", bad[i].text);
}

static int model_bench_init(struct kunit *test)
{
	model_only(test);
	return bench_init(test);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(good_texts_are_taken),
	KUNIT_CASE(bad_texts_are_refused),
	KUNIT_CASE(others_have_codes_of_their_own),
	KUNIT_CASE_SLOW(mutants_do_no_harm),
	KUNIT_CASE(beginnings_are_refused),
	KUNIT_CASE_LONG(assembler_agrees),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "ptx_text",
	.init = model_bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
