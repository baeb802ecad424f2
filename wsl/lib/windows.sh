# shellcheck shell=bash disable=SC2154
# Windows as a distribution sees it: settings files, commands, drivers. Sourced; reads $root and $system of its caller.

# older A B: is version A older than B?
older() { [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# ini FILE SECTION KEY: its value, in lower case
ini() {
    [ -r "$1" ] || return 0
    tr -d '\r' <"$1" | awk -F= -v section="[$2]" -v key="$3" '
        { sub(/[#;].*/, "") }
        /^[ \t]*\[/ { gsub(/[ \t]/, ""); current = tolower($0); next }
        { name = tolower($1); gsub(/[ \t]/, "", name) }
        current == section && name == key { value = tolower($2); gsub(/^[ \t"]+|[ \t"]+$/, "", value) }
        END { print value }'
}

# windows FILE ARGUMENTS...: a command of Windows, its text as UTF-8 with LF; nothing when it can't be run
windows() {
    local file=$1 folder=$system command
    shift
    [ "$file" = powershell.exe ] && folder=$system/WindowsPowerShell/v1.0
    command=$root$folder/$file
    [ -x "$command" ] || command=$(command -v "$file") || return 0
    # Windows' commands complain about a current folder that they have no name for.
    (
        [ -d "$root$system" ] && { cd "$root$system" || exit; }
        WSL_UTF8=1 WSLENV="${WSLENV:+$WSLENV:}WSL_UTF8" timeout 20 "$command" "$@" 2>/dev/null </dev/null
    ) | tr -d '\000\r'
}

# Windows' own makeshift drivers, and those of remote desktops.
makeshift() { printf '%s' "$1" | grep -qiE 'basic (display|render)|remote display|hyper-v video|idd|virtual display'; }

# too_old NAME DRIVER: why a driver is too old for WSL; nothing when it is not, or when nothing is known of its kind
too_old() {
    local a c d number
    [[ $2 =~ ^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$ ]] || return 0
    IFS=. read -r a _ c d <<<"$2"
    case ${1,,} in
        *nvidia* | *geforce* | *quadro*)
            # NVIDIA's number is the last five digits of Windows'.
            number=$((10#${c: -1} * 10000 + 10#$d))
            [ "$number" -ge 46020 ] || printf "NVIDIA's driver %d.%02d is older than 460.20" $((number / 100)) $((number % 100));;
        *intel*) if older "$2" 28.20.100.8322; then printf "Intel's driver %s is older than 28.20.100.8322" "$2"; fi;;
        *) [ "$a" -ge 27 ] || printf 'the driver %s is of a model older than WDDM 2.7' "$2";;
    esac
}
