/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debug_spec.h - which checks are wanted of which cache: the text of
 * SLABDEV_DEBUG, and of slabdev_set_debug().
 *
 * The grammar is that of the kernel's slab_debug=:
 *
 *	text    = [ block { ";" block } ]
 *	block   = letters [ "," name { "," name } ]
 *	letters = { "F" | "Z" | "P" | "U" | "T" | "A" | "O" | "Q" | "G" |
 *		    "H" | "-" }
 *
 * Letters are read in either case, names as they are. "-" takes back what
 * stands before it in the block. An empty text, and a block that begins with
 * ",", mean FZPU.
 *
 * A block without names is *global*: it says what holds for all caches, and
 * the last one counts. Of those with names a cache takes the first that has
 * its name, in addition to its own letters, and not the global ones then. A
 * name with "*" stands for all that begin with what is before it. When all
 * blocks have names, the global letters are what they were before.
 *
 * O holds for all caches wherever it stands, and H only without names. Other
 * than in the kernel an unknown letter is refused, and so is one that this
 * build lacks: a check that silently does not happen is worse than none.
 *
 * Locking: the caller's.
 */
#ifndef CORE_DEBUG_SPEC_H
#define CORE_DEBUG_SPEC_H

/* The letters' bits are in the order of the table in debug_spec.c; those of
 * the public SLABDEV_CACHE_* flags are the same, 8 bits further up. */
#define DEBUG_CONSISTENCY 0x1u		/* F: checks of each free */
#define DEBUG_RED_ZONE 0x2u		/* Z */
#define DEBUG_POISON 0x4u		/* P */
#define DEBUG_USER 0x8u			/* U: who allocated, who freed */
#define DEBUG_TRACE 0x10u		/* T: a line for each */
#define DEBUG_FAIL 0x20u		/* A: fault injection asks here */
#define DEBUG_NO_GROW 0x40u		/* O: no Z where objects would grow */
#define DEBUG_HAZARD 0x80u		/* H: of the space, see hazard.h */
#define DEBUG_QUARANTINE 0x100u		/* Q */
#define DEBUG_GUARD 0x200u		/* G */
#define DEBUG_ANNOTATE 0x400u		/* no letter: a tool watches */

/* What an empty text means. */
#define DEBUG_FULL (DEBUG_CONSISTENCY | DEBUG_RED_ZONE | DEBUG_POISON | \
		    DEBUG_USER)

/* Longest text, and longest list of letters, with the zero behind them. */
#define DEBUG_SPEC_MAX 1024
#define DEBUG_LETTERS_MAX 12
/* Room that debug_spec_why() needs at most. */
#define DEBUG_WHY_MAX 80

/* Zeroed, it says that nothing is wanted of anybody. */
struct debug_spec {
	u32 global;
	bool no_grow;		/* O was among the letters */
	char text[DEBUG_SPEC_MAX];
};

/*
 * debug_spec_init - what holds when nobody said anything: SLAB_DEBUG_ON
 *
 * Return 0, or -EINVAL: debug_spec_why() that text is not accepted.
 */
int __must_check debug_spec_init(struct debug_spec *s);

/* What replaces @s, as far as @text says. 0, or -EINVAL and @s is as it was. */
int __must_check debug_spec_parse(struct debug_spec *s, const char *text);

/*
 * debug_spec_why - whether a text is refused, and why
 * @why: set to what comes behind "is not accepted"; up to DEBUG_WHY_MAX bytes
 *
 * False: it is accepted, and @why is "".
 */
bool debug_spec_why(const char *text, char *why, size_t len);

/*
 * debug_spec_flags - what is wanted of the cache @name
 * @own: the flags that its creator gave it
 *
 * DEBUG_HAZARD is not among them, and DEBUG_NO_GROW only where it matters,
 * beside DEBUG_RED_ZONE: 0 means that there is nothing to check.
 */
u32 debug_spec_flags(const struct debug_spec *s, const char *name, u32 own);

/* What the last block without names says. */
static inline u32 debug_spec_global(const struct debug_spec *s)
{
	return s->global;
}

/* The Kconfig symbol that some of the flags take and this build is without;
 * NULL: all are built in. */
const char *debug_lacking(u32 flags);

/* The flags as letters, "-" for none; room for DEBUG_LETTERS_MAX. */
void debug_letters(u32 flags, char *buf);

#endif /* CORE_DEBUG_SPEC_H */
