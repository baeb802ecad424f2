#!/usr/bin/env bash
# check.sh: what this WSL distribution has for DirectML, what is missing, and the command that mends it. Needs no Node and changes
# nothing; `dxtensor doctor` says the same, and more about machines that are no WSL.
# shellcheck source-path=SCRIPTDIR
set -uo pipefail

usage() {
    cat <<'TEXT'
wsl/check.sh [OPTIONS]

Looks at kernel, WSL, Windows, GPU driver, /dev/dxg, each library and, where Node and a built package are there, at the
adapters. Status 0: everything is as it should be; 1: something is not (what, and the command that mends it); 2: usage;
3: this is no WSL.

  --json          one line of JSON on stdout
  --package DIR   the package (default: the folder above this script)
  --root DIR      stands before every absolute path (for tests)
  --help          this text
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
json=false root='' package=$(dirname "$here")
while [ $# -gt 0 ]; do
    case $1 in
        --json) json=true;;
        --package | --root)
            [ $# -ge 2 ] || { echo "check.sh: $1 needs a folder" >&2; exit 2; }
            if [ "$1" = --root ]; then root=${2%/}; else package=${2%/}; fi
            shift;;
        --help) usage; exit 0;;
        *) echo "check.sh: unknown option $1 (--help lists them)" >&2; exit 2;;
    esac
    shift
done

# --- facts and problems: parallel lists, shown at the end

labels=() values=() codes=() texts=() mends=()
fact() { labels+=("$1"); values+=("$2"); }
problem() { codes+=("$1"); texts+=("$2"); mends+=("$3"); }

# The first line of a file, without what Windows adds.
first() { [ -r "$root$1" ] && tr -d '\000\r' <"$root$1" 2>/dev/null | head -n 1; }

# shellcheck source=lib/windows.sh
. "$here/lib/windows.sh"
# shellcheck source=lib/library.sh
. "$here/lib/library.sh"

mounted=$(ini "$root/etc/wsl.conf" automount root)
system=${mounted:-/mnt/}
system=${system%/}/c/Windows/System32

# --- the system

kernel=$(first /proc/sys/kernel/osrelease)
name=$(sed -n 's/^PRETTY_NAME="\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$root/etc/os-release" 2>/dev/null)
container=''
if [ -e "$root/run/.containerenv" ]; then
    container=podman
elif [ -e "$root/.dockerenv" ]; then
    container=docker
elif [ -r "$root/proc/1/cgroup" ]; then
    container=$(grep -oE 'docker|libpod|kubepods|containerd|lxc' "$root/proc/1/cgroup" | head -n 1)
fi
fact System "${name:-unknown}${container:+, in a container ($container)}"
fact Kernel "${kernel:-unknown}"

version=''
case $kernel in
    4.4.0-*-Microsoft) version=1;;
    *[Mm]icrosoft*) version=2;;
    *) if [ -n "${WSL_DISTRO_NAME:-}" ] || [ -e "$root/proc/sys/fs/binfmt_misc/WSLInterop" ] || [ -d "$root/run/WSL" ]; then version=2; fi;;
esac
if [ -z "$version" ]; then
    if $json; then
        echo '{"ok":true,"wsl":null,"problems":[]}'
    else
        echo "This is not WSL (kernel ${kernel:-unknown}). To see what it has for DirectML: npx dxtensor doctor"
    fi
    exit 3
fi
fact WSL "version $version${WSL_DISTRO_NAME:+, distribution $WSL_DISTRO_NAME}"

# --- Windows, asked from within

wsl_text='' windows_version='' gpus=() drivers=() asked=false
if [ -z "$container" ]; then
    # Labels are translated, names of products and the order are not.
    wsl_text=$(windows wsl.exe --version | grep -E '[:：] *[0-9]')
    pick() { printf '%s\n' "$wsl_text" | grep -m 1 "$1" | sed 's/.*[:：] *//'; }
    if [ "$(printf '%s\n' "$wsl_text" | wc -l)" -ge 3 ]; then
        fact 'WSL app' "$(pick 'WSL[^g]')"
        fact Direct3D "$(pick Direct3D)"
        fact DXCore "$(pick DXCore)"
        windows_version=$(pick Windows)
    fi
    ver=$(windows cmd.exe /c ver | grep -oE '[0-9]+\.[0-9]+\.[0-9]{4,}(\.[0-9]+)?' | head -n 1)
    windows_version=${ver:-$windows_version}
    fact Windows "${windows_version:-unknown: Windows did not answer}"
    answer=$(windows powershell.exe -NoProfile -NonInteractive -Command \
        'Get-CimInstance Win32_VideoController | Select-Object Name,DriverVersion | ConvertTo-Json')
    if [ -n "$answer" ]; then
        asked=true
        mapfile -t gpus < <(printf '%s\n' "$answer" | grep -oE '"Name": *("[^"]*"|null)' | sed -E 's/"Name": *"?([^"]*)"?/\1/')
        mapfile -t drivers < <(printf '%s\n' "$answer" | grep -oE '"DriverVersion": *("[^"]*"|null)' | sed -E 's/"DriverVersion": *"?([^"]*)"?/\1/')
        for i in "${!gpus[@]}"; do fact GPU "${gpus[$i]}, driver ${drivers[$i]:-unknown}"; done
    else
        fact GPU 'unknown: Windows did not answer'
    fi
fi

# --- device and libraries

dxg=missing
if [ -c "$root/dev/dxg" ]; then
    # A dev container puts the null device there.
    if [ "$(stat -Lc '%t:%T' "$root/dev/dxg")" = 1:3 ]; then
        dxg='a stand-in (/dev/null)'
    elif [ -r "$root/dev/dxg" ] && [ -w "$root/dev/dxg" ]; then
        dxg=there
    else
        dxg='there, not open to this user'
    fi
fi
fact /dev/dxg "$dxg"

folders=()
IFS=: read -ra named <<<"${DXTENSOR_LIBRARY_FOLDER:-}"
for folder in "${named[@]}" "$package/directml"; do [ -z "$folder" ] || folders+=("$folder"); done
[ -e "$root/dev/dxg" ] && folders+=(/usr/lib/wsl/lib)
library libdxcore.so DXCoreCreateAdapterFactory "${folders[@]}"
dxcore=$state
library libd3d12.so D3D12CreateDevice "${folders[@]}"
d3d12=$state
library libdirectml.so DMLCreateDevice "${folders[@]}"
directml=$state directml_path=$found

# --- Node and the adapters

adapters=()
node=$(command -v node || true)
if [ -z "$node" ]; then
    fact Node 'not found'
    problem node.missing 'There is no Node.' 'wsl/provision.sh'
else
    node_version=$("$node" --version 2>/dev/null)
    fact Node "${node_version#v}"
    IFS=. read -r major minor _ <<<"${node_version#v}"
    if ! { [ "${major:-0}" -gt 22 ] || { [ "${major:-0}" -eq 22 ] && [ "$minor" -ge 9 ]; } || { [ "${major:-0}" -eq 20 ] && [ "$minor" -ge 17 ]; }; }; then
        problem node.old "Node ${node_version#v} is not supported; 20.17, 22.9 and later are." 'wsl/provision.sh'
    fi
fi

# --- the verdict

update='in PowerShell: wsl --update; wsl --shutdown'

# Why WSL 2 has no GPU: the most certain reason first.
missing_device() {
    local off='' profile real=0 i why
    [ "$(ini "$root/etc/wsl.conf" gpu enabled)" = false ] && off=/etc/wsl.conf
    profile=$(windows cmd.exe /c 'echo %USERPROFILE%')
    if [ -z "$off" ] && [[ $profile =~ ^([A-Za-z]):\\(.*)$ ]]; then
        i=${mounted:-/mnt/}
        profile=${i%/}/${BASH_REMATCH[1],,}/${BASH_REMATCH[2]//\\//}/.wslconfig
        [ "$(ini "$root$profile" wsl2 gpusupport)" = false ] && off=$profile
    fi
    if [ -n "$off" ]; then
        problem wsl.gpuOff "$off turns the GPU off for WSL." 'remove that setting, then in PowerShell: wsl --shutdown'
        return
    fi
    IFS=. read -r _ _ build _ <<<"$windows_version"
    if [ -n "${build:-}" ] && [ "$build" -lt 19044 ]; then
        problem wsl.windowsOld "Windows build $build gives WSL no GPU; WSL needs 19044 (Windows 10 21H2) or Windows 11." \
            'update Windows: start ms-settings:windowsupdate'
        return
    fi
    for i in "${!gpus[@]}"; do
        makeshift "${gpus[$i]}" && continue
        real=$((real + 1))
        why=$(too_old "${gpus[$i]}" "${drivers[$i]:-}")
        if [ -n "$why" ]; then
            problem wsl.driverOld "${gpus[$i]}: $why." 'update the GPU driver on Windows, then in PowerShell: wsl --shutdown'
            return
        fi
    done
    if $asked && [ "$real" -eq 0 ]; then
        problem wsl.driverMissing "Windows has no GPU driver (${gpus[*]:-no display adapter})." \
            "install the GPU maker's driver on Windows, never one inside WSL; then in PowerShell: wsl --shutdown"
    else
        problem wsl.deviceMissing 'WSL 2 has no GPU: there is no /dev/dxg.' \
            "install the GPU maker's current driver on Windows; then $update"
    fi
}

run='docker run --device /dev/dxg -v /usr/lib/wsl:/usr/lib/wsl:ro -e LD_LIBRARY_PATH=/usr/lib/wsl/lib …'
fatal=false
if [ -n "$container" ]; then
    if [[ $dxg != there* ]]; then
        problem container.deviceMissing "The container does not have WSL's GPU: it has no /dev/dxg." "$run"
        fatal=true
    elif [ "$dxcore/$d3d12" != ok/ok ]; then
        problem container.librariesMissing "The container has /dev/dxg, but not WSL's libraries in /usr/lib/wsl/lib." "$run"
        fatal=true
    fi
elif [ "$version" = 1 ]; then
    problem wsl.version1 'This distribution runs under WSL 1, which has no GPU.' "in PowerShell: wsl --set-version ${WSL_DISTRO_NAME:-<distribution>} 2"
    fatal=true
elif [[ $kernel == *[Mm]icrosoft* ]] && older "${kernel%%-*}" 5.10.43.3; then
    problem wsl.kernelOld "WSL's kernel $kernel is older than 5.10.43.3." "$update"
elif [[ $dxg != there* ]]; then
    missing_device
elif [ "$dxg" != there ]; then
    problem wsl.deviceDenied 'This user may not open /dev/dxg.' 'sudo chmod 666 /dev/dxg'
elif [ "$dxcore/$d3d12" != ok/ok ]; then
    gone=()
    [ "$dxcore" = ok ] || gone+=("libdxcore.so ($dxcore)")
    [ "$d3d12" = ok ] || gone+=("libd3d12.so ($d3d12)")
    problem wsl.librariesMissing "WSL's libraries in /usr/lib/wsl/lib: ${gone[*]}." \
        'reinstall the GPU driver on Windows; then in PowerShell: wsl --update; wsl --shutdown'
fi
if ! $fatal && [ "$directml" != ok ]; then
    if [ "$directml" = missing ]; then
        problem directml.missing "Microsoft's libdirectml.so is missing; neither WSL nor Linux includes it." 'npm run fetch:directml'
    else
        problem directml.wrong "$directml_path can't be used: $directml." 'npm run fetch:directml'
    fi
fi

# Only using a device shows whether the driver works. A separate process does so: the driver may crash it.
if [ -n "$node" ] && [ -e "$root$package/dist/bundle/cli.js" ]; then
    tried='' tried_name=''
    field() { printf '%s' "$1" | sed -nE "s/.*\"$2\":\"(([^\"\\\\]|\\\\.)*)\".*/\1/p"; }
    while IFS= read -r line; do
        case $line in
            '{"step":"trying"'*) tried=$(field "$line" device) tried_name=$(field "$line" name);;
            '{"step":"device"'*)
                why=$(field "$line" problem)
                adapters+=("$tried: $(field "$line" name)${why:+, FAILS: $why}")
                fact "$tried" "$(field "$line" name), feature level $(field "$line" featureLevel)${why:+, FAILS: $why}"
                [ -z "$why" ] || problem adapter.fails "$tried ($(field "$line" name)) does not compute: $why." 'update the GPU driver'
                tried='';;
        esac
    # exec: a shell in between would print a message when a driver crashes the process.
    done < <(exec 2>/dev/null; exec timeout 60 "$node" "$root$package/dist/bundle/cli.js" doctor --probe)
    if [ -n "$tried" ]; then
        fact "$tried" "$tried_name, FAILS: it ended the process"
        problem adapter.fails "$tried ($tried_name) does not compute: it ended the process." 'update the GPU driver'
    fi
else
    fact Adapters 'not tried: Node or the built package is missing'
fi

# --- the answer

quote() { printf '"%s"' "$(printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g' | tr -d '\000-\037')"; }

if $json; then
    ok=true
    [ ${#codes[@]} -eq 0 ] || ok=false
    printf '{"ok":%s,"wsl":%s,"problems":[' "$ok" "$version"
    for i in "${!codes[@]}"; do
        [ "$i" -eq 0 ] || printf ','
        printf '{"code":%s,"text":%s,"mend":%s}' "$(quote "${codes[$i]}")" "$(quote "${texts[$i]}")" "$(quote "${mends[$i]}")"
    done
    printf '],"facts":['
    for i in "${!labels[@]}"; do
        [ "$i" -eq 0 ] || printf ','
        printf '{"name":%s,"value":%s}' "$(quote "${labels[$i]}")" "$(quote "${values[$i]}")"
    done
    printf ']}\n'
else
    for i in "${!labels[@]}"; do printf '%-16s%s\n' "${labels[$i]}" "${values[$i]}"; done
    echo
    if [ ${#codes[@]} -eq 0 ]; then echo 'OK: WSL has what DirectML needs.'; else echo 'NOT OK:'; fi
    for i in "${!codes[@]}"; do printf '  ! %s\n      %s\n' "${texts[$i]}" "${mends[$i]}"; done
fi
[ ${#codes[@]} -eq 0 ]
