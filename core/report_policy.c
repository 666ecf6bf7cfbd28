// SPDX-License-Identifier: BSD-2-Clause
/* report_policy.c - see report_policy.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/cancel.h"
#include "core/lock.h"
#include "core/log_private.h"
#include "core/os.h"
#include "core/ratelimit.h"
#include "core/report_json.h"
#include "core/report_policy.h"

#define RATE_MOST 1000000
#define NS_PER_S ((u64)1000000000)

struct settings {
	struct report_policy policy;
	struct os_file file;	/* of the JSON, with a path */
	report_call_fn call;
	void (*fn)(void);
	void *arg;
};

static struct lock report_lock = LOCK_INIT(LOCK_LOG, "reports");

/* Locking: report_lock. */
static struct settings settings = {
	.policy = REPORT_POLICY_INIT,
	.file = OS_FILE_INIT,
};
static struct ratelimit text_rate[REPORT_NR_KINDS];
static struct ratelimit json_rate[REPORT_NR_KINDS];

void report_fork_prepare(void)
{
	lock_acquire_for_fork(&report_lock);
}

void report_fork_done(void)
{
	lock_release_for_fork(&report_lock);
}

/* ---- The value of SLABDEV_REPORT -------------------------------------- */

/* A number up to RATE_MOST, of digits alone; *@text moves behind it. */
static bool take_number(const char **text, u32 *n)
{
	const char *p = *text;

	for (*n = 0; *p >= '0' && *p <= '9'; p++) {
		*n = *n * 10 + (u32)(*p - '0');
		if (*n > RATE_MOST)
			return false;
	}
	if (p == *text)
		return false;
	*text = p;
	return true;
}

static bool parse_rate(struct report_policy *p, const char *word, size_t len)
{
	const char *at = word;

	return take_number(&at, &p->rate_nr) && *at++ == '/' &&
	       take_number(&at, &p->rate_s) && at == word + len && p->rate_nr;
}

static bool parse_json(struct report_policy *p, const char *path, size_t len)
{
	if (!len || len >= sizeof(p->json_path))
		return false;
	p->json = true;
	memcpy(p->json_path, path, len);
	p->json_path[len] = '\0';
	return true;
}

static bool parse_word(struct report_policy *p, const char *word, size_t len)
{
	static const char json[] = "json:", rate[] = "rate=";
	const size_t prefix = strlen(json);

	if (len == strlen("abort") && !strncmp(word, "abort", len)) {
		p->abort = true;
		return true;
	}
	if (len == strlen("json") && !strncmp(word, "json", len)) {
		p->json = true;
		p->json_path[0] = '\0';
		return true;
	}
	if (len > prefix && !strncmp(word, json, prefix))
		return parse_json(p, word + prefix, len - prefix);
	if (len > prefix && !strncmp(word, rate, prefix))
		return parse_rate(p, word + prefix, len - prefix);
	return false;
}
static_assert(sizeof("json:") == sizeof("rate="), "one length for both");

bool report_policy_parse(struct report_policy *p, const char *value)
{
	size_t len;

	do {
		len = strcspn(value, ",");
		if (!parse_word(p, value, len))
			return false;
		value += len;
	} while (*value++ == ',');
	return true;
}

int report_policy_set(const struct report_policy *p)
{
	int err = 0;

	lock_acquire(&report_lock);
	if (*p->json_path)
		err = os_open_append(&settings.file, p->json_path);
	if (!err) {
		settings.policy = *p;
		memset(text_rate, 0, sizeof(text_rate));
		memset(json_rate, 0, sizeof(json_rate));
	}
	lock_release(&report_lock);
	return err;
}

void report_set_user(report_call_fn call, void (*fn)(void), void *arg)
{
	lock_acquire(&report_lock);
	settings.call = call;
	settings.fn = fn;
	settings.arg = arg;
	lock_release(&report_lock);
}

/* ---- Rates ------------------------------------------------------------ */

static bool may_show(struct ratelimit *rate, u32 *left_out)
{
	u64 now = os_monotonic_ns();
	bool may;

	lock_acquire(&report_lock);
	may = ratelimit_pass(rate, settings.policy.rate_nr,
			     settings.policy.rate_s * NS_PER_S, now, left_out);
	lock_release(&report_lock);
	return may;
}

bool report_may_show(enum report_kind kind, u32 *left_out)
{
	return may_show(&text_rate[kind], left_out);
}

/* ---- Delivery --------------------------------------------------------- */

/* Texts that are made of a report. They are long, and threads' stacks short:
 * it has memory of its own. */
struct extract {
	char json[REPORT_JSON_MAX];
	char headline[REPORT_TEXT_MAX];
	char space[REPORT_TEXT_MAX];
};

static struct extract *extract_create(void)
{
	void *addr;

	if (os_reserve(sizeof(struct extract), &addr))
		return NULL;
	if (os_commit(addr, sizeof(struct extract))) {
		os_unreserve(addr, sizeof(struct extract));
		return NULL;
	}
	return addr;
}

static void extract_destroy(struct extract *e)
{
	if (e)
		os_unreserve(e, sizeof(*e));
}

static void make_json(struct extract *e, const struct report *r, u32 left_out)
{
	const struct report_moment m = {
		.time_ns = os_realtime_ns(),
		.pid = getpid(),
		.tid = os_gettid(),
		.left_out = left_out,
	};

	report_json(e->json, r, &m);
}

static bool call_user(const struct settings *s, const struct report *r,
		      struct extract *e)
{
	const struct report_facts facts = {
		.kind = report_kind_name(r->kind),
		.space = e->space,
		.headline = e->headline,
		.text = r->text,
		.json = e->json,
	};

	/* Both are zero behind what is copied. */
	memcpy(e->space, r->text + r->space_at, r->space_len);
	memcpy(e->headline, r->text + r->headline_at, r->headline_len);
	make_json(e, r, 0);
	return s->call(&facts, s->fn, s->arg) != 0;
}

static void write_json(const struct settings *s, const struct report *r,
		       struct extract *e)
{
	int fd = STDERR_FILENO;
	u32 left_out;

	if (!may_show(&json_rate[r->kind], &left_out))
		return;
	make_json(e, r, left_out);
	/* The program may have closed the descriptor and reused its number. */
	if (*s->policy.json_path && os_file_is_open(&s->file))
		fd = s->file.fd;
	os_write_line(fd, "", e->json);
}

static bool is_mistake(enum report_kind kind)
{
	switch (kind) {
	case REPORT_OUT_OF_MEMORY:
	case REPORT_LOST:
	case REPORT_DEAD:
		return false;
	default:
		return true;
	}
}

void report_deliver(const struct report *r)
{
	int saved_errno = errno;
	NO_CANCELLATION;
	struct extract *e = NULL;
	struct settings s;
	bool taken = false;

	lock_acquire(&report_lock);
	s = settings;
	lock_release(&report_lock);
	if (s.call || s.policy.json) {
		e = extract_create();
		if (!e)
			pr_warn("no host memory to make JSON of a report");
	}
	if (s.call && e)
		taken = call_user(&s, r, e);
	if (!taken && log_enabled(LOG_ERROR))
		log_emit(LOG_ERROR, (int)r->kind, r->text);
	if (s.policy.json && e)
		write_json(&s, r, e);
	extract_destroy(e);
	if (s.policy.abort && is_mistake(r->kind))
		os_abort();
	errno = saved_errno;
}
