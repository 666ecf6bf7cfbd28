#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: the libraries offer the public functions, all of them, and nothing
# else. Method: compare their symbols with the declarations in the headers.

. "$(dirname "$0")/common"

run_build -j2 lib
must_pass "a build"

cat "$SRCTREE"/include/slabdev/*.h |
	"${CC:-gcc}" -fpreprocessed -dD -E -P - 2>/dev/null | tr '\n' ' ' |
	grep -oE 'SLABDEV_API [^;(]*\(' | grep -oE 'slabdev_[a-z_0-9]+\(' |
	tr -d '(' | sort -u >declared
[ "$(wc -l <declared)" -gt 20 ] || fail "found $(wc -l <declared) declarations"

nm -D --defined-only build/libslabdev.so.0 |
	sed -n 's/.* T \(.*\)@@SLABDEV_0\.1$/\1/p' | sort >shared
diff declared shared >difference ||
	fail "libslabdev.so.0, SLABDEV_0.1: $(cat difference)"
nm -D --defined-only build/libslabdev.so.0 |
	grep -vE ' (T slabdev_.*@@SLABDEV_0\.1|A SLABDEV_0\.1)$' >others || :
[ ! -s others ] || fail "libslabdev.so.0 exports $(cat others)"

nm --extern-only --defined-only build/libslabdev.a |
	sed -n 's/^[0-9a-f]* [A-Z] //p' | sort >static
diff declared static >difference || fail "libslabdev.a: $(cat difference)"

readelf -d build/libslabdev.so.0 >dynamic
grep -q 'SONAME.*\[libslabdev\.so\.0\]' dynamic || fail "the SONAME"
grep -q NODELETE dynamic || fail "not marked NODELETE"
[ "$(readlink build/libslabdev.so)" = libslabdev.so.0 ] || fail "libslabdev.so"

# Nothing runs before the first call or after the last one.
readelf -SW build/libslabdev.o >sections
! grep -E '\.(init|fini)_array|\.[cd]tors' sections ||
	fail "the library has constructors or destructors"
