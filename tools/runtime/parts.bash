# SPDX-License-Identifier: LGPL-2.1-or-later
# What keepbox needs on a host without GStreamer: the list of it, and functions that copy it into
# $payload, for the bundle and the wheel. Everything comes from packages of the build environment.

# shellcheck disable=SC2034 # used by the scripts that read this
programs=(gst-launch-1.0 gst-inspect-1.0)
# Files, pictures, cameras, RTSP and HTTP, with the codecs whose licences allow it: of H.264 OpenH264, of
# H.265 libde265, AV1, VP8, VP9, Theora, JPEG, PNG, WebP. FFmpeg, x264 and x265 are under the GPL.
plugins=(
  coreelements typefindfunctions playback app autodetect debug gio id3demux multifile multipart
  videotestsrc videoconvertscale videorate videofilter videocrop videobox compositor imagefreeze
  deinterlace alphacolor videoparsersbad
  avi flv isomp4 ivfparse matroska mpegtsdemux mpegpsdemux ogg rawparse y4mdec
  aom de265 jpeg jpegformat nvcodec openh264 png pnm theora vpx webp y4menc
  adaptivedemux2 rtp rtpmanager rtsp sdpelem soup srtp tcp udp unixfd
  video4linux2 ximagesrc
  audioconvert audioparsers audioresample audiotestsrc opus vorbis
)
# Opened at run time, so that no program is linked to them.
opened=(libsoup-3.0.so.0)
# Linked only by the driver's libraries.
driver_needs=(libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libgcc_s.so.1)

needed=$(mktemp)
trap 'rm -f "$needed"' EXIT

fail() { # MESSAGE
  echo "${0##*/}: $1" >&2
  exit 1
}

# Notes the libraries of a file.
need() { # FILE
  ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\/.*\/ld-/ { print $1 }' >>"$needed"
  if ldd "$1" | grep -F 'not found' >&2; then fail "some libraries of $1 are missing"; fi
}

add() { # FILE FOLDER
  cp -L "$1" "$payload/$2/"
  need "$1"
}

# The programs of GStreamer go to bin/, its plugins and keepbox's to plugins/.
add_gstreamer() { # BUILD
  local name folder
  folder=$(pkg-config --variable=pluginsdir gstreamer-1.0)
  for name in "${programs[@]}"; do add "$(command -v "$name")" bin; done
  for name in "${plugins[@]}"; do add "$folder/libgst$name.so" plugins; done
  add "$(pkg-config --variable=pluginscannerdir gstreamer-1.0)/gst-plugin-scanner" bin
  folder=$(pkg-config --variable=libdir gstreamer-1.0)
  for name in "${opened[@]}"; do add "$folder/$name" lib; done
  for name in '' overlay publish; do add "$1/gst/plugins/libgstkeepbox$name.so" plugins; done
}

# The libraries that were noted.
add_libraries() {
  local path folder
  folder=$(dirname "$(sort -u "$needed" | grep -m 1 '/libc\.so\.6$')")
  sort -u "$needed" | while read -r path; do cp -Ln "$path" "$payload/lib/"; done
  for path in "${driver_needs[@]}"; do
    if [[ ! -e $payload/lib/$path ]]; then cp -L "$folder/$path" "$payload/lib/"; fi
  done
}

add_font() { # PATTERN FILE PACKAGE
  local file
  file=$(fc-match -f '%{file}' "$1")
  if [[ ${file##*/} != "$2" ]]; then fail "the font $2 is missing: install $3"; fi
  cp "$file" "$payload/fonts/"
}

strip_all() { # FOLDER...
  find "$@" -type f \( -name '*.so*' -o -path '*/bin/*' \) ! -name 'ld-*' ! -name scanner \
    -exec strip --strip-unneeded {} +
}
