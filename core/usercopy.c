// SPDX-License-Identifier: BSD-2-Clause
/* usercopy.c - see usercopy.h. */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "core/usercopy.h"

/* A size beyond this was never set. */
#define PLAUSIBLE_SIZE 4096u

static bool is_zero(const char *p, size_t n)
{
	while (n--)
		if (*p++)
			return false;
	return true;
}

int copy_struct_from_user(void *to, size_t to_size, const void *from,
			  const char *name)
{
	size_t size;

	if (!from)
		return 0;
	memcpy(&size, from, sizeof(size));
	if (size < sizeof(size) || size > PLAUSIBLE_SIZE)
		return error_set(-EINVAL, "%s.size is %zu: initialise the "
				 "structure with its _INIT macro", name, size);
	if (size > to_size && !is_zero((const char *)from + to_size,
				       size - to_size))
		return error_set(-E2BIG, "%s has fields that this version does "
				 "not know, and they are not zero", name);
	memcpy(to, from, size < to_size ? size : to_size);
	memcpy(to, &to_size, sizeof(to_size));
	return 0;
}

int copy_struct_to_user(void *to, size_t to_size, const void *from,
			size_t from_size, const char *name)
{
	if (!to || !to_size)
		return error_set(-EINVAL, "%s is %s", name,
				 to ? "of size 0" : "NULL");
	memset(to, 0, to_size);
	memcpy(to, from, to_size < from_size ? to_size : from_size);
	return 0;
}
