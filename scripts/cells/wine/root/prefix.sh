#!/bin/sh
# prefix.sh: inside the root. Makes the Wine prefix: C:, registry, no display.
set -eu
modules=/usr/lib/x86_64-linux-gnu/wine/x86_64-windows
rm -rf /opt/dxtensor/prefix
timeout -k 5 120 /opt/dxtensor/run.sh --prefix wineboot -i
/opt/dxtensor/run.sh --prefix regedit /S /opt/dxtensor/prefix.reg
WINEPREFIX=/opt/dxtensor/prefix /usr/lib/wine/wineserver -w
# Wine copies its libraries into the prefix; links save 700 MB, and follow the bridge when it is built again.
cd /opt/dxtensor/prefix/drive_c/windows/system32
for file in *; do
    if [ -f "$file" ] && cmp -s "$file" "$modules/$file"; then ln -sf "$modules/$file" "$file"; fi
done
