// SPDX-License-Identifier: BSD-2-Clause
/*
 * nvtx_recorder.c - a tool that is attached by NVTX, and writes down what it is
 * told of memory; compiled and loaded by tests/nvtx_test.c.
 *
 * It has its own declarations of the contract, so that a mistake in the
 * library's would be seen: each structure's size is checked.
 *
 * One line for each call: "domain NAME", "heap+ ADDR BYTES NAME" and "heap- N"
 * (the N-th one), "region+ N ADDR BYTES", "region~ ADDR BYTES", "region- ADDR";
 * "bad ..." for what is not as it should be. NVTX_RECORDER=deaf does not want
 * to know of memory.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOMAIN ((void *)0xd0)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[1 << 20];
static size_t len;
static uintptr_t nr_heaps;

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (len < sizeof(text))
		len += (size_t)vsnprintf(text + len, sizeof(text) - len, fmt,
					 args);
	va_end(args);
}

/* What was written since the last call. */
const char *recorder_text(void);
const char *recorder_text(void)
{
	static char copy[sizeof(text)];

	pthread_mutex_lock(&lock);
	memcpy(copy, text, len < sizeof(text) ? len : sizeof(text) - 1);
	copy[len < sizeof(text) ? len : sizeof(text) - 1] = '\0';
	len = 0;
	pthread_mutex_unlock(&lock);
	return copy;
}

/* ---- The classic part -------------------------------------------------- */

typedef void (*function)(void);

struct callbacks {
	size_t size;
	int (*get)(uint32_t module, function ***table, unsigned int *n);
};

struct version {
	size_t size;
	uint32_t version;
	uint32_t reserved;
	void (*set)(uint32_t version);
};

static void *domain_create(const char *name)
{
	note("domain %s\n", name);
	return DOMAIN;
}

int InitializeInjectionNvtx2(const void *(*get)(uint32_t table));
int InitializeInjectionNvtx2(const void *(*get)(uint32_t table))
{
	const struct callbacks *c = get(1);
	const struct version *v = get(3);
	function **table = NULL;
	unsigned int n = 0;

	if (!c || c->size < sizeof(*c) || !v || v->size < sizeof(*v) ||
	    v->version != 3 || get(99)) {
		note("bad tables\n");
		return 0;
	}
	v->set(3);
	for (uint32_t module = 1; module < 7; module++)
		if (!c->get(module, &table, &n) || !table)
			note("bad module %u\n", module);
	if (c->get(0, &table, &n) || !c->get(5, &table, &n) || n <= 11 ||
	    !table[11])
		note("bad CORE2\n");
	else
		*table[11] = (function)domain_create;
	return 1;
}

/* ---- Memory ------------------------------------------------------------- */

struct range {
	size_t size;
	const void *ptr;
};

struct heap {
	uint16_t compat, size;
	uint32_t reserved;
	uint32_t usage, type;
	size_t desc_size;
	const struct range *desc;
	uint32_t category, message_type;
	const char *message;
};

struct batch {			/* regions that come */
	uint16_t compat, size;
	uint32_t type;
	uintptr_t heap;
	size_t count, element_size;
	const struct range *element;
	void **out;
};

struct sizes {			/* that have another size */
	uint16_t compat, size;
	uint32_t type;
	size_t count, element_size;
	const struct range *element;
};

struct refs {			/* that go */
	uint16_t compat, size;
	uint32_t type;
	size_t count, element_size;
	const void *const *element;
};

static void check(int ok, const char *what)
{
	if (!ok)
		note("bad %s\n", what);
}

static uintptr_t heap_register(void *domain, const struct heap *h)
{
	pthread_mutex_lock(&lock);
	check(domain == DOMAIN && h->compat == 0x102 &&
	      h->size == sizeof(*h) && sizeof(*h) == 48 && !h->reserved &&
	      h->usage == 1 && h->type == 1 && h->message_type == 1 &&
	      h->desc_size == sizeof(*h->desc), "heap");
	note("heap+ %p %zu %s\n", h->desc->ptr, h->desc->size, h->message);
	pthread_mutex_unlock(&lock);
	return __atomic_add_fetch(&nr_heaps, 1, __ATOMIC_RELAXED);
}

static void heap_unregister(void *domain, uintptr_t heap)
{
	pthread_mutex_lock(&lock);
	check(domain == DOMAIN, "domain");
	note("heap- %ju\n", (uintmax_t)heap);
	pthread_mutex_unlock(&lock);
}

static void regions_register(void *domain, const struct batch *b)
{
	pthread_mutex_lock(&lock);
	check(domain == DOMAIN && b->compat == 0x102 &&
	      b->size == sizeof(*b) && sizeof(*b) == 48 && b->type == 1 &&
	      b->count == 1 && b->element_size == sizeof(*b->element),
	      "regions");
	note("region+ %ju %p %zu\n", (uintmax_t)b->heap, b->element->ptr,
	     b->element->size);
	pthread_mutex_unlock(&lock);
}

static void regions_resize(void *domain, const struct sizes *s)
{
	pthread_mutex_lock(&lock);
	check(domain == DOMAIN && s->compat == 0x102 &&
	      s->size == sizeof(*s) && sizeof(*s) == 32 && s->type == 1 &&
	      s->count == 1 && s->element_size == sizeof(*s->element),
	      "sizes");
	note("region~ %p %zu\n", s->element->ptr, s->element->size);
	pthread_mutex_unlock(&lock);
}

static void regions_unregister(void *domain, const struct refs *r)
{
	pthread_mutex_lock(&lock);
	check(domain == DOMAIN && r->compat == 0x102 &&
	      r->size == sizeof(*r) && sizeof(*r) == 32 && r->type == 1 &&
	      r->count == 1 && r->element_size == sizeof(*r->element), "refs");
	note("region- %p\n", *r->element);
	pthread_mutex_unlock(&lock);
}

struct segment {
	size_t id, slots;
	intptr_t *slot;
};

struct module {
	uint16_t version, size, id, compat;
	size_t segments;
	struct segment *segment;
	intptr_t (*get)(uint32_t number);
	const void *info;
};

int InitializeInjectionNvtxExtension(struct module *m);
int InitializeInjectionNvtxExtension(struct module *m)
{
	const char *mode = getenv("NVTX_RECORDER");

	check(m->version == 3 && m->size == sizeof(*m) && sizeof(*m) == 40 &&
	      m->id == 1 && m->compat == 0x102 && m->segments == 1 &&
	      m->segment->id == 1 && m->segment->slots > 6, "module");
	if (mode && !strcmp(mode, "deaf"))
		return 0;
	m->segment->slot[1] = (intptr_t)heap_register;
	m->segment->slot[2] = (intptr_t)heap_unregister;
	m->segment->slot[4] = (intptr_t)regions_register;
	m->segment->slot[5] = (intptr_t)regions_resize;
	m->segment->slot[6] = (intptr_t)regions_unregister;
	return 1;
}
