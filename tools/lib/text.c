// SPDX-License-Identifier: BSD-2-Clause
/*
 * text.c - names, sizes, and shares as people read them.
 */
#include <inttypes.h>
#include <stdio.h>

#include <slabdev/segment.h>
#include <slabdev/slabdev.h>

#include "text.h"

struct escaped escaped(const char *name)
{
	struct escaped to;
	size_t n = 0;

	for (; *name && n + 5 <= sizeof(to.text); name++) {
		unsigned char c = (unsigned char)*name;

		if (c >= ' ' && c <= '~' && c != '\\')
			to.text[n++] = *name;
		else
			n += (size_t)sprintf(&to.text[n], "\\x%02x", c);
	}
	to.text[n] = '\0';
	return to;
}

struct size_text size_text(uint64_t bytes_count, bool bytes)
{
	static const char units[] = "KMGTPE";
	struct size_text to;
	unsigned int unit = 0;
	uint64_t tenths;

	if (bytes || bytes_count < 1024) {
		snprintf(to.text, sizeof(to.text), "%" PRIu64, bytes_count);
		return to;
	}
	while (bytes_count >= UINT64_C(1) << 20) {
		bytes_count >>= 10;
		unit++;
	}
	tenths = bytes_count * 10 / 1024;
	snprintf(to.text, sizeof(to.text), "%" PRIu64 ".%" PRIu64 "%c",
		 tenths / 10, tenths % 10, units[unit]);
	return to;
}

struct size_text signed_size_text(int64_t bytes_count, bool bytes)
{
	struct size_text to, magnitude;

	if (bytes_count >= 0)
		return size_text((uint64_t)bytes_count, bytes);
	magnitude = size_text(-(uint64_t)bytes_count, bytes);
	snprintf(to.text, sizeof(to.text), "-%.22s", magnitude.text);
	return to;
}

unsigned int hundredths(uint64_t part, uint64_t whole)
{
	unsigned __int128 share = whole ? (unsigned __int128)part * 10000 /
					  whole : 0;

	return share > 999999 ? 999999 : (unsigned int)share;
}

unsigned int percent(uint64_t part, uint64_t whole)
{
	return hundredths(part, whole) / 100;
}

const char *policy_name(uint32_t mode)
{
	switch (mode) {
	case SLABDEV_RETAIN: return "retain";
	case SLABDEV_TRIM: return "trim";
	case SLABDEV_AGGRESSIVE: return "aggressive";
	default: return "unknown";
	}
}

const char *class_type_key(uint32_t type)
{
	switch (type) {
	case SLABDEV_SEG_GENERAL: return "general";
	case SLABDEV_SEG_CACHE: return "cache";
	default: return "large";
	}
}
