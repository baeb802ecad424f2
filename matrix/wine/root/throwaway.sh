#!/bin/sh
# throwaway.sh PROGRAM ARGS...: inside the root's namespaces. A copy of the Wine prefix for this run: runs neither change it nor meet.
set -eu
mount -t tmpfs tmpfs /tmp
mkdir /tmp/upper /tmp/work
mount -t overlay -o lowerdir=/opt/dxtensor/prefix,upperdir=/tmp/upper,workdir=/tmp/work overlay /opt/dxtensor/prefix
cd /work
exec /opt/dxtensor/run.sh "$@"
