# Debian packages, installed when they are missing and it is permitted: by root, and not with NO_PACKAGES set.

# need_command <command> <package> <what is lost without it>: gives 1 when the command stays missing.
need_command() {
  if command -v "$1" >/dev/null; then return 0; fi
  install_packages "$2"
  if command -v "$1" >/dev/null; then return 0; fi
  echo "note: $1 (Debian package $2) is missing: $3" >&2
  return 1
}

# need_file <path> <package> <what is lost without it>: the same for what a package brings that is no command.
need_file() {
  if [ -e "$1" ]; then return 0; fi
  install_packages "$2"
  if [ -e "$1" ]; then return 0; fi
  echo "note: $1 (Debian package $2) is missing: $3" >&2
  return 1
}

# Gives 1 when it is not permitted or does not work; the caller says what that costs.
install_packages() {
  if [ "$(id -u)" != 0 ] || [ -n "${NO_PACKAGES:-}" ] || ! command -v apt-get >/dev/null; then return 1; fi
  echo "installing Debian packages: $*" >&2
  apt_get install "$@" || { apt_get update && apt_get install "$@"; }
}

apt_get() {
  DEBIAN_FRONTEND=noninteractive apt-get -qq --no-install-recommends -y "$@" </dev/null >/dev/null
}
