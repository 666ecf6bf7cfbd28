#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: menuconfig and nconfig say at once that they need a terminal, where
# kconfig-mconf would spin for ever; olddefconfig asks nothing. Method: run
# them without one, with a time limit.

. "$(dirname "$0")/common"
need kconfig-mconf

for goal in menuconfig nconfig; do
	run timeout 20 make -s -C "$SRCTREE" O="$dir/build" "$goal"
	must_fail "$goal"
	[ "$status" != 124 ] || fail "$goal: still running after 20 s"
	must_say "needs a terminal"
done
[ ! -e build/.config.new ] || fail "a temporary folder is left"

run timeout 20 make -s -C "$SRCTREE" O="$dir/build" olddefconfig
must_pass olddefconfig
run timeout 20 make -s -C "$SRCTREE" O="$dir/build" oldconfig
must_pass oldconfig

run timeout 20 make -s -C "$SRCTREE" O="$dir/build" KCONFIG_SEED=7 randconfig
must_pass randconfig
cp build/.config first
run timeout 20 make -s -C "$SRCTREE" O="$dir/build" KCONFIG_SEED=7 randconfig
cmp build/.config first || fail "the same seed, another configuration"

build debug_defconfig >output
run timeout 20 make -s -C "$SRCTREE" O="$dir/build" savedefconfig
must_pass savedefconfig
grep -v '^#' "$SRCTREE/configs/debug_defconfig" >minimal
cmp minimal build/defconfig || {
	cat build/defconfig
	fail "savedefconfig: not configs/debug_defconfig"
}
