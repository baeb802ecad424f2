#!/bin/sh
# throwaway.sh PROGRAM ARGS...: inside the root's namespaces. A copy of the Wine prefix for this run: runs neither change it nor meet.
set -eu
mount -t tmpfs tmpfs /tmp
mkdir /tmp/upper /tmp/work
if ! mount -t overlay -o lowerdir=/opt/dxtensor/prefix,upperdir=/tmp/upper,workdir=/tmp/work overlay /opt/dxtensor/prefix; then
    # A kernel without overlays.
    cp -a /opt/dxtensor/prefix /tmp/prefix
    mount --bind /tmp/prefix /opt/dxtensor/prefix
fi
cd /work
exec /opt/dxtensor/run.sh "$@"
