# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Debian roots, and the choice of the environment; sourced by ./dev.

# A root has the name of its suite, and with -arm64 also that architecture's packages.
suite_of() { echo "${1%-arm64}"; } # ROOT

fingerprint() { printf '%s\n' "$@" | sha256sum; }

root_ready() { # ROOT PACKAGES...
  local root=$1
  shift
  [[ -d $cache/$root && -f $cache/$root.stamp && $(<"$cache/$root.stamp") == "$(fingerprint "$@")" ]]
}

check_host() { # ROOT
  local architecture
  command -v apt-get >/dev/null || die "a Debian $1 root can only be made on a host with apt; install GStreamer >= $gstreamer_wanted and the other packages listed in ./dev (missing: $(native_missing | paste -sd' '))"
  architecture=$(dpkg --print-architecture)
  [[ $architecture == amd64 || $architecture == arm64 ]] || die "$architecture is not supported; use an amd64 or arm64 machine"
  if ((EUID == 0)) && ! unshare -m true 2>/dev/null; then
    die "a Debian $1 root needs the right to mount, which this root user lacks (a container?); use a privileged container, or an image with GStreamer >= $gstreamer_wanted such as debian:trixie"
  fi
}

check_space() {
  local free
  free=$(df -Pm "$cache" | awk 'NR == 2 { print $4 }')
  ((free >= space_wanted_mb)) || die "$cache has $free MB of free space, and $space_wanted_mb MB are needed; free some, or set KEEPBOX_CACHE to another folder"
}

host_mirrors() {
  if [[ -n ${KEEPBOX_MIRROR:-} ]]; then
    echo "${KEEPBOX_MIRROR%/}"
    return
  fi
  # shellcheck disable=SC2016 # the $() are apt's own
  apt-get indextargets --no-release-info --format '$(REPO_URI) $(COMPONENT)' 'Created-By: Packages' |
    awk '$2 == "main" && $1 ~ /^https?:.*debian/ { sub("/$", "", $1); if (!seen[$1]++) print $1 }'
}

# Checks the suite's own release file, because third-party archives also claim Debian's "main".
# Prints nothing if the host has no mirror with that suite: mmdebstrap has a default.
find_mirror() { # SUITE
  local mirror tried=() release=$cache/log/InRelease
  while read -r mirror; do
    tried+=("$mirror")
    rm -f "$release"
    if /usr/lib/apt/apt-helper -o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15 -o Acquire::Retries=1 \
      download-file "$mirror/dists/$1/InRelease" "$release" >"$cache/log/mirror.log" 2>&1 &&
      grep -qx 'Origin: Debian' "$release" && grep -qx "Codename: $1" "$release"; then
      echo "$mirror"
      return
    fi
  done < <(host_mirrors)
  [[ -z ${KEEPBOX_MIRROR:-} ]] || die "no Debian mirror with suite $1 was found at ${tried[*]} (proxy: $(proxy_settings | paste -sd' ' | grep . || echo none)); check the network, or set another KEEPBOX_MIRROR"
}

proxy_settings() {
  local name
  apt-config dump | grep -E '^Acquire::https?::Proxy(::[^ ]*)? ".+";$' || true
  for name in http https; do
    local value=${name}_proxy
    if [[ -n ${!value:-} ]]; then echo "Acquire::$name::Proxy \"${!value}\";"; fi
  done
}

write_apt_conf() {
  {
    echo 'APT::Install-Recommends "false";'
    echo 'Acquire::Languages "none";'
    echo 'Acquire::Retries "2";'
    # mirrors frozen at a date serve testing beyond its Valid-Until
    echo 'Acquire::Check-Valid-Until "false";'
    proxy_settings
  } >"$cache/home/apt.conf"
}

make_root() { # ROOT MIRROR PACKAGES...   an empty MIRROR is mmdebstrap's own
  local root=$1 mirror=$2 from include architectures= eatmydata=/usr/share/mmdebstrap/hooks/eatmydata
  [[ $root != *-arm64 ]] || architectures=amd64,arm64
  from=${mirror:-"mmdebstrap's default mirror, unless KEEPBOX_MIRROR names another,"}
  shift 2
  include=$(IFS=, && echo "$*")
  # eatmydata keeps dpkg from waiting for the disk, if mmdebstrap's hook finds what it needs
  [[ -d $eatmydata ]] && command -v dpkg-architecture >/dev/null || eatmydata=
  remove_tree "$cache/$root.new"
  # a separate mount namespace, so that a killed mmdebstrap leaves no mounts behind
  # shellcheck disable=SC2016 # $1 is mmdebstrap's
  step "$root" "Making a Debian $root root in $cache from $from (1 to 3 GB, 1 to 5 minutes)" \
    as_root unshare -m mmdebstrap --variant=apt ${architectures:+--architectures="$architectures"} \
    --include="$include" --aptopt="$cache/home/apt.conf" \
    ${eatmydata:+--hook-dir="$eatmydata"} --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='touch "$1/etc/hosts" "$1/etc/resolv.conf"' \
    "$(suite_of "$root")" "$cache/$root.new" ${mirror:+"$mirror"}
  as_root mv -T "$cache/$root.new" "$cache/$root"
}

# Keeps packages from starting their services while a root is updated.
# shellcheck disable=SC2016 # run in the root
no_services='set -e; policy=/usr/sbin/policy-rc.d; trap "rm -f $policy" EXIT
printf "#!/bin/sh\nexit 101\n" >$policy; chmod +x $policy; '

update_root() { # ROOT PACKAGES...
  local root=$1
  shift
  # shellcheck disable=SC2016 # expanded in the root
  step "$root" "Adding packages to the Debian $root root (up to 2 minutes)" \
    as_root unshare -m bash "$top/dev" _enter "$cache" "$root" + \
    env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive APT_CONFIG="$cache/home/apt.conf" \
    sh -c "$no_services"'dpkg --configure -a && apt-get update && apt-get install -y "$@"' sh "$@"
}

prepare_root() { # ROOT PACKAGES...
  local root=$1 mirror
  if root_ready "$@"; then return; fi
  check_host "$root"
  lock_cache
  if ! root_ready "$@"; then
    need_root_rights "make a Debian $root root" "run './dev run true' once as root with KEEPBOX_CACHE=$cache, or have GStreamer >= $gstreamer_wanted installed on the host"
    write_apt_conf
    if [[ -d $cache/$root ]]; then
      update_root "$@"
    else
      check_space
      mirror=$(find_mirror "$(suite_of "$root")")
      install_on_host "to make a Debian $root root" mmdebstrap debian-archive-keyring
      shift
      make_root "$root" "$mirror" "$@"
      set -- "$root" "$@"
    fi
    shift
    fingerprint "$@" >"$cache/$root.stamp"
  fi
  unlock_cache
}

choose_environment() {
  # ./dev called in the environment itself, from ./dev shell for one
  environment=${KEEPBOX_INSIDE:-native}
  if [[ -n ${KEEPBOX_INSIDE:-} ]] || native_ready; then return; fi
  if ! root_ready trixie "${packages[@]}" "${root_packages[@]}"; then
    if command -v apt-get >/dev/null && host_offers_gstreamer; then
      install_on_host "that keepbox needs" "${packages[@]}"
      local missing
      missing=$(native_missing)
      [[ -z $missing ]] || die "the host's packages are installed, but these are still missing: ${missing//$'\n'/ }; report this with your distribution's name"
      return
    fi
    prepare_root trixie "${packages[@]}" "${root_packages[@]}"
  fi
  environment=trixie
}
