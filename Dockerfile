# Lading: the API, the workers and the stand-ins. Each process of the Procfile is one container of this image.
ARG NODE_VERSION=24.21.0

FROM docker.io/library/node:${NODE_VERSION}-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Optional packages are PostgreSQL and a Node for `lading up`; the image has its own Node. No install script runs.
RUN npm ci --omit=dev --omit=optional --ignore-scripts \
 && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.md' \) -delete
COPY Procfile LICENSE ./
COPY api api
COPY shared shared
COPY sql sql
COPY workers workers
COPY test/simulators test/simulators
COPY test/stack test/stack
COPY deploy/health.mjs deploy/strip-types.mjs deploy/stripped.mjs deploy/
# Without types, each process and thread takes about 15 MiB less.
RUN node deploy/strip-types.mjs api shared sql workers test

FROM docker.io/library/debian:trixie-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates tini \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log \
 && groupadd --system --gid 10001 lading \
 && useradd --system --uid 10001 --gid lading --home-dir /data --no-create-home --shell /usr/sbin/nologin lading \
 && install -d -o lading -g lading -m 0700 /data
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /app /app
WORKDIR /app
# The root filesystem may be read-only: files go to /data, and short-lived ones to /tmp.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000 STORAGE_DIR=/data/storage HOME=/tmp NODE_OPTIONS=--import=/app/deploy/stripped.mjs
USER 10001:10001
VOLUME /data
EXPOSE 4000
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["node", "/app/deploy/health.mjs"]
ENTRYPOINT ["tini", "--"]
CMD ["env", "MALLOC_ARENA_MAX=2", "node", "--max-semi-space-size=8", "api/server.ts"]
