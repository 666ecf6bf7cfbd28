# SPDX-License-Identifier: BSD-2-Clause
#
# ktap_read(FILE): the cases in the output of tests/run, also of a run that was
# cut short. Sets nr_cases, and for each from 1: case_name (SUITE.CASE),
# case_verdict, case_reason of one that was skipped, and case_notes, the
# first of its diagnostics with newlines between them, and case_nr_notes.

function ktap_note(line,    colon)
{
	sub(/^ *# /, "", line)
	colon = index(line, ": ")
	if (line !~ /^[a-z0-9_]+: / || line ~ /^(Totals|Subtest): /)
		return
	line = substr(line, colon + 2)
	if (++ktap_nr_notes <= 500)
		ktap_notes = ktap_notes (ktap_notes == "" ? "" : "\n") line
}

function ktap_forget()
{
	ktap_notes = ""
	ktap_nr_notes = 0
}

function ktap_case(line,    skip)
{
	nr_cases++
	case_verdict[nr_cases] = line ~ /^ *ok/ ? "passed" : "failed"
	case_reason[nr_cases] = ""
	skip = index(line, " # SKIP")
	if (skip) {
		case_verdict[nr_cases] = "skipped"
		case_reason[nr_cases] = substr(line, skip + 8)
		line = substr(line, 1, skip - 1)
	}
	sub(/^ *(not )?ok [0-9]+ /, "", line)
	case_name[nr_cases] = ktap_suite "." line
	case_notes[nr_cases] = ktap_notes
	case_nr_notes[nr_cases] = ktap_nr_notes
	ktap_forget()
}

function ktap_read(file,    line)
{
	nr_cases = 0
	ktap_suite = ""
	ktap_forget()
	while ((getline line < file) > 0) {
		# Deeper ones are the values of a case that has several.
		if (line ~ /^    # Subtest: /) {
			ktap_suite = substr(line, 16)
			ktap_forget()
		} else if (line ~ /^ +# /) {
			ktap_note(line)
		} else if (line ~ /^    (not )?ok [0-9]+ /) {
			ktap_case(line)
		}
	}
	close(file)
}
