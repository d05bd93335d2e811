# SPDX-License-Identifier: LGPL-2.1-or-later
"""keepbox line: the gst-launch-1.0 line that does what `keepbox detect` does."""
from __future__ import annotations

from . import Usage
from .detect import on_gpu_of, parser_of, read
from .lines import line_of
from .sources import Pictures

USAGE = 'SOURCE... --model FILE [OPTIONS]'
ABOUT = """\
Prints the gst-launch-1.0 line that does what `keepbox detect` does with the same words, to be
copied, changed and built into programs; of several videos a line for each. Lines without an output
end in fakesink."""
EXAMPLE = """\
  keepbox line street.mp4 --model yolov8n.onnx --track --boxes boxes.jsonl"""


def run(command: str, words: list[str]) -> int:
    """Runs the command."""
    _, jobs = read(parser_of(command, USAGE, ABOUT, EXAMPLE), words)
    for job in jobs:
        if isinstance(job.source, Pictures):
            raise Usage(f'{job.source.paths[0]} is a picture, and pictures have no line that plays'
                        ' all of them: name videos, cameras or streams')
        print(line_of(job.source, job.settings, job.outputs, on_gpu_of(job)).command())
    return 0
