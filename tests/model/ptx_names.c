// SPDX-License-Identifier: BSD-2-Clause
/* ptx_names.c - the names of a kernel: a hash table that only grows. */
#include "tests/model/ptx_text.h"

static struct ptx_name *place_of(struct ptx_name *places, size_t cap,
				 const char *text, size_t n)
{
	u64 hash = 14695981039346656037u;
	size_t i;

	for (i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
	for (i = hash % cap; places[i].text; i = (i + 1) % cap)
		if (!strncmp(places[i].text, text, n) && !places[i].text[n])
			break;
	return &places[i];
}

static void rehash(struct ptx_names *names)
{
	size_t cap = names->cap ? 2 * names->cap : 64, i;
	struct ptx_name *places = calloc(cap, sizeof(places[0])), *from;

	if (!places)
		undefined(0, "the host has no memory for names");
	for (i = 0; i < names->cap; i++) {
		from = &names->places[i];
		if (from->text)
			*place_of(places, cap, from->text,
				  strlen(from->text)) = *from;
	}
	free(names->places);
	names->places = places;
	names->cap = cap;
}

struct ptx_name *ptx_name_find(const struct ptx_names *names, const char *text,
			       size_t n)
{
	struct ptx_name *place;

	if (!names->cap)
		return NULL;
	place = place_of(names->places, names->cap, text, n);
	return place->text ? place : NULL;
}

void ptx_name_add(struct ptx_names *names, const char *text, size_t n,
		  u8 kind, u32 index, u32 line)
{
	struct ptx_name *place;

	if (2 * names->n >= names->cap)
		rehash(names);
	place = place_of(names->places, names->cap, text, n);
	*place = (struct ptx_name){
		.text = strndup(text, n), .kind = kind, .index = index,
		.line = line,
	};
	if (!place->text)
		undefined(0, "the host has no memory for names");
	names->n++;
}

void ptx_names_free(struct ptx_names *names)
{
	size_t i;

	for (i = 0; i < names->cap; i++)
		free(names->places[i].text);
	free(names->places);
}
