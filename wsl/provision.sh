#!/usr/bin/env bash
# provision.sh: makes a WSL distribution (or any Debian or Ubuntu) ready for dxtensor: packages, Node, DirectML, groups, library path.
# Each step checks first, and does only what is missing. So the script may run again at any time.
set -euo pipefail

usage() {
    cat <<'TEXT'
wsl/provision.sh [OPTIONS]

  1. packages: compiler, CMake, ninja, git, curl, pip and what Node 26 needs (apt)
  2. Node with npm, unless a supported one is there: into /opt/node, linked from /usr/local/bin
  3. the repository: npm ci, DirectX headers, Microsoft's libdirectml.so
  4. groups: render and video, where /dev/dri is closed to this user
  5. the library path: /usr/lib/wsl/lib for the dynamic loader, under WSL
  and at last wsl/check.sh

  --dry-run             say what would be done, change nothing
  --node VERSION        24, 22.23 or 22.23.3 (24)
  --node-source SOURCE  nodejs.org, or npm where only the registry is reached (nodejs.org)
  --registry URL        the npm registry (https://registry.npmjs.org)
  --no-repository       leave step 3 out
  --root DIR            stands before every absolute path (for tests)
  --help                this text

Root rights are asked for by sudo, for steps 1, 2, 4 and 5 only. Never installs a display driver: WSL uses that of Windows.
TEXT
}

dry=false node_version=24 node_source=nodejs.org registry=https://registry.npmjs.org repository=true root=''
while [ $# -gt 0 ]; do
    case $1 in
        --dry-run) dry=true;;
        --no-repository) repository=false;;
        --node | --node-source | --registry | --root)
            [ $# -ge 2 ] || { echo "provision: $1 needs a value" >&2; exit 2; }
            case $1 in
                --node) node_version=$2;;
                --node-source) node_source=$2;;
                --registry) registry=$2;;
                *) root=${2%/};;
            esac
            shift;;
        --help) usage; exit 0;;
        *) echo "provision: unknown option $1 (--help lists them)" >&2; exit 2;;
    esac
    shift
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
changes=()
fail() { printf 'provision: %s\n      %s\n' "$1" "$2" >&2; exit 1; }

# change WHAT COMMAND...: runs a step and records it; with --dry-run it only prints it
change() {
    local what=$1
    shift
    if $dry; then
        echo "provision: would ${what}"
        changes+=("$what")
        return
    fi
    echo "provision: ${what}"
    "$@" || fail "could not ${what} (status $?)" "see above; what was done before stays, and a second run continues from here"
    changes+=("$what")
}

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

kernel=$(cat "$root/proc/sys/kernel/osrelease" 2>/dev/null || cat /proc/sys/kernel/osrelease)
wsl=false
case $kernel in
    4.4.0-*-Microsoft) fail "this distribution runs under WSL 1, which has no GPU" "in PowerShell: wsl --set-version ${WSL_DISTRO_NAME:-<distribution>} 2";;
    *[Mm]icrosoft*) wsl=true;;
esac
command -v apt-get >/dev/null || fail "there is no apt: this script knows Debian and Ubuntu" "install g++ 9, CMake 3.16, ninja, git, curl, python3 with pip and Node 20.17 or later by hand"
if [ "$(id -u)" -ne 0 ] && ! $dry && ! command -v sudo >/dev/null; then
    fail "root rights are needed, and there is no sudo" "run as root: su -c wsl/provision.sh"
fi

# --- 1. packages

wanted=(ca-certificates cmake curl g++ git libatomic1 make ninja-build python3 python3-pip xz-utils)
missing=()
for package in "${wanted[@]}"; do
    [ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)" = 'install ok installed' ] || missing+=("$package")
done
# The steps are chained by &&: in a command whose status is tested, `set -e` has no effect.
install_packages() {
    as_root apt-get -qq update &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
}
[ ${#missing[@]} -eq 0 ] || change "install ${missing[*]}" install_packages

# --- 2. Node

supported() {
    local major minor
    IFS=. read -r major minor _ <<<"${1#v}"
    [ "${major:-0}" -gt 22 ] || { [ "${major:-0}" -eq 22 ] && [ "$minor" -ge 9 ]; } || { [ "${major:-0}" -eq 20 ] && [ "$minor" -ge 17 ]; }
}
install_node() {
    local name
    as_root mkdir -p "$root/opt" "$root/usr/local/bin" && as_root rm -rf "$root/opt/node.new" &&
        as_root sh scripts/install-node.sh "$node_version" "$node_source" "$registry" "$root/opt/node.new" &&
        as_root rm -rf "$root/opt/node" && as_root mv "$root/opt/node.new" "$root/opt/node" || return
    for name in node npm npx; do as_root ln -sfn "$root/opt/node/bin/$name" "$root/usr/local/bin/$name" || return; done
    hash -r
}
have=$(node --version 2>/dev/null || true)
if ! supported "$have" || ! command -v npm >/dev/null; then
    change "install Node $node_version from $node_source into /opt/node${have:+ (there is $have)}" install_node
fi

# --- 3. the repository

if $repository && [ -f package-lock.json ]; then
    if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
        change "install the repository's packages (npm ci)" npm ci --no-fund --no-audit
    fi
    [ -e build/headers/usr/include/directx/DirectML.h ] || change "fetch the DirectX headers (npm run setup)" npm run --silent setup
    [ -e directml/libdirectml.so ] || change "fetch Microsoft's libdirectml.so (npm run fetch:directml)" npm run --silent fetch:directml
fi

# --- 4. groups

user=$(id -un)
groups=()
for group in render video; do
    node=$(find "$root/dev/dri" -maxdepth 1 -group "$group" -print -quit 2>/dev/null || true)
    if [ -n "$node" ] && [ ! -w "$node" ] && ! id -nG | tr ' ' '\n' | grep -qx "$group"; then groups+=("$group"); fi
done
for group in "${groups[@]}"; do change "add $user to the group $group (log in again)" as_root usermod -aG "$group" "$user"; done

# --- 5. the library path

write_path() {
    printf '# WSL'"'"'s own libraries, made by dxtensor'"'"'s wsl/provision.sh\n/usr/lib/wsl/lib\n' | as_root tee "$root/etc/ld.so.conf.d/dxtensor-wsl.conf" >/dev/null &&
        as_root ldconfig
}
if $wsl && [ -d "$root/usr/lib/wsl/lib" ] && ! grep -qsx /usr/lib/wsl/lib "$root"/etc/ld.so.conf.d/*.conf; then
    change "tell the dynamic loader of /usr/lib/wsl/lib (/etc/ld.so.conf.d/dxtensor-wsl.conf)" write_path
fi

# --- packages that break the GPU

if $wsl; then
    # A GPU driver for Linux hides the libraries that WSL mounts. This script removes nothing.
    driver=$(dpkg-query -W -f '${Status} ${Package}\n' 'nvidia-driver-*' 'libnvidia-compute-*' 2>/dev/null | sed -n 's/^install ok installed //p' | head -n 1 || true)
    [ -z "$driver" ] || printf 'provision: %s is installed here and hides the driver of Windows\n      sudo apt-get remove %s\n' "$driver" "$driver" >&2
fi

if [ ${#changes[@]} -eq 0 ]; then
    echo "provision: everything is there, nothing was changed"
elif $dry; then
    echo "provision: steps to do: ${#changes[@]}; nothing was changed"
else
    echo "provision: steps done: ${#changes[@]}"
fi
if $wsl && ! $dry; then
    echo
    # Problems that remain, such as a missing driver on Windows, are no failure of these steps.
    wsl/check.sh ${root:+--root "$root"} || true
fi
