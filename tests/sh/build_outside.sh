#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: builds in different folders, two of them at once and one in the tree,
# do not disturb each other, git ignores what they make, and a blank in the path
# of the tree harms nobody.
# Method: a copy of the tree with a blank in its path, two configurations.

. "$(dirname "$0")/common"

copy_tree "$dir/a tree"
cd "$dir/a tree"
find . | sort >"$dir/before"

make -s O="$dir/debug" CFLAGS=-O0 debug_defconfig lib >"$dir/debug.log" 2>&1 &
first=$!
make -s O=../tiny CFLAGS=-O0 tiny_defconfig lib >"$dir/tiny.log" 2>&1 &
second=$!
wait "$first" || fail "debug: $(cat "$dir/debug.log")"
wait "$second" || fail "tiny: $(cat "$dir/tiny.log")"

find . | sort | diff "$dir/before" - >"$dir/difference" ||
	fail "builds outside changed the tree: $(cat "$dir/difference")"
grep -q 'LOCK_DEBUG 1' "$dir/debug/include/generated/autoconf.h" ||
	fail "the debug build lost its configuration"
[ -f "$dir/debug/core/lock_debug.o" ] || fail "no lock_debug.o"
[ ! -f "$dir/tiny/core/lock_debug.o" ] || fail "tiny has lock_debug.o"

in_git()
{
	! command -v git >/dev/null 2>&1 ||
		git --git-dir="$dir/git" --work-tree=. "$@"
}
in_git init -q
in_git add -A
run make CFLAGS=-O0 all
must_pass "in the tree"
[ -f libslabdev.so.0 ] || fail "no library in the tree"
[ -z "$(in_git ls-files -o --exclude-standard)" ] ||
	fail "not ignored: $(in_git ls-files -o --exclude-standard)"
run make O="$dir/debug" CFLAGS=-O0 lib
must_not_say '  CC '

run make mrproper
must_pass mrproper
find . | sort | diff "$dir/before" - >"$dir/difference" ||
	fail "mrproper left or took something: $(cat "$dir/difference")"
[ -f "$dir/debug/libslabdev.a" ] || fail "mrproper cleaned another build"

run make O="$dir/debug" mrproper
must_pass "O= mrproper"
[ -z "$(find "$dir/debug" ! -type d)" ] ||
	fail "mrproper left: $(find "$dir/debug" ! -type d)"

run make O="$dir/with blank" lib
must_fail "O= with a blank"
must_say blank
run make O="$dir/with:colon" lib
must_fail "O= with a colon"
must_say colon
