/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.h - what a worker process tells the runner.
 *
 * A SOCK_SEQPACKET pair: each message arrives whole and in order, from any
 * thread of the worker and from processes that a case forked, without a lock
 * that a crash or a fork could leave taken.
 */
#ifndef TESTS_KUNIT_WIRE_H
#define TESTS_KUNIT_WIRE_H

enum wire_type {
	WIRE_READY,	/* suite_init succeeded */
	WIRE_INIT_FAILED, /* text: why; the suite's cases do not run */
	WIRE_PARAMS,	/* the next case has @value parameters */
	WIRE_BEGIN,	/* a run begins; @value: output so far; text: param */
	WIRE_DIAG,	/* text: lines to print */
	WIRE_FAIL,	/* text: lines to print; the run failed */
	WIRE_SKIP,	/* text: the reason; the run is skipped */
	WIRE_END,	/* the run ended; @value: output so far */
	WIRE_EXIT,	/* no case is left for this worker */
	WIRE_DONE,	/* suite_exit returned; only exit() is left */
};

#define WIRE_TEXT_MAX 16384

struct wire_msg {
	u32 type;
	u32 len;
	u64 value;
	char text[WIRE_TEXT_MAX];
};

/* Both ends close on exec. Return 0 or a negative errno. */
int wire_open(int fds[2]);

/* Cuts a text that is too long. Failures are ignored: the runner is gone. */
void wire_send(int fd, enum wire_type type, u64 value, const char *text);

/* Return 1 for a message, 0 when none is there now, -EPIPE at the end. */
int wire_recv(int fd, struct wire_msg *msg);

#endif /* TESTS_KUNIT_WIRE_H */
