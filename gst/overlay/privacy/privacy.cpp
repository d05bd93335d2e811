// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses the boxes to obscure, and warns of settings that leave some of them visible.
#include "gst/overlay/privacy/privacy.h"

#include <algorithm>
#include <iterator>

#include "gst/base/words.h"

namespace keepbox {
namespace {

constexpr int kFramesOfAChange = 30;
constexpr int kLooksUntilIds = 5;

Box whole(Size frame) {
  return {0, 0, static_cast<float>(frame.width), static_cast<float>(frame.height)};
}

}  // namespace

Obscuring Privacy::listed(const FrameBox& box) {
  const bool blurred = blur_.has(box);
  if (pixelate_.has(box)) return Obscuring::kPixelate;
  return blurred ? Obscuring::kBlur : Obscuring::kNone;
}

/// Warns once if lost boxes are to stay obscured and cannot, because no tracker is there.
void Privacy::warn_untracked(const OverlayProps& props, const FrameBox& box) {
  if (!props.blur_lost_set || props.blur_lost == 0 || box.tracking_id) return;
  if (std::exchange(warned_untracked_, true)) return;
  warnings_.push_back(problem(
      ErrorKind::kMismatch,
      "blur-lost has no effect on boxes without tracking ids: a lost object is shown at once",
      "put boxtrack before boxoverlay"));
}

/// Warns once that objects without ids are obscured where they were found last. A tracker gives
/// ids after a few frames.
void Privacy::warn_standing() {
  if (tracked_ || looks_ < kLooksUntilIds || std::exchange(warned_standing_, true)) return;
  warnings_.push_back(problem(
      ErrorKind::kMismatch,
      "The model skips frames, on which objects are obscured where it found them last: an object "
      "that moves can be visible there",
      "put boxtrack before boxoverlay, or let the model run on every frame (interval=1 "
      "qos=false)"));
}

/// Adds the objects of models that skipped the frame.
void Privacy::add_missing(std::vector<ObscuredBox>& out) {
  for (const FrameBox& box : last_look_.missing()) {
    const Obscuring how = listed(box);
    if (how == Obscuring::kNone || lost_.has(box)) continue;
    warn_standing();
    out.push_back({.box = box.box, .angle = box.angle, .how = how});
  }
}

void Privacy::choose(const PrivateFrame& frame, const OverlayProps& props,
                     std::vector<ObscuredBox>& out) {
  out.clear();
  take_lists(props);
  if (blur_.empty() && pixelate_.empty()) return forget_places();
  last_look_.start(frame.time, frame.skipped, frame.boxes);
  lost_.start(frame.time, static_cast<GstClockTime>(props.blur_lost * GST_SECOND), frame.skipped);
  looks_ += !frame.skipped.any() && !frame.boxes.empty();
  for (const FrameBox& box : frame.boxes) {
    tracked_ |= box.tracking_id.has_value();
    if (box.label != 0) labels_.insert(box.label);
    const Obscuring by_class = listed(box);
    if (by_class != Obscuring::kNone) warn_untracked(props, box);
    const Obscuring how = lost_.note(box, by_class);
    if (how != Obscuring::kNone) out.push_back({box.box, box.angle, box.mask, how});
  }
  lost_.add_lost(out);
  add_missing(out);
  if (last_look_.unknown())
    out.push_back(
        {.box = whole(frame.size), .how = blur_.empty() ? Obscuring::kPixelate : Obscuring::kBlur});
  check_changed_lists(!frame.boxes.empty());
}

void Privacy::take_lists(const OverlayProps& props) {
  const bool blur = blur_.set(props.blur), pixelate = pixelate_.set(props.pixelate);
  if (!std::exchange(began_, true) || (!blur && !pixelate)) return;
  frames_left_ = kFramesOfAChange;
  told_unused_ = false;
}

void Privacy::check_changed_lists(bool boxes) {
  if (!frames_left_ || !boxes || --*frames_left_ > 0) return;
  frames_left_.reset();
  std::ranges::move(take_unused(), std::back_inserter(warnings_));
}

std::vector<Error> Privacy::take_unused() {
  std::vector<Error> out;
  if (!told_unused_) out = unused();
  told_unused_ = told_unused_ || !out.empty();
  return out;
}

std::vector<Error> Privacy::unused() const {
  std::vector<std::string> labels;
  for (const GQuark label : labels_) labels.push_back(in_quotes(g_quark_to_string(label)));
  std::vector<Error> out;
  if (labels.empty()) return out;
  for (const auto& [list, name] : {std::pair{&blur_, "blur"}, {&pixelate_, "pixelate"}})
    for (const std::string& entry : list->unused())
      out.push_back(problem(ErrorKind::kMismatch,
                            std::string(name) + " names " + in_quotes(entry) +
                                ", but boxes had the classes " + joined(labels),
                            "correct the name if you meant one of these"));
  return out;
}

}  // namespace keepbox
