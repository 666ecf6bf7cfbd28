# SPDX-License-Identifier: BSD-2-Clause
#
# clean and mrproper remove what a build made, whatever its configuration was;
# everything else in $(o) stays. No configuration is read here, so that what
# depends on a symbol is in the list without the y.

made-dirs := $(wildcard $(addprefix $(o),core vmm slab tools samples tests))
made := $(addprefix $(o),libslabdev.o libslabdev.a libslabdev.so \
	libslabdev.so.0) \
	$(tools) $(samples) \
	$(addprefix $(o)tests/,run $(test-progs-y) $(test-progs-) $(explore-) \
		$(test-cxx-)) \
	$(foreach a,$(model-ages),$(call model-lib-of,$(a)) \
		$(call model-lib-of,$(a)).map) \
	$(vars) $(lists) $(o)Documentation/html $(o)tests/explore/lib

.PHONY: clean mrproper

clean:
	$(Q)$(if $(made-dirs),find $(made-dirs) -name '*.[od]' -delete)
	$(Q)rm -rf $(made)

mrproper: clean
	$(Q)rm -rf $(config) $(config).old $(config).new $(o)defconfig \
		$(o)include/config $(o)include/generated $(addprefix $(o), \
		.coverage .fuzz .gpu-check .mutants)
