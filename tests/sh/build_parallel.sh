#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: every prerequisite is stated, so that any number of jobs may run, and as
# many do as there are processors, or as somebody says. Method: -j8 from nothing,
# twice, with the goals of a package build in one command; a goal that shows the
# flags of make.

. "$(dirname "$0")/common"

for round in 1 2; do
	run_build -j8 mrproper tiny_defconfig lib tools install prefix=/p \
		DESTDIR="$dir/dest"
	must_pass "round $round"
	[ -f dest/p/lib/libslabdev.so.0 ] || fail "round $round: not installed"
	must_not_say 'jobserver'
	rm -rf dest
done

show='show: ; @env | grep ^MAKEFLAGS'
run_build --eval="$show" show
must_say "-j$(nproc)"
run_build -j3 --eval="$show" show
must_say -j3
run env MAKEFLAGS=-j3 make -C "$SRCTREE" O="$dir/build" --eval="$show" show
must_say -j3
must_not_say warning
