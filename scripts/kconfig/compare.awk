# SPDX-License-Identifier: BSD-2-Clause
#
# Names each symbol whose value is not what was asked for:
#
#	awk -f compare.awk ASKED GOT
#
# A kconfig tool replaces values that it cannot use, without a word and with
# exit status 0. With -v added=1 the symbols that only GOT has are listed
# instead, one line each.

/^CONFIG_[A-Za-z0-9_]+=/ {
	at = index($0, "=")
	note(substr($0, 1, at - 1), substr($0, at + 1))
}

/^# CONFIG_[A-Za-z0-9_]+ is not set$/ {
	note($2, "n")
}

function note(name, value)
{
	if (FILENAME == ARGV[1])
		asked[name] = value
	else
		got[name] = value
}

END {
	for (name in asked) {
		value = name in got ? got[name] : "n"
		if (added || value == asked[name])
			continue
		print name ": asked for " asked[name] ", got " value
		failed = 1
	}
	for (name in got)
		if (added && !(name in asked))
			print name "=" got[name]
	exit failed
}
