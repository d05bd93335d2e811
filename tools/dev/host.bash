# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The host's packages; sourced by ./dev.

native_missing() {
  local name folder
  for name in g++ meson ninja pkg-config python3 gst-launch-1.0; do
    command -v "$name" >/dev/null || echo "$name"
  done
  command -v pkg-config >/dev/null || return 0
  pkg-config --atleast-version=$gstreamer_wanted gstreamer-1.0 || echo "gstreamer-1.0>=$gstreamer_wanted"
  for name in gstreamer-{base,app,video,check,analytics}-1.0 gobject-introspection-1.0 gtest nlohmann_json libhwy libonnxruntime protobuf-lite libmosquitto pangocairo sqlite3; do
    pkg-config --exists "$name" || echo "$name"
  done
  folder=$(pkg-config --variable=pluginsdir gstreamer-1.0 || true)
  for name in videotestsrc isomp4 debug videoparsersbad matroska vpx png jpeg compositor; do
    [[ -e $folder/libgst$name.so ]] || echo "gst-plugin:$name"
  done
  for name in core imgproc; do
    [[ -e /usr/include/opencv4/opencv2/$name.hpp ]] || echo "opencv_$name"
  done
  if (($(g++ -dumpversion 2>/dev/null | cut -d. -f1 || echo 0) < 12)); then echo "g++>=12"; fi
  for name in gi numpy onnxruntime; do
    python3 -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$name'))" 2>/dev/null || echo "python3:$name"
  done
}

native_ready() {
  # the one quick check first: most hosts without it fail here
  pkg-config --atleast-version=$gstreamer_wanted gstreamer-1.0 2>/dev/null && [[ -z $(native_missing) ]]
}

offered_gstreamer() {
  apt-cache policy libgstreamer1.0-dev 2>/dev/null | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'
}

host_offers_gstreamer() {
  local offered
  offered=$(offered_gstreamer)
  if [[ -z $offered ]]; then
    # a fresh container image has no package lists
    need_root_rights "fetch apt's package lists" "run 'apt-get update' as root, then ./dev again"
    step apt-update "Fetching apt's package lists (seconds)" as_root apt-get update
    offered=$(offered_gstreamer)
  fi
  [[ -n $offered ]] && dpkg --compare-versions "$offered" ge $gstreamer_wanted
}

not_installed() { # PACKAGES...
  local name
  for name; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || echo "$name"
  done
}

install_on_host() { # PURPOSE PACKAGES...
  local purpose=$1 missing
  shift
  mapfile -t missing < <(not_installed "$@")
  ((${#missing[@]} > 0)) || return 0
  need_root_rights "install packages $purpose" "run as root: apt-get install --no-install-recommends ${missing[*]}"
  step apt-update "Fetching apt's package lists (seconds)" as_root apt-get update
  step apt-install "Installing ${#missing[@]} packages $purpose (up to 5 minutes): ${missing[*]}" \
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}
