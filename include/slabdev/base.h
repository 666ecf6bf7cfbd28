/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base.h - what the other headers of slabdev share: the version, how functions
 * are declared, and the type of a stream. Included by slabdev.h.
 */
#ifndef SLABDEV_BASE_H
#define SLABDEV_BASE_H

#include <stddef.h>
#include <stdint.h>

#define SLABDEV_VERSION_MAJOR 0
#define SLABDEV_VERSION_MINOR 1
#define SLABDEV_VERSION_PATCH 0
#define SLABDEV_VERSION "0.1.0"

#if defined(__GNUC__)
#define SLABDEV_API __attribute__((visibility("default")))
#define SLABDEV_MUST_CHECK __attribute__((warn_unused_result))
#else
#define SLABDEV_API
#define SLABDEV_MUST_CHECK
#endif

struct slabdev;
struct slabdev_cache;
struct CUstream_st;

/**
 * typedef slabdev_stream_t - an execution stream, or a host queue
 *
 * The same type as CUstream and cudaStream_t, which pass without a cast. In a
 * structure NULL is the space's bound stream; in a call see stream.h.
 */
typedef struct CUstream_st *slabdev_stream_t;

/** The default stream that all threads share. */
#define SLABDEV_STREAM_LEGACY ((slabdev_stream_t)0x1)
/** The default stream of the calling thread. */
#define SLABDEV_STREAM_PER_THREAD ((slabdev_stream_t)0x2)

#endif /* SLABDEV_BASE_H */
