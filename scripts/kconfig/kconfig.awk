# SPDX-License-Identifier: BSD-2-Clause
#
# Reads Kconfig files, as far as this tree uses the language: config, choice,
# menu, if, depends on, range, select, source. Programs that follow on awk's
# command line call read_kconfig() and find
#
#   nr_symbols, symbol[i]	the names, in the order of the files
#   type[s]			bool, int, hex, or string
#   asks[s]			1 when the symbol has a prompt
#   depends[s]			an expression, "" for none
#   low[s], high[s]		the range, "" for none
#   selector[s]			symbols that may force it on
#   choice_of[s]		the number of its choice, 0 for none
#   choice_depends[c]		as depends, for the whole choice

function fail(text)
{
	print text > "/dev/stderr"
	failed = 1
}

function group(expr)
{
	return expr ~ /\|\|/ ? "(" expr ")" : expr
}

function both(a, b)
{
	if (a == "" || b == "")
		return a b
	return group(a) " && " group(b)
}

# What if, menu, and choice around a line demand, innermost last.
function enclosing(    i, expr)
{
	expr = ""
	for (i = 1; i <= depth; i++)
		expr = both(expr, around[i])
	return expr
}

function leave()
{
	if (opened[depth] == "choice")
		choice = 0
	depth--
	symbol_now = ""
}

function enter(what, expr)
{
	depth++
	opened[depth] = what
	around[depth] = expr
	symbol_now = ""
	if (what != "choice")
		return
	choice = ++nr_choices
	choice_depends[choice] = enclosing()
}

function rest(line)
{
	sub(/^[ \t]*[^ \t]+[ \t]*/, "", line)
	return line
}

function new_symbol(name)
{
	symbol_now = name
	symbol[++nr_symbols] = name
	depends[name] = enclosing()
	choice_of[name] = choice + 0
	type[name] = "bool"
}

function attribute(word, line,    w, expr)
{
	if (word == "bool" || word == "int" || word == "hex" ||
	    word == "string") {
		type[symbol_now] = word
		asks[symbol_now] = line ~ /"/
	} else if (word == "def_bool") {
		type[symbol_now] = "bool"
	} else if (word == "prompt") {
		asks[symbol_now] = 1
	} else if (word == "range") {
		split(line, w)
		low[symbol_now] = w[2]
		high[symbol_now] = w[3]
	} else if (word == "select") {
		split(line, w)
		selector[w[2]] = selector[w[2]] " " symbol_now
	} else if (word == "depends") {
		expr = rest(rest(line))
		depends[symbol_now] = both(depends[symbol_now], expr)
	}
}

# "depends on" of a menu or a choice, before its first symbol.
function block_depends(line,    expr)
{
	expr = rest(rest(line))
	around[depth] = both(around[depth], expr)
	if (opened[depth] == "choice")
		choice_depends[choice] = both(choice_depends[choice], expr)
}

function kconfig_line(line,    w, word)
{
	split(line, w)
	word = w[1]
	if (word == "config" || word == "menuconfig")
		new_symbol(w[2])
	else if (word == "if")
		enter("if", rest(line))
	else if (word == "menu" || word == "choice")
		enter(word, "")
	else if (word ~ /^end(if|menu|choice)$/)
		leave()
	else if (word == "source")
		read_kconfig(substr(w[2], 2, length(w[2]) - 2))
	else if (symbol_now != "")
		attribute(word, line)
	else if (word == "depends")
		block_depends(line)
}

function indent_of(line)
{
	match(line, /^[ \t]*/)
	return RLENGTH
}

# A help text ends at the first line that is indented less than its first.
function read_kconfig(file,    line, ok, in_help, help_indent)
{
	while ((ok = (getline line < file)) > 0) {
		if (line ~ /^[ \t]*(#|$)/)
			continue
		if (in_help) {
			if (!help_indent)
				help_indent = indent_of(line)
			if (indent_of(line) >= help_indent)
				continue
			in_help = 0
		}
		if (line ~ /^[ \t]*(---help---|help)[ \t]*$/) {
			in_help = 1
			help_indent = 0
		} else {
			kconfig_line(line)
		}
	}
	if (ok < 0)
		fail(file ": cannot be read")
	close(file)
}
