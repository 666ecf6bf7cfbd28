# SPDX-License-Identifier: BSD-2-Clause
#
# results.json of gpu-check.sh, from $out/parts, the logs and the figures
# beside it: {"version", "modelled", "device", "system", "date", "parts":
# [{"name", "verdict", "seconds", "words", "cases": [..] or "figures": what
# tests/gpu/bench wrote}]}.

BEGIN {
	FS = "\t"
	for (i = 1; i < 32; i++)
		control[sprintf("%c", i)] = sprintf("\\u%04x", i)
	printf "{\"version\":1,\"modelled\":%s,\"device\":%s," \
		"\"system\":%s,\"date\":%s,\"parts\":[",
		model ? "true" : "false", string(device), string(host),
		string(date)
}

# What is not ASCII is left out: a log may hold any bytes.
function string(text,    i, c, s)
{
	if (text !~ /["\\]|[^ -~]/)
		return "\"" text "\""
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		if (c in control)
			s = s control[c]
		else if (c == "\"" || c == "\\")
			s = s "\\" c
		else if (c >= " " && c <= "~")
			s = s c
	}
	return "\"" s "\""
}

# Of a case that says more than that the log has the rest.
function notes(text,    line, n, i, s)
{
	n = split(text, line, "\n")
	for (i = 1; i <= n && i <= 100; i++)
		s = s (i > 1 ? "," : "") string(line[i])
	return "[" s "]"
}

function cases(file,    i)
{
	ktap_read(file)
	printf ",\"cases\":["
	for (i = 1; i <= nr_cases; i++)
		printf("%s\n{\"name\":%s,\"verdict\":%s,\"reason\":%s," \
			"\"notes\":%s}", i > 1 ? "," : "",
			string(case_name[i]), string(case_verdict[i]),
			string(case_reason[i]), notes(case_notes[i]))
	printf "]"
}

# The file is written last, and whole unless the program was stopped in it.
function figures(file,    line, text)
{
	while ((getline line < file) > 0)
		text = text line "\n"
	close(file)
	printf ",\"figures\":%s", text ~ /}\n$/ ? text : "null"
}

{
	printf("%s\n{\"name\":%s,\"verdict\":%s,\"seconds\":%d,\"words\":%s",
		NR > 1 ? "," : "", string($1), string($2), $3, string($4))
	if ($1 == "costs" || $1 == "benchmarks")
		figures(out "/" $1 ".json")
	else if ($1 !~ /^build/)
		cases(out "/" $1 ".log")
	printf "}"
}

END {
	print "]}"
}
