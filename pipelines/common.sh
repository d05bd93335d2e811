#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shared by the shell pipelines: options, the detection part of a line, and its launch.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
arguments=()

# This project's own model, unless options override it.
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
  tiles=
  track=
}
reset_model

usage() { # SYNTAX
  cat <<END
usage: $(basename "$0") [OPTIONS] $1

  --model FILE       ONNX model (default: this project's own, which detects shapes)
  --labels FILE      class names, one per line (default: those in the model)
  --size PIXELS      side of the square model input, if it is dynamic in the model
  --channels ORDER   channel order of the training, rgb or bgr (default: tensorinfer's auto)
  --threshold SCORE  keep boxes with higher scores (default: $threshold)
  --classes NAMES    comma-separated classes to keep (default: all)
  --name NAME        name of the model, to distinguish several models
  --interval N       run the model on every Nth frame; frames in between keep its boxes (default: 1)
  --tiles GRID       run the model on parts of each frame, such as 3x2, and on all of it, which finds
                     small objects (default: on all of it only)
  --track            give boxes of the same object the same id; move them on frames in between
END
}

# Parses the options of a script; other words go to `arguments`.
parse() { # SYNTAX WORDS...
  local syntax=$1
  shift
  while (($# > 0)); do
    case $1 in
      --model | --labels | --size | --channels | --threshold | --classes | --name | --interval | --tiles)
        (($# > 1)) || wrong "$syntax" "$1 needs a value"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
      --track) track=yes ;;
      -h | --help) usage "$syntax" && exit ;;
      -?*) wrong "$syntax" "$1 is none of these options" ;;
      *) arguments+=("$1") ;;
    esac
    shift
  done
  [[ $channels =~ ^(auto|rgb|bgr)$ ]] ||
    wrong "$syntax" "--channels must be rgb or bgr, not $channels"
  [[ $size =~ ^([1-9][0-9]*)?$ ]] ||
    wrong "$syntax" "--size must be a number of pixels, not $size"
  [[ $interval =~ ^[1-9][0-9]*$ ]] ||
    wrong "$syntax" "--interval must be a number of frames, not $interval"
  [[ $tiles =~ ^([1-9][0-9]*x[1-9][0-9]*)?$ ]] ||
    wrong "$syntax" "--tiles must be columns x rows such as 3x2, not $tiles"
  local file
  for file in "$model" ${labels:+"$labels"}; do
    [[ -r $file ]] || wrong "$syntax" "cannot read the file $file"
  done
}

wrong() { # SYNTAX MESSAGE
  usage "$1" >&2
  echo "$(basename "$0"): $2" >&2
  exit 2
}

# Sets `model_part`, `boxes_part` and `detect` (both in sequence) to the elements that turn frames
# into frames with boxes.
make_detect() {
  model_part=(tensorinfer "model-file=$model" "channel-order=$channels")
  if [[ $size ]]; then model_part+=("input-size=$size"); fi
  if [[ $tiles ]]; then model_part+=("tiles=$tiles+whole"); fi
  if ((interval > 1)); then model_part+=("interval=$interval"); fi
  if ((interval > 1)) && [[ ! $track ]]; then model_part+=(hold=true); fi
  boxes_part=(boxdecode "score-threshold=$threshold")
  if [[ $labels ]]; then boxes_part+=("label-file=$labels"); fi
  if [[ $classes ]]; then boxes_part+=("include-classes=$classes"); fi
  if [[ $name ]]; then boxes_part+=("model-name=$name"); fi
  if [[ $track ]]; then boxes_part+=(track-score-threshold=0.1); fi
  # shellcheck disable=SC2034 # used by the scripts
  detect=("${model_part[@]}" ! "${boxes_part[@]}")
  if [[ $track ]]; then detect+=(! boxtrack predict=true); fi
}

# Checks files, if Python has GStreamer: `open` ends the script if one has no video, at which a line
# may hang; `end` warns of videos that end before the duration that they declare.
check_files() { # open|end FILES...
  if python3 -c 'import gi; gi.require_version("Gst", "1.0")' 2>/dev/null; then
    "$here/check.py" "$@" 2> >(sed "s/^/$(basename "$0"): /" >&2)
  fi
}

# Prints a line and runs it to its end. A signal that terminates this script lets the line complete
# its files, like Ctrl-C with gst-launch-1.0 -e; a second one ends it at once.
launch() { # WORDS...
  local word line='gst-launch-1.0 -e'
  for word; do
    if [[ $word =~ ^[A-Za-z0-9_./:=,!+@-]+$ ]]; then line+=" $word"; else line+=" ${word@Q}"; fi
  done
  echo "$line" >&2
  stop_signal=INT
  trap 'pass_on' HUP INT TERM
  # a separate process group: Ctrl-C is forwarded only from here, as a second SIGINT would kill it
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

# Returns a child's exit status; a trap interrupts bash's own `wait` before the child ends.
await() { # PID
  local status=0
  wait "$1" || status=$?
  while kill -0 "$1" 2>/dev/null; do
    status=0
    wait "$1" || status=$?
  done
  return "$status"
}
