#!/bin/sh
# graphics.sh PACKAGES...: inside the root, with a folder of the cache as /work. Downloads libraries that a GPU's Vulkan driver may need and the cell
# does not.
set -eu
cd /work
apt-get -qq update
apt-get -qq -o APT::Sandbox::User=root download "$@"
rm -rf /var/lib/apt/lists
