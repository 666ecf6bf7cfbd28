# SPDX-License-Identifier: BSD-2-Clause
#
# libslabdev. "make help" lists what can be made.
#
# Nothing here is recursive: the Makefile of a folder only lists objects, and
# scripts/*.mk hold the rules. Everything that is made lies under $(o), which
# is empty for a build in the tree and DIR/ for "make O=DIR". Paths within the
# tree are relative to it, so that its own path may hold any character.

ifeq ($(wildcard scripts/build.mk),)
$(error Run make at the root of the tree, or say where it is with -C)
endif

MAKEFLAGS += --no-builtin-rules

# As many jobs as processors, unless -j or a make above this one says how many.
# Before make 4.4 a -j of the command line is not seen here, but it wins.
ifeq ($(MAKELEVEL)$(filter -j% --job%,$(MAKEFLAGS) $(shell \
	echo "$$MAKEFLAGS")),0)
MAKEFLAGS += -j$(shell nproc)
endif
.DELETE_ON_ERROR:
.SUFFIXES:

o :=
ifeq ($(origin O),command line)
ifneq ($(word 2,$(O)),)
$(error O="$(O)": make cannot handle a path with a blank)
endif
ifneq ($(findstring :,$(O)),)
$(error O="$(O)": make cannot handle a path with a colon)
endif
o := $(filter-out ./ /,$(O:/=)/)
endif

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @$(if $(findstring s,$(firstword -$(MAKEFLAGS))),:,printf \
	'  %-7s %s\n' $(1) '$(@:$(o)%=%)')
endif

default: all
.PHONY: default FORCE

# Goals that change what the others read run alone, in the order given; so do
# those that people read.
goals := $(or $(MAKECMDGOALS),all)
alone := %config clean mrproper uninstall
shown := check check-long check-model demo lint

ifneq ($(and $(filter $(alone) $(shown),$(goals)),$(word 2,$(goals))),)
.PHONY: $(goals) in-turn
$(goals): in-turn
	@:
in-turn:
	$(Q)set -e; for goal in $(goals); do \
		$(MAKE) --no-print-directory $$goal; done
else
include scripts/config.mk
include scripts/flags.mk
include scripts/build.mk
include scripts/check.mk
include scripts/install.mk
include scripts/clean.mk
endif

.PHONY: help
help:
	@cat scripts/help.txt
