/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log_private.h - what log.c offers to report_policy.c only.
 */
#ifndef CORE_LOG_PRIVATE_H
#define CORE_LOG_PRIVATE_H

#include "core/log.h"

/* Hand a finished text to the sink; keeps errno. The caller asked
 * log_enabled(). */
void log_emit(enum log_level level, int kind, const char *text);

#endif /* CORE_LOG_PRIVATE_H */
