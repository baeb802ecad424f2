#!/bin/sh
# graphics.sh PACKAGES...: inside the root, with a folder of the cache as /work. Downloads what a GPU's own Vulkan driver may name and the cell
# has no use for.
set -eu
cd /work
apt-get -qq update
apt-get -qq -o APT::Sandbox::User=root download "$@"
rm -rf /var/lib/apt/lists
