#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: make does what is needed and no more. Method: in a copy of the tree,
# change one thing at a time and look at what is made again.

. "$(dirname "$0")/common"

copy_tree "$dir/tree"
SRCTREE=$dir/tree

compiled()
{
	grep '^  CC ' output | sed 's/^  CC  *//' | sort
}

run_build -j2 lib
must_pass "the first build"
[ "$(compiled | wc -l)" -gt 5 ] || fail "the first build compiled nothing"

run_build lib
must_pass "the second build"
[ ! -s output ] || fail "the second build made: $(cat output)"

# What depends on a header, by the compiler's own word.
header=core/list.h
(cd build && find . -name '*.d' -exec grep -lE "(^| )$header( |\$)" {} +) |
	sed 's|^\./||; s/d$/o/' | sort >expected
[ -s expected ] || fail "nothing includes $header"
touch "$SRCTREE/$header"
run_build lib
must_pass "a touched header"
compiled | diff expected - >difference ||
	fail "touching $header: $(cat difference)"

run_build CPPFLAGS=-DNOTHING=1 -j2 lib
compiled >flags
[ "$(wc -l <flags)" -gt 5 ] || fail "other flags compiled nothing"
run_build CPPFLAGS=-DNOTHING=1 lib
[ ! -s output ] || fail "the same flags made: $(cat output)"

sed -i '1i # a comment' build/.config
run_build CPPFLAGS=-DNOTHING=1 lib
[ -z "$(compiled)" ] || fail "a comment in .config compiled: $(compiled)"

sed -i 's/# CONFIG_LOCK_DEBUG .*/CONFIG_LOCK_DEBUG=y/' build/.config
run_build CPPFLAGS=-DNOTHING=1 -j2 lib
must_pass "a changed .config"
compiled | grep -qx core/lock_debug.o || fail "no lock_debug.o"
nm build/libslabdev.so.0 | grep -q lock_debug || fail "lock_debug is not in"

# An object that leaves a list leaves the library.
sed -i 's/CONFIG_LOCK_DEBUG=y/# CONFIG_LOCK_DEBUG is not set/' build/.config
run_build CPPFLAGS=-DNOTHING=1 -j2 lib
must_pass "back again"
! nm build/libslabdev.so.0 | grep -q lock_debug || fail "lock_debug is still in"
