#!/bin/sh
# On the host, before the dev container is made: what WSL has for its GPU, under names that always exist, since a container with a
# missing device or mount does not start. Changes only devcontainer/.host. May be run again; each run replaces the links.
#   host.sh [ROOT]   ROOT stands before /dev/dxg and /usr/lib/wsl (for tests)
set -eu
root=${1:-}
here=$(cd "$(dirname "$0")" && pwd)/.host
mkdir -p "$here/nothing"
if [ -c "$root/dev/dxg" ] && [ -d "$root/usr/lib/wsl" ]; then
    ln -sfn "$root/dev/dxg" "$here/dxg"
    ln -sfn "$root/usr/lib/wsl" "$here/wsl"
    echo "devcontainer: WSL's GPU is passed through (/dev/dxg, /usr/lib/wsl)"
else
    ln -sfn /dev/null "$here/dxg"
    ln -sfn "$here/nothing" "$here/wsl"
    echo "devcontainer: no /dev/dxg with /usr/lib/wsl on this host; the container runs on the software adapter"
fi
