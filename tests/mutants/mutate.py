# SPDX-License-Identifier: BSD-2-Clause
"""Small changes of a C file, and the file that contains all of them.

A mutant is one change that a test should notice. All mutants of a file are
compiled at once, and a number chosen at run time says which one is in force:
a statement S with the mutants A and B becomes

    { if (mutant_is(1)) A else if (mutant_is(2)) B else S }

and a condition or an initial value a chain of "mutant_is(1) ? (A) : ...".
Every alternative has a line of its own, so that a complaint of the compiler
names the mutant that cannot be compiled.

What is changed:

    condition   is never true; is never false (not in loops)
    && ||       become one another; each operand is left out
    < <= > >=   include the bound or no longer do; == and != change places
    + - & |     + and - become one another, & and |, << and >>, also in += and
                its kind, ++ and --; * becomes /, / and % become *
    min max     become one another
    ~           is left out
    ? :         always the first, always the second
    0 1 2       numbers become one more and one less; true and false
    statement   is left out: a call, an assignment, a jump
    return      of anything but a number returns 0

A condition is not negated as a whole: a test that tells a check from both
"never" and "always" also tells it from its opposite.
"""

import re
from dataclasses import dataclass

from source import JUMPS, is_type_name

OPPOSITE = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "&&": "||", "||": "&&", "+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=",
    "<<": ">>", ">>": "<<", "++": "--", "--": "++", "/": "*", "%": "*",
    "true": "false", "false": "true", "min": "max", "max": "min",
    "<<=": ">>=", ">>=": "<<=",
}
# Only between two operands; before one they mean something else.
BINARY = {"+": "-", "-": "+", "&": "|", "|": "&", "*": "/"}

# Their operands are types and names rather than values.
OPAQUE = {"sizeof", "offsetof", "container_of", "typeof", "static_assert"}

# What these do no test can see: they are about speed or about order, or they
# silence the compiler; the last one declares, and looks as if it did something.
UNSEEN = re.compile(r"^(barrier|cpu_relax|os_yield|os_sleep_us)\(|"
                    r"^\(void\)|^;$|^NO_CANCELLATION;$")


@dataclass
class Mutant:
    file: str
    func: str
    line: int
    original: str
    mutated: str
    place: object
    number: int = 0
    twin: int = 1       # the same change of the same text, within a function
    code: str = ""

    @property
    def key(self):
        twin = f" #{self.twin}" if self.twin > 1 else ""
        return (f"{self.file} {self.func}{twin}: "
                f"{self.original} => {self.mutated}")


def flat(text):
    """On one line, without comments."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", text).strip()


class Mutator:
    """Finds the mutants of one place; each is (from, to, text) in the file."""

    def __init__(self, source, func, place):
        self.source = source
        self.tokens = source.tokens
        self.func = func
        self.place = place
        self.edits = []

    def find(self):
        kind = self.place.kind
        first, last = self.place.first, self.place.last
        if kind == "statement":
            self._statement(first, last)
        else:
            if kind in ("condition", "loop"):
                self._replace(first, last, "0")
            if kind == "condition":
                self._replace(first, last, "1")
            if kind == "initial" and self._is_call(first, last):
                self._replace(first, last, "0")
            self._expression(first, last)
        return self.edits

    def _replace(self, first, last, text):
        self.edits.append((self.tokens[first].begin,
                           self.tokens[last - 1].end, text))

    def _is_call(self, first, last):
        return (self.tokens[first].kind == "name" and last > first + 1 and
                self.tokens[first + 1].text == "(" and
                self.source.match[first + 1] == last - 1)

    def _statement(self, first, last):
        word = self.tokens[first].text
        if UNSEEN.match(self.source.span(first, last)):
            return
        if word == "return":
            if last == first + 2:
                self._replace(first, last, ";")
            elif self._is_worth_zero(first + 1, last - 1):
                self._replace(first + 1, last - 1, "0")
            self._expression(first + 1, last - 1)
        elif word in JUMPS:
            self._replace(first, last, ";")
        else:
            self._replace(first, last, ";")
            self._expression(first, last - 1)

    def _is_worth_zero(self, first, last):
        text = self.source.span(first, last)
        return text not in ("NULL", "true", "false") and not text.isdigit()

    # ---- Expressions ----------------------------------------------------

    def _expression(self, first, last):
        """The operators and numbers of one level, then what is inside."""
        self._operands(first, last)
        self._choices(first, last)
        at = first
        while at < last:
            token = self.tokens[at]
            if token.text in OPAQUE:
                at = self.source.match.get(at + 1, at) + 1
                continue
            if at in self.source.match and not self._is_cast(at):
                self._expression(at + 1, self.source.match[at])
            if at in self.source.match:
                at = self.source.match[at] + 1
                continue
            self._token(at, first)
            at += 1

    def _token(self, at, first):
        text = self.tokens[at].text
        if self.tokens[at].kind == "number":
            for other in neighbours(text):
                self._replace(at, at + 1, other)
        elif text in BINARY:
            if at > first and self._is_operand_before(at):
                self._replace(at, at + 1, BINARY[text])
        elif text in OPPOSITE and self.tokens[at].kind != "string":
            self._replace(at, at + 1, OPPOSITE[text])
        elif text == "~":
            self._replace(at, at + 1, "")

    def _is_operand_before(self, at):
        before = self.tokens[at - 1]
        if before.text == ")":
            return not self._is_cast(self.source.match[at - 1])
        return before.kind in ("name", "number") and before.text != "return" \
            or before.text == "]"

    def _is_cast(self, at):
        """(type) or (type *), of which nothing is changed."""
        inside = self.tokens[at + 1:self.source.match[at]]
        if self.tokens[at].text != "(" or not inside:
            return False
        if self.tokens[at - 1].kind == "name" and \
                self.tokens[at - 1].text != "return":
            return False
        return is_type_name(inside[0].text) and \
            all(t.kind == "name" or t.text == "*" for t in inside)

    # ---- Parts of conditions --------------------------------------------

    def _split(self, first, last, marks):
        """Where @marks are on this level: [begin, end) of what they part."""
        parts, begin, at = [], first, first
        while at < last:
            if self.tokens[at].text in marks:
                parts.append((begin, at))
                begin = at + 1
            at = self.source.match.get(at, at) + 1 \
                if self.tokens[at].text in ("(", "[", "{") else at + 1
        parts.append((begin, last))
        return parts

    def _operands(self, first, last):
        """Leave out one operand of an && or of an ||."""
        for begin, end in self._split(first, last,
                                      {",", "?", ":", "=", "|=", "&="}):
            ors = self._split(begin, end, {"||"})
            for part in ors:
                if len(ors) > 1:
                    self._leave_out(part, "0")
                ands = self._split(*part, {"&&"})
                for operand in ands:
                    if len(ands) > 1:
                        self._leave_out(operand, "1")

    def _leave_out(self, part, neutral):
        if part[0] < part[1]:
            self._replace(part[0], part[1], neutral)

    def _choices(self, first, last):
        """The condition of "a ? b : c" is never true, never false."""
        for at in range(first, last):
            if self.tokens[at].text != "?" or self._level(first, at):
                continue
            begin = self._split(first, at, {",", "?", ":", "=", "|=", "&=",
                                            "+=", "-="})[-1][0]
            if begin < at:
                self._replace(begin, at, "0")
                self._replace(begin, at, "1")

    def _level(self, first, at):
        level = 0
        for token in self.tokens[first:at]:
            if token.kind == "mark":
                level += token.text in "([{"
                level -= token.text in ")]}"
        return level


def neighbours(number):
    """One more and one less than an integer constant."""
    found = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)", number)
    if not found:
        return
    value = int(found[1], 16 if found[1][:2] in ("0x", "0X") else 10)
    yield f"{value + 1}{found[2]}"
    if value:
        yield f"{value - 1}{found[2]}"


def find_mutants(source, first_number):
    """All mutants of a file, numbered from @first_number."""
    mutants, seen, number = [], {}, first_number
    for func in source.functions:
        for place in func.places:
            begin = source.tokens[place.first].begin
            end = source.tokens[place.last - 1].end
            original = source.text[begin:end]
            texts = set()
            for low, high, text in Mutator(source, func, place).find():
                mutated = source.text[begin:low] + text + \
                    source.text[high:end]
                if flat(mutated) in texts | {flat(original)}:
                    continue
                texts.add(flat(mutated))
                mutant = Mutant(source.name, func.name,
                                source.line_of(low), flat(original),
                                flat(mutated) or ";", place, number)
                mutant.code = mutant.mutated
                seen[mutant.key] = seen.get(mutant.key, 0) + 1
                mutant.twin = seen[mutant.key]
                mutants.append(mutant)
                number += 1
    return mutants


# ---- The file with all of them --------------------------------------------

def schema(source, mutants, header):
    """The text that contains all @mutants, and {line: mutant}."""
    by_place = {}
    for mutant in mutants:
        by_place.setdefault(id(mutant.place), []).append(mutant)

    out = [f'#include "{header}"\n']
    at = 0
    for func in source.functions:
        for place in func.places:
            here = by_place.get(id(place))
            if not here:
                continue
            begin = source.tokens[place.first].begin
            end = source.tokens[place.last - 1].end
            out.append(source.text[at:begin])
            out.append(alternatives(place, here, source.text[begin:end]))
            at = end
    out.append(source.text[at:])
    text = "".join(out)
    return text, find_lines(text, mutants)


def alternatives(place, mutants, original):
    if place.kind == "statement":
        lines = [f"if (mutant_is({m.number})) {m.code}\nelse "
                 for m in mutants]
        return "{\n" + "".join(lines) + original + "\n}"
    truth = "!!" if place.kind in ("condition", "loop") else ""
    lines = [f"mutant_is({m.number}) ? {truth}({m.code}) :\n"
             for m in mutants]
    return "(\n" + "".join(lines) + f"{truth}({original})\n)"


def find_lines(text, mutants):
    numbers = {m.number: m for m in mutants}
    lines = {}
    for line, words in enumerate(text.split("\n"), 1):
        found = re.search(r"mutant_is\((\d+)\)", words)
        if found and int(found[1]) in numbers:
            lines[line] = numbers[int(found[1])]
    return lines
