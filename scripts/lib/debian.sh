# Debian packages of scripts/debian-packages.tsv, installed if they are missing and that is permitted: by root, without NO_PACKAGES.
# Sourced by the commands in scripts/; needs $root.

# need_packages [check...]: installs the missing packages of these rows, or of all; prints the loss for each that is still missing.
# Returns 1 if a package is missing in the end.
need_packages() {
  local missing still check package loss
  missing=$(missing_packages "$@" | cut -f2)
  if [ -z "$missing" ]; then return 0; fi
  # One transaction is fastest; on its own, a package that this Debian does not have stops no other.
  # shellcheck disable=SC2086 # one word per package
  install_packages $missing || for package in $missing; do install_packages "$package"; done
  still=$(missing_packages "$@")
  if [ -z "$still" ]; then return 0; fi
  while IFS=$'\t' read -r check package loss; do
    echo "note: $check (Debian package $package) is missing: $loss" >&2
  done <<<"$still"
  return 1
}

# Prints the rows whose command or file is missing; of all rows if no check is named.
missing_packages() {
  local check package loss
  while IFS=$'\t' read -r check package loss; do
    if [[ $check == \#* ]] || { [ $# -gt 0 ] && [[ " $* " != *" $check "* ]]; }; then continue; fi
    if [ -e "$check" ] || PATH=$PATH:/usr/sbin command -v "$check" >/dev/null; then continue; fi
    printf '%s\t%s\t%s\n' "$check" "$package" "$loss"
  done <"$root/scripts/debian-packages.tsv"
}

# Returns 1 if installing is not permitted or fails; the caller prints the loss.
install_packages() {
  if [ "$(id -u)" != 0 ] || [ -n "${NO_PACKAGES:-}" ] || ! command -v apt-get >/dev/null; then return 1; fi
  echo "installing Debian packages: $*" >&2
  apt_get install "$@" || { apt_get update && apt_get install "$@"; }
}

apt_get() {
  DEBIAN_FRONTEND=noninteractive apt-get -qq --no-install-recommends -y "$@" </dev/null >/dev/null
}
