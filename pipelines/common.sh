#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the shell pipelines share: their options, the detecting middle of a line, and its launch.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
arguments=()

# This project's own model, until options say otherwise.
own_model=$here/models/shapes.onnx
reset_model() {
  model=$own_model
  labels=
  size=
  threshold=0.5
  channels=auto
  classes=
  name=
  interval=1
}
reset_model

usage() { # SYNTAX
  cat <<END
usage: $(basename "$0") [OPTIONS] $1

  --model FILE       the ONNX model (default: this project's own, which detects shapes)
  --labels FILE      the names of its classes, one a line (default: those in the model)
  --size PIXELS      the side of the square picture that it takes, where the model leaves it open
  --channels ORDER   rgb or bgr, as it was trained (default: what tensorinfer's channel-order=auto takes)
  --threshold SCORE  boxes above it are kept (default: 0.5)
  --classes NAMES    the only classes to keep, with commas (default: all)
  --name NAME        what to call the model where there are several
  --interval N       the model runs on each Nth frame, and those between keep its boxes (default: 1)
END
}

# Takes the options out of a script's words; the others are left in `arguments`.
parse() { # SYNTAX WORDS...
  local syntax=$1
  shift
  while (($# > 0)); do
    case $1 in
      --model | --labels | --size | --channels | --threshold | --classes | --name | --interval)
        (($# > 1)) || wrong "$syntax" "expected a value behind $1, found none"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
      -h | --help) usage "$syntax" && exit ;;
      -?*) wrong "$syntax" "expected one of the options, found $1" ;;
      *) arguments+=("$1") ;;
    esac
    shift
  done
  [[ $channels =~ ^(auto|rgb|bgr)$ ]] ||
    wrong "$syntax" "expected rgb or bgr behind --channels, found $channels"
  [[ $size =~ ^([1-9][0-9]*)?$ ]] ||
    wrong "$syntax" "expected a number of pixels behind --size, found $size"
  [[ $interval =~ ^[1-9][0-9]*$ ]] ||
    wrong "$syntax" "expected a number of frames behind --interval, found $interval"
  local file
  for file in "$model" ${labels:+"$labels"}; do
    [[ -r $file ]] || wrong "$syntax" "expected a file that can be read, found none called $file"
  done
}

wrong() { # SYNTAX MESSAGE
  usage "$1" >&2
  echo "$(basename "$0"): $2" >&2
  exit 2
}

# Fills `model_part`, `boxes_part` and `detect`, which is both, with the elements between a source of frames and
# boxes on those frames.
make_detect() {
  model_part=(tensorinfer "model-file=$model" "channel-order=$channels")
  if [[ $size ]]; then model_part+=("input-width=$size" "input-height=$size"); fi
  if ((interval > 1)); then model_part+=("interval=$interval" hold=true); fi
  boxes_part=(boxdecode "score-threshold=$threshold")
  if [[ $labels ]]; then boxes_part+=("label-file=$labels"); fi
  if [[ $classes ]]; then boxes_part+=("include-classes=$classes"); fi
  if [[ $name ]]; then boxes_part+=("model-name=$name"); fi
  # shellcheck disable=SC2034 # the scripts' own
  detect=("${model_part[@]}" ! "${boxes_part[@]}")
}

# Shows a line and runs it to its end. A signal that asks this script to end lets the line finish its
# files, as Ctrl-C does with gst-launch-1.0 -e; a second one ends it at once.
launch() { # WORDS...
  local word line='gst-launch-1.0 -e'
  for word; do
    if [[ $word =~ ^[A-Za-z0-9_./:=,!+@-]+$ ]]; then line+=" $word"; else line+=" ${word@Q}"; fi
  done
  echo "$line" >&2
  stop_signal=INT
  trap 'pass_on' HUP INT TERM
  # a process group of its own: Ctrl-C then comes from here alone, for a second SIGINT would kill it
  set -m
  gst-launch-1.0 -e "$@" <&0 &
  set +m
  await $!
  trap - HUP INT TERM
}

pass_on() {
  [[ ${!:-} ]] || exit 143
  kill -"$stop_signal" $! 2>/dev/null || true
  stop_signal=TERM
}

# Returns a child's exit status; a trap ends bash's own `wait` before the child has ended.
await() { # PID
  local status=0
  wait "$1" || status=$?
  while kill -0 "$1" 2>/dev/null; do
    status=0
    wait "$1" || status=$?
  done
  return "$status"
}
