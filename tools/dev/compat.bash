# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Tests on Debian testing; sourced by ./dev.

element_test_files() {
  in_env python3 "$top/tools/dev/element_tests.py" "$build"
  find "$build/gst" -name '*.so'
}

missing_libraries() { # FILES...
  # ldd fails on scripts, which do not matter here
  { in_env ldd "$@" 2>/dev/null || true; } | awk '$2 == "=>" && $3 == "not" { print $1 }' | sort -u
}

# Libraries with a different version in testing (such as OpenCV's) come from the Debian 13 root.
# Libraries that testing has are never taken from there.
provide_old_libraries() { # FOLDER FILES...
  local folder=$1 missing library found
  shift
  while missing=$(missing_libraries "$@") && [[ -n $missing ]]; do
    for library in $missing; do
      found=$(find "$cache/trixie/usr/lib" -name "$library" -print -quit)
      [[ -n $found && ! -e $folder/$library ]] || die "the tests need $library, which neither Debian root has in a form that loads; add its package to ./dev"
      cp -L "$found" "$folder/$library.new"
      mv "$folder/$library.new" "$folder/$library"
    done
  done
}

prepare_compat_roots() {
  [[ -z ${KEEPBOX_INSIDE:-} ]] || die "./dev compat does not work inside the build environment; leave ./dev shell first"
  prepare_root trixie "${packages[@]}" "${root_packages[@]}"
  prepare_root forky "${compat_packages[@]}"
}

# Builds in the Debian 13 root, and makes the environment a Debian testing root with the packages
# that the programs need.
prepare_compat() { # [run|bench]
  local files options folder=$top/build helpers
  if native_ready; then folder+=-compat; fi
  prepare_compat_roots
  environment=trixie
  if [[ ${1:-} == run ]]; then
    targets=("${plugin_targets[@]}")
    build_with=run_ninja_briefly
  fi
  mapfile -t options < <(cuda_options "$folder")
  build_in "$folder" "${options[@]}" >&2
  case ${1:-} in
    run) mapfile -t files < <(find "$build/gst" -name '*.so') ;;
    bench) files=("$build/tests/bench/bench") ;;
    *) mapfile -t files < <(element_test_files) ;;
  esac
  helpers=$build/compat
  lock_build
  refresh_helpers "$helpers"
  environment=forky
  extra_libraries=$helpers/lib
  extra_vars=("PYTHONPATH=$helpers/python:$top/python" "PYTHONDONTWRITEBYTECODE=1")
  provide_old_libraries "$helpers/lib" "${files[@]}"
  exec 8<&-
}

# Existing files stay as long as the roots do, because other commands may be using them.
refresh_helpers() { # FOLDER
  local roots
  roots=$(stat -c '%n %i %Y' "$cache"/{trixie,forky}.stamp)
  if [[ $(cat "$1/roots" 2>/dev/null) == "$roots" ]]; then return; fi
  remove_tree "$1"
  # the registry remembers plugins that did not load
  rm -f "$build/gst-registry-forky.bin"
  mkdir -p "$1"/{lib,python}
  # meson reads only build folders of its own version
  cp -r "$cache/trixie/usr/lib/python3/dist-packages/mesonbuild" "$1/python/"
  echo "$roots" >"$1/roots"
}

command_compat() {
  case ${1:-} in
    run)
      (($# > 1)) || die "no command was given: ./dev compat run CMD..."
      prepare_compat run
      exec_in_env "${@:2}"
      ;;
    bench)
      prepare_compat bench
      in_env "$build/tests/bench/bench" "${@:2}"
      return
      ;;
    setup)
      prepare_compat_roots
      return
      ;;
  esac
  prepare_compat
  say "testing what was built for Debian 13 with $(in_env gst-launch-1.0 --gst-version) of Debian forky"
  run_tests testlog-compat python3 -m mesonbuild.mesonmain test -C "$build" --no-rebuild --print-errorlogs \
    --suite gst --suite pipelines --logbase testlog-compat "$@"
}
