#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the shell pipelines share: the detecting middle of a line, with this project's own model.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
model=${MODEL:-$here/models/shapes.onnx}
labels=${LABELS:-$here/models/shapes.labels}
size=${SIZE:-320}

# The elements between a source of frames and boxes on those frames.
detect() {
  local format=
  # Until GStreamer 1.28 a property says how the model wants its picture; later the .modelinfo does.
  if gst-inspect-1.0 onnxinference 2>/dev/null | grep input-image-format >/dev/null; then
    format=input-image-format=chw
  fi
  echo "videoconvert ! framesave ! videoconvertscale" \
    "! video/x-raw,format=RGB,width=$size,height=$size,pixel-aspect-ratio=1/1" \
    "! onnxinference model-file=$model $format" \
    "! boxdecode label-file=$labels score-threshold=${THRESHOLD:-0.5} ! framerestore"
}

# Runs a line, shows it, and leaves out ONNX Runtime's harmless lines about schemas.
launch() {
  echo "gst-launch-1.0 $*" >&2
  # shellcheck disable=SC2048,SC2086 # a line is words
  gst-launch-1.0 -e $* 2> >(grep -vE '^$|Schema error' >&2)
}
