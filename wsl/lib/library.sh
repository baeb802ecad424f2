# shellcheck shell=bash disable=SC2154
# A library as a file: there, whole, the right one. Sourced; reads $root, sets $found and $state, adds a fact.

# library FILE SYMBOL FOLDER...: sets found (its path), state (ok, missing, or what is wrong) and adds a fact
library() {
    local file=$1 symbol=$2 folder path bytes end=0
    shift 2
    found='' state=missing
    for folder in "$@"; do
        path=$folder/$file
        [ -f "$root$path" ] || continue
        found=$path state=ok
        bytes=$(stat -Lc %s "$root$path")
        if [ "$(head -c 4 "$root$path" | od -An -tx1 | tr -d ' \n')" != 7f454c46 ]; then
            state='it is no ELF file'
        elif [ "$(od -An -tu2 -j18 -N2 "$root$path" | tr -d ' ')" != 62 ]; then
            state='it is for another processor'
        else
            end=$(($(od -An -tu8 -j40 -N8 "$root$path") + $(od -An -tu2 -j58 -N2 "$root$path") * $(od -An -tu2 -j60 -N2 "$root$path")))
            if [ "$end" -gt "$bytes" ]; then
                state="it is cut off: $bytes bytes of at least $end"
            elif ! grep -q "$symbol" "$root$path"; then
                state="it has no $symbol"
            fi
        fi
        [ "$state" = ok ] && break
    done
    case $state in
        ok) fact "$file" "$found, $bytes bytes$(known "$found")";;
        missing) fact "$file" 'not found';;
        *) fact "$file" "$found, UNUSABLE: $state";;
    esac
}

# The libdirectml.so that npm run fetch:directml fetches does not say its version; its digest does.
known() {
    case $1 in *libdirectml.so) ;; *) return 0;; esac
    case $(sha256sum "$root$1") in
        fd54a8c578630f62a31d6d971d1f7e758e8497df8afccefe5efb1517d791692c*) printf ', feature level 6.2 (torch-directml 0.2.5)';;
    esac
}
