#!/bin/sh
# start.sh [OPTIONS]: on a Linux x64 machine with a GPU: unpacks core.tar.xz and node.tar.xz beside it into $DXTENSOR_GPU_ROOT (default
# /tmp/dxtensor-gpu) and runs gpu/run.mjs there with the options (--help says which). Needs no network and no root.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${DXTENSOR_GPU_ROOT:-/tmp/dxtensor-gpu}
unpack() {
    if command -v xz >/dev/null; then xz -dc "$1" | tar -C "$root" -x
    else python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$1" "$root"; fi
}
if [ ! -x "$root/bin/node" ]; then
    mkdir -p "$root"
    unpack "$here/core.tar.xz"
    unpack "$here/node.tar.xz"
fi
# A driver file of NVIDIA's that names libGLX_nvidia finds no device without an X server; libEGL_nvidia does.
for driver in ${DXTENSOR_GPU_DRIVER:-} /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/x86_64-linux-gnu /usr/lib64 ''; do
    [ -n "$driver" ] && ls "$driver"/libEGL_nvidia.so.* >/dev/null 2>&1 && break
done
export LD_LIBRARY_PATH="$root/lib${driver:+:$driver}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-/tmp}"
if [ -n "$driver" ]; then
    printf '{"file_format_version":"1.0.1","ICD":{"library_path":"libEGL_nvidia.so.0","api_version":"1.4.312"}}\n' >"$root/nvidia.json"
    export VK_DRIVER_FILES="$root/nvidia.json" VK_ICD_FILENAMES="$root/nvidia.json" VK_LOADER_LAYERS_DISABLE='~all~'
fi
exec "$root/bin/node" "$root/gpu/run.mjs" "$@"
