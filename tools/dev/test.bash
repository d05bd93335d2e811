# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Tests, measurements and the demo; sourced by ./dev.

count_results() { # LOG_BASE
  in_env python3 "$top/tools/dev/count_results.py" "$build/meson-logs/$1"
}

run_tests() { # LOG_BASE TEST_COMMAND...
  local base=$1 status=0
  shift
  rm -f "$build/meson-logs/$base".*
  in_env "$@" || status=$?
  restore_owner
  count_results "$base" || status=1
  return $((status != 0))
}

# the sanitizers do not cover device code
sanitized=("-Db_sanitize=address,undefined" -Db_lundef=false -Dcuda=disabled -Doptimization=1)
# the plugin scanner is not built with the sanitizers and could not load the plugin
sanitized_vars=(
  GST_REGISTRY_FORK=no
  "ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0:detect_odr_violation=1:protect_shadow_gap=0:allocator_may_return_null=1}"
  "UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}"
)

command_fuzz() { # [SURFACE] [TIME]
  local status=0
  choose_environment
  extra_vars=("${sanitized_vars[@]}")
  targets=(fuzz)
  build_in "$top/build-asan" "${sanitized[@]}"
  in_env "$top/tests/fuzz/run" "$build" "$@" || status=$?
  restore_owner
  return "$status"
}

# Python packages that Debian lacks, for its Python, by the host's pip: which index it uses is known
# there. Tests that need one of them skip without.
add_python_packages() {
  local folder=$cache/home/python-packages version
  if [[ -f $folder/.made && $(<"$folder/.made") == "${python_packages[*]}" ]]; then return; fi
  version=$(in_env python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  rm -rf "$folder.new"
  if python3 -m pip install --quiet --no-deps --only-binary=:all: --python-version "$version" \
    --target "$folder.new" "${python_packages[@]}" >"$cache/log/pip.log" 2>&1; then
    echo "${python_packages[*]}" >"$folder.new/.made"
    rm -rf "$folder"
    mv -T "$folder.new" "$folder"
  else
    say "SKIP the Python packages ${python_packages[*]}: pip could not install them, see $cache/log/pip.log"
  fi
}

command_test() {
  local argument arguments=() folder=build options=() layout=()
  for argument; do
    if [[ $argument == --asan ]]; then
      folder="build-asan"
      options=("${sanitized[@]}")
      arguments+=(--timeout-multiplier 4)
      extra_vars=("${sanitized_vars[@]}")
    elif [[ $argument == --tsan ]]; then
      folder="build-tsan"
      # The vector kernels take long to compile, and do not use threads. File by file, so that a
      # missing #include is noticed.
      options=("-Db_sanitize=thread" -Db_lundef=false -Dcuda=disabled -Dsimd=disabled -Doptimization=1
        -Dunity=off)
      targets=("${plugins[@]}" gst/tool/keepbox-families pipelines/embed tests/tsan/threads-test)
      arguments+=(--suite tsan)
      extra_vars=(GST_REGISTRY_FORK=no)
    else
      arguments+=("$argument")
    fi
  done
  choose_environment
  [[ $folder != build ]] || mapfile -t options < <(cuda_options "$top/$folder")
  build_in "$top/$folder" "${options[@]}"
  add_python_packages
  # ThreadSanitizer does not support every randomised memory layout
  if [[ $folder == build-tsan ]] && in_env setarch -R true 2>/dev/null; then layout=(setarch -R); fi
  run_tests testlog "${layout[@]}" meson test -C "$build" --no-rebuild --print-errorlogs "${arguments[@]}"
}

command_format() { # [FILES]
  local files=("$@") found
  choose_environment
  if ((${#files[@]} == 0)); then
    mapfile -t files < <({
      git -C "$top" diff --name-only --diff-filter=d HEAD
      git -C "$top" ls-files --others --exclude-standard
    } | grep -E '\.(h|cpp|cu|cuh)$' | sed "s|^|$top/|")
  fi
  if ((${#files[@]} > 0)); then
    in_env clang-format -i --verbose "${files[@]}" || die "clang-format failed, see above"
  fi
  restore_owner
  found=$(in_env python3 "$top/tests/unit/style.py" "$top" clang-format)
  [[ $found == *"not ok"* ]] || return 0
  grep -A1000 '^not ok' <<<"$found" >&2
  die "the style differs, see above"
}

command_demo() {
  targets=(gst/plugins/libgstkeepbox{,overlay}.so) # all that the demo needs
  [[ -x $top/pipelines/demo/run ]] || die "pipelines/demo/run is missing or not executable; use a complete checkout"
  command_build
  in_env "$top/pipelines/demo/run" "$@" || die "the demo failed, see above"
  restore_owner
}

command_bench() {
  command_build
  in_env "$build/tests/parity/parity-test" --bench
  if [[ -x $build/tests/bench/bench ]]; then in_env "$build/tests/bench/bench" "$@"; fi
}

command_mutate() { # [FILES] [TIME]
  local status=0
  choose_environment
  run_job in_env python3 "$top/tools/mutate.py" "$top" "$@" || status=$?
  restore_owner
  return "$status"
}

command_soak() { # [FRAMES] [CYCLES] [RESTARTS] [VISITS]
  targets=("${plugin_targets[@]}" tests/soak/soak)
  command_build
  mkdir -p "$top/out"
  rm -f "$top/out/soak.json"
  local status=0
  in_env "$build/tests/soak/soak" --frames "${1:-1000000}" --cycles "${2:-1000}" \
    --restarts "${3:-5000}" --visits "${4:-100000}" --model "$top/pipelines/models/shapes.onnx" \
    --json "$top/out/soak.json" || status=1
  [[ ! -f $top/out/soak.json ]] || in_env "$top/tools/plot_soak.py" "$top/out/soak.json" "$top/out/soak.svg" || status=1
  restore_owner
  return "$status"
}
