// SPDX-License-Identifier: BSD-2-Clause
/*
 * hello.c - the smallest useful program: open, allocate, use, look, close
 */
#include <stdio.h>
#include <string.h>

#include <slabdev/slabdev.h>

int main(void)
{
	struct slabdev *sd;
	char *p;

	if (slabdev_open(&sd, "host", NULL))
		goto failed;
	p = slabdev_alloc(sd, 4096);
	if (!p)
		goto failed;
	memcpy(p, "hello", sizeof("hello"));
	printf("%s from %p\n", p, (void *)p);
	if (slabdev_report(sd, stdout) || slabdev_free(sd, p) ||
	    slabdev_close(sd, 0))
		goto failed;
	return 0;

failed:
	fprintf(stderr, "hello: %s\n", slabdev_last_error());
	return 1;
}
