#!/bin/sh
# run.sh PROGRAM ARGS...: a Windows program in the cell. run.sh --prefix PROGRAM...: without the launcher, as the prefix is made.
export HOME=/root LANG=C.UTF-8 WINEPREFIX=/opt/dxtensor/prefix WINEARCH=win64
export WINEDEBUG="${DXTENSOR_CELL_WINEDEBUG:--all}" WINEDLLOVERRIDES='mscoree,mshtml,winemenubuilder.exe,winedbg.exe='
export XDG_RUNTIME_DIR=/tmp MESA_SHADER_CACHE_DIR=/opt/dxtensor/shader-cache
export VK_DRIVER_FILES="${DXTENSOR_CELL_VULKAN:-/usr/share/vulkan/icd.d/lvp_icd.json}" VKD3D_DEBUG="${VKD3D_DEBUG:-none}"
# virtual_heaps makes descriptor heaps fast (0.2 s each without), but reads descriptors when a list is recorded, not when it runs: lists that
# are replayed over new descriptors then compute with the old ones.
export VKD3D_CONFIG="${VKD3D_CONFIG:-none}" VKD3D_SHADER_DEBUG="${VKD3D_SHADER_DEBUG:-none}"
export WINEPATH="Z:\\opt\\dxtensor\\node${DXTENSOR_CELL_NODE:-24};Z:\\opt\\dxtensor\\bin"
export DXTENSOR_DIRECTML="${DXTENSOR_DIRECTML-Z:\\opt\\dxtensor\\bin\\DirectML.dll}"
# The Vulkan driver runs on the processor.
export DXTENSOR_CPU_ADAPTERS="${DXTENSOR_CPU_ADAPTERS-1}"
unset DISPLAY WAYLAND_DISPLAY
wine=/usr/lib/wine/wine64
if [ "${1:-}" = --prefix ]; then
    shift
    exec "$wine" "$@"
fi
exec "$wine" /opt/dxtensor/launch.exe "$@"
