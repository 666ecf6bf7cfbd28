#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: lint finds commit messages that say too little. Method: a repository
# with a good commit, then with one offence each.

. "$(dirname "$0")/common"
need git

mkdir tree
cp -r "$SRCTREE/scripts" tree/scripts
cd tree
git init -q .

commit()
{
	git -c user.name=n -c user.email=n@example.com commit -q \
		--allow-empty "$@"
}

run scripts/lint/commits
[ "$status" = 77 ] || fail "no history: status $status"

commit -m 'core: add lists' -m 'They are needed.'
run scripts/lint/commits
must_pass "a good commit"

commit -m 'core: add lists without a word why'
commit -m 'add lists' -m 'They are needed.'
commit -m 'core: add a subject that is longer than what fits on a line of the log, by far' \
	-m 'It is.'
run scripts/lint/commits
must_fail "bad commits"
must_say 'no body: core: add lists without'
must_say 'not "folder: what": add lists'
must_say 'characters: core: add a subject'
