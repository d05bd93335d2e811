// SPDX-License-Identifier: LGPL-2.1-or-later
// Sorts a frame's boxes by model, gives them to trackers, and attaches ids and boxes.
#include "gst/track/boxtracks.h"

#include <gst/analytics/analytics.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "core/formula/oriented.h"
#include "gst/base/queries.h"
#include "gst/metas/labels.h"
#include "gst/metas/pixelmap.h"
#include "gst/metas/relationmeta.h"

namespace keepbox {
namespace {

TrackSettings settings_of(const TrackProps& props, int64_t interval) {
  TrackSettings out{.method = static_cast<TrackMethod>(props.method), .params = params_of(props)};
  if (interval > 0) out.interval = interval;
  out.step = out.interval;
  out.by_time = props.nominal_rate > 0;
  if (out.by_time)
    out.step = std::max<int64_t>(1, static_cast<int64_t>(GST_SECOND / props.nominal_rate));
  return out;
}

/// Returns the number of a box's class; that of its name if another decoder wrote it.
uint64_t class_of(const FrameBox& box) {
  constexpr uint64_t kByName = uint64_t{1} << 32;
  return box.class_id ? *box.class_id : kByName | box.label;
}

Observation tracker_box_of(const FrameBox& box, bool per_class) {
  return {around({box.box, box.angle}), box.score, per_class ? class_of(box) : 0};
}

Status check_mtds(GstAnalyticsRelationMeta* meta, gsize more) {
  const gsize all = gst_analytics_relation_get_length(meta) + more;
  if (all <= kMaxMtds) return {};
  return reject(ErrorKind::kInvalid,
                "The boxes of the frame and their tracks are " + std::to_string(all) +
                    " metas: the maximum is " + std::to_string(kMaxMtds),
                "lower max-detections= of boxdecode or raise its score-threshold=");
}

TrackInfo info_of(const BoxTrack& track, int64_t seen, const StreamClock& clock) {
  return {.id = track.id,
          .first_seen = static_cast<GstClockTime>(clock.in_stream(track.since)),
          .last_seen = static_cast<GstClockTime>(clock.in_stream(seen))};
}

}  // namespace

void BoxTracks::set(const TrackProps& props, int64_t interval) {
  const bool other = props.method != props_.method || props.model_name != props_.model_name;
  props_ = props;
  settings_ = settings_of(props, interval);
  if (other) models_.clear();
  for (auto& [name, model] : models_) model.tracker.set(settings_);
}

void BoxTracks::end() {
  models_.clear();
  clock_ = {};
  looks_ = {};
}

void BoxTracks::restart() {
  end();
  ids_given_ = {};
  foreign_.clear();
}

BoxTracks::OfModel* BoxTracks::of_model(GQuark name) {
  const char* text = g_quark_to_string(name);
  if (!props_.model_name.empty() && props_.model_name != (text != nullptr ? text : ""))
    return nullptr;
  const auto found = std::ranges::find(models_, name, &std::pair<GQuark, OfModel>::first);
  if (found != models_.end()) return &found->second;
  if (models_.size() >= kMaxModels) return nullptr;
  // Before it gives the first id, too: ours would be those that it gives to other objects.
  if (is_tracked(element_, text != nullptr ? text : "")) foreign_.insert(name);
  return &models_.emplace_back(name, OfModel{Tracker(settings_, ids_given_)}).second;
}

void BoxTracks::sort_box(const FrameBox& box, std::vector<FrameBox> OfModel::* list) {
  OfModel* model = of_model(box.model);
  if (model == nullptr) return;
  if (box.tracking_id) foreign_.insert(box.model);
  (model->*list).push_back(box);
}

/// Reads the boxes of a frame. @return true if decoders, or an application, were there.
bool BoxTracks::read(GstBuffer* buffer, Size frame) {
  for (auto& [name, model] : models_)
    for (auto list : {&OfModel::boxes, &OfModel::weak, &OfModel::held}) (model.*list).clear();
  for (auto& [name, model] : models_) model.here.clear();
  const bool decoded = read_boxes(buffer, boxes_, nullptr, frame);
  for (const FrameBox& box : boxes_)
    sort_box(box, box.held || box.predicted ? &OfModel::held : &OfModel::boxes);
  for (const FrameBox& box : read_weak_boxes(buffer))
    if (!box.held) sort_box(box, &OfModel::weak);
  return decoded;
}

Status BoxTracks::follow(GstBuffer* buffer, int64_t time, Size frame) {
  counts_ = {.last_id = ids_given_.last};
  ids_.clear();
  new_.clear();
  has_unmoved_boxes_ = false;
  if (clock_.take(time, settings_.interval, settings_.params.lost_after) == TimeStep::kRestart)
    models_.clear();
  const int64_t now = clock_.now();
  const bool decoded = read(buffer, frame);
  const SkippedModels skipped = looks_.take(SkippedModels(buffer), boxes_);
  for (auto& [name, model] : models_) {
    if (foreign_.contains(name)) continue;
    const bool whole = decoded && !skipped.has(name);
    const bool found = !model.boxes.empty() || !model.weak.empty();
    // A frame without a box of the model counts if the model looked at it.
    if (found || (whole && model.held.empty()))
      follow(model, now, whole ? Look::kWhole : Look::kPart);
    else follow(model, now, Look::kNone);
    if (props_.predict && !whole) predict(model, now, frame);
    counts_.tracks += static_cast<guint>(model.tracker.size());
  }
  counts_.analysed |= decoded && models_.empty() && !skipped.any();
  counts_.last_id = ids_given_.last;
  return attach(buffer, frame);
}

Repetition BoxTracks::repetition_of(const FrameBox& box) const {
  Repetition out{std::nullopt, box.class_id, box.anchor};
  if (!box.parent) return out;
  const auto object = std::ranges::lower_bound(boxes_, *box.parent, {}, &FrameBox::od_id);
  if (object != boxes_.end() && object->od_id == *box.parent) std::get<0>(out) = key_of(*object);
  return out;
}

/// Returns the box that each held box repeats, or nullptr; each at most once. Boxes of the same
/// anchor of several tiles differ in their places, or else in their order.
std::vector<const FollowedBox*> BoxTracks::repeated_in(const OfModel& model) const {
  std::multimap<Repetition, const FollowedBox*> left;
  if (!model.held.empty())
    for (const FollowedBox& box : model.last) left.emplace(box.repetition(), &box);
  std::vector<const FollowedBox*> out(model.held.size());
  for (const bool anywhere : {false, true})
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i] != nullptr) continue;
      const FrameBox& held = model.held[i];
      const auto [first, end] = left.equal_range(repetition_of(held));
      const auto found = std::find_if(
          first, end, [&](const auto& each) { return anywhere || each.second->is_at(held.box); });
      if (found == end) continue;
      out[i] = found->second;
      left.erase(found);
    }
  return out;
}

/// Follows a model's objects to the frame, and gives ids to the boxes that have one.
void BoxTracks::follow(OfModel& model, int64_t time, Look look) {
  const std::vector<const FollowedBox*> repeated = repeated_in(model);
  std::vector<FollowedBox> seen = update(model, repeated, time, look);
  const std::set<uint64_t> fresh = model.here;
  for (size_t i = 0; i < repeated.size(); ++i) {
    const FrameBox& held = model.held[i];
    has_unmoved_boxes_ |= props_.predict && held.held && !held.parent;
    if (repeated[i] == nullptr || !model.here.insert(repeated[i]->track().number).second) continue;
    const BoxTrack& track = repeated[i]->track();
    if (track.id != 0) ids_.push_back({held.od_id, track, repeated[i]->seen()});
  }
  std::erase_if(model.last, [&](const FollowedBox& box) {
    const uint64_t number = box.track().number;
    if (model.here.contains(number)) return fresh.contains(number);
    return look == Look::kWhole || !model.tracker.has(number);
  });
  std::ranges::move(seen, std::back_inserter(model.last));
}

/// Updates the tracker with what the model found. Parts that are repeated were moved with their
/// objects, and show where their tracks are; other held boxes are where they were.
/// @return the boxes that were found and have a track.
std::vector<FollowedBox> BoxTracks::update(OfModel& model,
                                           std::span<const FollowedBox* const> repeated,
                                           int64_t time, Look look) {
  std::vector<Observation> sightings;
  for (const auto* list : {&model.boxes, &model.weak})
    for (const FrameBox& box : *list) sightings.push_back(tracker_box_of(box, props_.per_class));
  const size_t found = sightings.size();
  for (size_t i = 0; i < repeated.size(); ++i) {
    if (repeated[i] == nullptr || !model.held[i].parent) continue;
    sightings.push_back(tracker_box_of(model.held[i], props_.per_class));
    sightings.back().track = repeated[i]->track().number;
  }
  std::vector<FollowedBox> out;
  if (look == Look::kNone && sightings.empty()) return out;
  const auto tracks = model.tracker.update(sightings, time,
                                           look == Look::kWhole ? Misses::kCount : Misses::kIgnore);
  counts_.analysed |= look != Look::kNone;
  counts_.boxes += static_cast<guint>(found);
  for (size_t i = 0; i < found; ++i) {
    if (tracks[i].number == 0) continue;
    const bool weak = i >= model.boxes.size();
    const FrameBox& box = weak ? model.weak[i - model.boxes.size()] : model.boxes[i];
    model.here.insert(tracks[i].number);
    out.emplace_back(box, tracks[i], model.tracker.moved(tracks[i].number, time),
                     repetition_of(box), time);
    if (tracks[i].id == 0) continue;
    ++counts_.tracked;
    counts_.recovered += weak;
    if (!weak) ids_.push_back({box.od_id, tracks[i], time});
    else new_.push_back(out.back());
  }
  return out;
}

/// Predicts boxes that the frame lacks for as long as their tracks would not be lost. Tracks whose
/// lost-after is 0 end with misses of analysed frames, which do not occur here.
void BoxTracks::predict(const OfModel& model, int64_t time, Size frame) {
  if (std::ranges::any_of(model.held, [](const FrameBox& box) { return !box.parent; })) return;
  const int64_t after = settings_.params.lost_after;
  const auto longest = after > 0 ? after : static_cast<int64_t>(GST_SECOND);
  for (const FollowedBox& box : model.last) {
    const auto& [id, since, number] = box.track();
    if (id == 0 || model.here.contains(number)) continue;
    if (time - box.seen() > std::max(longest, settings_.interval)) continue;
    FollowedBox moved = box.moved(model.tracker.moved(number, time));
    const FrameBox there = moved.box();
    if (is_empty(clip(around({there.box, there.angle}), frame))) continue;
    new_.push_back(std::move(moved));
    ++counts_.predicted;
  }
}

Status BoxTracks::attach(GstBuffer* buffer, Size frame) {
  std::vector<FrameBox> boxes;
  for (const FollowedBox& box : new_) {
    boxes.push_back(box.box());
    if (boxes.back().angle == 0) boxes.back().box = clip(boxes.back().box, frame);
  }
  if (!boxes.empty()) KB_TRY(attach_boxes(buffer, boxes, {.frame = frame}));
  for (size_t i = 0; i < boxes.size(); ++i)
    ids_.push_back({boxes[i].od_id, new_[i].track(), new_[i].seen()});
  if (ids_.empty()) return {};
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  KB_TRY(check_mtds(meta, ids_.size()));
  for (const auto& [od_id, track, seen] : ids_)
    add_track(meta, od_id, info_of(track, seen, clock_));
  add_wire_meta(buffer);
  return {};
}

namespace {

double center(float low, float high) { return (double{low} + high) / 2; }

/// Returns the factor between two sides; 1 if one of them is empty.
double growth(float from, float to) { return from > 0 && to > 0 ? double{to} / from : 1; }

/// Returns the map that moves a box with centre x, y as the track's box moves from one to another.
PixelMap motion_of(const Box& box, const Box& from, const Box& to, bool grows) {
  const double w = grows ? growth(from.x2 - from.x1, to.x2 - to.x1) : 1;
  const double h = grows ? growth(from.y2 - from.y1, to.y2 - to.y1) : 1;
  const double x = center(box.x1, box.x2), y = center(box.y1, box.y2);
  const double dx = center(to.x1, to.x2) - center(from.x1, from.x2);
  const double dy = center(to.y1, to.y2) - center(from.y1, from.y2);
  return PixelMap::scale(w, h, x + dx - x * w, y + dy - y * h);
}

}  // namespace

FollowedBox::FollowedBox(const FrameBox& box, const BoxTrack& track, const Box& place,
                         Repetition repetition, int64_t seen)
    : box_(box),
      track_(track),
      place_(place),
      repetition_(std::move(repetition)),
      seen_(seen),
      keypoints_(box.keypoints.points.begin(), box.keypoints.points.end()),
      edges_(box.keypoints.edges.begin(), box.keypoints.edges.end()),
      values_(box.values.values.begin(), box.values.values.end()) {
  box_.mask = {};
  box_.labels = {};
  box_.parent.reset();  // an id on another frame
}

FrameBox FollowedBox::box() const {
  FrameBox out = box_;
  out.keypoints.points = keypoints_;
  out.keypoints.edges = edges_;
  out.values.values = values_;
  return out;
}

FollowedBox FollowedBox::moved(const Box& to) const {
  FollowedBox out = *this;
  const PixelMap map = motion_of(box_.box, place_, to, box_.angle == 0);
  out.box_.box = map(box_.box);
  out.box_.predicted = true;
  for (Keypoint& point : out.keypoints_) {
    const auto at = map.point(point.x, point.y);
    point.x = static_cast<float>(at.x);
    point.y = static_cast<float>(at.y);
  }
  return out;
}

}  // namespace keepbox
