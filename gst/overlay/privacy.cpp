// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects to obscure: by class, and for a while after they were lost.
#include "gst/overlay/privacy.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/text.h"

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
  if (props.blur_lost.value_or(0) == 0 || box.tracking_id) return;
  if (std::exchange(warned_untracked_, true)) return;
  warnings_.push_back(problem(
      ErrorKind::kMismatch,
      "blur-lost has no effect on boxes without tracking ids: a lost object is shown at once",
      "put boxtrack before boxoverlay"));
}

/// Warns once that objects without ids are obscured where they were found last, if there were such
/// objects in several looks one after the other: a tracker gives ids after a few of them.
void Privacy::warn_standing() {
  if (looks_without_id_ < kLooksUntilIds || std::exchange(warned_standing_, true)) return;
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
    if (!box.tracking_id) warn_standing();
    out.push_back({.box = box.box, .angle = box.angle, .how = how});
  }
}

void Privacy::choose(const PrivateFrame& frame, const OverlayProps& props,
                     std::vector<ObscuredBox>& out) {
  out.clear();
  take_lists(props);
  if (blur_.empty() && pixelate_.empty()) return forget_places();
  last_look_.start(frame.time, frame.skipped, frame.boxes);
  lost_.start(frame.time,
              static_cast<GstClockTime>(props.blur_lost.value_or(kBlurLost) * GST_SECOND),
              last_look_.skipped());
  bool without_id = false;
  for (const FrameBox& box : frame.boxes) {
    if (box.label != 0) labels_.insert(box.label);
    const Obscuring by_class = listed(box);
    if (by_class != Obscuring::kNone) warn_untracked(props, box);
    without_id |= by_class != Obscuring::kNone && !box.tracking_id;
    const Obscuring how = lost_.note(box, by_class);
    if (how != Obscuring::kNone) out.push_back({box.box, box.angle, box.mask, how});
  }
  if (!frame.skipped.any()) looks_without_id_ = without_id ? looks_without_id_ + 1 : 0;
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

namespace {

constexpr double kNewest = 0.5;  // weight of the newest speed

bool is_finite(const Box& b) { return std::isfinite(double{b.x1} + b.y1 + b.x2 + b.y2); }

double middle_x(const Box& b) { return (double{b.x1} + b.x2) / 2; }
double middle_y(const Box& b) { return (double{b.y1} + b.y2) / 2; }

Box moved(const Box& b, double dx, double dy) {
  const auto x = static_cast<float>(dx), y = static_cast<float>(dy);
  return {b.x1 + x, b.y1 + y, b.x2 + x, b.y2 + y};
}

/// Returns a box without what it borrows.
FrameBox owned(const FrameBox& box) {
  FrameBox out = box;
  out.keypoints = {};
  out.mask = {};
  out.values = {};
  out.labels = {};
  return out;
}

}  // namespace

/// Finds the boxes that the frame does not have: held boxes repeat all of a model's, but for parts,
/// which are those of some objects, and a tracker moves those with an id.
void LastLook::find_missing(std::span<const FrameBox> boxes) {
  std::set<GQuark> held;
  std::set<ObjectKey> tracked;
  for (const FrameBox& box : boxes) {
    if (box.held && !box.parent) held.insert(box.model);
    if (const auto object = key_of(box)) tracked.insert(*object);
  }
  missing_.clear();
  for (const FrameBox& box : boxes_) {
    const auto object = key_of(box);
    if (!held.contains(box.model) && !(object && tracked.contains(*object)))
      missing_.push_back(box);
  }
}

void LastLook::start(GstClockTime time, const SkippedModels& skipped,
                     std::span<const FrameBox> boxes) {
  if (GST_CLOCK_TIME_IS_VALID(time)) {
    if (GST_CLOCK_TIME_IS_VALID(time_) && time < time_) clear();
    time_ = time;
  }
  skipped_ = looks_.take(skipped, boxes);
  std::erase_if(boxes_, [&](const FrameBox& box) { return !skipped_.has(box.model); });
  find_missing(boxes);
  for (const FrameBox& box : boxes)
    if (!skipped_.has(box.model)) boxes_.push_back(owned(box));
}

void LostBoxes::start(GstClockTime time, GstClockTime keep, const SkippedModels& skipped) {
  now_ = time;
  skipped_ = skipped;
  if (!GST_CLOCK_TIME_IS_VALID(time) || keep == 0) return tracks_.clear();
  std::erase_if(tracks_, [&](const auto& each) {
    const auto& [key, track] = each;
    const bool expired = track.listed + keep < time && !skipped.has(key.model);
    return track.time > time || expired;
  });
}

Obscuring LostBoxes::note(const FrameBox& box, Obscuring listed) {
  const auto object = key_of(box);
  if (!object || !GST_CLOCK_TIME_IS_VALID(now_) || !is_finite(box.box)) return listed;
  auto found = tracks_.find(*object);
  if (found == tracks_.end()) {
    if (listed == Obscuring::kNone || tracks_.size() >= kMaxBoxes) return listed;
    found = tracks_.emplace(*object, Track{.time = now_}).first;
  }
  Track& track = found->second;
  if (listed != Obscuring::kNone) {
    track.last.how = listed;
    track.listed = now_;
  }
  if (track.time < now_ && !box.held) {  // a held box is where it was
    const auto passed = static_cast<double>(now_ - track.time);
    const double weight = std::exchange(track.moving, true) ? kNewest : 1;
    const double x = (middle_x(box.box) - middle_x(track.last.box)) / passed;
    const double y = (middle_y(box.box) - middle_y(track.last.box)) / passed;
    track.speed_x += (x - track.speed_x) * weight;
    track.speed_y += (y - track.speed_y) * weight;
  }
  track.last.box = box.box;
  track.last.angle = box.angle;
  track.time = now_;
  return track.last.how;
}

bool LostBoxes::has(const FrameBox& box) const {
  const auto object = key_of(box);
  return object && tracks_.contains(*object);
}

void LostBoxes::add_lost(std::vector<ObscuredBox>& out) {
  for (auto& [key, track] : tracks_) {
    if (track.time == now_) continue;
    if (skipped_.has(key.model)) track.listed = now_;
    const auto passed = static_cast<double>(now_ - track.time);
    out.push_back(track.last);
    ObscuredBox ahead = track.last;
    ahead.box = moved(ahead.box, track.speed_x * passed, track.speed_y * passed);
    out.push_back(ahead);
  }
}

namespace {

std::string_view text_of(GQuark name) {
  const gchar* text = g_quark_to_string(name);
  return text != nullptr ? text : std::string_view();
}

bool is_class(std::string_view entry, const FrameBox& box) {
  if (entry == "*" || (box.label != 0 && entry == text_of(box.label))) return true;
  return box.class_id && entry == std::to_string(*box.class_id);
}

/// True for the class, or for MODEL/CLASS. A name may contain a slash itself.
bool is_named(std::string_view entry, const FrameBox& box) {
  if (is_class(entry, box)) return true;
  const std::string_view model = text_of(box.model);
  return !model.empty() && entry.starts_with(model) &&
         entry.substr(model.size()).starts_with('/') &&
         is_class(entry.substr(model.size() + 1), box);
}

}  // namespace

bool ClassList::set(const std::string& text) {
  if (text == text_) return false;
  text_ = text;
  entries_.clear();
  for (const std::string_view entry : split(text, ','))
    if (!entry.empty()) entries_.push_back({std::string(entry)});
  return true;
}

bool ClassList::has(const FrameBox& box) {
  bool found = false;
  for (Entry& entry : entries_) {
    if (!is_named(entry.text, box)) continue;
    entry.used = true;
    found = true;
  }
  return found;
}

std::vector<std::string> ClassList::unused() const {
  std::vector<std::string> out;
  for (const Entry& entry : entries_)
    if (!entry.used) out.push_back(entry.text);
  return out;
}

}  // namespace keepbox
