// SPDX-License-Identifier: BSD-2-Clause
/*
 * driver.c - a target without a fuzzer.
 *
 *	TARGET [--mutate=N] [--write=DIR] [SEEDS]
 *
 * SEEDS has an input a line, in hexadecimal; what follows "#" is a comment.
 * Each is run, and then N mutations of them, always the same. --write makes a
 * file of each in DIR instead, which libFuzzer begins with. Inputs that once
 * failed are seeds, too.
 *
 * All inputs run in one child, which has the current one in shared memory:
 * however it ends, the parent prints that input as a line for SEEDS.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/random.h"

/* More than any input takes on a machine with other things to do. */
#define SECONDS_EACH 60

struct input {
	u32 size;
	u8 data[FUZZ_INPUT_MAX];
};

struct seeds {
	struct input *input;
	u32 nr;
};

static const char *name;

__attribute__((noreturn)) __printf(1, 2)
static void die(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

/* ---- Seeds ------------------------------------------------------------ */

static int digit(int c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Blanks between bytes are for the reader. */
static bool parse_line(struct input *in, const char *line)
{
	int high, low;

	in->size = 0;
	for (; *line && *line != '#' && *line != '\n'; line++) {
		if (*line == ' ')
			continue;
		high = digit(line[0]);
		low = high < 0 ? -1 : digit(line[1]);
		if (low < 0 || in->size == FUZZ_INPUT_MAX)
			return false;
		in->data[in->size++] = (u8)(high << 4 | low);
		line++;
	}
	return true;
}

static struct input *add_seed(struct seeds *s)
{
	struct input *bigger = realloc(s->input, (s->nr + 1) *
						 sizeof(*s->input));

	if (!bigger)
		die("out of memory");
	s->input = bigger;
	return &s->input[s->nr++];
}

static void read_seeds(struct seeds *s, const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int number = 0;

	if (!f)
		die("%s: %s", path, strerror(errno));
	while (getline(&line, &room, f) > 0) {
		number++;
		if (*line == '#' || *line == '\n')
			continue;
		if (!parse_line(add_seed(s), line))
			die("%s:%d: not pairs of hexadecimal digits, or too "
			    "many", path, number);
	}
	free(line);
	fclose(f);
}

static void write_seeds(const struct seeds *s, const char *dir)
{
	char path[4096];
	FILE *f;
	u32 i;

	for (i = 0; i < s->nr; i++) {
		snprintf(path, sizeof(path), "%s/seed-%u", dir, i);
		f = fopen(path, "we");
		if (!f || fwrite(s->input[i].data, 1, s->input[i].size, f) !=
			  s->input[i].size || fclose(f))
			die("%s: %s", path, strerror(errno));
	}
}

static void print_line(const struct input *in)
{
	u32 i;

	for (i = 0; i < in->size; i++)
		fprintf(stderr, "%02x", in->data[i]);
	fputc('\n', stderr);
}

/* ---- Mutation --------------------------------------------------------- */

static void insert(struct input *in, u32 at, const u8 *from, u32 n)
{
	n = min(n, FUZZ_INPUT_MAX - in->size);
	memmove(in->data + at + n, in->data + at, in->size - at);
	if (from)
		memmove(in->data + at, from, n);
	else
		memset(in->data + at, 0, n);
	in->size += n;
}

static void cut(struct input *in, u32 at, u32 n)
{
	n = min(n, in->size - at);
	memmove(in->data + at, in->data + at + n, in->size - at - n);
	in->size -= n;
}

/* A piece of another seed. */
static void splice(struct input *in, u32 at, const struct seeds *s, u64 *random)
{
	const struct input *other = &s->input[random_below(random, s->nr)];
	u32 from;

	if (!other->size)
		return;
	from = random_below(random, other->size);
	insert(in, at, other->data + from,
	       1 + random_below(random, other->size - from));
}

static void mutate(struct input *in, const struct seeds *s, u64 *random)
{
	static const u8 odd[] = { 0, 1, 2, 0x7f, 0x80, 0xfe, 0xff };
	u32 at = in->size ? random_below(random, in->size) : 0;
	u8 any = (u8)random_below(random, 256);

	switch (random_below(random, in->size ? 7 : 2)) {
	case 0:
		insert(in, at, &any, 1);
		break;
	case 1:
		splice(in, at, s, random);
		break;
	case 2:
		in->data[at] = any;
		break;
	case 3:
		in->data[at] = odd[random_below(random, sizeof(odd))];
		break;
	case 4:
		in->data[at] ^= (u8)(1u << random_below(random, 8));
		break;
	case 5:
		in->data[at] += (u8)(random_below(random, 9) - 4);
		break;
	default:
		cut(in, at, 1 + random_below(random, 8));
		break;
	}
}

/* ---- Running ---------------------------------------------------------- */

static void run(const struct input *in)
{
	/* Exactly as long as it is, so that a sanitizer sees its end. */
	u8 *data = malloc(in->size + !in->size);

	if (!data)
		die("out of memory");
	memcpy(data, in->data, in->size);
	alarm(SECONDS_EACH);
	fuzz_one(data, in->size);
	free(data);
}

static void run_all(const struct seeds *s, unsigned long mutations,
		    struct input *now)
{
	u64 random = 1;
	u32 i, n;

	for (i = 0; i < s->nr; i++) {
		*now = s->input[i];
		run(now);
	}
	while (mutations--) {
		*now = s->input[random_below(&random, s->nr)];
		for (n = 1 + random_below(&random, 6); n; n--)
			mutate(now, s, &random);
		run(now);
	}
}

static int run_in_child(const struct seeds *s, unsigned long mutations)
{
	struct input *now = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	if (now == MAP_FAILED)
		die("out of memory");
	pid = fork();
	if (pid < 0)
		die("cannot fork: %s", strerror(errno));
	if (!pid) {
		run_all(s, mutations, now);
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("the child is gone");
	if (!status)
		return 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		fprintf(stderr, "%s: takes more than %d s\n", name,
			SECONDS_EACH);
	fprintf(stderr, "%s: this input failed:\n", name);
	print_line(now);
	return 1;
}

int main(int argc, char **argv)
{
	unsigned long mutations = 0;
	const char *dir = NULL;
	struct seeds seeds = { 0 };
	int i, status = 0;

	name = argv[0];
	for (i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "--mutate=", 9))
			mutations = strtoul(argv[i] + 9, NULL, 10);
		else if (!strncmp(argv[i], "--write=", 8))
			dir = argv[i] + 8;
		else
			read_seeds(&seeds, argv[i]);
	}
	if (!seeds.nr)
		add_seed(&seeds)->size = 0;
	if (dir)
		write_seeds(&seeds, dir);
	else
		status = run_in_child(&seeds, mutations);
	free(seeds.input);
	return status;
}
