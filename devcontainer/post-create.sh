#!/bin/sh
# In the container, after it was made: a checkout that is installed, built and tested.
set -eu
cd "$(dirname "$0")/.."
npm ci
# Out of the image: nothing is fetched twice.
npm run fetch:directml -- --from /opt/directml
npm test
