// SPDX-License-Identifier: BSD-2-Clause
/*
 * pack_file.c - reads blocks with life-times.
 *
 * What makes no sense is said with its line, and nothing is guessed: a number
 * is a whole field, a line has a field for each column.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "pack_file.h"

#define MOST_COLUMNS 64u

enum column { ID, LOWER, UPPER, SIZE, ALIGN, NR_COLUMNS, OTHER };

static const char *const column_names[NR_COLUMNS] = {
	"id", "lower", "upper", "size", "align",
};

/* The file as it is being read. */
struct reader {
	struct pack_file *to;
	FILE *file;
	char *line;
	size_t room;		/* of line */
	size_t nr;		/* of the line */
	enum column column[MOST_COLUMNS];
	size_t nr_columns;
};

__attribute__((format(printf, 2, 3)))
static int complain(const struct reader *r, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "slabpack: %s:%zu: ", r->to->path, r->nr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	return -EINVAL;
}

static int file_error(const char *path, int err)
{
	fprintf(stderr, "slabpack: %s: %s\n", path, strerror(err));
	return -err;
}

/* A field, fit to be printed. */
struct shown {
	char text[40];
};

static struct shown shown(const char *word)
{
	struct shown to;
	size_t i;

	for (i = 0; i < sizeof(to.text) - 4 && word[i]; i++)
		to.text[i] = word[i] >= ' ' && word[i] <= '~' ? word[i] : '?';
	snprintf(to.text + i, sizeof(to.text) - i, "%s", word[i] ? "..." : "");
	return to;
}

/* ---- Lines --------------------------------------------------------------- */

/* Without its end and blanks around it. 1; 0 at the end; a negative errno. */
static int read_line(struct reader *r)
{
	ssize_t len;

	r->nr++;
	errno = 0;
	len = getline(&r->line, &r->room, r->file);
	if (len < 0)
		return feof(r->file) ? 0 : file_error(r->to->path,
						      errno ? errno : EIO);
	if (strlen(r->line) != (size_t)len)
		return complain(r, "a zero byte: this is not a text file");
	while (len && strchr(" \t\r\n", r->line[len - 1]))
		r->line[--len] = '\0';
	return 1;
}

/* The next field; NULL: there is none. */
static char *next_field(char **rest)
{
	char *field = strsep(rest, ","), *end;

	if (!field)
		return NULL;
	field += strspn(field, " \t");
	end = field + strlen(field);
	while (end > field && strchr(" \t", end[-1]))
		*--end = '\0';
	return field;
}

/* ---- The first line ------------------------------------------------------ */

static int add_column(struct reader *r, const char *name, bool *has)
{
	size_t c;

	if (r->nr_columns == MOST_COLUMNS)
		return complain(r, "more than %u columns", MOST_COLUMNS);
	for (c = 0; c < NR_COLUMNS; c++)
		if (!strcmp(name, column_names[c]))
			break;
	r->column[r->nr_columns++] = c < NR_COLUMNS ? c : OTHER;
	if (c == NR_COLUMNS)
		return 0;
	if (has[c])
		return complain(r, "the column %s is there twice", name);
	has[c] = true;
	return 0;
}

static int read_head(struct reader *r)
{
	bool has[NR_COLUMNS] = { false };
	char *rest, *field;
	size_t c;
	int got = read_line(r);

	if (got < 0)
		return got;
	rest = got ? r->line : NULL;
	while ((field = next_field(&rest)))
		if (add_column(r, field, has))
			return -EINVAL;
	for (c = 0; c < ALIGN; c++)
		if (!has[c])
			return complain(r, "no column %s: the first line names "
					"the columns, such as "
					"id,lower,upper,size",
					column_names[c]);
	r->to->has_align = has[ALIGN];
	return 0;
}

/* ---- A block ------------------------------------------------------------- */

/* The number at @at, which is the end of @word. */
static int read_digits(const struct reader *r, const char *name,
		       const char *word, const char *at, uint64_t *value)
{
	const char *digits = at;
	uint64_t n = 0;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(n, (uint64_t)10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*at - '0'), &n))
			return complain(r, "%s '%s' does not fit 64 bits", name,
					shown(word).text);
	if (*at || at == digits)
		return complain(r, "%s '%s' is not a decimal number", name,
				shown(word).text);
	*value = n;
	return 0;
}

static int read_u64(const struct reader *r, const char *name, const char *word,
		    uint64_t *value)
{
	return read_digits(r, name, word, word, value);
}

static int read_s64(const struct reader *r, const char *name, const char *word,
		    int64_t *value)
{
	const uint64_t most = INT64_MAX;
	bool negative = *word == '-';
	uint64_t n;

	if (read_digits(r, name, word, word + negative, &n))
		return -EINVAL;
	if (n > most + negative)
		return complain(r, "%s '%s' does not fit 64 bits", name,
				shown(word).text);
	*value = (int64_t)(negative ? -n : n);
	return 0;
}

static int read_field(struct reader *r, enum column c, const char *word,
		      struct slabdev_pack_block *b, char **id)
{
	if (c == OTHER)
		return 0;
	if (!*word)
		return complain(r, "%s is empty", column_names[c]);
	switch (c) {
	case ID: *id = strdup(word); return *id ? 0 : -ENOMEM;
	case LOWER: return read_s64(r, "lower", word, &b->lower);
	case UPPER: return read_s64(r, "upper", word, &b->upper);
	case SIZE: return read_u64(r, "size", word, &b->bytes);
	default: return read_u64(r, "align", word, &b->align);
	}
}

/* What the library would refuse too, but with the line. */
static int check_block(const struct reader *r,
		       const struct slabdev_pack_block *b)
{
	if (!b->bytes)
		return complain(r, "size is 0");
	if (b->upper <= b->lower)
		return complain(r, "upper %" PRId64 " is not above lower %"
				PRId64, b->upper, b->lower);
	if (b->align & (b->align - 1))
		return complain(r, "align %" PRIu64 " is no power of two",
				b->align);
	return 0;
}

static int read_block(struct reader *r)
{
	struct pack_file *f = r->to;
	struct slabdev_pack_block *b;
	char *rest = r->line, *field;
	size_t c = 0;
	int err;

	f->blocks = grow_array(f->blocks, f->nr, sizeof(*f->blocks));
	f->ids = grow_array(f->ids, f->nr, sizeof(*f->ids));
	f->lines = grow_array(f->lines, f->nr, sizeof(*f->lines));
	b = &f->blocks[f->nr];
	*b = (struct slabdev_pack_block){ 0 };
	f->ids[f->nr] = NULL;
	f->lines[f->nr] = r->nr;
	f->nr++;
	for (; (field = next_field(&rest)); c++) {
		if (c == r->nr_columns)
			return complain(r, "more fields than the %zu columns",
					c);
		err = read_field(r, r->column[c], field, b,
				 &f->ids[f->nr - 1]);
		if (err)
			return err;
	}
	if (c < r->nr_columns)
		return complain(r, "%zu fields, but there are %zu columns", c,
				r->nr_columns);
	return check_block(r, b);
}

static int read_blocks(struct reader *r)
{
	int got;

	while ((got = read_line(r)) > 0) {
		if (!*r->line)
			continue;
		got = read_block(r);
		if (got)
			break;
	}
	return got;
}

/* ---- The file ------------------------------------------------------------ */

struct named {
	const char *id;
	size_t line;
};

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->id, y->id);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int check_ids(struct reader *r)
{
	const struct pack_file *f = r->to;
	struct named *all = zalloc((f->nr + 1) * sizeof(*all));
	size_t i;
	int err = 0;

	for (i = 0; i < f->nr; i++)
		all[i] = (struct named){ f->ids[i], f->lines[i] };
	qsort(all, f->nr, sizeof(*all), compare_named);
	for (i = 1; i < f->nr && !err; i++) {
		if (strcmp(all[i].id, all[i - 1].id))
			continue;
		r->nr = all[i].line;
		err = complain(r, "id %s is that of line %zu",
			       shown(all[i].id).text, all[i - 1].line);
	}
	free(all);
	return err;
}

int pack_file_read(struct pack_file *f, const char *path)
{
	struct reader r = { .to = f };
	int err;

	*f = (struct pack_file){ .path = path };
	r.file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	if (!r.file)
		return file_error(path, errno);
	err = read_head(&r);
	if (!err)
		err = read_blocks(&r);
	if (!err)
		err = check_ids(&r);
	free(r.line);
	if (r.file != stdin)
		fclose(r.file);
	return err;
}

void pack_file_fini(struct pack_file *f)
{
	size_t i;

	for (i = 0; i < f->nr; i++)
		free(f->ids[i]);
	free(f->ids);
	free(f->lines);
	free(f->blocks);
}
