# SPDX-License-Identifier: BSD-2-Clause
"""A build with mutants, the tests that reach each, and what they notice."""

import hashlib
import json
import mmap
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch

import mutate
from source import Source

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "scripts"))
from nested import BUILDING_SUITES, environment

# They look at the sources, at make, or at the harness, never at a mutant.
NO_SUITES = {"kunit", "runner", "ktap"} | BUILDING_SUITES
SKIPPED = {".git", ".ci", ".coverage", ".fuzz", ".mutants", "__pycache__"}
CHECKS = "configs/debug_defconfig"
BATCH = 32              # the most filters that tests/run takes
LONGEST = 240           # seconds that a test may take, on a loaded machine


class BuildFailed(Exception):
    pass


# ---- The build ------------------------------------------------------------

class Build:
    """A copy of the tree in which @files have their mutants, and its build."""

    def __init__(self, top, out, files, make):
        self.top, self.out, self.files, self.make = top, out, files, make
        self.tree = os.path.join(out, "tree")
        self.objects = os.path.join(out, "build")
        self.runner = os.path.join(self.objects, "tests", "run")
        self.sources = [Source(name, read(os.path.join(top, name)))
                        for name in files]
        self.mutants = []
        for source in self.sources:
            self.mutants += mutate.find_mutants(source, len(self.mutants) + 1)
        # By key, so that the next build begins without them.
        self.bad = os.path.join(out, "cannot-be-compiled")
        keys = set(read(self.bad).splitlines()) \
            if os.path.exists(self.bad) else set()
        self.dropped = {m.number for m in self.mutants if m.key in keys}
        self.texts = {(s.name, f): text for s in self.sources
                      for f, text in function_texts(s)}

    def run(self):
        self._copy()
        while True:
            lines = self._generate()
            errors = self._compile()
            if not errors:
                break
            bad = {lines[where].number for where in errors if where in lines}
            if not bad:
                raise BuildFailed(self.log)
            self.dropped |= bad
            write(self.bad, "".join(f"{m.key}\n" for m in self.mutants
                                    if m.number in self.dropped))
        self.mutants = [m for m in self.mutants
                        if m.number not in self.dropped]

    def _copy(self):
        """Only what differs, so that make builds only what must be built."""
        wanted = set()
        for folder, folders, files in os.walk(self.top):
            folders[:] = [f for f in folders if f not in SKIPPED and
                          os.path.join(folder, f) != self.out]
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), self.top)
                if path.endswith((".o", ".d", ".a", ".config")) and \
                        not path.startswith("configs/"):
                    continue
                wanted.add(path)
                if path not in self.files:
                    copy(os.path.join(self.top, path),
                         os.path.join(self.tree, path))
        for folder, _, files in os.walk(self.tree):
            for name in files:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.tree) not in wanted:
                    os.unlink(path)

    def _generate(self):
        header = "tests/mutants/mutant.h"
        copy(os.path.join(HERE, "mutant.h"), os.path.join(self.tree, header))
        lines = {}
        for source in self.sources:
            mine = [m for m in self.mutants if m.file == source.name and
                    m.number not in self.dropped]
            text, where = mutate.schema(source, mine, header)
            write(os.path.join(self.tree, source.name), text)
            lines.update({(source.name, line): mutant
                          for line, mutant in where.items()})
        return lines

    def _compile(self):
        """Returns the places of errors, none when all was built."""
        command = [self.make, "-C", self.tree, "-k", "-s",
                   f"O={self.objects}", "CFLAGS=-O1 -w"]
        environ = environment()
        if not os.path.exists(os.path.join(self.objects, ".config")):
            subprocess.run(command + ["cuda_defconfig"], check=True,
                           stdout=subprocess.DEVNULL, env=environ)
            self._add_checks()
        done = subprocess.run(command + ["lib", "tools", "tests"],
                              text=True, stdout=subprocess.PIPE, env=environ,
                              stderr=subprocess.STDOUT, check=False)
        if not done.returncode:
            return set()
        errors = re.findall(r"^([\w/.]+):(\d+):\d+: error: (.*)",
                            done.stdout, re.MULTILINE)
        if not errors:
            raise BuildFailed(done.stdout)
        self.log = "\n".join(": ".join(error) for error in errors)
        return {(os.path.normpath(name), int(line))
                for name, line, _ in errors}

    def _add_checks(self):
        """To the configuration with most files, what checks them most."""
        path = os.path.join(self.objects, ".config")
        if not os.path.exists(path):
            return
        text = read(path)
        for line in read(os.path.join(self.tree, CHECKS)).splitlines():
            if line.startswith("CONFIG_"):
                text = text.replace(f"# {line[:-2]} is not set\n",
                                    f"{line}\n")
        write(path, text)

    def sum(self, mutant):
        """What a result depends on."""
        return digest(self.texts[(mutant.file, mutant.func)])


def function_texts(source):
    begins = [f.begin for f in source.functions] + [len(source.text)]
    for func, end in zip(source.functions, begins[1:]):
        yield func.name, source.text[func.begin:end]


# ---- Tests ----------------------------------------------------------------

class Tests:
    """The cases of tests/run: what each takes and which mutants it reaches.

    @cost is in seconds of a processor, which do not depend on what else the
    machine does; @seconds are those of the clock, for timeouts.
    """

    def __init__(self, build, jobs, patterns):
        self.build, self.jobs, self.patterns = build, jobs, patterns
        self.environ = dict(os.environ, SRCTREE=build.tree,
                            OBJTREE=build.objects)
        for name in ("MUTANT", "MUTANT_SEEN"):
            self.environ.pop(name, None)
        self.seconds = {}
        self.cost = {}
        self.reaches = {}
        self.broken = []

    def record(self, say):
        path = os.path.join(self.build.out, "reached.json")
        cases = self._list()
        key = digest(read_bytes(self.build.runner))
        try:
            with open(path, encoding="utf-8") as file:
                known = json.load(file)
        except (OSError, ValueError):
            known = {}
        if known.get("key") != key:
            known = {"key": key, "cases": {}}
        new = [case for case in cases if case not in known["cases"]]
        if new:
            known["cases"].update(self._record_all(new, say))
            write(path, json.dumps(known))
        worth = {}
        for case in cases:
            ok, seconds, cost, numbers = known["cases"][case]
            if not ok:
                self.broken.append(case)
                continue
            self.seconds[case], self.cost[case] = seconds, cost
            # Of two as quick, the one about less is more likely to notice.
            worth[case] = (cost + 0.01) * len(numbers)
            for number in numbers:
                self.reaches.setdefault(number, []).append(case)
        for cases in self.reaches.values():
            cases.sort(key=worth.get)

    def _list(self):
        done = subprocess.run([self.build.runner, "--list"], text=True,
                              check=True, stdout=subprocess.PIPE,
                              env=self.environ)
        return [case for case in done.stdout.split()
                if case.split(".")[0] not in NO_SUITES and
                any(fnmatch(case, p + "*") for p in self.patterns)]

    def _record_all(self, cases, say):
        done = {}
        with ThreadPoolExecutor(self.jobs) as pool:
            for case, result in zip(cases, pool.map(self._record, cases)):
                done[case] = result
                say(f"which mutants does each test reach: "
                    f"{len(done)} of {len(cases)} tests")
        return done

    def _record(self, case):
        size = max((m.number for m in self.build.mutants), default=0) + 1
        seen = os.path.join(self.build.out, f"seen.{case}")
        with open(seen, "wb") as file:
            file.truncate(size)
        begin = time.monotonic()
        process = self._start([case], LONGEST, {"MUTANT_SEEN": seen},
                              subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        with open(seen, "rb") as file, \
                mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
            numbers = [n for n in range(size) if data[n]]
        os.unlink(seen)
        return (not status, seconds, usage.ru_utime + usage.ru_stime,
                numbers)

    def _start(self, cases, timeout, environ, output, cost="unlimited"):
        command = ["/bin/sh", "-c",
                   'echo 1000 >/proc/self/oom_score_adj; ulimit -t "$0"; '
                   'exec "$@"', str(cost),
                   self.build.runner, "--fail-fast", f"--timeout={timeout}"]
        command += [f"--filter={case}" for case in cases]
        return subprocess.Popen(
            command, env=dict(self.environ, **environ), text=True,
            errors="replace", stdout=output, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL, start_new_session=True)

    def _run(self, cases, timeout, environ):
        """Returns whether all passed, and what ended it."""
        # What loops has an end before that, on a machine with other work too.
        cost = int(3 + 4 * sum(self.cost.get(c, timeout) for c in cases))
        process = self._start(cases, timeout, environ, subprocess.PIPE, cost)
        longest = sum(self.seconds.get(c, timeout) for c in cases)
        try:
            output, _ = process.communicate(timeout=5 * (timeout + longest))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return False, "no end"
        if not process.returncode:
            return True, ""
        # All were skipped: they did not run, and cannot have noticed anything.
        if re.search(r"^0 passed, 0 failed", output, re.MULTILINE):
            return True, ""
        found = re.search(r"^# failed: (\S+)", output, re.MULTILINE)
        return False, found[1] if found else "the runner"

    def try_mutant(self, mutant, first, budget):
        """The test that notices it, or None; those in @first go first."""
        cases = self._affordable(self.reaches.get(mutant.number, []), budget)
        batch = [c for c in first if c in cases]
        rest = [c for c in cases if c not in batch]
        size = 8
        while batch or rest:
            if not batch:
                batch, rest, size = rest[:size], rest[size:], BATCH
            timeout = int(5 + 8 * max(self.seconds[c] for c in batch))
            ok, by = self._run(batch, timeout,
                               {"MUTANT": str(mutant.number)})
            if not ok:
                return by
            batch = []
        return None

    def _affordable(self, cases, budget):
        """Without those for which no time is left; one, at least."""
        chosen, spent = [], 0
        for case in cases:
            if spent + self.cost[case] <= budget or not chosen:
                chosen.append(case)
                spent += self.cost[case]
        return chosen


# ---- Files ----------------------------------------------------------------

def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, text):
    """Only if that changes the file."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path) and read_bytes(path) == text.encode():
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def copy(origin, path):
    if os.path.exists(path) and read_bytes(path) == read_bytes(origin):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copy(origin, path)


def digest(data):
    if isinstance(data, str):
        data = data.encode()
    return hashlib.sha256(data).hexdigest()[:16]
