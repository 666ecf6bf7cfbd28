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

.PHONY: check check-long demo lint htmldocs

run-tests = $(if $(CONFIG_KUNIT),$(test-run) $(TESTARGS),echo \
	"make $@: CONFIG_KUNIT is off, so that there are no tests" >&2; false)

check: all
	$(Q)$(run-tests)

check-long: all
	$(Q)$(run-tests) --long

demo: all
	$(Q)sh scripts/demo

lint: all
	$(Q)CC='$(CC)' sh scripts/lint/run

htmldocs:
	$(call say,SPHINX)
	$(Q)sphinx-build -q -W -b html Documentation $(o)Documentation/html
