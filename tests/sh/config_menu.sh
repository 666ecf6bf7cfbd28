#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: menuconfig and nconfig work on a terminal: they start, save, and what
# was chosen is in .config. Method: tmux types. The white-box assumption is the
# menu: LOCK_DEBUG is the first symbol of the first submenu.

. "$(dirname "$0")/common"
need tmux
need kconfig-mconf
need kconfig-nconf

unset TMUX
export TMUX_TMPDIR="$dir"
session=none

screen()
{
	tmux -L "$session" capture-pane -p
}

# wait_for TEXT: until it is on the screen.
wait_for()
{
	tries=0
	until screen 2>/dev/null | grep -qF "$1"; do
		tries=$((tries + 1))
		[ "$tries" -lt 100 ] || {
			screen
			fail "never on the screen: $1"
		}
		sleep 0.2
	done
}

# One key at a time: curses waits after Escape.
type_keys()
{
	for key; do
		tmux -L "$session" send-keys "$key"
		sleep 0.4
	done
}

# A server for each: one that is ending would take the next session with it.
start()
{
	session=slabdev-test-$$-$1
	tmux -L "$session" -f /dev/null new-session -d -x 100 -y 40 \
		"make -s -C '$SRCTREE' O='$dir/build' $1; echo ended: \$?; \
		sleep 60" 2>output || skip "$(cat output)"
	wait_for ".config - libslabdev configuration"
	! screen | grep -F "config.new" || fail "$1 names the copy"
}

stop()
{
	tmux -L "$session" kill-server 2>/dev/null || :
}
trap 'stop; rm -rf "$dir"' EXIT

build defconfig >output

start menuconfig
type_keys Enter y Right Enter Right Enter
wait_for "save your new configuration"
type_keys Enter
wait_for "ended: 0"
stop
grep -qx CONFIG_LOCK_DEBUG=y build/.config ||
	fail "menuconfig: CONFIG_LOCK_DEBUG is not y"

start nconfig
type_keys Enter n F9
wait_for "save"
type_keys Enter
wait_for "configuration written"
type_keys Enter
wait_for "ended: 0"
stop
grep -qx '# CONFIG_LOCK_DEBUG is not set' build/.config ||
	fail "nconfig: CONFIG_LOCK_DEBUG is still y"
