# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds for arm64 and tests in QEMU; sourced by ./dev.

prepare_arm64() {
  [[ -z ${KEEPBOX_INSIDE:-} ]] || die "./dev arm64 does not run inside the build environment; leave ./dev shell first"
  [[ $(uname -m) == x86_64 ]] || die "./dev arm64 needs an x86-64 host, and this one is $(uname -m); on arm64, ./dev test runs these tests"
  prepare_root trixie-arm64 "${arm64_packages[@]}"
  environment=trixie-arm64
}

command_arm64() { # [setup | ARGS]
  prepare_arm64
  [[ ${1:-} != setup ]] || return 0
  (($# > 0)) || set -- 'parity*' unit formulas allocations
  setup_options=(--cross-file "$top/tools/dev/arm64.ini")
  # Meson builds the programs of the chosen tests.
  build_with=true
  build_in "$top/build-arm64" -Dcuda=disabled -Dpipelines=false -Dintrospection=disabled -Dsimd=enabled -Dtests=enabled
  lock_build
  run_tests testlog meson test -C "$build" --print-errorlogs --timeout-multiplier 4 "$@"
}
