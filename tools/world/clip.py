# SPDX-License-Identifier: LGPL-2.1-or-later
"""Encodes frames as VP9 in WebM with gst-launch-1.0."""
import subprocess
import sys


def encode(frames, path, size, rate, quality):
    """Encode RGB images; quality 0 is best, 63 worst."""
    wide, high = size
    command = ["gst-launch-1.0", "-q", "fdsrc", "fd=0", f"blocksize={wide * high * 3}", "!",
               "rawvideoparse", "format=rgb", f"width={wide}", f"height={high}",
               f"framerate={rate}/1", "!", "videoconvert", "!",
               "video/x-raw,format=I420,colorimetry=bt709", "!", "vp9enc", "end-usage=cq",
               f"cq-level={quality}", "target-bitrate=20000000", "deadline=1000000", "cpu-used=3",
               "lag-in-frames=25", "auto-alt-ref=true", "keyframe-max-dist=250", "threads=2",
               "row-mt=true", "!", "webmmux", "!", "filesink", f"location={path}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        for image in frames:
            process.stdin.write(image.tobytes())
        process.stdin.close()
    if process.returncode:
        sys.exit(f"gst-launch-1.0 ended with {process.returncode}")
