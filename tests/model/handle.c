// SPDX-License-Identifier: BSD-2-Clause
/*
 * handle.c - handles: numbers that stand for objects.
 *
 * A value is never used twice, so that a use after the end is known for what
 * it is: the real driver would look into freed memory, the model aborts. The
 * values lie outside of every address space.
 */
#include "tests/model/internal.h"

#define HANDLE_TAG ((u64)0xd0 << 48)
#define KIND_SHIFT 40
#define SERIAL_SHIFT 4

struct handle_table {
	void **objects;		/* by serial number; NULL: ended */
	size_t n, cap;
	u64 alive;
};

static struct handle_table tables[NR_HANDLE_KINDS];

static const char *const kind_names[NR_HANDLE_KINDS] = {
	[HANDLE_CONTEXT] = "context", [HANDLE_STREAM] = "stream",
	[HANDLE_EVENT] = "event", [HANDLE_MEMORY] = "memory handle",
	[HANDLE_POOL] = "pool", [HANDLE_MODULE] = "module",
	[HANDLE_FUNCTION] = "function", [HANDLE_GRAPH] = "graph",
	[HANDLE_EXEC] = "executable graph", [HANDLE_LOG] = "log callback",
};

/* Of the use of a handle after its end. */
static int statement_of(enum handle_kind kind)
{
	return kind == HANDLE_MEMORY ? 74 : 0;
}

static u64 value_of(enum handle_kind kind, size_t serial)
{
	return HANDLE_TAG | (u64)kind << KIND_SHIFT |
	       (u64)(serial + 1) << SERIAL_SHIFT;
}

u64 handle_new(enum handle_kind kind, void *object)
{
	struct handle_table *t = &tables[kind];

	if (t->n == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 64;
		t->objects = realloc(t->objects,
				     t->cap * sizeof(t->objects[0]));
		if (!t->objects)
			undefined(0, "the host has no memory for handles");
	}
	t->objects[t->n] = object;
	t->alive++;
	return value_of(kind, t->n++);
}

static bool serial_of(enum handle_kind kind, u64 value, size_t *serial)
{
	u64 low = value & (((u64)1 << KIND_SHIFT) - 1);

	if (value >> KIND_SHIFT != value_of(kind, 0) >> KIND_SHIFT)
		return false;
	if (!low || low % (1 << SERIAL_SHIFT))
		return false;
	*serial = (size_t)(low >> SERIAL_SHIFT) - 1;
	return *serial < tables[kind].n;
}

void handle_end(u64 value)
{
	enum handle_kind kind = value >> KIND_SHIFT & 0xff;
	size_t serial;

	if (serial_of(kind, value, &serial)) {
		tables[kind].objects[serial] = NULL;
		tables[kind].alive--;
	}
}

void *handle_find(enum handle_kind kind, u64 value)
{
	size_t serial;

	if (!serial_of(kind, value, &serial))
		return NULL;
	if (!tables[kind].objects[serial] && !broken(statement_of(kind)))
		undefined(statement_of(kind), "the %s %#llx is used after its "
			  "end", kind_names[kind], (unsigned long long)value);
	return tables[kind].objects[serial];
}

u64 handle_count(enum handle_kind kind)
{
	return tables[kind].alive;
}
