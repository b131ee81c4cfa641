#!/bin/sh
# The second half of verify-image.sh, in a mount namespace of its own: the demo inside the image's root filesystem.
set -eu
mount --bind "$ROOT" "$ROOT"
mount -t tmpfs -o mode=1777 tmpfs "$ROOT/tmp"
mount -t tmpfs -o "uid=${USER_IDS%:*},gid=${USER_IDS#*:},mode=0700" tmpfs "$ROOT/data"
mount -t proc proc "$ROOT/proc"
mount --bind /dev "$ROOT/dev"
mount -o remount,bind,ro "$ROOT"
port=${LADING_PORT:-4890}
# A command and not a function, so that a signal to a background process reaches the program itself.
inside="chroot --userspec=$USER_IDS $ROOT /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/tmp NODE_OPTIONS=--import=/app/deploy/stripped.mjs"
lading='node /app/api/clients/lading.js'

if $inside touch /app/probe 2>/dev/null; then
  echo 'The root filesystem is writable.' >&2
  exit 1
fi
$inside tini -- $lading up --directory /data/trial --port "$port" --database "$DATABASE_URL" >"$ROOT/tmp/up.log" 2>&1 &
up=$!
tries=0
until grep -q 'Lading is up' "$ROOT/tmp/up.log"; do
  tries=$((tries + 1))
  if [ $tries -gt 240 ] || ! kill -0 $up 2>/dev/null; then
    cat "$ROOT/tmp/up.log" "$ROOT"/data/trial/logs/*.log >&2
    exit 1
  fi
  sleep 0.5
done
$inside PORT="$port" node /app/deploy/health.mjs
$inside LADING_URL="http://127.0.0.1:$port" LADING_TOKEN="$(cat "$ROOT/data/trial/token")" \
  $lading import /data/trial/leads.csv --module Leads --match Email --yes --watch
kill -TERM $up
wait $up
if $inside PORT="$port" node /app/deploy/health.mjs 2>/dev/null; then
  echo 'The API still answers after SIGTERM.' >&2
  exit 1
fi
echo 'The demo passed in the image: read-only root, not root, every process of the Procfile.'
