/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.h - circular doubly linked lists, linked through a member.
 *
 * The head is a node like the others; an empty list points to itself, so that
 * adding and removing have no special cases. A removed node points to itself
 * too: removing it again does nothing, list_is_linked() tells.
 */
#ifndef CORE_LIST_H
#define CORE_LIST_H

struct list {
	struct list *next, *prev;
};

#define LIST_INIT(name) { &(name), &(name) }

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

static inline bool list_is_linked(const struct list *node)
{
	return node->next != node;
}

static inline void list_insert_between(struct list *node, struct list *prev,
				       struct list *next)
{
	node->prev = prev;
	node->next = next;
	prev->next = node;
	next->prev = node;
}

static inline void list_add(struct list *node, struct list *head)
{
	list_insert_between(node, head, head->next);
}

static inline void list_add_tail(struct list *node, struct list *head)
{
	list_insert_between(node, head->prev, head);
}

static inline void list_del(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

static inline void list_move(struct list *node, struct list *head)
{
	list_del(node);
	list_add(node, head);
}

/* Move every node of @from, in order, to the end of @to. */
static inline void list_splice_tail(struct list *from, struct list *to)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

#define list_entry(node, type, member) container_of(node, type, member)
#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)

/*
 * The cursor is a node, not an entry: at the end it is the head, which lies in
 * no entry, and a pointer to one would not even be aligned. @pos is a plain
 * name; after the loop it is the last entry visited.
 */
#define list_for_each_entry(pos, head, member)                              \
	for (struct list *_at_##pos = (head)->next;                         \
	     _at_##pos != (head) &&                                         \
	     (pos = list_entry(_at_##pos, __typeof__(*pos), member), true); \
	     _at_##pos = _at_##pos->next)

/* @pos may be removed in the body. */
#define list_for_each_entry_safe(pos, head, member)                         \
	for (struct list *_at_##pos = (head)->next,                         \
			 *_next_##pos = _at_##pos->next;                    \
	     _at_##pos != (head) &&                                         \
	     (pos = list_entry(_at_##pos, __typeof__(*pos), member), true); \
	     _at_##pos = _next_##pos, _next_##pos = _next_##pos->next)

#endif /* CORE_LIST_H */
