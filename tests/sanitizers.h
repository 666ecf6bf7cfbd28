/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sanitizers.h - which sanitizer this is built with, for cases that one of
 * them cannot stand.
 */
#ifndef TESTS_SANITIZERS_H
#define TESTS_SANITIZERS_H

#if defined(__has_feature)
#define IS_THREAD_SANITIZED __has_feature(thread_sanitizer)
#define IS_SANITIZED (__has_feature(address_sanitizer) || IS_THREAD_SANITIZED)
#elif defined(__SANITIZE_THREAD__)
#define IS_THREAD_SANITIZED true
#define IS_SANITIZED true
#elif defined(__SANITIZE_ADDRESS__)
#define IS_THREAD_SANITIZED false
#define IS_SANITIZED true
#else
#define IS_THREAD_SANITIZED false
#define IS_SANITIZED false
#endif

#endif /* TESTS_SANITIZERS_H */
