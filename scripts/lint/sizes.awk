# SPDX-License-Identifier: BSD-2-Clause
#
# Names what has grown past the limits of the coding style.

function columns(line,    n, i)
{
	n = 0
	for (i = 1; i <= length(line); i++)
		n += substr(line, i, 1) == "\t" ? 8 - n % 8 : 1
	return n
}

FNR == 1 {
	start = 0
}

FNR == 601 {
	print FILENAME ": more than 600 lines"
}

columns($0) > 80 {
	print FILENAME ":" FNR ": more than 80 columns"
}

/^{/ {
	start = FNR
}

/^}/ && start {
	if (FNR - start - 1 > 70)
		print FILENAME ":" start ": a function of " \
			FNR - start - 1 " lines"
	start = 0
}
