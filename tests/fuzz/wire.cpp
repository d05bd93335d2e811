// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes from another process: what was packed arrives, and any other bytes are taken or refused.
#include <algorithm>

#include "gst/metas/boxes.h"
#include "gst/metas/labels.h"
#include "gst/metas/wire.h"
#include "tests/fuzz/drawnboxes.h"
#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {
namespace {

/// A buffer for the boxes of a frame.
class Frame {
 public:
  Frame() : buffer_(gst_buffer_new()) {}
  ~Frame() { gst_buffer_unref(buffer_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  operator GstBuffer*() const { return buffer_; }
  bool has_boxes() const { return gst_buffer_get_analytics_relation_meta(buffer_) != nullptr; }

 private:
  GstBuffer* buffer_;
};

std::vector<guint8> drawn(Input& input) {
  const Frame frame;
  DrawnBoxes drawn(input, 8, {640, 480});
  for (FrameBox& box : drawn.boxes) box.parent.reset();
  if (!attach_boxes(frame, drawn.boxes, {})) violated("a few boxes can be attached");
  auto* meta = gst_buffer_get_analytics_relation_meta(frame);
  for (const FrameBox& box : drawn.boxes)
    if (input.chance(30)) add_track(meta, box.od_id, {.id = input.below(9), .lost = false});
  return pack_boxes(frame);
}

void damage(Input& input, std::vector<guint8>& bytes) {
  for (uint32_t left = input.below(4); left > 0; --left)
    bytes[input.below(static_cast<uint32_t>(bytes.size()))] =
        static_cast<guint8>(input.chance(30) ? 255 : input.below(256));
  if (input.chance(20)) bytes.resize(input.below(static_cast<uint32_t>(bytes.size())));
}

}  // namespace

const char* const kSurface = "wire";

void set_up() { gst_init(nullptr, nullptr); }

void run_one(Input& input) {
  const std::vector<guint8> sent = drawn(input);
  const Frame there;
  if (!unpack_boxes(sent, there)) violated("what was packed arrives");
  if (pack_boxes(there) != sent) violated("what arrived is what was packed");
  auto bytes = sent;
  damage(input, bytes);
  const Frame odd;
  const bool taken = unpack_boxes(bytes, odd).has_value();
  if (taken != odd.has_boxes()) violated("refused bytes attach nothing");
  if (taken) (void)pack_boxes(odd);
  count(taken ? "taken" : "refused");
}

}  // namespace keepbox::fuzz
