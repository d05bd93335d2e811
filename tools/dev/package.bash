# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Bundles, the web site and Debian packages; sourced by ./dev.

command_bundle() {
  local out=${1:-$top/build/bundle}
  # a folder that is not an older bundle must not be removed
  [[ ! -e $out || -x $out/run ]] || die "$out exists and is not a bundle; name another folder"
  command_build --cuda
  remove_tree "$build/bundle.new"
  in_env "$top/tools/make_bundle" "$build" "$build/bundle.new" || die "making the bundle failed, see above"
  remove_tree "$out"
  mv -T "$build/bundle.new" "$out"
  restore_owner
}

command_wheel() { # [--cuda | --try] [OUT]
  local found
  if [[ ${1:-} == --try ]]; then
    found=$(ls -t "${2:-$top/out/wheels}"/keepbox-*.whl 2>/dev/null | head -n 1)
    [[ $found ]] || die "there is no wheel in ${2:-out/wheels}; run ./dev wheel"
    python3 "$top/tests/wheel/wheel.py" "$found" "$top/build/wheel-test"
    return
  fi
  targets=("${plugin_targets[@]}" gst/api/Keepbox-1.0.typelib)
  if [[ ${1:-} == --cuda ]]; then
    want_cuda
    shift
  fi
  local out=${1:-$top/out/wheels}
  command_build
  add_packages "to make a wheel" pip3 "${wheel_packages[@]}"
  in_env "$top/tools/make_wheel" "$build" "$out" || die "making the wheel failed, see above"
  restore_owner
  say "the wheel is in $out: pip install '$out/keepbox-...whl[cpu]'"
}

# Adds packages that only some commands need; PROGRAM shows that they are there.
add_packages() { # PURPOSE PROGRAM PACKAGES...
  local purpose=$1 program=$2
  shift 2
  if [[ $environment == native ]]; then
    install_on_host "$purpose" "$@"
  elif [[ -z ${KEEPBOX_INSIDE:-} && ! -x $cache/$environment/usr/bin/$program ]]; then
    lock_cache
    need_root_rights "add packages to the Debian $environment root $purpose" "run this once as root with KEEPBOX_CACHE=$cache"
    write_apt_conf
    update_root "$environment" "$@"
    unlock_cache
  fi
}

try_packages() { # SUITES...
  local suite mirror
  [[ -n $(ls "$top"/out/packages/*.deb 2>/dev/null) ]] || die "there are no packages in out/packages; run ./dev package"
  check_space
  install_on_host "to make Debian roots" mmdebstrap debian-archive-keyring
  need_root_rights "make Debian roots" "run './dev package --try' as root"
  write_apt_conf
  for suite; do
    check_host "$suite"
    mirror=$(find_mirror "$suite")
    as_root "$top/tools/try_packages" "$suite" "$cache" "$mirror" || die "the packages fail on Debian $suite, see above"
  done
}

command_images() {
  local mirror
  if ! command -v buildah >/dev/null; then
    install_on_host "to build containers" buildah crun
  fi
  check_space
  install_on_host "to make Debian roots" mmdebstrap debian-archive-keyring
  need_root_rights "build containers" "run './dev images' as root"
  write_apt_conf
  check_host trixie
  mirror=$(find_mirror trixie)
  as_root "$top/tools/try_images" "$cache" "$mirror"
}

command_docs() { # [OUT]
  targets=("${plugin_targets[@]}")
  command_build
  add_packages "to make the site" mkdocs "${docs_packages[@]}"
  in_env "$top/tools/docs/build" "$build" "${1:-$top/out/site}" || die "making the site failed, see above"
  restore_owner
  say "the site is in ${1:-$top/out/site}: python3 -m http.server -d ${1:-$top/out/site}"
}

command_package() { # [--cuda | --arm64 | --try [SUITES...]]
  local options=() seconds packages_of_root=("${package_packages[@]}") work=$top/build/package out=$top/out/packages
  case ${1:-} in
    --try)
      shift
      (($# > 0)) || set -- trixie forky
      try_packages "$@"
      return
      ;;
    --cuda) want_cuda ;;
    --arm64)
      prepare_arm64
      packages_of_root+=("${arm64_package_packages[@]}")
      work=$top/build/package-arm64 out=$top/out/packages-arm64 KEEPBOX_CUDA=0 options=(--for=arm64)
      ;;
    '') KEEPBOX_CUDA=${KEEPBOX_CUDA:-0} ;;
    *) die "./dev package takes --cuda, --arm64 or --try, not $1" ;;
  esac
  [[ -n $environment ]] || choose_environment
  add_packages "to make packages" dh_python3 "${packages_of_root[@]}"
  mapfile -t -O ${#options[@]} options < <(cuda_options "$top/build")
  seconds=$(git -C "$top" log -1 --format=%ct 2>/dev/null) || seconds=$(stat -c %Y "$top/CHANGELOG.md")
  # a tree with changes is newer than its last commit
  [[ -z $(git -C "$top" status --porcelain 2>/dev/null) ]] || seconds=$(date +%s)
  mkdir -p "$cache/log"
  step package "Making packages (up to 6 minutes of two processors; with --cuda many more)" \
    in_env "$top/tools/make_packages" "$work" "$out" "$seconds" "${options[@]}"
  restore_owner
  say "the packages are in $out: apt install $out/*keepbox*.deb"
}
