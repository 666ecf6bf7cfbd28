// SPDX-License-Identifier: BSD-2-Clause
/* tracer.c - see tracer.h. */
#include "tests/tracer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sanitizers.h"

#define NT_STAPSDT 3
#define BREAKPOINT 0xcc

#ifdef __x86_64__

/* ---- Notes -------------------------------------------------------------- */

static void unmap_file(void *arg)
{
	struct tracer *t = arg;

	munmap(t->file, t->bytes);
}

static void map_self(struct kunit *test, struct tracer *t)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;

	KUNIT_ASSERT_GE(test, fd, 0);
	KUNIT_ASSERT_EQ(test, fstat(fd, &st), 0);
	t->bytes = (size_t)st.st_size;
	t->file = mmap(NULL, t->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	KUNIT_ASSERT_TRUE(test, t->file != MAP_FAILED);
	kunit_add_action(test, unmap_file, t);
}

static const Elf64_Shdr *section(const struct tracer *t, const char *name)
{
	const Elf64_Ehdr *e = (const void *)t->file;
	const Elf64_Shdr *s = (const void *)(t->file + e->e_shoff);
	const char *names = t->file + s[e->e_shstrndx].sh_offset;

	for (unsigned int i = 0; i < e->e_shnum; i++)
		if (!strcmp(names + s[i].sh_name, name))
			return &s[i];
	return NULL;
}

/* What is added to the addresses in the file: that of the program itself. */
static int first_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(u64 *)bias = info->dlpi_addr;
	return 1;
}

static void add_site(struct tracer *t, const char *desc, u64 bias, u64 base)
{
	struct tracer_site *s = &t->site[t->nr_sites];
	u64 at[3];		/* of the nop, of the base, of a semaphore */

	memcpy(at, desc, sizeof(at));
	s->provider = desc + sizeof(at);
	s->name = s->provider + strlen(s->provider) + 1;
	s->args = s->name + strlen(s->name) + 1;
	s->addr = (unsigned char *)(uintptr_t)(at[0] + base - at[1] + bias);
	if (!strcmp(s->provider, "slabdev") &&
	    t->nr_sites < TRACER_SITES_MAX - 1)
		t->nr_sites++;
}

void tracer_find(struct kunit *test, struct tracer *t)
{
	const Elf64_Shdr *notes, *base;
	const Elf64_Nhdr *n;
	u64 bias = 0;
	size_t at;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer is not traced");
	map_self(test, t);
	t->nr_sites = 0;
	notes = section(t, ".note.stapsdt");
	base = section(t, ".stapsdt.base");
	if (!notes || !base)
		return;
	dl_iterate_phdr(first_bias, &bias);
	for (at = 0; at < notes->sh_size;) {
		n = (const void *)(t->file + notes->sh_offset + at);
		at += sizeof(*n) + (n->n_namesz + 3u) / 4 * 4;
		if (n->n_type == NT_STAPSDT)
			add_site(t, t->file + notes->sh_offset + at, bias,
				 base->sh_addr);
		at += (n->n_descsz + 3u) / 4 * 4;
	}
}

/* ---- Arguments ----------------------------------------------------------- */

static const struct {
	const char *name[4];	/* of 8, 4, 2 and 1 bytes */
	size_t at;
} registers[] = {
#define REG(field, ...) { { __VA_ARGS__ }, \
			  offsetof(struct user_regs_struct, field) }
	REG(rax, "rax", "eax", "ax", "al"), REG(rbx, "rbx", "ebx", "bx", "bl"),
	REG(rcx, "rcx", "ecx", "cx", "cl"), REG(rdx, "rdx", "edx", "dx", "dl"),
	REG(rsi, "rsi", "esi", "si", "sil"),
	REG(rdi, "rdi", "edi", "di", "dil"),
	REG(rbp, "rbp", "ebp", "bp", "bpl"),
	REG(rsp, "rsp", "esp", "sp", "spl"),
	REG(r8, "r8", "r8d", "r8w", "r8b"), REG(r9, "r9", "r9d", "r9w", "r9b"),
	REG(r10, "r10", "r10d", "r10w", "r10b"),
	REG(r11, "r11", "r11d", "r11w", "r11b"),
	REG(r12, "r12", "r12d", "r12w", "r12b"),
	REG(r13, "r13", "r13d", "r13w", "r13b"),
	REG(r14, "r14", "r14d", "r14w", "r14b"),
	REG(r15, "r15", "r15d", "r15w", "r15b"),
#undef REG
};

/* Behind "%": its value, and where its name ends. */
static u64 read_register(struct kunit *test, const struct user_regs_struct *r,
			 const char **text)
{
	size_t len = strcspn(*text, "),% "), i, k;
	u64 value;

	for (i = 0; i < ARRAY_SIZE(registers); i++)
		for (k = 0; k < 4; k++)
			if (strlen(registers[i].name[k]) == len &&
			    !strncmp(registers[i].name[k], *text, len))
				goto found;
	KUNIT_FAIL_AND_ABORT(test, "no register: %s", *text);
found:
	*text += len;
	memcpy(&value, (const char *)r + registers[i].at, sizeof(value));
	return value;
}

/* "[BYTES]@$N", "@%REG", or "@N(%REG)" and "@N(%REG,%REG,SCALE)". */
static u64 read_arg(struct kunit *test, pid_t child,
		    const struct user_regs_struct *r, const char **text)
{
	long bytes = strtol(*text, (char **)(uintptr_t)text, 10);
	unsigned int size = (unsigned int)labs(bytes);
	u64 value, index = 0;

	KUNIT_ASSERT_TRUE(test, **text == '@');
	++*text;
	if (**text == '$') {
		++*text;
		value = (u64)strtoll(*text, (char **)(uintptr_t)text, 0);
	} else if (**text == '%') {
		++*text;
		value = read_register(test, r, text);
	} else {
		value = (u64)strtoll(*text, (char **)(uintptr_t)text, 0);
		KUNIT_ASSERT_EQ(test, strncmp(*text, "(%", 2), 0);
		*text += 2;
		value += read_register(test, r, text);
		if (!strncmp(*text, ",%", 2)) {
			*text += 2;
			index = read_register(test, r, text);
			if (**text == ',') {
				++*text;
				index *= strtoull(*text, (char **)(uintptr_t)
						  text, 10);
			}
		}
		KUNIT_ASSERT_TRUE(test, **text == ')');
		++*text;
		value = (u64)ptrace(PTRACE_PEEKDATA, child, value + index,
				    NULL);
	}
	*text += **text == ' ';
	return size < 8 ? value & (((u64)1 << 8 * size) - 1) : value;
}

/* ---- Stops --------------------------------------------------------------- */

static void set_breakpoints(struct kunit *test, const struct tracer *t,
			    pid_t child)
{
	for (unsigned int i = 0; i < t->nr_sites; i++) {
		unsigned char *at = t->site[i].addr;
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKTEXT, child, at, NULL);
		KUNIT_ASSERT_EQ(test, errno, 0);
		word = (long)(((u64)word & ~(u64)0xff) | BREAKPOINT);
		KUNIT_ASSERT_EQ(test, ptrace(PTRACE_POKETEXT, child, at, word),
				0);
	}
}

/* A stop behind a breakpoint; the nop that was there need not be done. */
static bool note_hit(struct kunit *test, const struct tracer *t, pid_t child,
		     struct tracer_hit *hit)
{
	struct user_regs_struct r;
	const char *args;

	KUNIT_ASSERT_EQ(test, ptrace(PTRACE_GETREGS, child, NULL, &r), 0);
	for (unsigned int i = 0; i < t->nr_sites; i++) {
		if ((u64)(uintptr_t)t->site[i].addr + 1 != r.rip)
			continue;
		hit->site = &t->site[i];
		args = t->site[i].args;
		for (unsigned int k = 0; k < TRACER_ARGS; k++)
			hit->arg[k] = read_arg(test, child, &r, &args);
		KUNIT_EXPECT_EQ_MSG(test, *args, '\0', "%s", t->site[i].args);
		return true;
	}
	return false;
}

static pid_t start(struct kunit *test, void (*fn)(void *arg), void *arg)
{
	pid_t child = fork();
	int status;

	KUNIT_ASSERT_GE(test, child, 0);
	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(77);
		raise(SIGSTOP);
		fn(arg);
		_exit(0);
	}
	KUNIT_ASSERT_EQ(test, waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		kunit_skip(test, "a process may not be traced here");
	KUNIT_ASSERT_TRUE(test, WIFSTOPPED(status));
	return child;
}

unsigned int tracer_run(struct kunit *test, const struct tracer *t,
			void (*fn)(void *arg), void *arg,
			struct tracer_hit *hit, unsigned int most)
{
	pid_t child = start(test, fn, arg);
	unsigned int n = 0;
	int status, pass;

	set_breakpoints(test, t, child);
	for (pass = 0;; pass = WSTOPSIG(status)) {
		if (pass == SIGTRAP && n < most) {
			n += note_hit(test, t, child, &hit[n]);
			pass = 0;
		}
		KUNIT_ASSERT_EQ(test, ptrace(PTRACE_CONT, child, NULL,
					     pass == SIGTRAP ? 0 : pass), 0);
		KUNIT_ASSERT_EQ(test, waitpid(child, &status, 0), child);
		if (!WIFSTOPPED(status))
			break;
	}
	KUNIT_EXPECT_TRUE(test, WIFEXITED(status));
	KUNIT_EXPECT_EQ(test, WEXITSTATUS(status), 0);
	return n;
}

#else

void tracer_find(struct kunit *test, struct tracer *t)
{
	(void)t;
	kunit_skip(test, "breakpoints of this processor are not known");
}

unsigned int tracer_run(struct kunit *test, const struct tracer *t,
			void (*fn)(void *arg), void *arg,
			struct tracer_hit *hit, unsigned int most)
{
	(void)t;
	(void)fn;
	(void)arg;
	(void)hit;
	(void)most;
	kunit_skip(test, "breakpoints of this processor are not known");
	return 0;
}

#endif
