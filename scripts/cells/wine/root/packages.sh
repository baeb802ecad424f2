#!/bin/sh
# packages.sh VKD3D_SUITE: inside the new root. Installs Wine and the software Vulkan driver, and unpacks libvkd3d and the DirectX headers,
# which the bridge is built of, into /opt/dxtensor/vkd3d.
set -eu
export DEBIAN_FRONTEND=noninteractive
dpkg -i /opt/dxtensor/unused.deb
apt-get update
apt-get install -y --no-install-recommends wine64 mesa-vulkan-drivers libfreetype6 libfontconfig1
mkdir -p /opt/dxtensor/vkd3d
cd /opt/dxtensor/vkd3d
apt-get -o APT::Sandbox::User=root download "libvkd3d-dev/$1" "libvkd3d-headers/$1" directx-headers-dev
for deb in *.deb; do dpkg-deb -x "$deb" .; done
{
    dpkg-query -W wine64 mesa-vulkan-drivers 'libllvm*' libc6
    for deb in *.deb; do dpkg-deb -W --showformat '${Package}\t${Version}\n' "$deb"; done
} >/opt/dxtensor/versions
apt-get clean
rm -rf /var/lib/apt/lists /var/cache/debconf/*-old ./*.deb /usr/share/locale /opt/dxtensor/unused.deb
