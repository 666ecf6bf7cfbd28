#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# model-mutants.sh [RUNNER]: shows that each case of the contract can fail. The
# model breaks one statement after the other, and the case of that number must
# turn red. Names each that did not, and ends with "N survivors".
#
# RUNNER is tests/run of a build with the driver model; else that of OBJTREE.

set -eu

run=${1:-${OBJTREE:-.}/tests/run}
unset SLABDEV_LIBCUDA SLABDEV_MODEL_PROFILE SLABDEV_MODEL_PEDANTIC
cases=$("$run" --list --filter='contract_*.c[0-9][0-9][0-9]_*') ||
	{ echo "no such cases in $run"; exit 2; }
survivors=0
tried=0

# Whole, every case is green, or red would say nothing.
"$run" --filter='contract_*.c[0-9][0-9][0-9]_*' >/dev/null 2>&1 ||
	{ echo "the contract fails on the whole model"; exit 2; }

# A case that is skipped does not count as red.
is_red()
{
	out=$(SLABDEV_MODEL_BREAK=$1 "$run" --timeout=20 --filter="$2" 2>&1) &&
		return 1
	case $out in
	*"# failed: $2"*) return 0 ;;
	*) return 1 ;;
	esac
}

for case in $cases; do
	number=${case#*.c}
	number=${number%%_*}
	tried=$((tried + 1))
	is_red "C$number" "$case" || {
		echo "survives C$number: $case"
		survivors=$((survivors + 1))
	}
done
echo "$tried statements broken, one at a time"
echo "$survivors survivors"
[ "$survivors" = 0 ]
