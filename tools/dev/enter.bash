# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Entering the environment; sourced by ./dev.

cuda_toolkit() {
  local nvcc folder
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  [[ -x $nvcc ]] || return 0
  folder=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
  # a distribution's toolkit is spread over /usr and cannot be shared with another root
  if [[ $folder == /usr/local/* || $folder == /opt/* ]]; then echo "$folder"; fi
}

cuda_driver_folder() {
  local library
  library=$({ ldconfig -p 2>/dev/null || true; } | awk '$1 == "libcuda.so.1" && /x86-64|AArch64/ && !found++ { print $NF }')
  if [[ -n $library ]]; then dirname "$library"; fi
}

share() { # PATH [SHOWN_AT]
  mkdir -p "$new${2:-$1}"
  mount --rbind "$1" "$new${2:-$1}"
}

share_cuda() {
  local toolkit driver
  toolkit=$(cuda_toolkit)
  if [[ -n $toolkit ]]; then
    # the root's own /usr/local is empty, and stays so
    [[ $toolkit != /usr/local/* ]] || mount -t tmpfs -o mode=755 keepbox "$new/usr/local"
    share "$toolkit"
    [[ -e $new/usr/local/cuda ]] || ln -s "$toolkit" "$new/usr/local/cuda"
  fi
  driver=$(cuda_driver_folder)
  if [[ -n $driver ]]; then
    # links to the driver's libraries alone: the whole folder would hide the root's own libraries
    share "$driver" /run/host-libraries
    mkdir "$new/run/cuda-driver"
    find "$driver" -maxdepth 1 \( -name 'libcuda.so*' -o -name 'libcudadebugger.so*' -o -name 'libnv*.so*' -o -name 'libdxcore.so' \) \
      -printf '/run/host-libraries/%f\0' | xargs -r0 ln -s -t "$new/run/cuda-driver"
  fi
}

# The caller's folder is mounted too, unless it would hide the root's own or contains the cache.
can_share() { # FOLDER
  [[ $1 != / && ! $1/ =~ ^/(etc|usr|var|dev|proc|sys|run|bin|sbin|lib[^/]*)/ && $cache/ != "$1"/* ]]
}

# Runs in a private mount namespace: the mounts vanish with its last process, however it ends. The
# new root is a small tmpfs, so that mount points never have to be made in the Debian root itself.
enter() { # CACHE SUITE USER:GROUP[:GROUPS]|-|+ COMMAND...   - and +: the caller; +: to install packages
  local root=$1/$2 user=$3 new=$1/mnt entry links=() options=()
  cache=$1
  shift 3
  mount -t tmpfs -o mode=755 keepbox "$new"
  mkdir "$new"/{dev,etc,home,mnt,opt,proc,root,run,srv,sys,tmp,usr,var}
  for entry in "$root"/*; do
    if [[ -L $entry ]]; then links+=("$entry"); fi
  done
  cp -P "${links[@]}" "$new/"
  for entry in etc usr var; do mount --bind "$root/$entry" "$new/$entry"; done
  for entry in /dev /proc /sys; do share "$entry"; done
  share "$cache/tmp" /tmp
  for entry in resolv.conf hosts; do
    if [[ -e /etc/$entry && -e $root/etc/$entry ]]; then mount --bind "/etc/$entry" "$new/etc/$entry"; fi
  done
  for entry in /tmp/.X11-unix /tmp/nvidia-mps ${XDG_RUNTIME_DIR:+"$XDG_RUNTIME_DIR"}; do
    if [[ -d $entry ]]; then share "$entry"; fi
  done
  share_cuda
  share "$top"
  mkdir -p "$cache/log"
  share "$cache/home"
  share "$cache/log"
  if [[ $PWD/ != "$top"/* ]] && can_share "$PWD"; then share "$PWD"; fi
  entry=$(dirname "$top")/shared
  if [[ -d $entry ]]; then
    share "$entry"
    # a user's own namespace may be denied this; the files' permissions still hold there
    mount -o remount,bind,ro "$new$entry" 2>/dev/null || true
  fi
  if [[ $user != + ]]; then
    # a file that a command writes elsewhere would vanish without an error
    for entry in "$new/usr/local" "$new"; do mount -o remount,ro "$entry" 2>/dev/null || true; done
  fi
  [[ $user == [-+] ]] || options=(--userspec="${user%:*}" --groups="${user##*:}")
  exec chroot "${options[@]}" "$new" "$@"
}

collect_variables() {
  local name toolkit libraries=$extra_libraries${KEEPBOX_LIBRARIES:+:$KEEPBOX_LIBRARIES}
  variables=(
    "HOME=$cache/home" "LANG=C.UTF-8" "GST_PLUGIN_PATH=$build/gst/plugins"
    "GI_TYPELIB_PATH=$build/gst/api/uninstalled" "GST_REGISTRY=$build/gst-registry-$environment.bin"
    "PYTHONPATH=$top/python:$cache/home/python-packages"
    # so that a single test finds what `meson test` shows it
    "KEEPBOX_SOURCE=$top" "KEEPBOX_TEST_DATA=$(dirname "$top")/shared/data"
  )
  for name in TERM COLORTERM NO_COLOR DISPLAY WAYLAND_DISPLAY XDG_RUNTIME_DIR XAUTHORITY CUDA_VISIBLE_DEVICES CI \
    ASAN_OPTIONS UBSAN_OPTIONS CUFLAGS NINJA_STATUS "${!KEEPBOX_@}" "${!GST_DEBUG@}" "${!GTEST_@}" "${!MESON_@}"; do
    if [[ -v $name ]]; then variables+=("$name=${!name}"); fi
  done
  if [[ $environment != native ]]; then
    toolkit=$(cuda_toolkit)
    if [[ -n $(cuda_driver_folder) ]]; then libraries+=:/run/cuda-driver; fi
    if [[ -n $toolkit ]]; then libraries+=:$toolkit/lib64; fi
    variables+=("PATH=$top/python/bin:$build/gst/tool:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin${toolkit:+:$toolkit/bin}")
  else
    libraries+=${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    # keeps the paths of a GStreamer outside of the usual folders
    variables+=(
      "PATH=$top/python/bin:$build/gst/tool:$PATH" "GST_PLUGIN_PATH=$build/gst/plugins${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
      "GI_TYPELIB_PATH=$build/gst/api/uninstalled${GI_TYPELIB_PATH:+:$GI_TYPELIB_PATH}"
      "PYTHONPATH=$top/python:$cache/home/python-packages${PYTHONPATH:+:$PYTHONPATH}"
    )
  fi
  if [[ -n $libraries ]]; then variables+=("LD_LIBRARY_PATH=${libraries#:}"); fi
  # last, because the last value of a repeated name counts
  variables+=("KEEPBOX_CACHE=$cache" "KEEPBOX_INSIDE=$environment" "${extra_vars[@]}")
}

exec_in_env() { # COMMAND...
  local folder=$PWD variables namespace=(unshare -m) user=-
  if [[ $folder/ != "$top"/* ]] && ! can_share "$folder"; then
    say "$folder cannot be shown in the environment; the command runs in $top"
    folder=$top
  fi
  collect_variables
  if [[ $environment == native || $environment == "${KEEPBOX_INSIDE:-}" ]]; then
    cd "$folder"
    exec env -u XDG_CACHE_HOME -u XDG_CONFIG_HOME -u XDG_DATA_HOME "${variables[@]}" "$@"
  fi
  if ((EUID != 0)); then
    if unshare -rm true 2>/dev/null; then
      namespace=(unshare -rm)
    else
      need_root_rights "enter the Debian $environment root" "run ./dev as root, or allow unprivileged user namespaces"
      namespace=(sudo unshare -m)
      user="$(id -u):$(id -g):$(id -G | tr ' ' ,)"
    fi
  elif ! unshare -m true 2>/dev/null; then
    check_host "$environment"
  fi
  exec "${namespace[@]}" bash "$top/dev" _enter "$cache" "$environment" "$user" env -i -C "$folder" "${variables[@]}" "$@"
}

in_env() { (exec_in_env "$@"); }

command_run() {
  local moved
  (($# > 0)) || die "no command was given: ./dev run CMD..."
  case $1 in
    keepbox | gst-* | python3* | pipelines/*)
      # so that the first line that somebody tries works
      if [[ -z ${KEEPBOX_INSIDE:-} && ! -e $build/build.ninja ]]; then
        say "nothing is built here: building the elements first"
        targets=("${plugin_targets[@]}")
        command_build >&2
      fi
      ;;
  esac
  choose_environment
  moved=$(describe_move "$build")
  [[ -z $moved ]] || say "$moved"
  exec_in_env "$@"
}
