# SPDX-License-Identifier: BSD-2-Clause
#
# The library, the tools, the samples, and the tests, from the lists in the
# Makefiles of their folders.

# ---- What there is ------------------------------------------------------

lib-objs :=
define read-lib
lib-y :=
include $(1)/Makefile
lib-objs += $$(addprefix $(o)$(1)/,$$(lib-y))
endef
$(foreach dir,core vmm slab,$(eval $(call read-lib,$(dir))))

include tools/Makefile
tools := $(addprefix $(o)tools/,$(tools-y))

include tests/Makefile
include tests/model/Makefile
model-objs := $(addprefix $(o)tests/model/,$(model-y))
model-lib-of = $(o)tests/model/$(if $(filter-out \
	$(model-newest),$(1)),cuda-$(1)/)libcuda.so.1
model-libs := $(if $(model-y),$(foreach a,$(model-ages),$(call \
	model-lib-of,$(a))))
include tests/explore/Makefile
explore := $(addprefix $(o)tests/,$(explore-y))
test-objs := $(addprefix $(o)tests/,$(test-y))
test-run := $(o)tests/run
test-progs := $(addprefix $(o)tests/,$(test-progs-y))
test-cxx := $(addprefix $(o)tests/,$(test-cxx-y))

have-cxx := $(shell command -v $(lastword $(CXX)) >/dev/null && echo y)

define read-sample
objs :=
cpp-objs :=
pkgs :=
libs :=
include samples/$(1)/Makefile
$(1)-objs := $$(addprefix $(o)samples/$(1)/,$$(objs))
$(1)-cpp-objs := $$(addprefix $(o)samples/$(1)/,$$(cpp-objs))
$(1)-pkgs := $$(pkgs)
$(1)-libs := $$(libs)
endef

include samples/Makefile
$(foreach s,$(samples-y),$(eval $(call read-sample,$(s))))

# A package is NAME-OF-PKG-CONFIG:NAME-OF-DEBIAN.
pkg-names = $(foreach p,$(1),$(firstword $(subst :, ,$(p))))
pkg-missing = $(strip $(foreach p,$(1),$(if $(shell pkg-config --exists \
	$(call pkg-names,$(p)) && echo y),,$(lastword $(subst :, ,$(p))))))
pkg-flags = $(if $(2),$(shell pkg-config $(1) $(call pkg-names,$(2))))

ifeq ($(filter clean mrproper,$(goals)),)
$(foreach s,$(samples-y),$(eval $(s)-lacks := $(strip \
	$(call pkg-missing,$($(s)-pkgs)) \
	$(if $($(s)-cpp-objs),$(if $(have-cxx),,g++)))))
endif
samples-built := $(foreach s,$(samples-y),$(if $($(s)-lacks),,$(s)))
samples := $(foreach s,$(samples-built),$(o)samples/$(s)/$(s))

# ---- Rules --------------------------------------------------------------

# $(call compile,OBJECTS,GROUP) compiles each from the .c file of its name,
# with $(GROUP-flags).
all-objs :=
compile = $(if $(1),$(eval $(call compile-rule,$(1),$(2))))
define compile-rule
all-objs += $(1)
$(1): $(o)%.o: %.c $(vars) scripts/flags.mk
	$$(call say,CC)
	$(Q)mkdir -p $$(@D) && $$(CC) $$($(2)-flags) $$(CPPFLAGS) $$(CFLAGS) \
		-MMD -MP -c -o $$@ $$<
endef

# The same for .cpp files.
compile-cxx = $(if $(1),$(eval $(call compile-cxx-rule,$(1),$(2))))
define compile-cxx-rule
all-objs += $(1)
$(1): $(o)%.o: %.cpp $(vars) scripts/flags.mk
	$$(call say,CXX)
	$(Q)mkdir -p $$(@D) && $$(CXX) $$($(2)-flags) $$(CPPFLAGS) \
		$$(CXXFLAGS) -MMD -MP -c -o $$@ $$<
endef

# $(call link,PROGRAM,OBJECTS,LIBRARIES) and, where some are C++, CXX.
link = $(eval $(call link-rule,$(1),$(2),$(3),$(strip $(or $(4),CC))))
define link-rule
$(1): $(2) $(lists)
	$$(call say,LD)
	$(Q)$$($(4)) $$(CFLAGS) $$(sanitizer) $$(LDFLAGS) -o $$@ $(2) $(3) \
		$$(system-libs)
endef

# An object that left a list must leave what was linked from it.
lists := $(o).build-lists
list-values := $(sort $(lib-objs) $(test-objs) $(model-objs) $(foreach p, \
	$(tools-y) $(samples-y) $(test-progs-y) $(test-cxx-y),$($(p)-objs) \
	$($(p)-cpp-objs)))
ifneq ($(list-values),$(strip $(file <$(lists))))
$(lists): FORCE
endif
$(lists):
	$(Q)printf '%s\n' '$(list-values)' >$@

# ---- The library --------------------------------------------------------

# FOLDER/NAME.ptx, the text of a kernel, is compiled by the driver of the GPU;
# here it is a string, FOLDER_NAME_ptx, without what people read.
ptx-objs := $(filter %.ptx.o,$(lib-objs))

$(call compile,$(filter-out $(ptx-objs),$(lib-objs)),lib)

$(ptx-objs): $(o)%.ptx.o: %.ptx $(vars) scripts/flags.mk
	$(call say,PTX)
	$(Q)mkdir -p $(@D) && { echo 'const char $(subst /,_,$*)_ptx[] ='; \
		sed -e 's|[[:space:]]*//.*||' -e '/./!d' \
			-e 's/.*/"&\\n"/' $<; echo ';'; } | \
		$(CC) $(lib-flags) $(CPPFLAGS) $(CFLAGS) -x c -c -o $@ -

# The static library is one object whose hidden symbols are local, so that it
# has no name in common with the program but slabdev_*.
$(o)libslabdev.o: $(lib-objs) $(lists)
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(relocatable) -o $@ $(lib-objs)
	$(Q)$(objcopy) --localize-hidden $@

$(o)libslabdev.a: $(o)libslabdev.o
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $<

$(o)libslabdev.so.0: $(lib-objs) $(lists) libslabdev.map
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(sanitizer) $(so-flags) $(LDFLAGS) -o $@ \
		$(lib-objs) $(system-libs)

$(o)libslabdev.so: $(o)libslabdev.so.0
	$(call say,LN)
	$(Q)ln -sf $(<F) $@

# ---- Programs -----------------------------------------------------------

# Tools share objects: each of them is compiled once.
define tool
$(1)-objs := $(addprefix $(o)tools/,$($(1)-objs))
$$(call link,$(o)tools/$(1),$$($(1)-objs) $(o)libslabdev.a)
endef
$(foreach t,$(tools-y),$(eval $(call tool,$(t))))
$(call compile,$(sort $(foreach t,$(tools-y),$($(t)-objs))),user)

define sample
$(1)-flags = $$(user-flags) $(call pkg-flags,--cflags,$($(1)-pkgs))
$$(call compile,$$($(1)-objs),$(1))
$$(call compile-cxx,$$($(1)-cpp-objs),cxx-user)
$$(call link,$(o)samples/$(1)/$(1),$$($(1)-objs) $$($(1)-cpp-objs) \
	$(o)libslabdev.a,$$($(1)-libs) $(call pkg-flags,--libs,$($(1)-pkgs)), \
	$$(if $$($(1)-cpp-objs),CXX,CC))
endef
$(foreach s,$(samples-built),$(eval $(call sample,$(s))))

# Tests are linked with the objects of the library, and reach all of it.
$(call compile,$(test-objs),test)
$(call link,$(o)tests/run,$(test-objs) $(lib-objs),-lm)

# What a program shares with another one has its rule already.
define test-prog
$(1)-objs := $(addprefix $(o)tests/,$($(1)-objs))
$$(call compile,$$(filter-out $$(all-objs),$$($(1)-objs)),test)
$$(call link,$(o)tests/$(1),$$($(1)-objs) $$($(1)-others) $(lib-objs), \
	$$($(1)-libs))
endef
$(foreach p,$(test-progs-y),$(eval $(call test-prog,$(p))))

# These are programs of a user, in C++.
define test-cxx-prog
$(1)-cpp-objs := $(addprefix $(o)tests/,$($(1)-objs))
$$(call compile-cxx,$$($(1)-cpp-objs),$(or $($(1)-flags),cxx-user))
$$(call link,$(o)tests/$(1),$$($(1)-cpp-objs) $(o)libslabdev.a,,CXX)
endef
$(foreach p,$(test-cxx-y),$(eval $(call test-cxx-prog,$(p))))

# The driver model, once for each age: what differs is its version, and what it
# exports.
$(call compile,$(model-objs),lib)

# $(call model-lib,AGE)
define model-lib
$(call model-lib-of,$(1)): $(model-objs) $(lists) vmm/cuda_funcs.h \
		tests/model/exports.awk tests/model/first.c
	$$(call say,LD)
	$(Q)mkdir -p $$(@D) && awk -v age=$(1) -f tests/model/exports.awk \
		vmm/cuda_funcs.h tests/model/first.c >$$@.map
	$(Q)echo 'const int model_version = 1000 * $(subst .,+10*,$(1));' | \
		$$(CC) $$(lib-flags) $$(CPPFLAGS) $$(CFLAGS) \
		-Wno-missing-declarations -x c -c -o $$@.o -
	$(Q)$$(CC) $$(CFLAGS) $$(sanitizer) -shared \
		-Wl,-soname,libcuda.so.1 -Wl,--version-script=$$@.map \
		-Wl,-z,nodelete $$(if $$(SANITIZE),,-Wl,-z,defs) $$(LDFLAGS) \
		-o $$@ $(model-objs) $$@.o $$(system-libs)
endef
$(if $(model-y),$(foreach a,$(model-ages),$(eval $(call model-lib,$(a)))))

# The explorer has a copy of the library with a call at each access to memory,
# and answers the calls itself: no sanitizer has a part in it.
explore-objs := $(addprefix $(o)tests/explore/,$(explore-objs))
explore-lib := $(patsubst $(o)%,$(o)tests/explore/lib/%,$(filter-out \
	$(ptx-objs),$(lib-objs)))
explore-flags := $(filter-out $(sanitizer),$(test-flags))
explore-cflags = $(filter-out --coverage -fprofile-% -ftest-coverage -flto%, \
	$(CFLAGS))
$(call compile,$(explore-objs),explore)

all-objs += $(explore-lib)
$(explore-lib): $(o)tests/explore/lib/%.o: %.c $(vars) scripts/flags.mk
	$(call say,CC)
	$(Q)mkdir -p $(@D) && $(CC) $(explore-flags) \
		-include tests/explore/prelude.h $(CPPFLAGS) \
		$(explore-cflags) -fsanitize=thread -MMD -MP -c -o $@ $<

$(explore): $(explore-objs) $(explore-lib) $(ptx-objs) $(lists)
	$(call say,LD)
	$(Q)$(CC) $(explore-cflags) $(LDFLAGS) -o $@ $(explore-objs) \
		$(explore-lib) $(ptx-objs) \
		$(explore-wraps:%=-Wl,--wrap=%) $(system-libs)

# ---- Goals --------------------------------------------------------------

.PHONY: all lib tools samples tests
all: lib tools samples tests
lib: $(o)libslabdev.a $(o)libslabdev.so.0 $(o)libslabdev.so
tools: $(tools)
samples: $(samples)
tests: $(if $(CONFIG_KUNIT),$(test-run) $(test-progs) $(model-libs) \
	$(explore) $(if $(have-cxx),$(test-cxx)))

lib tests:
	@:

samples:
	@$(foreach s,$(samples-y),$(if $($(s)-lacks),echo "samples/$(s): not \
	built: Debian package $($(s)-lacks) is missing";)):

-include $(all-objs:.o=.d)
