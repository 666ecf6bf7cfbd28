# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
#
# What the checks of this folder share. Each is a script that runs at the root
# of the tree and exits with 0 (nothing found), 1 (findings on stdout), or 77
# (could not run, the reason on stdout). OBJTREE is where the build is.

set -eu

OBJTREE=${OBJTREE:-.}
export OBJTREE

# sources PATTERN FOLDER...: C files by name, without what is generated.
sources()
{
	pattern=$1
	shift
	find "$@" -path include/generated -prune -o -type f \
		-name "$pattern" -print | sort
}

# built FOLDER...: the .c files of which the build has an object.
built()
{
	sources '*.c' "$@" | while read -r file; do
		[ ! -f "$OBJTREE/${file%.c}.o" ] || echo "$file"
	done
}

# Everything that a person wrote.
all_files()
{
	find . -path ./.git -prune -o -path ./include/generated -prune -o \
		-path ./include/config -prune -o \
		-path ./Documentation/html -prune -o -path ./.ci/build -prune -o \
		-path ./.fuzz -prune -o -path ./.coverage -prune -o \
		-path ./.mutants -prune -o -path ./.gpu-check -prune -o \
		-type f -print | sed 's|^\./||' | sort
}

need()
{
	command -v "$1" >/dev/null 2>&1 || skip "$1 is not installed"
}

skip()
{
	echo "$*"
	exit 77
}

# Fails when the file $1 holds findings, and shows them.
findings()
{
	cat "$1"
	[ ! -s "$1" ]
}

scratch()
{
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
}
