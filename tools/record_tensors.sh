#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Records the demo's fallback: the model's tensors for its clip, two frames per second, as float16.
# Run it with ./dev run after changing the model or the clip.
set -euo pipefail
# shellcheck source=pipelines/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../pipelines/common.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
launch -q filesrc location="$here/media/shapes.webm" ! decodebin3 ! videoconvert \
  ! videorate ! video/x-raw,framerate=2/1 ! videoconvertscale \
  ! video/x-raw,format=RGB,width=320,height=320,pixel-aspect-ratio=1/1 \
  ! onnxinference model-file="$model" input-image-format=chw \
  ! tensorrecord location="$folder" ! fakesink
python3 - "$folder" "$here/media/shapes-tensors.f16.raw" <<'PYTHON'
import pathlib
import sys

import numpy as np

frames = [np.load(path) for path in sorted(pathlib.Path(sys.argv[1]).glob('*.npy'))]
np.concatenate(frames).astype(np.float16).tofile(sys.argv[2])
print(f'{len(frames)} frames')
PYTHON
