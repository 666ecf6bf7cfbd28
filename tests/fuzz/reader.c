// SPDX-License-Identifier: BSD-2-Clause
/*
 * reader.c - slabinfo against statistics files that nobody would write.
 *
 * This process publishes files and reads itself, as slabinfo -p would, in
 * every view. An input says what is done to three sound files first, and,
 * after OP_LATER, what is done to them while they are read: the reader waits
 * between two attempts and between two looks at a torn window, and that wait
 * is ours.
 *
 * What must hold: the texts are what their readers take, the figures of a
 * space that could be read completely add up, and whatever is left out is a
 * problem that is named.
 *
 *	input	= pattern flags first { operation }
 *	operation = op file arguments
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake_files.h"
#include "tests/fuzz/fuzz.h"
#include "tests/syntax.h"
#include "tools/lib/reader.h"
#include "tools/lib/view.h"

#define FILES_MAX 6

enum op {
	OP_PATCH,	/* place16 n8 bytes: in units of 4 bytes */
	OP_WORD,	/* place16 number: 8 bytes, in units of 8 */
	OP_FILL,	/* place16 n8 byte: units of 4 bytes */
	OP_SIZE,	/* number: bytes of the file, the header as it is */
	OP_RESIZE,	/* number: and in the header */
	OP_ADD,		/* kind index open_id: one more file */
	OP_DROP,	/* a file less */
	OP_UNSEAL,	/* OP_SIZE may resize it even after OP_LATER */
	OP_TWICE,	/* another descriptor of it */
	OP_LATER,	/* what follows is done when the reader waits */
	NR_OPS
};

/**
 * struct file - one file
 * @image: what will be in it
 * @map: what is in it; NULL before it is published
 * @size: its bytes
 * @fd: the file
 * @twin: another descriptor of it
 * @sealed: as the library's
 * @dropped: there is no such file
 * @has_twin: it is published with @twin
 */
struct file {
	struct slabdev_seg_header *image;
	u8 *map;
	u64 size;
	int fd, twin;
	bool sealed, dropped, has_twin;
};

static u64 rooms[FILES_MAX][FAKE_ROOM / sizeof(u64)];
static u64 sound[3][FAKE_ROOM / sizeof(u64)];
static struct file files[FILES_MAX];
static u32 nr_files;
static struct fuzz_input later;

/* ---- Files ------------------------------------------------------------ */

static struct slabdev_seg_header *make_sound(u32 kind, u32 index)
{
	struct slabdev_seg_header *head = (void *)sound[kind - 1];

	fake_header_init(head, kind, index);
	head->pid = (u32)getpid();
	head->start_time = fake_start_time();
	return head + 1;
}

/* The three files that every input begins with. */
static void make_sound_files(void)
{
	void *classes, *threads;

	if (sound[0][0])
		return;
	fake_space_init((void *)make_sound(SLABDEV_SEG_SPACE, 0));
	classes = make_sound(SLABDEV_SEG_CLASSES, 0);
	threads = make_sound(SLABDEV_SEG_THREADS, 0);
	fake_classes_init(classes, threads);
}

static struct file *add_file(void)
{
	struct file *f = &files[nr_files];

	*f = (struct file){ .image = (void *)rooms[nr_files], .fd = -1,
			    .sealed = true };
	nr_files++;
	return f;
}

static void begin_files(void)
{
	struct file *f;
	u32 i;

	make_sound_files();
	nr_files = 0;
	for (i = 0; i < ARRAY_SIZE(sound); i++) {
		f = add_file();
		memcpy(f->image, sound[i], sizeof(sound[i]));
		f->size = f->image->size;
	}
}

static void add_empty_file(struct fuzz_input *in)
{
	struct file *f;
	u32 kind = 1 + take_u8(in) % 4;

	if (nr_files == FILES_MAX)
		return;
	f = add_file();
	memset(f->image, 0, FAKE_ROOM);
	f->size = fake_header_init(f->image, kind, take_u8(in));
	f->image->open_id = take_u8(in);
	f->image->pid = (u32)getpid();
	f->image->start_time = files[0].image->start_time;
}

/* Sizes on disk have a sign. */
static void resize(struct file *f, u64 size)
{
	f->size = size & INT64_MAX;
	if (f->map)
		(void)!ftruncate(f->fd, (off_t)f->size);
}

static void publish(struct file *f)
{
	f->fd = memfd_create(SLABDEV_SEG_NAME, MFD_ALLOW_SEALING | MFD_CLOEXEC);
	fuzz_check(f->fd >= 0);
	if (ftruncate(f->fd, FAKE_ROOM))
		fuzz_fail("no memory for a file: %s", strerror(errno));
	f->map = mmap(NULL, FAKE_ROOM, PROT_READ | PROT_WRITE, MAP_SHARED,
		      f->fd, 0);
	fuzz_check(f->map != MAP_FAILED);
	memcpy(f->map, f->image, FAKE_ROOM);
	resize(f, f->size);
	if (f->sealed)
		fuzz_check(!fcntl(f->fd, F_ADD_SEALS, F_SEAL_SHRINK |
				  F_SEAL_GROW | F_SEAL_SEAL));
	if (f->has_twin)
		f->twin = dup(f->fd);
}

static void withdraw(struct file *f)
{
	if (f->has_twin)
		close(f->twin);
	munmap(f->map, FAKE_ROOM);
	close(f->fd);
	f->map = NULL;
}

/* ---- Operations ------------------------------------------------------- */

/* Where @n units of @unit bytes may be written; what lies beyond wraps. */
static u8 *place(struct file *f, struct fuzz_input *in, u32 unit, u32 n)
{
	u64 room = f->map ? min(f->size & ~(u64)7, (u64)FAKE_ROOM)
			  : (u64)FAKE_ROOM;
	u64 at = (u64)take_u16(in) * unit % FAKE_ROOM;
	u8 *base = f->map ? f->map : (u8 *)f->image;

	return at + (u64)n * unit <= room ? base + at : NULL;
}

static void patch(struct file *f, struct fuzz_input *in)
{
	u32 n, i;
	u8 *to = place(f, in, 4, 64);

	n = take_u8(in);
	for (i = 0; i < n && to; i++)
		to[i] = take_u8(in);
}

static void word(struct file *f, struct fuzz_input *in)
{
	u8 *to = place(f, in, 8, 1);
	u64 n = take_number(in);

	if (to)
		memcpy(to, &n, sizeof(n));
}

static void fill(struct file *f, struct fuzz_input *in)
{
	u8 *to = place(f, in, 4, 64);
	u32 n = take_u8(in) % 65 * 4;
	u8 byte = take_u8(in);

	if (to)
		memset(to, byte, n);
}

/* A file that was published keeps its seals. */
static void operate(struct file *f, enum op op, struct fuzz_input *in)
{
	switch (op) {
	case OP_PATCH:
		patch(f, in);
		break;
	case OP_WORD:
		word(f, in);
		break;
	case OP_FILL:
		fill(f, in);
		break;
	case OP_SIZE:
		if (!f->map || !f->sealed)
			resize(f, take_number(in));
		break;
	case OP_RESIZE:
		if (!f->map)
			resize(f, f->image->size = take_number(in));
		break;
	case OP_ADD:
		add_empty_file(in);
		break;
	case OP_DROP:
		f->dropped = true;
		break;
	case OP_UNSEAL:
		f->sealed = false;
		break;
	default:
		f->has_twin = true;
		break;
	}
}

static void prepare(struct fuzz_input *in)
{
	while (in->at < in->end) {
		enum op op = take_u8(in) % NR_OPS;

		if (op == OP_LATER)
			break;
		operate(&files[take_u8(in) % nr_files], op, in);
	}
	later = *in;
}

/* The reader's waits; it sees another world after each. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	enum op op = take_u8(&later) % NR_OPS;
	struct file *f = &files[take_u8(&later) % nr_files];

	(void)time;
	(void)left;
	if (later.at < later.end && f->map && op <= OP_SIZE)
		operate(f, op, &later);
	return 0;
}

/* ---- What must hold --------------------------------------------------- */

typedef void (*view_fn)(FILE *out, const struct snapshot *snap,
			const struct options *opt);

static void view_text_traces(FILE *out, const struct snapshot *snap,
			     const struct options *opt)
{
	struct options own = *opt;

	own.traces = TRACES_ALLOC;
	view_traces(out, snap, &own);
}

static void view_json_traces(FILE *out, const struct snapshot *snap,
			     const struct options *opt)
{
	struct options own = *opt;

	own.traces = TRACES_FREE;
	own.view = VIEW_JSON;
	view_traces(out, snap, &own);
}

static const view_fn views[] = {
	view_list, view_report, view_totals, view_xtotals, view_json,
	view_prometheus, view_text_traces, view_json_traces,
};

static const char *text_wrong(view_fn view, bool colour, const char *text,
			      const char **where)
{
	if (view == view_json || view == view_json_traces)
		return json_wrong(text, where);
	if (view == view_prometheus)
		return prometheus_wrong(text, where);
	return print_wrong(text, colour, where);
}

static void check_text(view_fn view, bool colour, const char *text)
{
	const char *where = text, *why = text_wrong(view, colour, text, &where);

	if (why)
		fuzz_fail("%s: %.60s", why, where);
}

static void check_views(const struct snapshot *snap, struct options *opt)
{
	char *text = NULL;
	size_t size, i;
	FILE *out;

	for (i = 0; i < ARRAY_SIZE(views); i++) {
		out = open_memstream(&text, &size);
		fuzz_check(out);
		views[i](out, snap, opt);
		fuzz_check(!fclose(out));
		check_text(views[i], opt->colour, text);
		free(text);
	}
}

static void check_space(const struct space *s, const struct snapshot *snap)
{
	const struct account *b = &s->bytes;
	u64 sum = b->live + b->cached + b->pending + b->retained +
		  b->rounding + b->slack + b->lost + (u64)b->in_flight;

	if (s->complete)
		fuzz_check(sum == b->mapped);
	else
		fuzz_check(problems_count(&snap->problems));
}

static void check_problems(const struct snapshot *snap)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fuzz_check(out);
	problems_print(&snap->problems, out);
	problems_print(&snap->absent, out);
	fuzz_check(!fclose(out));
	check_text(NULL, false, text);
	free(text);
}

/* ---- Options ---------------------------------------------------------- */

static void choose(struct options *opt, struct fuzz_input *in)
{
	static const char *const patterns[] = { "e", "^$", "^size-[0-9]+$" };
	u8 pattern = take_u8(in) % 4, flags = take_u8(in);

	*opt = (struct options){
		.sort = flags % 5, .inverted = flags & 8,
		.show = flags / 16 % 3, .bytes = flags & 64,
		.colour = flags & 128, .first = take_u8(in) % 8,
		.activity = pattern & 1,
	};
	if (pattern && !regcomp(&opt->pattern, patterns[pattern - 1],
				REG_EXTENDED | REG_ICASE | REG_NOSUB))
		opt->has_pattern = true;
}

void fuzz_one(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	pid_t pid = getpid();
	struct snapshot snap;
	struct options opt;
	size_t i;

	choose(&opt, &in);
	begin_files();
	prepare(&in);
	for (i = 0; i < nr_files; i++)
		if (!files[i].dropped)
			publish(&files[i]);
	reader_run(&snap, &pid, 1);
	for (i = 0; i < snap.nr_spaces; i++)
		check_space(snap.spaces[i], &snap);
	check_views(&snap, &opt);
	check_problems(&snap);
	snapshot_fini(&snap);
	for (i = 0; i < nr_files; i++)
		if (files[i].map)
			withdraw(&files[i]);
	if (opt.has_pattern)
		regfree(&opt.pattern);
}
