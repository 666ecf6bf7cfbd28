# SPDX-License-Identifier: BSD-2-Clause
"""The library in an interpreter: python3 ctypes_user.py LIBRARY WAY.

The library is loaded by ctypes, used from several threads and in a child, and
is there when the interpreter ends: with its space closed (WAY "close"), or
open with an object that lives and threads that have used it ("leave").
"""
import ctypes
import os
import sys
import threading

NR_STATS = 28
LIVE_OBJECTS = 13

lib = ctypes.CDLL(sys.argv[1])
lib.slabdev_open.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p,
                             ctypes.c_void_p]
lib.slabdev_alloc.restype = ctypes.c_void_p
lib.slabdev_alloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
lib.slabdev_free.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
lib.slabdev_close.argtypes = [ctypes.c_void_p, ctypes.c_uint]
lib.slabdev_stats.argtypes = [ctypes.c_void_p, ctypes.c_void_p,
                              ctypes.c_size_t]
lib.slabdev_last_error.restype = ctypes.c_char_p


def check(condition, what):
    if not condition:
        sys.exit(f"{what}: {lib.slabdev_last_error().decode()}")


def live_objects(sd):
    stats = (ctypes.c_uint64 * NR_STATS)()
    check(lib.slabdev_stats(sd, stats, ctypes.sizeof(stats)) == 0, "stats")
    return stats[LIVE_OBJECTS]


def use(sd):
    for size in (1, 300, 70000, 3 << 20):
        p = lib.slabdev_alloc(sd, size)
        check(p, "alloc")
        ctypes.memset(p, 1, size)
        check(lib.slabdev_free(sd, p) == 0, "free")


def use_from_threads(sd):
    threads = [threading.Thread(target=use, args=(sd,)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def use_in_child(sd):
    pid = os.fork()
    if pid == 0:
        use(sd)
        os._exit(0 if live_objects(sd) == 1 else 1)
    check(os.waitpid(pid, 0)[1] == 0, "the child")


space = ctypes.c_void_p()
check(lib.slabdev_open(ctypes.byref(space), b"host", None) == 0, "open")
use(space)
use_from_threads(space)
kept = lib.slabdev_alloc(space, 5000)
check(live_objects(space) == 1, "one object is live")
use_in_child(space)
if sys.argv[2] == "close":
    check(lib.slabdev_free(space, kept) == 0, "free")
    check(lib.slabdev_close(space, 0) == 0, "close")
print("done")
