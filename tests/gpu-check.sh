#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# gpu-check.sh: everything that a GPU can tell about this tree, in one run.
# "tests/gpu-check.sh --help" says what can be asked of it, and
# Documentation/gpu-check.rst what comes of it.
#
# It is made of parts, one after the other: each is a program with a log and a
# time limit of its own, and none depends on how another ended. A part that
# outlives its limit is terminated, then killed, then left behind, for a driver
# may hold a process that nothing can kill. All limits end where the time of
# the whole ends.
#
# What a part came to is one line of $out/parts: name, verdict, seconds, and
# words, with tabs between them. The verdict is "ok", "failed", "skipped" (the
# device cannot do it) or "not run" (no time was left). Table and JSON are made
# of that file and of the logs, at the end and also after an interrupt.

set -u
LC_ALL=C
export LC_ALL

usage()
{
	cat <<-END
	Usage: tests/gpu-check.sh [OPTION]...
	Checks this tree on device 0 of the CUDA driver: the contract, the
	probes, the cost of calls, benchmarks, and the library's tests. Prints
	one table.

	  --quick      fewer rounds, and one suite of the library's tests
	  --out=DIR    logs, table and results.json go there
	  --build=DIR  use this build, and make none
	  --time=S     seconds that the whole may take (460)
	  --limit=S    seconds that no part may exceed
	  --slow=N     N times as much time for all and for each
	  --jobs=N     processes on the device at a time (at most 4)
	  --help       print this, and end

	SLABDEV_LIBCUDA names another driver than libcuda.so.1, for instance
	tests/model/libcuda.so.1, the model of one.

	Exit status: 0 all is fine; 1 something failed; 2 there is no driver or
	no device that can be used, or nothing can be built, or bad usage.
	END
}

die()
{
	echo "gpu-check: $*" >&2
	exit 2
}

now()
{
	date +%s
}

say()
{
	echo "gpu-check: [$(($(now) - started)) s] $*" >&2
}

# ---- Parts ------------------------------------------------------------------

# record NAME VERDICT SECONDS WORDS
record()
{
	words=$(printf '%s' "$4" | tr '\t\n' '  ')
	printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$words" >>"$out/parts"
	say "$1: $2: $words"
}

# A second, or less where that can be slept.
doze()
{
	sleep 0.1 2>/dev/null || sleep 1
}

# timeout(1) leads a group of its own, and what it started is in that. Signalled
# at its very start it may be gone alone.
kill_child()
{
	[ -z "$child" ] || kill -KILL "-$child" 2>/dev/null
	child=
}

# attempt NAME LIMIT COMMAND...: runs it into $out/NAME.log. Sets status to its
# exit status, "limit" when it took too long, or "late" when no time was left;
# and took to its seconds.
attempt()
{
	name=$1
	limit=$(($2 * slow))
	shift 2
	left=$((deadline - $(now)))
	[ "$limit" -le "$left" ] || limit=$left
	[ "$limit" -le "$most" ] || limit=$most
	status=late
	took=0
	[ "$limit" -gt 0 ] || return 0
	say "$name, at most $limit s"
	begun=$(now)
	timeout -k 5 "$limit" "$@" >"$out/$name.log" 2>&1 </dev/null &
	child=$!
	while kill -0 "$child" 2>/dev/null &&
	    [ $(($(now) - begun)) -lt $((limit + 15)) ]; do
		doze
	done
	if kill -0 "$child" 2>/dev/null; then
		status=limit
	else
		wait "$child"
		status=$?
	fi
	kill_child
	# 124 and 137 are what timeout(1) ends with when it had to act.
	case $status in 124 | 137) status=limit ;; esac
	took=$(($(now) - begun))
}

# conclude WORDS: records the attempt.
conclude()
{
	case $status in
	0) record "$name" ok "$took" "$1" ;;
	limit) record "$name" failed "$took" "stopped after $took s; $1" ;;
	late) record "$name" "not run" 0 "no time was left" ;;
	*) record "$name" failed "$took" "$1" ;;
	esac
}

# The last line of a run of tests; of one that was cut short, what there is.
tests_text()
{
	awk '
	/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { total = $0 }
	/^    ok [0-9]+ .* # SKIP/ { skipped++; next }
	/^    ok [0-9]+ / { passed++ }
	/^    not ok [0-9]+ / { failed++ }
	END {
		if (total == "")
			total = sprintf("%d passed, %d failed, %d skipped, " \
				"then it ended", passed, failed, skipped)
		print total
	}' "$out/$name.log" 2>/dev/null
}

# SUITE.CASE of each that failed.
failed_cases()
{
	awk '
	/^    # Subtest: / { suite = $3 }
	/^    not ok [0-9]+ / { print suite "." $4 }
	' "$out/$name.log" 2>/dev/null
}

# The statements of such cases: " C012 C085".
statements()
{
	for case; do
		number=${case#*.c}
		printf ' C%s' "${number%%_*}"
	done
}

last_words()
{
	tail -n 1 "$out/$name.log" 2>/dev/null | sed 's/^bench: //' |
		cut -c 1-200
}

# ---- The build --------------------------------------------------------------

# fits DIR: it has what is needed.
fits()
{
	[ -x "$1/tests/run" ] && [ -x "$1/tests/gpu/bench" ] &&
		grep -qs '^CONFIG_CONTRACT_KUNIT_TEST=y' "$1/.config"
}

# Whether the build in the tree has all sources.
is_fresh()
{
	[ -z "$(find core vmm slab include tests -name '*.[ch]' \
		! -path '*/generated/*' -newer tests/run 2>/dev/null |
		head -n 1)" ]
}

choose_build()
{
	if [ -n "$build" ]; then
		fits "$build" || die "$build has no tests/run and" \
			"tests/gpu/bench with CONFIG_CONTRACT_KUNIT_TEST"
	elif [ -n "${OBJTREE:-}" ] && fits "$OBJTREE"; then
		build=$OBJTREE
	elif fits . && is_fresh; then
		build=.
	else
		build=$own
	fi
	[ -n "$out" ] || case $build in
	"$own") out=${own%/*}/results ;;
	*) out=$build/.gpu-check/results ;;
	esac
	mkdir -p "$out" || die "cannot write to $out"
	: >"$out/parts" || die "cannot write to $out"
	rm -f "$out"/*.log "$out"/*.json "$out/table"
	out=$(cd "$out" && pwd)
}

# make_build NAME GOAL...: the programs that are needed and no others, since a
# machine with a GPU may lack what the rest wants.
make_build()
{
	part=$1
	shift
	[ "$build" = "$own" ] || return 0
	command -v gcc >/dev/null 2>&1 || set -- CC=cc "$@"
	attempt "$part" 200 make O="$own" "$@"
	conclude "$own"
	[ "$status" = 0 ] || tail -n 20 "$out/$part.log" >&2
}

# ---- What is checked --------------------------------------------------------

# Without a device nothing is told at all, so that this keeps to no limit but
# its own.
find_device()
{
	deadline=$(($(now) + 60 * slow))
	attempt device 60 "$build/tests/gpu/bench" --device
	deadline=$((started + total))
	device=$(last_words)
	[ "$status" = 0 ] || die "nothing to check: ${device:-the driver hangs}"
	case $device in MODELLED*) is_model=1 ;; esac
	case $device in *"one process"*) jobs=1 ;; esac
	say "$device"
}

check_contract()
{
	attempt contract 120 "$build/tests/run" --timeout=20 \
		--filter='contract_*.c[0-9][0-9][0-9]_*'
	cases=$(failed_cases)
	# shellcheck disable=SC2086 # names without blanks
	set -- $cases
	conclude "$(tests_text)${1:+:$(statements "$@")}"
	[ $# = 0 ] || check_contract_alone "$@"
}

# check_contract_alone CASE...: a case that leaves the device broken takes those
# behind it in its process along. Which fail by themselves?
check_contract_alone()
{
	# shellcheck disable=SC2016 # that is for the other shell
	attempt contract-alone 90 sh -c 'run=$1; bad=0; shift
		for c; do "$run" --timeout=20 --filter="$c" || bad=1; done
		exit $bad' sh "$build/tests/run" "$@"
	cases=$(failed_cases)
	# shellcheck disable=SC2086 # names without blanks
	set -- $cases
	conclude "by themselves fail:${1:+$(statements "$@")}"
}

check_probes()
{
	attempt probes 90 "$build/tests/run" --timeout=70 \
		--filter=contract_probe
	conclude "$(tests_text)"
}

# measure NAME LIMIT WORDS OPTION...
measure()
{
	what=$1
	limit_s=$2
	said=$3
	shift 3
	[ -z "$quick" ] || set -- "$@" --quick
	attempt "$what" "$limit_s" "$build/tests/gpu/bench" \
		--json="$out/$what.json" "$@"
	[ "$status" = 0 ] || said=$(last_words)
	conclude "$said"
}

# check_library LIMIT SPEC: with SLABDEV_TEST_SPEC, tests/run leaves out what is
# not about a space. With quick, one suite.
check_library()
{
	name=library-$(echo "$2" | tr : -)
	attempt "$name" 30 "$build/tests/gpu/bench" --open="$2"
	case $status in
	0) ;;
	3)
		record "$name" skipped 0 "$(last_words)"
		return 0
		;;
	*)
		conclude "$(last_words)"
		return 0
		;;
	esac
	limit_s=$1
	spec=$2
	set -- --jobs="$jobs" --timeout=60
	[ -z "$quick" ] || set -- "$@" --quick --filter=cache
	attempt "$name" "$limit_s" env SLABDEV_TEST_SPEC="$spec" \
		"$build/tests/run" "$@"
	conclude "$(tests_text)"
}

check_all()
{
	check_contract
	check_probes
	measure costs 40 "CSV in costs.log" --costs
	measure benchmarks 60 "medians and quartiles" --pairs --prime
	check_library 120 cuda:0
	[ -z "$quick" ] || return 0
	check_library 60 cuda-host:0
	check_library 60 cuda-managed:0
}

# ---- What came of it --------------------------------------------------------

# Things that were asked for and did not come about. The last two kinds of
# memory are for when there is time.
nr_failed()
{
	awk -F '\t' '
	$2 == "failed" || ($2 == "not run" && $1 !~ /^library-cuda-[hm]/) { n++ }
	END { print n + 0 }' "$out/parts"
}

show()
{
	for view in table json; do
		awk -v device="$device" -v model="$is_model" -v out="$out" \
			-v host="$(uname -srm)" -v date="$(date -u +%FT%TZ)" \
			-f tests/gpu/ktap.awk -f "tests/gpu/$view.awk" \
			"$out/parts" >"$out/$view"
	done
	mv "$out/json" "$out/results.json"
	cat "$out/table"
}

interrupted()
{
	[ -z "$child" ] || kill "$child" 2>/dev/null
	doze
	kill_child
	record "${name:-start}" failed 0 "interrupted"
	show
	exit 1
}

quick=
out=
build=
total=460
limit_option=100000
jobs=
slow=1
for arg; do
	value=${arg#*=}
	case $arg in
	--help) usage; exit 0 ;;
	--quick) quick=1 ;;
	--out=?*) out=$value ;;
	--build=?*) build=$value ;;
	--time=[1-9]*) total=$value ;;
	--limit=[1-9]*) limit_option=$value ;;
	--jobs=[1-9]*) jobs=$value ;;
	--slow=[1-9]*) slow=$value ;;
	*) usage >&2; die "$arg: no such option" ;;
	esac
	case $arg in
	--time=* | --limit=* | --jobs=* | --slow=*)
		case $value in
		*[!0-9]* | ?????*) die "$arg: not a number up to 9999" ;;
		esac ;;
	esac
done
command -v timeout >/dev/null 2>&1 || die "needs timeout(1), of coreutils"
case $out in /* | '') ;; *) out=$PWD/$out ;; esac
case $build in /* | '') ;; *) build=$PWD/$build ;; esac
# Tests that are not told which driver take the model.
SLABDEV_LIBCUDA=${SLABDEV_LIBCUDA:-libcuda.so.1}
case $SLABDEV_LIBCUDA in
/*) ;;
*/*) SLABDEV_LIBCUDA=$PWD/$SLABDEV_LIBCUDA ;;
esac
export SLABDEV_LIBCUDA

cd "$(dirname "$0")/.." || die "no tree"
# The make of a test is none of the one that runs the tests.
unset MAKEFLAGS MFLAGS MAKELEVEL GNUMAKEFLAGS SLABDEV_TEST_SPEC
SRCTREE=$PWD
export SRCTREE

own=.gpu-check/build
device=
is_model=0
name=
child=
started=$(now)
total=$((total * slow))
deadline=$((started + total))
most=$total
[ -n "$jobs" ] || jobs=$(nproc 2>/dev/null || echo 1)
[ "$jobs" -le 4 ] || jobs=4
trap interrupted INT TERM HUP

choose_build
make_build build cuda_defconfig $own/tests/gpu/bench
[ -x "$build/tests/gpu/bench" ] || die "nothing was built: see $out/build.log"
find_device
make_build build-tests $own/tests/run $own/tests/contract/other
most=$limit_option
check_all
show
[ "$(nr_failed)" = 0 ]
