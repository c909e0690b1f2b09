# Puts the pinned bun on PATH: the one that is there, else one kept in .bun/, else one fetched through npm or bun itself.
# Sourced by the commands in scripts/; needs $root. Says on stderr what it does and ends the command when it cannot.

bun_version=1.4.4

use_bun() {
  if [ "$(bun --version 2>/dev/null)" = "$bun_version" ]; then return; fi
  local own="$root/.bun/node_modules/bun"
  if [ "$("$own/bin/bun.exe" --version 2>/dev/null)" != "$bun_version" ]; then fetch_bun "$own"; fi
  # A directory with one name in it, so that PATH gains bun and nothing else.
  mkdir -p "$root/.bun/bin"
  ln -sf ../node_modules/bun/bin/bun.exe "$root/.bun/bin/bun"
  ln -sf ../node_modules/bun/bin/bun.exe "$root/.bun/bin/bunx"
  export PATH="$root/.bun/bin:$PATH"
}

# The package's own install step picks the build for this processor; it is run by name because npm scripts stay off.
fetch_bun() {
  echo "bun $bun_version is not installed; fetching it into .bun/" >&2
  mkdir -p "$root/.bun"
  if command -v npm >/dev/null && command -v node >/dev/null; then
    npm install --prefix "$root/.bun" --ignore-scripts --no-audit --no-fund --loglevel=error "bun@$bun_version" >&2 ||
      failed_fetch "npm could not fetch bun $bun_version"
    node "$1/install.js" >&2 || failed_fetch "the install step of bun $bun_version failed"
  elif command -v bun >/dev/null; then
    (cd "$root/.bun" && echo '{}' >package.json && bun add --exact --ignore-scripts "bun@$bun_version" >&2) ||
      failed_fetch "bun could not fetch bun $bun_version"
    (cd "$1" && bun install.js >&2) || failed_fetch "the install step of bun $bun_version failed"
  else
    echo "error: neither bun nor node with npm is on PATH; install one of them (Debian: apt-get install npm)." >&2
    exit 1
  fi
}

# Ends the command with what went wrong; what the tool itself said stands above.
failed_fetch() {
  echo "error: $1 (see above)." >&2
  echo "  Without a network, or behind a proxy, set HTTPS_PROXY or npm_config_registry, or put bun $bun_version on PATH." >&2
  exit 1
}

# Everything of bun.lock, and nothing else. Quiet unless it fails: then everything it said is shown.
install_dependencies() {
  local said
  if said=$(cd "$root" && bun install --frozen-lockfile 2>&1); then return; fi
  echo "$said" >&2
  failed_fetch "the dependencies of bun.lock could not be installed into $root/node_modules"
}
