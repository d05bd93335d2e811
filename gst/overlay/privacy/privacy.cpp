// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses the boxes to obscure, and warns of settings that leave some of them visible.
#include "gst/overlay/privacy/privacy.h"

#include <algorithm>
#include <iterator>

#include "gst/base/words.h"

namespace keepbox {
namespace {

constexpr int kFramesOfAChange = 30;

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

void Privacy::choose(std::span<const FrameBox> boxes, const OverlayProps& props, GstClockTime time,
                     std::vector<ObscuredBox>& out) {
  out.clear();
  take_lists(props);
  if (blur_.empty() && pixelate_.empty()) return lost_.clear();
  lost_.start(time, static_cast<GstClockTime>(props.blur_lost * GST_SECOND));
  for (const FrameBox& box : boxes) {
    if (box.label != 0) labels_.insert(box.label);
    const Obscuring by_class = listed(box);
    if (by_class != Obscuring::kNone) warn_untracked(props, box);
    const Obscuring how = lost_.note(box, by_class);
    if (how != Obscuring::kNone) out.push_back({box.box, box.angle, box.mask, how});
  }
  lost_.add_lost(out);
  check_changed_lists(!boxes.empty());
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
