#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: scripts/demo shows the running job, ends when it does, and fails with a
# message when the job or slabinfo does. Method: jobs of a few lines of shell
# in the place of samples/dmrg/dmrg.

. "$(dirname "$0")/common"

mkdir -p samples/dmrg tools
export OBJTREE="$dir"

program()
{
	printf '#!/bin/sh\n%s\n' "$2" >"$1"
	chmod +x "$1"
}

run sh "$SRCTREE/scripts/demo"
must_fail "nothing is built"
must_say "run make"

program tools/slabinfo 'echo "seen: $*"'
run sh "$SRCTREE/scripts/demo"
must_fail "no sample"
must_say libopenblas-dev

program samples/dmrg/dmrg 'echo working; sleep 2; echo energy -1'
run sh "$SRCTREE/scripts/demo"
must_pass "a job that works"
must_say 'seen: -p'
must_say 'energy -1'

program samples/dmrg/dmrg 'sleep 2; echo out of luck; exit 3'
run sh "$SRCTREE/scripts/demo"
must_fail "a job that fails"
must_say 'out of luck'
must_say 'failed with status 3'

program samples/dmrg/dmrg 'exec sleep 30'
program tools/slabinfo 'echo cannot; exit 3'
run sh "$SRCTREE/scripts/demo"
must_fail "slabinfo that fails"
must_say 'slabinfo failed with status 3'

# Status 1: no space is open just now. Never once is a failure, sometimes not.
program samples/dmrg/dmrg 'sleep 2; echo energy -1'
program tools/slabinfo 'echo none; exit 1'
run sh "$SRCTREE/scripts/demo"
must_fail "a space that is never seen"
must_say 'before slabinfo saw it'

program samples/dmrg/dmrg 'sleep 8; echo energy -1'
program tools/slabinfo '[ -e seen ] && exit 1; echo "seen: $*"; : >seen'
run sh "$SRCTREE/scripts/demo"
must_pass "a job that closes its space before it ends"
must_say 'seen: -p'
