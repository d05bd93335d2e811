# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Building; sourced by ./dev.

# Checks KEEPBOX_CUDA and makes it 0, 1, a list of architectures, or empty.
settle_cuda() {
  case ${KEEPBOX_CUDA:-} in
    '' | 0 | 1) ;;
    off | no) KEEPBOX_CUDA=0 ;;
    *)
      [[ $KEEPBOX_CUDA =~ ^[1-9][0-9]{1,2}(,[1-9][0-9]{1,2})*$ ]] ||
        die "KEEPBOX_CUDA=$KEEPBOX_CUDA is unknown; set it to 0, off or no for no GPU kernels, 1 for all, or architectures such as 89,90"
      ;;
  esac
}

# The kernels take minutes to compile, and cannot run without a driver.
cuda_options() { # FOLDER
  case ${KEEPBOX_CUDA:-} in
    '') [[ -f $1/build.ninja || -n $(cuda_driver_folder) ]] || echo -Dcuda=disabled ;;
    0) echo -Dcuda=disabled ;;
    1) echo -Dcuda=enabled ;;
    *) printf '%s\n' -Dcuda=enabled "-Dcuda-targets=$KEEPBOX_CUDA" ;;
  esac
}

# Meson and the typelib contain the absolute path of a build folder.
describe_move() { # FOLDER
  local made
  made=$(cat "$1/made-as" 2>/dev/null) || return 0
  [[ $made == "$1" ]] || echo "the build folder was moved: $1 was made as $made; run 'rm -r $1', then ./dev build"
}

# Two ninjas in one folder would corrupt each other's work.
lock_build() {
  exec 8<"$build"
  flock -n 8 || { say "waiting for another ./dev that is building in $build" && flock 8; }
  [[ $build -ef /proc/self/fd/8 ]] || die "$build was removed in the meantime; run ./dev again"
}

build_in() { # FOLDER [MESON_OPTIONS...]
  local mold path moved
  build=$1
  shift
  moved=$(describe_move "$build")
  [[ -z $moved ]] || die "$moved"
  # another user's
  [[ ! -e $build || -w $build ]] || remove_tree "$build"
  mkdir -p "$build"
  lock_build
  # sanitizers make linking take seconds per program
  if [[ $build == *san ]]; then
    mold=$(in_env sh -c 'command -v mold || true')
    set -- "$@" "-Dcpp_link_args=${LDFLAGS:-}${mold:+ -fuse-ld=mold}"
  fi
  if [[ ! -f $build/build.ninja || $(cat "$build/environment" 2>/dev/null) != "$environment" ]]; then
    # emptied, not removed: the lock is on it
    for path in "$build"/* "$build"/.[!.]*; do remove_tree "$path"; done
    run_job in_env meson setup "${setup_options[@]}" "$build" "$top" "$@" || die "configuring failed, see above and $build/meson-logs/meson-log.txt"
    echo "$environment" >"$build/environment"
    echo "$build" >"$build/made-as"
  elif (($# > 0)); then
    in_env meson configure "$build" "$@" || die "configuring failed, see above"
  fi
  run_job "$build_with" || die "building failed, see above"
  exec 8<&-
}

run_ninja() { in_env ninja -C "$build" "${targets[@]}"; }

# Prints nothing if there is nothing to do.
run_ninja_briefly() { run_ninja | { grep -vE '^ninja: (Entering directory|no work to do)' || true; }; }

want_cuda() {
  KEEPBOX_CUDA=${KEEPBOX_CUDA:-1}
  [[ $KEEPBOX_CUDA != 0 ]] || die "--cuda and KEEPBOX_CUDA=0 (off, no) contradict each other; remove one of them"
}

command_build() { # [--cuda]
  local options
  if [[ ${1:-} == --cuda ]]; then
    want_cuda
    shift
  fi
  (($# == 0)) || die "./dev build takes --cuda, not $1"
  choose_environment
  mapfile -t options < <(cuda_options "$top/build")
  build_in "$top/build" "${options[@]}"
  restore_owner
}
