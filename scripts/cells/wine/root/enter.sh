#!/bin/sh
# enter.sh ROOT WORK COMMAND...: runs a command in the cell's root, in separate mount and process namespaces: nothing stays mounted and no process
# stays behind. WORK becomes /work; empty: none. Root.
set -eu
exec unshare --mount --pid --fork --kill-child --propagation private sh -ec '
    root=$1 work=$2
    shift 2
    mount -t proc proc "$root/proc" || mount --rbind /proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    if [ -n "$work" ]; then mount --bind "$work" "$root/work"; fi
    exec chroot "$root" "$@"
' enter "$@"
