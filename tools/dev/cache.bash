# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Root rights, the cache folder and its lock; sourced by ./dev.

as_root() { if ((EUID == 0)); then "$@"; else sudo "$@"; fi; }

need_root_rights() { # PURPOSE ADVICE
  ((EUID != 0)) || return 0
  if ! command -v sudo >/dev/null || ! sudo -v 2>/dev/null; then
    die "root rights are needed to $1, but user $(id -un) has no working sudo; $2"
  fi
}

open_cache() {
  # the environment itself contains only the home of the folder
  [[ -z ${KEEPBOX_INSIDE:-} ]] || return 0
  # the lock file marks the folder as ours, because ./dev clean removes all of it
  if [[ ! -e $cache/keepbox.lock && -n $(ls -A "$cache" 2>/dev/null) ]]; then
    die "the cache folder $cache has files of something else; set KEEPBOX_CACHE to a new or empty folder"
  fi
  if ! { mkdir -p "$cache" && : >>"$cache/keepbox.lock" && mkdir -p "$cache"/{home,log,mnt,tmp}; } 2>/dev/null; then
    die "user $(id -un) cannot write to the cache folder $cache; set KEEPBOX_CACHE to another folder"
  fi
  chmod 1777 "$cache/tmp"
}

lock_cache() {
  exec 9>>"$cache/keepbox.lock"
  if ! flock -n 9; then
    say "waiting for another ./dev that is setting up in $cache"
    flock 9
  fi
}

unlock_cache() { exec 9>&-; }

mounts_below() { # FOLDER
  local folder=${1// /\\040}
  awk -v f="${folder//\\/\\\\}" '$5 == f || index($5, f "/") == 1 { print $5 }' /proc/self/mountinfo
}

remove_tree() { # FOLDER
  [[ -e $1 || -L $1 ]] || return 0
  local mounts
  mounts=$(mounts_below "$1")
  [[ -z $mounts ]] || die "$1 cannot be removed while something is mounted in it: ${mounts//$'\n'/ }; unmount first"
  if ! rm -rf --one-file-system -- "$1" 2>/dev/null; then
    need_root_rights "remove $1" "remove it as root"
    as_root rm -rf --one-file-system -- "$1"
  fi
}

# Under sudo, gives new files in the checkout and the cache to the calling user.
restore_owner() {
  local path
  ((EUID == 0)) && [[ -n ${SUDO_UID:-} && $(stat -c %u "$top") == "$SUDO_UID" ]] || return 0
  for path in "$top"/build{,-asan,-tsan,-arm64,-compat,-mutate} "$top/out" "$cache"/{home,tmp}; do
    # a build that runs there meanwhile makes and removes files
    if [[ -e $path ]]; then chown -Rh "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$path" 2>/dev/null || true; fi
  done
}

command_clean() {
  local path
  [[ -z ${KEEPBOX_INSIDE:-} ]] || die "./dev clean does not work inside the build environment; leave ./dev shell first"
  if [[ -e $cache/keepbox.lock ]]; then
    lock_cache
    mounts_below "$cache" | sort -r | while read -r path; do
      as_root umount "$path" || say "could not unmount $path"
    done
    say "Removing $cache (up to 2 minutes)"
    for path in "$cache"/*; do
      # last, so that a removal that fails can be tried again
      [[ $path == */keepbox.lock ]] || remove_tree "$path"
    done
    remove_tree "$cache"
  fi
  for path in "$top"/build "$top"/build-*; do
    if rmdir "$path" 2>/dev/null; then continue; fi
    if [[ $path == "$top/build" || -d $path/meson-private || -d $path/tree ]]; then remove_tree "$path"; fi
  done
  remove_tree "$top/out"
}
