# SPDX-License-Identifier: BSD-2-Clause
#
# Goals that run what was built.

# Tests and scripts find both trees by these. TESTARGS are options of tests/run.
export SRCTREE := $(CURDIR)
export OBJTREE := $(if $(filter /%,$(o)),$(o:/=),$(CURDIR)$(o:%/=/%))

TESTARGS ?= --jobs=$(shell n=$$(nproc); echo $$((n < 256 ? n : 256)))

# Around a fork the library holds every lock at once, more than the deadlock
# detector of the thread sanitizer can count; lock order has its own checks.
ifneq ($(findstring thread,$(SANITIZE)),)
export TSAN_OPTIONS ?= detect_deadlocks=0
endif

.PHONY: check check-long check-model demo lint fuzz fuzzers coverage mutants
.PHONY: htmldocs

run-tests = $(if $(CONFIG_KUNIT),$(test-run) $(TESTARGS),echo \
	"make $@: CONFIG_KUNIT is off, so that there are no tests" >&2; false)

check: all
	$(Q)$(run-tests)

check-long: all
	$(Q)$(run-tests) --long

# On each machine that the model of the driver can be, leaving out nothing.
on-model := --long --filter=on_model.usual_machine \
	--filter=on_model.other_machines_for_long

check-model: all
	$(Q)$(if $(CONFIG_ON_MODEL_KUNIT_TEST),$(test-run) $(on-model),echo \
		"make $@: CONFIG_ON_MODEL_KUNIT_TEST is off; make \
		cuda_defconfig turns it on" >&2; false)

demo: all
	$(Q)sh scripts/demo

lint: all
	$(Q)CC='$(CC)' sh scripts/lint/run

# The next three have builds of their own, and "make -n" must not run them: it
# does run what has the variable MAKE in it.
make-alone := $(MAKE)

# libFuzzer is a part of clang.
FUZZ_SECONDS ?= 600
FUZZ ?= $(notdir $(fuzz-y))
fuzzers := $(filter $(FUZZ:%=fuzz/%),$(fuzz-y))

fuzzers: $(addprefix $(o)tests/,$(fuzzers))

fuzz: fuzzers
	$(Q)clang -print-file-name=libclang_rt.fuzzer-$$(uname -m).a | \
		xargs test -f || { echo "make fuzz: needs clang with its \
		runtime: sh scripts/setup --ci" >&2; exit 1; }
	$(Q)env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL $(make-alone) -s \
		O=$(o).fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined \
		FUZZ='$(FUZZ)' fuzzers
	$(Q)FUZZ_SECONDS=$(FUZZ_SECONDS) sh scripts/fuzz $(o).fuzz $(fuzzers)

coverage:
	$(Q)MAKE='$(make-alone)' scripts/coverage/run $(o).coverage $(TESTARGS)

MUTANTS ?= $(wildcard vmm/*.[ch] slab/*.[ch])
MUTANT_JOBS ?= $(shell nproc)
MUTANT_SECONDS ?= 0
MUTANT_TESTS ?= *
mutants:
	$(Q)tests/mutants/run --make '$(make-alone)' --out $(o).mutants \
		--jobs $(MUTANT_JOBS) --time $(MUTANT_SECONDS) \
		--tests '$(MUTANT_TESTS)' $(MUTANTS)

htmldocs:
	$(call say,SPHINX)
	$(Q)sphinx-build -q -W -b html Documentation $(o)Documentation/html
