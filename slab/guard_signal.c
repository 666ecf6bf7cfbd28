// SPDX-License-Identifier: BSD-2-Clause
/*
 * guard_signal.c - a fault at guarded memory, explained by a signal handler.
 *
 * The thread has stopped anywhere, in the library, in malloc, or with locks:
 * what is here uses nothing but the table of records, which is read without a
 * lock, memory on its own stack, and open(2), read(2), write(2), nanosleep(2)
 * and sigaction(2). Addresses of code are told with file and offset, as
 * /proc/self/maps has them, for addr2line(1).
 *
 * One fault is explained at a time: another thread's waits, for a while, lest
 * it ends the process in the middle of the text. One within the handler goes
 * the same way as any other, unexplained.
 *
 * Then comes what was there before. A handler is called, and may never return;
 * it finds the signals blocked that it asked for (sa_mask, SA_NODEFER), and is
 * called once if it wanted that (SA_RESETHAND). Only its stack is chosen by
 * SA_ONSTACK of this handler, not of its own. The default has to act on the
 * very instruction: it is set again, and the instruction, which is what a
 * handler returns to, faults once more. A signal that somebody sent is sent on.
 *
 * Locking: setting and removing is not for several threads at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/guard.h"
#include "slab/guard_record.h"

static const int signals[] = { SIGSEGV, SIGBUS };

/* Const while the handler is set. */
static struct sigaction before[ARRAY_SIZE(signals)];
static bool is_set;
/* Atomic: one that was to be called once was. */
static u32 used_up[ARRAY_SIZE(signals)];
/* Atomic: the thread that is explaining; 0: none. */
static u32 explaining;

/* Milliseconds that another one waits for it. */
#define EXPLAINED_MS 2000u

/* ---- Words -------------------------------------------------------------- */

#define RULE "======================================" \
	     "======================================="
#define THIN "--------------------------------------" \
	     "---------------------------------------"

struct line {
	char text[512];
	u32 n;
};

static void put(struct line *l, const char *s)
{
	while (*s && l->n < sizeof(l->text) - 1)
		l->text[l->n++] = *s++;
}

static void put_number(struct line *l, u64 n, u32 base)
{
	char digits[24];
	u32 i = sizeof(digits);

	digits[--i] = '\0';
	do {
		digits[--i] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n);
	put(l, digits + i);
}

static void put_address(struct line *l, u64 addr)
{
	put(l, "0x");
	put_number(l, addr, 16);
}

/* What cannot be written is lost. */
static void put_end(struct line *l)
{
	ssize_t n, at = 0;

	l->text[l->n++] = '\n';
	while (at < l->n) {
		n = write(STDERR_FILENO, l->text + at, l->n - (size_t)at);
		if (n <= 0 && errno != EINTR)
			break;
		at += max(n, (ssize_t)0);
	}
	l->n = 0;
}

/* ---- Where code is ------------------------------------------------------ */

/* One line of the file at a time. */
struct maps {
	int fd;
	u32 n, at;
	char buf[1024];
};

static bool next_char(struct maps *m, char *c)
{
	ssize_t n;

	if (m->at == m->n) {
		n = read(m->fd, m->buf, sizeof(m->buf));
		if (n <= 0)
			return false;
		m->n = (u32)n;
		m->at = 0;
	}
	*c = m->buf[m->at++];
	return true;
}

static bool next_line(struct maps *m, char *text, u32 len)
{
	u32 n = 0;
	char c;

	while (next_char(m, &c)) {
		if (c == '\n') {
			text[n] = '\0';
			return true;
		}
		if (n < len - 1)
			text[n++] = c;
	}
	return false;
}

static u64 take_hex(const char **s)
{
	static const char digits[] = "0123456789abcdef";
	const char *d;
	u64 n = 0;

	for (; **s && (d = strchr(digits, **s)); ++*s)
		n = n * 16 + (u64)(d - digits);
	return n;
}

/* "from-to perms offset dev inode   path": does it have @pc? */
static bool is_at(const char *text, u64 pc, u64 *offset, const char **path)
{
	u64 from, to;

	from = take_hex(&text);
	if (*text++ != '-')
		return false;
	to = take_hex(&text);
	if (pc < from || pc >= to || strlen(text) < 7)
		return false;
	text += 6;
	*offset = pc - from + take_hex(&text);
	*path = strchr(text, '/');
	return *path != NULL;
}

/* The call, which is before where it returns to. */
static void put_place(struct line *l, const void *code)
{
	struct maps m = { .fd = -1 };
	u64 pc = (u64)(uintptr_t)code - 1, offset = 0;
	const char *path = NULL;
	char text[512];

	put(l, "  ");
	put_address(l, pc);
	m.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (m.fd < 0)
		return;
	while (!path && next_line(&m, text, sizeof(text)))
		if (!is_at(text, pc, &offset, &path))
			path = NULL;
	(void)close(m.fd);
	if (!path)
		return;
	put(l, " (");
	put(l, path);
	put(l, "+");
	put_address(l, offset);
	put(l, ")");
}

/* ---- The object --------------------------------------------------------- */

static void put_bytes(struct line *l, u64 bytes, const char *where)
{
	put_number(l, bytes, 10);
	put(l, bytes == 1 ? " byte " : " bytes ");
	put(l, where);
}

/* As in all reports: the bytes beside an object count from one, those of it
 * from zero. */
static void put_distance(struct line *l, const struct guard_record *g, u64 addr)
{
	u64 end = g->object + g->size;

	if (addr >= end)
		put_bytes(l, addr - end + 1, "behind the end of");
	else if (addr < g->object)
		put_bytes(l, g->object - addr, "before the start of");
	else
		put_bytes(l, addr - g->object, "into");
}

static void tell_who(struct line *l, const char *did,
		     const struct guard_who *who)
{
	u32 i;

	if (!who->tid)
		return;
	put(l, did);
	put(l, " by thread ");
	put_number(l, who->tid, 10);
	put(l, ":");
	put_end(l);
	for (i = 0; i < who->nr && i < GUARD_FRAMES; i++) {
		put_place(l, who->pc[i]);
		put_end(l);
	}
}

static void tell(const struct guard_record *g, u64 addr)
{
	bool freed = g->state != GUARD_LIVE;
	struct line l = { .n = 0 };

	put(&l, RULE);
	put_end(&l);
	put(&l, "BUG slabdev ");
	put(&l, g->name);
	put(&l, ": ");
	put(&l, g->class);
	put(&l, freed ? ": Use after free of guarded memory" :
			": Access beyond guarded memory");
	put_end(&l);
	put(&l, THIN);
	put_end(&l);
	put_address(&l, addr);
	put(&l, " is ");
	put_distance(&l, g, addr);
	put(&l, " the object ");
	put_address(&l, g->object);
	put(&l, " of ");
	put_number(&l, g->size, 10);
	put(&l, freed ? " bytes, which was freed" : " bytes");
	put_end(&l);
	tell_who(&l, "Allocated", &g->alloc);
	tell_who(&l, "Freed", &g->free);
	put(&l, "the instruction goes on to fault");
	put_end(&l);
}

/* False: this thread explains already, or another one does not come to its
 * end. */
static bool begin_explaining(void)
{
	const struct timespec one_ms = { .tv_nsec = 1000000 };
	u32 tid = (u32)os_gettid(), who, ms;

	for (ms = 0; ms < EXPLAINED_MS; ms++) {
		who = 0;
		if (__atomic_compare_exchange_n(&explaining, &who, tid, false,
						__ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		if (who == tid)
			return false;
		(void)nanosleep(&one_ms, NULL);
	}
	return false;
}

static void explain(u64 addr)
{
	int saved_errno = errno;
	struct guard_record g;

	if (begin_explaining()) {
		if (guard_record_find(addr, &g))
			tell(&g, addr);
		__atomic_store_n(&explaining, 0, __ATOMIC_RELEASE);
	}
	errno = saved_errno;
}

/* ---- The handler -------------------------------------------------------- */

static u32 index_of(int sig)
{
	return sig == signals[0] ? 0 : 1;
}

/* Whatever its flags: the kernel looks at the pointer alone, which is in a
 * union with sa_sigaction. */
static bool is_handler(const struct sigaction *a)
{
	return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

/* What was there before, and is yet. */
static const struct sigaction *action_before(u32 i)
{
	static const struct sigaction by_default;

	return __atomic_load_n(&used_up[i], __ATOMIC_RELAXED) ? &by_default :
								&before[i];
}

/* May it be called? Of several threads one may, if it is to be called once. */
static bool take_turn(u32 i)
{
	const struct sigaction *old = action_before(i);

	if (!is_handler(old))
		return false;
	return !(old->sa_flags & SA_RESETHAND) ||
	       !__atomic_exchange_n(&used_up[i], 1, __ATOMIC_RELAXED);
}

/* As the kernel calls it. The mask of before comes back with the return. */
static void call(const struct sigaction *old, int sig, siginfo_t *info,
		 void *context)
{
	sigset_t mask = old->sa_mask;

	if (!(old->sa_flags & SA_NODEFER))
		sigaddset(&mask, sig);
	(void)pthread_sigmask(SIG_BLOCK, &mask, NULL);
	if (old->sa_flags & SA_SIGINFO)
		old->sa_sigaction(sig, info, context);
	else
		old->sa_handler(sig);
}

static void go_on(int sig, siginfo_t *info, void *context)
{
	u32 i = index_of(sig);

	if (take_turn(i)) {
		call(&before[i], sig, info, context);
		return;
	}
	(void)sigaction(sig, action_before(i), NULL);
	/* Nobody's instruction: it would not come again. */
	if (info->si_code <= 0)
		(void)raise(sig);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	if (info->si_code > 0)
		explain((u64)(uintptr_t)info->si_addr);
	go_on(sig, info, context);
}

/* Is it ours, and nobody else's since? */
static bool is_ours(int sig)
{
	struct sigaction now;

	return !sigaction(sig, NULL, &now) && now.sa_flags & SA_SIGINFO &&
	       now.sa_sigaction == on_fault;
}

static u32 nr_ours(void)
{
	u32 i, n = 0;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		n += is_ours(signals[i]);
	return n;
}

static void give_back(u32 nr)
{
	while (nr--)
		(void)sigaction(signals[nr], action_before(nr), NULL);
}

static int remove_handler(void)
{
	if (!is_set)
		return 0;
	if (nr_ours() < ARRAY_SIZE(signals))
		return error_set(-EBUSY, "slabdev_guard_handler: another "
				 "handler was set since");
	give_back(ARRAY_SIZE(signals));
	is_set = false;
	return 0;
}

int guard_handler(int on)
{
	struct sigaction action = { .sa_sigaction = on_fault };
	u32 i;
	int err;

	if (!on)
		return remove_handler();
	if (is_set)
		return nr_ours() == ARRAY_SIZE(signals) ? 0 :
		       error_set(-EBUSY, "slabdev_guard_handler: another "
				 "handler was set since");
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
	sigemptyset(&action.sa_mask);
	/* A fault may come at once: what was before is known first. */
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		(void)sigaction(signals[i], NULL, &before[i]);
		used_up[i] = 0;
	}
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		if (!sigaction(signals[i], &action, NULL))
			continue;
		err = -errno;
		give_back(i);
		return error_set(err, "slabdev_guard_handler: %m");
	}
	is_set = true;
	return 0;
}
