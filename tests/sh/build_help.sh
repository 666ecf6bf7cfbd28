#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: make help lists every goal and is there in an unconfigured tree.
# Method: compare it with the .PHONY lines of the makefiles.

. "$(dirname "$0")/common"

run_build help
must_pass help
[ ! -e build ] || fail "make help made something"
make -C "$SRCTREE" -pn help 2>/dev/null | sed -n 's/^\.PHONY: //p' |
	tr ' ' '\n' | grep -vxE 'FORCE|default|help' | sort -u >goals
[ "$(wc -l <goals)" -gt 20 ] || fail "found $(wc -l <goals) goals"
while read -r goal; do
	grep -qE "^  $goal( |\$)" output || fail "make help lacks $goal"
done <goals

run make -C "$SRCTREE" O="$dir/build" no-such-goal
must_fail "an unknown goal"
