// SPDX-License-Identifier: BSD-2-Clause
/* manager.c - life of managers, and the way to their spaces; see manager.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "core/usercopy.h"
#include "slab/alloc.h"
#include "slab/attr.h"
#include "slab/hazard_watch.h"
#include "slab/kind.h"
#include "slab/manager.h"
#include "slab/rank.h"
#include "slab/space.h"

#define MANAGERS_MAX 1024u
#define DEVICE_MAX 9999		/* four digits, as in a spec */
#define ALIGN_MAX GIB
#define SPEC_MAX sizeof(((struct slabdev *)NULL)->spec)

struct token_table manager_tokens =
	TOKEN_TABLE_INIT(TOKEN_MANAGER, "manager", sizeof(struct manager),
			 MANAGERS_MAX);

struct manager *manager_find(const struct slabdev_manager *token,
			     const char *call, int *err)
{
	return token_find(&manager_tokens, token, call, err);
}

/* ---- The turn ----------------------------------------------------------- */

/* Of this thread; no thread of the parent has the same after a fork. */
static u64 own_turn(void)
{
	return (u64)(u32)getpid() << 32 | (u32)os_gettid();
}

static int turn_take(struct manager *m, const char *call)
{
	u64 mine = own_turn(), holder = 0;

	while (!__atomic_compare_exchange_n(&m->turn, &holder, mine, false,
					    __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		if (holder == mine)
			return error_set(-EDEADLK, "%s: called while this "
					 "thread opens or closes a space of "
					 "manager %s", call, m->name);
		/* Its thread is in another process. */
		if (holder >> 32 == mine >> 32) {
			os_sleep_us(100);
			holder = 0;
		}
	}
	return 0;
}

static void turn_leave(struct manager *m)
{
	store_release(&m->turn, 0);
}

/* ---- Kinds and devices -------------------------------------------------- */

int manager_check_pair(u32 kind, int device)
{
	const char *what;

	if (!kind || kind >= NR_MEMORY_KINDS)
		return error_set(-EINVAL, "kind %u is none of the enum "
				 "slabdev_memory_kind", kind);
	what = memory_kinds[kind].what;
	if (kind == SLABDEV_MEMORY_HOST && device != SLABDEV_NO_DEVICE)
		return error_set(-EINVAL, "host memory on device %d: it is of "
				 "no device, pass SLABDEV_NO_DEVICE", device);
	if (kind != SLABDEV_MEMORY_HOST && device < 0)
		return error_set(-EINVAL, "%s memory on device %d: devices are "
				 "counted from 0", what, device);
	if (device > DEVICE_MAX)
		return error_set(-ENODEV, "%s memory on device %d: there is no "
				 "such device", what, device);
	return 0;
}

static void make_spec(u32 kind, int device, char spec[SPEC_MAX])
{
	if (kind == SLABDEV_MEMORY_HOST)
		snprintf(spec, SPEC_MAX, "%s", memory_kinds[kind].spec);
	else
		snprintf(spec, SPEC_MAX, "%s%d", memory_kinds[kind].spec,
			 device);
}

struct managed *manager_place(struct manager *m, u32 kind, int device)
{
	u32 i, nr = load_acquire(&m->nr);

	for (i = 0; i < nr; i++)
		if (m->space[i].kind == kind && m->space[i].device == device)
			return &m->space[i];
	return NULL;
}

int managed_check(const struct managed *s)
{
	const struct slabdev *sd = s ? load_acquire(&s->sd) : NULL;

	if (unlikely(!sd))
		return error_set(-ENOENT, "the manager has not opened that "
				 "space");
	if (unlikely(sd->open_id != s->open_id || sd->closing))
		return error_set(-EINVAL, "the manager's space of %s memory "
				 "was closed by slabdev_close(): only "
				 "slabdev_manager_destroy() may close it",
				 memory_kinds[s->kind].what);
	return 0;
}

/* ---- Opening ------------------------------------------------------------ */

/* The turn is taken. */
static int open_at(struct manager *m, struct managed *s,
		   const struct slabdev_attr *user_attr)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	char spec[SPEC_MAX], name[sizeof(m->name) + sizeof(spec)];
	struct slabdev *sd;
	int err = copy_struct_from_user(&attr, sizeof(attr), user_attr, "attr");

	if (err)
		return err;
	make_spec(s->kind, s->device, spec);
	snprintf(name, sizeof(name), "%s/%s", m->name, spec);
	if (!attr.name && m->named)
		attr.name = name;
	err = slabdev_open(&sd, spec, &attr);
	if (err)
		return err;
	s->open_id = sd->open_id;
	store_release(&s->sd, sd);
	return 0;
}

/* The turn is taken. Pairs that cannot be opened get no place. */
static int open_new(struct manager *m, u32 kind, int device,
		    const struct slabdev_attr *attr)
{
	struct managed *s;
	int err;

	if (m->nr == SPACE_MAX)
		return error_set(-ENFILE, "manager %s has had %d spaces",
				 m->name, SPACE_MAX);
	s = &m->space[m->nr];
	*s = (struct managed){ .kind = kind, .device = device };
	err = open_at(m, s, attr);
	if (!err)
		store_release(&m->nr, m->nr + 1);
	return err;
}

/* @fresh: it must not be open yet. */
static int open_pair(struct manager *m, u32 kind, int device, const char *call,
		     const struct slabdev_attr *attr, bool fresh)
{
	struct managed *s;
	int err = turn_take(m, call);

	if (err)
		return err;
	s = manager_place(m, kind, device);
	if (!s)
		err = open_new(m, kind, device, attr);
	else if (!s->sd)
		err = open_at(m, s, attr);
	else if (fresh)
		err = error_set(-EEXIST, "%s: manager %s has opened %s already",
				call, m->name, managed_spec(s));
	turn_leave(m);
	return err;
}

/* The open space of a pair; the first time it is opened. */
static struct managed *get_pair(struct manager *m, u32 kind, int device,
				const char *call, int *err)
{
	struct managed *s;

	*err = manager_check_pair(kind, device);
	if (unlikely(*err))
		return NULL;
	s = manager_place(m, kind, device);
	if (unlikely(!s || !load_acquire(&s->sd))) {
		*err = open_pair(m, kind, device, call, NULL, false);
		if (*err)
			return NULL;
		s = manager_place(m, kind, device);
	}
	*err = managed_check(s);
	return *err ? NULL : s;
}

int slabdev_manager_space(struct slabdev_manager *token, u32 kind, int device,
			  struct slabdev **sd)
{
	struct managed *s;
	struct manager *m;
	int err;

	m = manager_find(token, "slabdev_manager_space", &err);
	if (!m)
		return err;
	if (!sd)
		return error_set(-EINVAL, "slabdev_manager_space: sd is NULL");
	s = get_pair(m, kind, device, "slabdev_manager_space", &err);
	if (s)
		*sd = s->sd;
	return err;
}

int slabdev_manager_open(struct slabdev_manager *token, u32 kind, int device,
			 const struct slabdev_attr *attr, struct slabdev **sd)
{
	struct manager *m;
	int err;

	m = manager_find(token, "slabdev_manager_open", &err);
	if (!m)
		return err;
	err = manager_check_pair(kind, device);
	if (!err)
		err = open_pair(m, kind, device, "slabdev_manager_open", attr,
				true);
	if (!err && sd)
		*sd = manager_place(m, kind, device)->sd;
	return err;
}

/* ---- Alloc and free ----------------------------------------------------- */

/* What the manager's calls have live became less. What was never added is not
 * taken away. */
static void water_sub(struct high_water *w, s64 bytes)
{
	s64 live = READ_ONCE(w->live);

	while (!__atomic_compare_exchange_n(&w->live, &live,
					    max(live - bytes, (s64)0), true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* And more. */
static void water_add(struct high_water *w, s64 bytes)
{
	s64 live = __atomic_add_fetch(&w->live, bytes, __ATOMIC_RELAXED);
	s64 peak = READ_ONCE(w->peak);

	while (live > peak &&
	       !__atomic_compare_exchange_n(&w->peak, &peak, live, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void *refused(u64 *count, int err)
{
	shared_add(count, 1);
	errno = -err;
	return NULL;
}

static int check_request(const struct managed *s, size_t bytes, size_t align)
{
	int err = space_check(s->sd, "slabdev_manager_alloc");

	if (err)
		return err;
	if (!bytes)
		return error_set(-EINVAL, "slabdev_manager_alloc: 0 bytes");
	if (align && (!is_power_of_2(align) || align > ALIGN_MAX))
		return error_set(-EINVAL, "slabdev_manager_alloc: alignment "
				 "%zu is not a power of two up to 1 GiB",
				 align);
	return rank_check_align(s->sd, align);
}

void *slabdev_manager_alloc(struct slabdev_manager *token, u32 kind,
			    int device, size_t bytes, size_t align)
{
	struct managed *s;
	struct manager *m;
	struct order o;
	void *p;
	int err;

	m = manager_find(token, "slabdev_manager_alloc", &err);
	if (!m) {
		errno = -err;
		return NULL;
	}
	s = get_pair(m, kind, device, "slabdev_manager_alloc", &err);
	if (!s)
		return refused(&m->refused, err);
	err = check_request(s, bytes, align);
	if (err)
		return refused(&s->refused, err);
	watch_site(s->sd);
	o = order_plain(s->sd);
	p = alloc_any(s->sd, bytes, align, 0, &o);
	if (!p)
		return NULL;
	water_add(&s->water, (s64)bytes);
	water_add(&m->water, (s64)bytes);
	return p;
}

/* Whose reservation an address is in; NULL: nobody's. */
static struct managed *owner_of(struct manager *m, const void *p)
{
	u32 i, nr = load_acquire(&m->nr);
	u64 offset;

	for (i = 0; i < nr; i++) {
		struct managed *s = &m->space[i];
		struct slabdev *sd = load_acquire(&s->sd);

		if (sd && sd->open_id == s->open_id && !sd->closing &&
		    vmm_offset(&sd->vmm, (u64)(uintptr_t)p, &offset))
			return s;
	}
	return NULL;
}

/* Nobody's here; perhaps another manager's, or no manager's at all. */
static int refuse_foreign(const struct manager *m, const void *p)
{
	char text[1024];
	struct report r;

	(void)slabdev_explain(p, text, sizeof(text));
	report_start(&r, REPORT_INVALID_POINTER, m->name, "Invalid object "
		     "pointer: of no space of this manager");
	report_line(&r, "%s", text);
	report_line(&r, "nothing was changed");
	report_end(&r);
	return error_set(-EINVAL, "slabdev_manager_free: no space of manager "
			 "%s has that address: %s", m->name, text);
}

int slabdev_manager_free(struct slabdev_manager *token, void *p)
{
	struct managed *s;
	struct manager *m;
	struct place at;
	struct order o;
	int err;

	m = manager_find(token, "slabdev_manager_free", &err);
	if (!m || !p)
		return err;
	s = owner_of(m, p);
	if (!s)
		return refuse_foreign(m, p);
	err = space_check(s->sd, "slabdev_manager_free");
	if (err)
		return err;
	watch_site(s->sd);
	(void)lookup_live(s->sd, p, &at);
	o = order_plain(s->sd);
	err = free_in_order(s->sd, p, &o);
	if (err)
		return err;
	water_sub(&s->water, (s64)at.size);
	water_sub(&m->water, (s64)at.size);
	return 0;
}

struct slabdev *slabdev_manager_space_of(struct slabdev_manager *token,
					 const void *p)
{
	struct managed *s = NULL;
	struct manager *m;
	int err;

	m = manager_find(token, "slabdev_manager_space_of", &err);
	if (m)
		s = owner_of(m, p);
	if (s)
		return s->sd;
	if (m)
		err = error_set(-ENOENT, "%p is no address of a space of "
				"manager %s", p, m->name);
	errno = -err;
	return NULL;
}

/* ---- Life --------------------------------------------------------------- */

static int check_name(const char *name)
{
	size_t len = name ? strnlen(name, SLABDEV_NAME_MAX + 1) : 1;

	if (!len || len > SLABDEV_NAME_MAX)
		return error_set(-EINVAL, "attr.name \"%.40s\": 1 to %d "
				 "characters are allowed", name,
				 SLABDEV_NAME_MAX);
	return attr_check_name(name, "attr.name");
}

int slabdev_manager_create(struct slabdev_manager **token,
			   const struct slabdev_manager_attr *user_attr)
{
	struct slabdev_manager_attr attr = SLABDEV_MANAGER_ATTR_INIT;
	struct manager *m;
	int err;

	if (!token)
		return error_set(-EINVAL, "slabdev_manager_create: manager is "
				 "NULL");
	err = copy_struct_from_user(&attr, sizeof(attr), user_attr, "attr");
	if (!err)
		err = check_name(attr.name);
	if (err)
		return err;
	m = token_new(&manager_tokens, NULL, &err);
	if (!m)
		return err;
	memset((char *)m + sizeof(m->token), 0, sizeof(*m) -
	       sizeof(m->token));
	m->named = attr.name;
	snprintf(m->name, sizeof(m->name), "%s", m->named ? attr.name :
							    "manager");
	*token = token_name(&manager_tokens, &m->token);
	return 0;
}

/* Is there a space to close, that the user has not closed? */
static bool is_ours(const struct managed *s)
{
	return s->sd && !managed_check(s);
}

/* All of them are asked, for the reports; the last error is returned. */
static int may_close_all(const struct manager *m, unsigned int flags)
{
	int err, all = 0;
	u32 i;

	for (i = 0; i < m->nr; i++) {
		if (!is_ours(&m->space[i]) || m->space[i].sd->orphaned)
			continue;
		err = space_may_close(m->space[i].sd, flags);
		if (err)
			all = err;
	}
	return all;
}

/* -EBUSY ends it; memory that is lost does not. */
static int close_all(struct manager *m, unsigned int flags)
{
	int err, lost = 0;
	u32 i;

	for (i = 0; i < m->nr; i++) {
		struct managed *s = &m->space[i];

		if (!is_ours(s))
			continue;
		err = slabdev_close(s->sd, flags);
		if (err == -EBUSY)
			return err;
		if (err)
			lost = err;
		water_sub(&m->water, s->water.live);
		s->water = (struct high_water){ 0 };
		store_release(&s->sd, NULL);
	}
	return lost;
}

/* True: its spaces are closed, and the token is stale. */
static bool end_manager(struct slabdev_manager *token, struct manager *m,
			unsigned int flags, int *err)
{
	*err = may_close_all(m, flags);
	if (!*err)
		*err = close_all(m, flags);
	return *err != -EBUSY &&
	       !token_put(&manager_tokens, token, "slabdev_manager_destroy");
}

int slabdev_manager_destroy(struct slabdev_manager *token, unsigned int flags)
{
	bool ended = false;
	struct manager *m;
	int err;

	if (!token)
		return 0;
	if (flags & ~SLABDEV_CLOSE_FORCE)
		return error_set(-EINVAL, "slabdev_manager_destroy: flags %#x "
				 "are not known", flags);
	m = manager_find(token, "slabdev_manager_destroy", &err);
	if (m)
		err = turn_take(m, "slabdev_manager_destroy");
	if (!m || err)
		return err;
	/* Another thread may have been faster. */
	if (manager_find(token, "slabdev_manager_destroy", &err))
		ended = end_manager(token, m, flags, &err);
	turn_leave(m);
	/* Last: from here on another manager may have the entry. */
	if (ended)
		token_free(&manager_tokens, &m->token);
	return err;
}
