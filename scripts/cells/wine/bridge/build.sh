#!/bin/sh
# build.sh VKD3D OUT: the bridge's two halves and the launcher. VKD3D holds the unpacked libvkd3d-dev and libvkd3d-headers packages.
set -eu
vkd3d=$1 out=$2 here=$(cd "$(dirname "$0")" && pwd)
library=$vkd3d/usr/lib/x86_64-linux-gnu names=$here/../../../../native/vulkan/d3d12/libc_names.c
mkdir -p "$out"
gcc -O2 -Wall -fPIC -shared -fvisibility=hidden -I"$vkd3d/usr/include" -I"$vkd3d/usr/include/vkd3d" "$here/unix.c" "$here/remove.c" "$names" \
    -o "$out/d3d12.so" -Wl,-Bsymbolic -Wl,-z,defs -Wl,--exclude-libs,ALL "$library/libvkd3d.a" "$library/libvkd3d-shader.a" -lm -ldl -lpthread
x86_64-w64-mingw32-gcc -O2 -Wall -shared "$here/d3d12.c" "$here/d3d12.def" -o "$out/d3d12.dll" -ldxgi -static -s
# The mark by which Wine knows a library that has a Linux half.
printf '%-16s' 'Wine builtin DLL' | cat - /dev/zero | dd count=32 iflag=fullblock bs=1 seek=64 conv=notrunc status=none of="$out/d3d12.dll"
x86_64-w64-mingw32-gcc -O2 -Wall "$here/launch.c" -o "$out/launch.exe" -s
