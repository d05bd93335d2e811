# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Messages and long steps; sourced by ./dev.

say() { printf 'dev: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

show_seconds() { # SECONDS
  if [[ -t 2 ]]; then
    printf '\r  %d s ' "$1" >&2
  elif (($1 % 30 == 0)); then
    printf '  %d s\n' "$1" >&2
  fi
}

stop_step() {
  [[ -n $step_pid ]] || return 0
  as_root kill -- "-$step_pid" 2>/dev/null || true
  wait "$step_pid" 2>/dev/null || true
  step_pid=
}
trap stop_step EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Starts a command as a separate job, so that a signal to this script can end all of it at once.
start_job() { # COMMAND...
  set -m
  "$@" </dev/null &
  step_pid=$!
  set +m
}

run_job() { # COMMAND...
  local status=0
  start_job "$@"
  wait "$step_pid" || status=$?
  step_pid=
  return "$status"
}

step() { # LOGNAME TEXT COMMAND...
  local log=$cache/log/$1.log text=$2 status=0 seconds=0
  shift 2
  say "$text"
  start_job "$@" >"$log" 2>&1
  while [[ -d /proc/$step_pid ]]; do
    sleep 1
    show_seconds $((++seconds))
  done
  wait "$step_pid" || status=$?
  step_pid=
  if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
  if ((status != 0)); then
    tail -n 10 "$log" | sed 's/^/  | /' >&2
    die "failed after $seconds s (exit status $status): ${text%% (*}; the whole log is $log"
  fi
  say "done in $seconds s"
}
