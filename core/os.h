/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os.h - the system calls that the library depends on, one thin wrapper each.
 *
 * Every wrapper returns 0 (or a descriptor) or a negative errno and can be
 * replaced by a test, so that each way in which a kernel or a container can
 * refuse one is tested without that kernel.
 */
#ifndef CORE_OS_H
#define CORE_OS_H

#include <sys/types.h>

/* Bytes of a page; asked once, never assumed. */
size_t os_page_size(void);
/* Physical memory of the machine, or of the cgroup when that is less. */
u64 os_memory_total(void);
/* What could be had now; in a cgroup its page cache counts as used. */
u64 os_memory_free(void);

/* The memory limit of a cgroup and what is used of it. */
struct os_cgroup {
	u64 limit;	/* bytes, UINT64_MAX: none */
	u64 room;	/* bytes below the tightest limit, UINT64_MAX: none */
};
/*
 * The cgroup that @membership (the text of /proc/self/cgroup) names, below
 * the hierarchies mounted at @mount: version 2 and version 1, all ancestors.
 */
void os_cgroup_read(const char *membership, const char *mount,
		    struct os_cgroup *cg);

/* PROT_NONE addresses: no memory, not in core dumps. */
int os_reserve(size_t size, void **addr);
int os_unreserve(void *addr, size_t size);
/* Make part of a reservation readable and writable, zero-filled. */
int os_commit(void *addr, size_t size);
/* Drop the memory of part of a reservation; the addresses stay reserved. */
int os_decommit(void *addr, size_t size);
int os_hint_huge(void *addr, size_t size);
/* Has the process no other thread, whosever? False also where nobody can say,
 * and for a moment after one has been joined. */
bool os_is_alone(void);
/* A word that is 1, and 0 in the child of a fork; NULL: not to be had. */
const u32 *os_fork_mark(void);
/* After a refusal of @size bytes: which limit of the process or the machine it
 * comes from and what to do, or "" when none is known. */
void os_memory_limit(u64 size, char *text, size_t len);

/*
 * A memfd of fixed size, mapped shared and writable here, with all its memory
 * if the system can say that there is enough;
 * sealed so that nobody can change its size and nobody else can write it.
 * Return the descriptor. Without memfd, its seals or the memory: -errno and
 * nothing left.
 */
int os_shared_segment(const char *name, size_t size, void **addr);
/* The same to be mapped by whoever has the descriptor, and not mapped yet. */
int os_shared_file(const char *name, size_t size);
/* Map all of it, shared and writable, in place of what is at @addr. */
int os_map_file(int fd, size_t size, void *addr);
/* 0 when @fd is such a file: no access to what is mapped of it can fault;
 * -EBADF it is something else, -EMSGSIZE of another size, or -errno. */
int os_check_shared_file(int fd, size_t size);
/* Another descriptor of the same file, closed on exec; or -errno. */
int os_duplicate(int fd);
/* Move a whole mapping to an address, in place of what is there. */
int os_move(void *from, void *to, size_t size);
/* Replace the pages at @addr by a private copy of them (after a fork). */
int os_privatize(void *addr, size_t size);
int os_unmap(void *addr, size_t size);
int os_close(int fd);

/* Register for, and issue, an expedited barrier on all threads of us. */
int os_membarrier_register(void);
int os_membarrier(void);

/*
 * An open file. Its identity is kept, because programs close descriptors that
 * they do not know, and the number is then another file.
 */
struct os_file {
	int fd;
	dev_t dev;
	ino_t ino;
};
#define OS_FILE_INIT { .fd = -1 }

/* Open @path, keeping the descriptor that @f has if it is open: a thread that
 * writes meanwhile writes to the old file or the new one. */
int os_open_append(struct os_file *f, const char *path);
bool os_file_is_open(const struct os_file *f);
/* Keep the identity of @fd; -1 is no file. */
struct os_file os_file_of(int fd);
/* Close it, if it still is what it was. */
void os_file_close(struct os_file *f);
/* @prefix, @text and a newline, in one piece. */
int os_write_line(int fd, const char *prefix, const char *text);

/* Since some moment before; and since 1970. */
u64 os_monotonic_ns(void);
u64 os_realtime_ns(void);
void os_yield(void);
void os_sleep_us(unsigned int us);
pid_t os_gettid(void);
/* Start time of this process in clock ticks, as /proc/self/stat has it; 0
 * when that cannot be read. */
u64 os_start_time(void);
/* The same from the text of a stat file; 0 when it is none. */
u64 os_stat_start_time(const char *stat);
/* True when the process gained privileges at exec. */
bool os_is_secure(void);
/* End the process, when its user asked for that. */
void os_abort(void) __attribute__((noreturn));

#endif /* CORE_OS_H */
