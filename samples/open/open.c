// SPDX-License-Identifier: BSD-2-Clause
/*
 * open.c - any kind of memory: opens what its argument names, or lists what
 * there is.
 *
 *	open			every device, and why it cannot be opened
 *	open cuda:0		a space there: what and where its bytes are
 *
 * The program is the same for each kind, and for machines without a driver. It
 * never touches what it allocates: pointers of "cuda:0" are for the device.
 */
#include <stdio.h>

#include <slabdev/slabdev.h>

static int list_devices(void)
{
	struct slabdev_device_info info;
	int i, n = slabdev_device_count();

	for (i = 0; i < n; i++) {
		if (slabdev_device_get(i, &info, sizeof(info)))
			return 1;
		printf("%-8s %s%s%s\n", info.spec, info.name,
		       info.usable ? "" : ": ", info.reason);
	}
	return 0;
}

/* A small object, a large one that reads as zero, and a look at both. */
static int use(struct slabdev *sd)
{
	void *small = slabdev_alloc(sd, 1000), *large = NULL;
	char text[1024];
	int err = 1;

	if (!small)
		return 1;
	large = slabdev_zalloc(sd, 8 << 20);
	if (!large)
		goto free_small;
	if (slabdev_explain(small, text, sizeof(text)) < 0)
		goto free_large;
	puts(text);
	err = slabdev_report(sd, stdout);

free_large:
	err |= slabdev_free(sd, large);
free_small:
	err |= slabdev_free(sd, small);
	return err;
}

int main(int argc, char **argv)
{
	struct slabdev *sd;
	int err;

	if (argc < 2)
		return list_devices();
	err = slabdev_open(&sd, argv[1], NULL);
	if (!err) {
		err = use(sd);
		if (slabdev_close(sd, SLABDEV_CLOSE_FORCE))
			err = 1;
	}
	if (err)
		fprintf(stderr, "open: %s\n", slabdev_last_error());
	return err ? 1 : 0;
}
