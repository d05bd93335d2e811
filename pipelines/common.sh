#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the shell pipelines share: their options, the detecting middle of a line, and its launch.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
arguments=()

# This project's own model, until options say otherwise.
reset_model() {
  model=$here/models/shapes.onnx
  labels=$here/models/shapes.labels
  size=320
  threshold=0.5
  channels=RGB
  classes=
  name=
}
reset_model

usage() { # SYNTAX
  cat <<END
usage: $(basename "$0") [OPTIONS] $1

  --model FILE       the ONNX model (default: this project's own, which detects shapes)
  --labels FILE      the names of its classes, one a line
  --size PIXELS      the side of the square picture that it takes (default: 320)
  --channels BGR     the order that it was trained with (default: RGB)
  --threshold SCORE  boxes above it are kept (default: 0.5)
  --classes NAMES    the only classes to keep, with commas (default: all)
  --name NAME        what to call the model where there are several
END
}

# Takes the options out of a script's words; the others are left in `arguments`.
parse() { # SYNTAX WORDS...
  local syntax=$1
  shift
  while (($# > 0)); do
    case $1 in
      --model | --labels | --size | --channels | --threshold | --classes | --name)
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
  [[ $channels == RGB || $channels == BGR ]] ||
    wrong "$syntax" "expected RGB or BGR behind --channels, found $channels"
  [[ $size =~ ^[1-9][0-9]*$ ]] ||
    wrong "$syntax" "expected a number of pixels behind --size, found $size"
  local file
  for file in "$model" "$labels"; do
    [[ -r $file ]] || wrong "$syntax" "expected a file that can be read, found none called $file"
  done
}

wrong() { # SYNTAX MESSAGE
  usage "$1" >&2
  echo "$(basename "$0"): $2" >&2
  exit 2
}

# Fills `detect` with the elements between a source of frames and boxes on those frames.
make_detect() {
  detect=(videoconvert ! framesave ! videoconvertscale
    ! "video/x-raw,format=$channels,width=$size,height=$size,pixel-aspect-ratio=1/1")
  # onnxinference passes R, G, B whatever the caps say: for B, G, R they have to say RGB.
  if [[ $channels == BGR ]]; then detect+=(! capssetter 'caps=video/x-raw,format=RGB'); fi
  detect+=(! onnxinference "model-file=$model")
  # Until GStreamer 1.28 a property says how the model wants its picture; later the .modelinfo does.
  if gst-inspect-1.0 onnxinference 2>/dev/null | grep input-image-format >/dev/null; then
    detect+=(input-image-format=chw)
  fi
  detect+=(! boxdecode "label-file=$labels" "score-threshold=$threshold")
  if [[ $classes ]]; then detect+=("include-classes=$classes"); fi
  if [[ $name ]]; then detect+=("model-name=$name"); fi
  detect+=(! framerestore)
}

# Shows a line and runs it, less the lines about schemas that ONNX Runtime of Debian prints.
launch() { # WORDS...
  local word line='gst-launch-1.0 -e'
  for word; do
    if [[ $word =~ ^[A-Za-z0-9_./:=,!+@-]+$ ]]; then line+=" $word"; else line+=" ${word@Q}"; fi
  done
  echo "$line" >&2
  gst-launch-1.0 -e "$@" 2> >(grep --line-buffered -vE '^$|^Schema error: ' >&2)
}
