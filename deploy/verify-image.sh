#!/bin/sh
# Builds the image with buildah, measures it, and runs it as a container runtime would, but without one: as its user, in its root
# filesystem mounted read-only, with /data and /tmp writable. In it, `lading up` starts every process of the Procfile and a file is imported.
# usage: npm run image        (root on Debian with buildah; npm run image starts a PostgreSQL for DATABASE_URL)
#   LADING_BASES=debootstrap  makes the base images from Debian and the Node of node_modules, where no image registry can be reached
#   LADING_CA=FILE            a certificate that npm needs to reach its registry from the build
set -eu
cd "$(dirname "$0")/.."
limit_mb=350
work=$(mktemp -d /var/tmp/lading-image.XXXXXX)
store="--root ${LADING_IMAGES:-$work/storage} --runroot $work/run"
image=lading:verify
container=
clean() {
  [ -z "$container" ] || buildah $store rm "$container" >/dev/null
  rm -rf "$work"
}
trap clean EXIT

make_bases() {
  node_version=$(node -p process.versions.node)
  if buildah $store inspect "docker.io/library/node:$node_version-trixie-slim" >/dev/null 2>&1; then return; fi
  debootstrap --variant=minbase trixie "$work/base" http://deb.debian.org/debian >/dev/null
  chroot "$work/base" apt-get clean
  # The same files that Debian's own slim image leaves out.
  for folder in doc man info locale groff lintian; do rm -rf "$work/base/usr/share/$folder"; done
  rm -rf "$work"/base/var/lib/apt/lists/* "$work"/base/var/cache/apt/*.bin "$work"/base/var/log/*
  base=$(buildah $store from scratch)
  buildah $store add -q "$base" "$work/base" /
  buildah $store config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$base"
  buildah $store commit -q "$base" docker.io/library/debian:trixie-slim
  buildah $store add -q "$base" "$(node -p process.execPath)" /usr/local/bin/node
  buildah $store add -q "$base" "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" /usr/local/lib/node_modules/npm
  buildah $store run --isolation chroot "$base" -- ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
  buildah $store commit -q "$base" "docker.io/library/node:$node_version-trixie-slim"
  buildah $store rm "$base" >/dev/null
}

set -- --isolation chroot --network host --format docker -t "$image"
if [ "${LADING_BASES:-}" = debootstrap ]; then
  make_bases
  set -- "$@" --pull-never
fi
if [ -n "${LADING_CA:-}" ]; then
  echo 'cafile=/build-ca.crt' >"$work/npmrc"
  set -- "$@" -v "$work/npmrc:/usr/local/etc/npmrc:ro" -v "$LADING_CA:/build-ca.crt:ro"
fi
buildah $store bud "$@" .

container=$(buildah $store from --pull-never "$image")
root=$(buildah $store mount "$container")
size=$(du -sm --one-file-system "$root" | cut -f1)
echo "The root filesystem has $size MB; the limit is $limit_mb MB."
[ "$size" -lt "$limit_mb" ]
user=$(buildah $store inspect --format '{{.Docker.Config.User}}' "$image")
[ "$user" = 10001:10001 ]

ROOT=$root USER_IDS=$user unshare --mount sh deploy/run-in-image.sh
