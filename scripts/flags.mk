# SPDX-License-Identifier: BSD-2-Clause
#
# Compiler and linker flags: the user's in the usual variables, ours apart, so
# that CFLAGS=-O0 replaces -O2 -g and nothing else.

ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS ?= -O2 -g

# Only a sample and tests of slabdev.hpp are C++: without a compiler for it, of
# the same kind as CC, they are left out.
ifeq ($(origin CXX),default)
CXX := $(if $(findstring clang,$(CC)),$(subst clang,clang++,$(CC)),$(if \
	$(findstring gcc,$(CC)),$(subst gcc,g++,$(CC)),c++))
endif
CXXFLAGS ?= $(CFLAGS)

# "make install" after "make CC=clang all" installs what clang made: alone, it
# uses the variables of the last build. A change of one builds everything again.
user-vars := CC CXX AR CFLAGS CXXFLAGS CPPFLAGS LDFLAGS SANITIZE WERROR
vars := $(o).build-vars
ifeq ($(goals),install)
-include $(vars)
endif
user-values := $(foreach v,$(user-vars),$(v) := $(subst $$,$$$$,$($(v))))
ifneq ($(strip $(user-values)),$(strip $(file <$(vars))))
$(vars): FORCE
endif
quoted = '$(subst ','\'',$(subst $$,$$$$,$($(1))))'
$(vars):
	$(Q)mkdir -p $(or $(o),.) && printf '%s := %s\n' \
		$(foreach v,$(user-vars),$(v) $(call quoted,$(v))) >$@

warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wvla $(if $(filter 1,$(WERROR)),-Werror)
sanitizer := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer \
	-fno-sanitize-recover=all)
# The thread sanitizer does not follow fences, and gcc warns of each.
ifeq ($(SANITIZE)-$(findstring clang,$(CC)),thread-)
warnings += -Wno-tsan
endif
common-flags := -std=gnu11 $(warnings) $(sanitizer)

# One thread-local pointer: see TLS_DESC. arm64 uses descriptors unasked.
ifeq ($(CONFIG_TLS_DESC),y)
tls := $(if $(filter x86_64% i%86%,$(shell $(CC) -dumpmachine)), \
	-mtls-dialect=gnu2)
else
tls := -ftls-model=initial-exec
endif

# What is inside sees the whole tree, tools and samples see what users see.
inside-flags := $(common-flags) -fPIC $(tls) -include core/prelude.h \
	-I$(o)include -Iinclude -I.
lib-flags := $(inside-flags) -fvisibility=hidden
test-flags := $(inside-flags)
user-flags := $(common-flags) -Iinclude
cxx-user-flags := -std=c++17 -Wall -Wextra -Wpedantic -Wconversion \
	-Wnon-virtual-dtor $(if $(filter 1,$(WERROR)),-Werror) $(sanitizer) \
	-Iinclude

# Sanitizers leave their own symbols undefined in a shared library.
so-flags := -shared -Wl,-soname,libslabdev.so.0 \
	-Wl,--version-script=libslabdev.map -Wl,-z,nodelete \
	$(if $(SANITIZE),,-Wl,-z,defs)
system-libs := -lpthread -ldl

# The object of the static library: machine code, even of -flto; and objcopy for
# the compiler's own target.
relocatable := -nostdlib -r \
	$(if $(findstring -flto,$(CFLAGS)),-flinker-output=nolto-rel)
objcopy = $(shell $(CC) -print-prog-name=objcopy)
