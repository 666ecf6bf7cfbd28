# SPDX-License-Identifier: BSD-2-Clause
#
# The configuration: from a .config to what make and the compiler read.
#
# The complete configurations are in configs/, so that NAME_defconfig and a
# build need no kconfig tool. Those that do are run by scripts/kconfig/conf,
# which accepts nothing that the tool changed on its own.

config := $(o).config
auto-conf := $(o)include/config/auto.conf
autoconf-h := $(o)include/generated/autoconf.h
kconfigs := Kconfig core/Kconfig vmm/Kconfig slab/Kconfig tests/Kconfig
kconfig-scripts := $(addprefix scripts/kconfig/,check.awk compare.awk conf \
	generate.awk kconfig.awk sync tool.sh)
defconfigs := debug_defconfig tiny_defconfig cuda_defconfig
tool-configs := menuconfig nconfig oldconfig olddefconfig savedefconfig \
	randconfig

export KCONFIG_TOOL

# ---- For a build --------------------------------------------------------

ifeq ($(filter $(alone) help updateconfigs,$(goals)),)
$(config):
	$(Q)mkdir -p $(or $(o),.) && cp configs/default.config $@
	@echo "no $@ yet: made from configs/defconfig"

$(auto-conf): $(config) $(kconfigs) $(kconfig-scripts)
	$(Q)mkdir -p $(@D) $(dir $(autoconf-h))
	$(Q)sh scripts/kconfig/sync $(config) $(auto-conf) $(autoconf-h)

include $(auto-conf)
endif

# ---- Goals --------------------------------------------------------------

.PHONY: defconfig $(defconfigs) $(tool-configs) updateconfigs

defconfig $(defconfigs):
	$(Q)mkdir -p $(or $(o),.)
	$(Q)! test -f $(config) || cp $(config) $(config).old
	$(Q)cp configs/$(patsubst defconfig,default,$(@:%_defconfig=%)).config $(config)
	@echo "configuration written to $(config)"

$(tool-configs):
	$(Q)mkdir -p $(or $(o),.)
	$(Q)test -f $(config) || cp configs/default.config $(config)
	$(Q)sh scripts/kconfig/conf $@ $(config)

updateconfigs:
	$(Q)sh scripts/kconfig/update
