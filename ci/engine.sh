#!/usr/bin/env bash
# Usage: . engine.sh; engine_up || echo "SKIP: $ENGINE_SKIP"; ... ; engine_down
# Brings up a private Docker engine (own socket, own data root) and the base images the compose file needs.
ENGINE_STATE=${ENGINE_STATE:-/var/cache/stateous-ci}
ENGINE_HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ENGINE_SKIP=
ENGINE_OWN=0
PY_IMAGE=python:3.13-slim PG_IMAGE=postgres:17
mirror() { # this machine's own Debian mirror, from its apt settings (no address is written down here)
  apt-get indextargets --format '$(REPO_URI) $(SUITE)' 'Created-By: Packages' 2>/dev/null | sed -n 's#^\([^ ]*/debian\)/* .*#\1#p' | sort -u | head -1; }
say() { printf '[engine %4ds] %s\n' "$SECONDS" "$*" >&2; }
no()  { ENGINE_SKIP="$*"; say "not available: $*"; return 1; }

engine_up() {
  # 1. an engine that is already there (a developer's machine) is used as it is
  if docker compose version >/dev/null 2>&1 && docker version >/dev/null 2>&1; then say "using the running engine"; engine_images; return; fi
  [ "$(uname -s)" = Linux ] || { no "no Docker engine answers and this is not Linux"; return; }
  [ "$(id -u)" = 0 ]        || { no "no Docker engine answers and only root can start one"; return; }
  command -v apt-get >/dev/null || { no "no Docker engine answers and there is no apt-get to install one"; return; }
  grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null || { no "kernel has no overlay filesystem"; return; }
  [ -d /sys/fs/cgroup ] && grep -q cgroup /proc/mounts || { no "no cgroup filesystem is mounted"; return; }
  export DEBIAN_FRONTEND=noninteractive
  mkdir -p "$ENGINE_STATE"/{run,apt/lists/partial,log}
  exec 9>"$ENGINE_STATE/lock"; flock -w 300 9 || { no "another run holds $ENGINE_STATE/lock"; return; }
  # 2. engine: Debian's docker.io
  if ! command -v dockerd >/dev/null || ! command -v mmdebstrap >/dev/null || ! command -v iptables >/dev/null; then
    say "apt-get install docker.io"
    { apt-get update && apt-get install -y --no-install-recommends docker.io iptables mmdebstrap; } >"$ENGINE_STATE/log/apt.log" 2>&1 </dev/null \
      || { no "apt-get install docker.io failed (see $ENGINE_STATE/log/apt.log)"; return; }
  fi
  # 3. compose v2 + buildx: only Debian 13 has them; both need no more than libc >= 2.34, so unpack their two binaries
  local plug=/usr/local/lib/docker/cli-plugins
  if ! [ -x $plug/docker-compose ] || ! [ -x $plug/docker-buildx ]; then
    say "compose v2 and buildx from Debian 13"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) trixie main" >"$ENGINE_STATE/apt/trixie.list"
    local T=(-o Dir::Etc::sourcelist="$ENGINE_STATE/apt/trixie.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$ENGINE_STATE/apt/lists" -o APT::Sandbox::User=root -o Acquire::Languages=none)
    ( cd "$ENGINE_STATE/apt" && rm -rf ./*.deb x && apt-get "${T[@]}" update && apt-get "${T[@]}" download docker-compose docker-buildx \
      && for d in *.deb; do dpkg -x "$d" x; done && mkdir -p $plug && install -m755 x/usr/libexec/docker/cli-plugins/docker-{compose,buildx} $plug/ && rm -rf x ./*.deb ) \
      >"$ENGINE_STATE/log/plugins.log" 2>&1 </dev/null || { no "could not get docker compose v2 (see $ENGINE_STATE/log/plugins.log)"; return; }
  fi
  # 4. start dockerd by hand: own socket, own data root (kept between runs: images and build cache are reused)
  export DOCKER_HOST=unix://$ENGINE_STATE/run/docker.sock ENGINE_OWN=1
  if ! docker version >/dev/null 2>&1; then
    rm -rf "$ENGINE_STATE"/run/*
    setsid dockerd --data-root "$ENGINE_STATE/data" --exec-root "$ENGINE_STATE/run/exec" --pidfile "$ENGINE_STATE/run/dockerd.pid" \
      -H "$DOCKER_HOST" >"$ENGINE_STATE/log/dockerd.log" 2>&1 </dev/null 9>&- &
    local i; for i in $(seq 1 120); do docker version >/dev/null 2>&1 && break; sleep 0.25; done
    docker version >/dev/null 2>&1 || { no "dockerd did not start: $(grep -E 'level=(error|fatal)|failed' "$ENGINE_STATE/log/dockerd.log" | tail -1)"; return; }
  fi
  docker ps -aq | xargs -r docker rm -f >/dev/null 2>&1     # left by a run that was killed
  docker network prune -f >/dev/null; docker volume prune -f >/dev/null
  engine_unseal                                             # a rule left by such a run would cut the builds off
  say "dockerd $(docker version -f '{{.Server.Version}}') up, storage $(docker info -f '{{.Driver}}')"
  engine_images
}

engine_images() {
  local need=() i
  # Stand-ins of an earlier run are built again: that takes a second, unless what they are made of has changed.
  if [ "$ENGINE_OWN" = 1 ] && docker image inspect debian:trixie-slim >/dev/null 2>&1; then need=("$PY_IMAGE" "$PG_IMAGE"); fi
  [ ${#need[@]} != 0 ] || for i in $PY_IMAGE $PG_IMAGE; do
    docker image inspect "$i" >/dev/null 2>&1 || timeout 120 docker pull -q "$i" >/dev/null 2>&1 || need+=("$i")
  done
  [ ${#need[@]} = 0 ] && { say "base images present"; return 0; }
  [ "$ENGINE_OWN" = 1 ] || { no "base images ${need[*]} are missing and no image registry answers"; return; }
  say "building stand-ins for ${need[*]} from Debian 13 packages"
  docker image inspect debian:trixie-slim >/dev/null 2>&1 || {
    mmdebstrap --variant=minbase --include=ca-certificates --dpkgopt=force-unsafe-io --aptopt='Acquire::Languages "none"' \
      --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
      trixie - "$(mirror)" 2>"$ENGINE_STATE/log/base.log" </dev/null | docker import --change 'CMD ["bash"]' - debian:trixie-slim >/dev/null \
      && docker image inspect debian:trixie-slim >/dev/null 2>&1 || { no "mmdebstrap failed (see $ENGINE_STATE/log/base.log)"; return; }; }
  say "debian:trixie-slim ready"
  local ctx="$ENGINE_STATE/python-ctx"; rm -rf "$ctx"; cp -r "$ENGINE_HERE/python" "$ctx"
  cp -L "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$ctx/ca-certificates.crt"   # this machine's trust store: into the stand-in only, never into the repo
  docker build -t $PY_IMAGE "$ctx" >"$ENGINE_STATE/log/python.log" 2>&1 </dev/null & local p1=$!
  docker build -t $PG_IMAGE "$ENGINE_HERE/postgres" >"$ENGINE_STATE/log/postgres.log" 2>&1 </dev/null & local p2=$!
  wait $p1 || { no "python stand-in did not build (see $ENGINE_STATE/log/python.log)"; return; }
  wait $p2 || { no "postgres stand-in did not build (see $ENGINE_STATE/log/postgres.log)"; return; }
  rm -rf "$ctx"
  say "stand-ins ready: $(docker images --format '{{.Repository}}:{{.Tag}} {{.Size}}' | tr '\n' ',')"
}

engine_seal() { # after the builds: no packet of a container may leave this machine (chaos tests stay inside)
  [ "$ENGINE_OWN" = 1 ] || return 0
  iptables -I DOCKER-USER -o "$(ip -o -4 route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p;q')" -j REJECT
}
engine_unseal() { iptables -F DOCKER-USER 2>/dev/null && iptables -A DOCKER-USER -j RETURN || true; }

engine_down() {
  [ "$ENGINE_OWN" = 1 ] || return 0
  docker ps -aq | xargs -r docker rm -f >/dev/null 2>&1
  docker image prune -f >/dev/null 2>&1; docker builder prune -f --keep-storage 2GB >/dev/null 2>&1   # what earlier builds left
  local pid; pid=$(cat "$ENGINE_STATE/run/dockerd.pid" 2>/dev/null) && kill "$pid" && for _ in $(seq 1 60); do kill -0 "$pid" 2>/dev/null || break; sleep 0.25; done
  engine_unseal; ip link del docker0 2>/dev/null || true
  say "engine down"
}
