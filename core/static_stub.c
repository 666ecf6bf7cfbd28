// SPDX-License-Identifier: BSD-2-Clause
/*
 * static_stub.c - the pointer through which tests replace functions.
 *
 * It is set before a test starts threads and cleared after it joined them, so
 * plain accesses do.
 */
#include "core/static_stub.h"

void *(*static_stub_lookup)(void *real_fn);
