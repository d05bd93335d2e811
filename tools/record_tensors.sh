#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Records the demo's fallback: the model's tensors for its clip, two frames a second, as float16.
# Run it with ./dev run after the model or the clip has changed.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
gst-launch-1.0 -q filesrc location="$top/pipelines/media/shapes.webm" ! decodebin ! videoconvert \
  ! videorate ! video/x-raw,framerate=2/1 ! videoconvertscale \
  ! video/x-raw,format=RGB,width=320,height=320,pixel-aspect-ratio=1/1 \
  ! onnxinference model-file="$top/pipelines/models/shapes.onnx" input-image-format=chw \
  ! tensorrecord location="$folder" ! fakesink 2> >(grep -vE '^$|Schema error' >&2)
python3 - "$folder" "$top/pipelines/media/shapes-tensors.f16.raw" <<'PYTHON'
import pathlib
import sys

import numpy as np

frames = [np.load(path) for path in sorted(pathlib.Path(sys.argv[1]).glob('*.npy'))]
np.concatenate(frames).astype(np.float16).tofile(sys.argv[2])
print(f'{len(frames)} frames')
PYTHON
