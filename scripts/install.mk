# SPDX-License-Identifier: BSD-2-Clause
#
# install and uninstall share one list, so that the second removes what the
# first put there. slabdev.pc is made here: only now is the prefix known.

prefix = /usr/local
exec_prefix = $(prefix)
bindir = $(exec_prefix)/bin
libdir = $(exec_prefix)/lib
includedir = $(prefix)/include
datarootdir = $(prefix)/share
mandir = $(datarootdir)/man
pkgconfigdir = $(libdir)/pkgconfig
INSTALL ?= install

# They go into shell commands, into slabdev.pc, and into lists like PATH.
unsafe := : & | \ ' " ; < > ( ) * ? `
require-path = $(if $(word 2,$($(1)))$(filter-out /%,$($(1)))$(strip \
	$(foreach c,$(unsafe),$(findstring $(c),$($(1))))),$(error \
	$(1)="$($(1))": must be an absolute path, without blanks and \
	without $(unsafe)))
ifneq ($(filter install uninstall,$(goals)),)
$(foreach v,prefix exec_prefix bindir libdir includedir mandir pkgconfigdir, \
	$(call require-path,$(v)))
endif

include Documentation/Makefile
headers := $(wildcard include/slabdev/*.h include/slabdev/*.hpp)
version = $(shell sed -n 's/^.define SLABDEV_VERSION "\(.*\)"/\1/p' \
	include/slabdev/base.h)
man-dir-of = $(mandir)/man$(subst .,,$(suffix $(1)))

# Each is FOLDER:FILE.
installed = $(addprefix $(includedir)/slabdev:,$(headers)) \
	$(addprefix $(libdir):$(o),libslabdev.a libslabdev.so.0) \
	$(addprefix $(bindir):,$(tools)) \
	$(foreach m,$(man-y),$(call man-dir-of,$(m)):Documentation/$(m))

.PHONY: install uninstall

install: lib tools
	$(Q)for pair in $(installed); do \
		dir="$(DESTDIR)$${pair%%:*}"; \
		file=$${pair#*:}; \
		mode=644; ! test -x $$file || mode=755; \
		$(INSTALL) -d "$$dir" && \
			$(INSTALL) -m $$mode $$file "$$dir" || { \
			echo "make install: cannot write to $$dir:" \
				"use prefix=FOLDER or become root" >&2; \
			exit 1; }; \
	done
	$(Q)ln -sf libslabdev.so.0 "$(DESTDIR)$(libdir)/libslabdev.so"
	$(Q)$(INSTALL) -d "$(DESTDIR)$(pkgconfigdir)"
	$(Q)sed -e 's|@prefix@|$(prefix)|' -e 's|@exec_prefix@|$(exec_prefix)|' \
		-e 's|@libdir@|$(libdir)|' -e 's|@includedir@|$(includedir)|' \
		-e 's|@version@|$(version)|' slabdev.pc.in \
		>"$(DESTDIR)$(pkgconfigdir)/slabdev.pc"
	@echo "installed in $(DESTDIR)$(prefix)"
	@$(if $(DESTDIR),:,$(if $(filter-out /usr /usr/local,$(prefix)), \
		printf '  export %s\n' 'PKG_CONFIG_PATH=$(pkgconfigdir)' \
		'LD_LIBRARY_PATH=$(libdir)' 'PATH=$(bindir):$$PATH', \
		echo "  run ldconfig, so that programs find the library"))

uninstall:
	$(Q)for pair in $(installed); do \
		file=$${pair#*:}; \
		rm -f "$(DESTDIR)$${pair%%:*}/$${file##*/}"; \
	done
	$(Q)rm -f "$(DESTDIR)$(libdir)/libslabdev.so" \
		"$(DESTDIR)$(pkgconfigdir)/slabdev.pc"
	$(Q)! test -d "$(DESTDIR)$(includedir)/slabdev" || \
		rmdir "$(DESTDIR)$(includedir)/slabdev"
