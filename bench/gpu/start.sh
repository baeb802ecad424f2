#!/bin/sh
# start.sh [OPTIONS]: on a Linux x64 machine with a GPU: unpacks the archives of its folder into $DXTENSOR_GPU_ROOT (default /tmp/dxtensor-gpu) and
# runs bench/gpu/run.mjs there with the options (--help says which). Needs no network; root for Windows' part only.
# DXTENSOR_GPU_DRIVER=FOLDER names the folder of the GPU's Vulkan driver; one with an *icd.json file may hold any driver with the libraries
# that it needs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${DXTENSOR_GPU_ROOT:-/tmp/dxtensor-gpu}
unpack() {
    if command -v xz >/dev/null; then xz -dc "$1" | tar -C "$root" -x
    else
        python3 -c 'import sys, tarfile
archive = tarfile.open(sys.argv[1])
archive.extraction_filter = lambda member, path: member
archive.extractall(sys.argv[2])' "$1" "$root"
    fi
}
mkdir -p "$root"
for name in core node windows windows-node; do
    if [ -f "$here/$name.tar.xz" ] && [ ! -e "$root/.unpacked-$name" ]; then
        unpack "$here/$name.tar.xz"
        : >"$root/.unpacked-$name"
    fi
done
if [ ! -x "$root/bin/node" ] || [ ! -e "$root/bench/gpu/run.mjs" ]; then
    echo "start.sh: core.tar.xz and node.tar.xz must be next to this file" >&2
    exit 2
fi
icd=
for driver in ${DXTENSOR_GPU_DRIVER:-} /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/x86_64-linux-gnu /usr/lib64 ''; do
    [ -n "$driver" ] || break
    if [ "$driver" = "${DXTENSOR_GPU_DRIVER:-}" ]; then
        icd=$(ls "$driver"/*icd.json 2>/dev/null | head -n 1)
        [ -z "$icd" ] || break
    fi
    ls "$driver"/libEGL_nvidia.so.* >/dev/null 2>&1 && break
done
export LD_LIBRARY_PATH="$root/lib${driver:+:$driver}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-/tmp}"
if [ -n "$driver" ]; then
    if [ -z "$icd" ]; then
        # A driver file of NVIDIA's that names libGLX_nvidia finds no device without an X server; libEGL_nvidia does.
        icd=$root/nvidia.json
        printf '{"file_format_version":"1.0.1","ICD":{"library_path":"libEGL_nvidia.so.0","api_version":"1.4.312"}}\n' >"$icd"
    fi
    export DXTENSOR_GPU_DRIVER="$driver" VK_DRIVER_FILES="$icd" VK_ICD_FILENAMES="$icd" VK_LOADER_LAYERS_DISABLE='~all~'
fi
exec "$root/bin/node" "$root/bench/gpu/run.mjs" "$@"
