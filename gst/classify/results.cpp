// SPDX-License-Identifier: LGPL-2.1-or-later
// Results of a classifier: attached to objects, and kept for frames without a run.
#include "gst/classify/results.h"

#include <gst/analytics/analytics.h>

#include <algorithm>
#include <utility>

#include "gst/metas/relationmeta.h"

namespace keepbox {
namespace {

/// Classes by attribute and od_id.
using ClassesOfObjects = std::map<std::pair<GQuark, guint>, NamedClasses>;

void add_classes(GstAnalyticsRelationMeta* meta, guint od_id, NamedClasses& classes) {
  if (classes.names.empty()) return;
  GstAnalyticsClsMtd cls;
  gst_analytics_relation_meta_add_cls_mtd(meta, classes.names.size(), classes.levels.data(),
                                          classes.names.data(), &cls);
  if (od_id == kWholeFrame) return;
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_CONTAIN, od_id, cls.id);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, cls.id, od_id);
}

/// Writes GStreamer's classifications: all classes of a new result, or the class of a kept one.
void add_classifications(GstAnalyticsRelationMeta* meta, const KeptResults::OfFrame& all,
                         ClassesOfObjects& classes) {
  for (const auto& [attribute, labels] : all)
    for (const ObjectLabel& label : labels) {
      if (label.name == 0) continue;
      NamedClasses& own = classes[{attribute, label.od_id}];
      const bool is_new =
          !own.names.empty() && own.names[0] == label.name && own.levels[0] == label.level;
      if (!is_new) own = {{label.name}, {label.level}};
      add_classes(meta, label.od_id, own);
    }
}

bool has_result(const ObjectLabel& label) { return label.name != 0 || !label.text.empty(); }

guint64 count_of(const KeptResults::OfFrame& results) {
  guint64 out = 0;
  for (const auto& [attribute, labels] : results) out += labels.size();
  return out;
}

}  // namespace

/// Results about the objects of a frame, by attribute.
struct ObjectResultWriter::OfFrame {
  KeptResults::OfFrame labels;
  ClassesOfObjects classes;
};

/// Moves the results of images to their objects.
ObjectResultWriter::OfFrame ObjectResultWriter::by_object(std::vector<TensorResults>& tensors,
                                                          std::span<const PictureRecord> pictures) {
  OfFrame out;
  for (TensorResults& tensor : tensors) {
    const GQuark attribute = tensor.about.attribute;
    models_[attribute] = tensor.about.model;
    std::vector<ObjectLabel>& labels = out.labels[attribute];
    for (const PictureRecord& picture : pictures) {
      if (picture.image >= tensor.labels.size()) continue;
      ObjectLabel& label = tensor.labels[picture.image];
      if (!has_result(label)) continue;
      label.od_id = picture.od_id;
      labels.push_back(std::move(label));
      if (!tensor.classes.empty())
        out.classes[{attribute, picture.od_id}] = std::move(tensor.classes[picture.image]);
    }
  }
  return out;
}

void ObjectResultWriter::attach(GstBuffer* buffer, std::vector<TensorResults>& tensors,
                                std::span<const PictureRecord> pictures, KeepResults keep,
                                Size frame, ClassifyCounts& counts) {
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (meta == nullptr) return;
  add_wire_meta(buffer);
  OfFrame results = by_object(tensors, pictures);
  counts.results = count_of(results.labels);
  std::vector<FrameBox> boxes;
  if (keep != KeepResults::kNone) read_boxes(buffer, boxes, nullptr, frame);
  kept_.complete(boxes, keep, results.labels);
  counts.kept = count_of(results.labels) - counts.results;
  add_classifications(meta, results.labels, results.classes);
  for (const auto& [attribute, labels] : results.labels)
    add_labels(meta, {models_[attribute], attribute}, labels);
}

void ObjectResultWriter::rename(std::span<const RenamedSubject> subjects) {
  std::map<GQuark, GQuark> attributes;
  for (const auto& [from, to] : subjects) {
    attributes.emplace(from.attribute, to.attribute);
    models_[to.attribute] = to.model;
  }
  kept_.rename(attributes);
}

void ObjectResultWriter::forget() {
  kept_.forget();
  models_.clear();
}

void attach_to_frame(GstBuffer* buffer, std::vector<TensorResults>& tensors,
                     ClassifyCounts& counts) {
  GstAnalyticsRelationMeta* meta = relation_meta_for(buffer, 2 * tensors.size(), 0);
  for (TensorResults& tensor : tensors) {
    const auto found = std::ranges::count_if(tensor.labels, has_result);
    if (found == 0) continue;
    counts.results += static_cast<size_t>(found);
    // the tile with the best result, those without one last
    const auto best = std::ranges::max_element(tensor.labels, {}, [](const ObjectLabel& label) {
      return std::pair(has_result(label), label.level);
    });
    const auto image = static_cast<size_t>(best - tensor.labels.begin());
    if (image < tensor.classes.size()) add_classes(meta, kWholeFrame, tensor.classes[image]);
    best->od_id = kWholeFrame;
    add_labels(meta, tensor.about, {&*best, 1});
  }
}

namespace {

constexpr guint64 kForgetAfterFrames = 1000;  // frames without the object

ObjectLabel* find_label(std::vector<ObjectLabel>& labels, guint od_id) {
  const auto found = std::ranges::lower_bound(labels, od_id, {}, &ObjectLabel::od_id);
  return found != labels.end() && found->od_id == od_id ? &*found : nullptr;
}

}  // namespace

void KeptResults::complete(std::span<const FrameBox> boxes, KeepResults keep, OfFrame& results) {
  ++frame_;
  prune();
  if (keep == KeepResults::kNone) return;
  OfFrame added;
  for (const FrameBox& box : boxes) {
    const auto object = key_of(box);
    if (!object) continue;
    Track& track = tracks_[*object];
    track.seen = frame_;
    for (auto& [attribute, labels] : results) {
      const ObjectLabel* found = find_label(labels, box.od_id);
      if (found == nullptr) continue;
      ObjectLabel& kept = track.labels[attribute];
      if (keep == KeepResults::kLast || found->level >= kept.level) kept = *found;
    }
    for (auto& [attribute, kept] : track.labels) {
      kept.od_id = box.od_id;
      if (ObjectLabel* found = find_label(results[attribute], box.od_id)) *found = kept;
      else added[attribute].push_back(kept);
    }
  }
  for (const auto& [attribute, labels] : added) {
    std::vector<ObjectLabel>& all = results[attribute];
    all.insert(all.end(), labels.begin(), labels.end());
    std::ranges::sort(all, {}, &ObjectLabel::od_id);
  }
}

void KeptResults::rename(const std::map<GQuark, GQuark>& attributes) {
  for (auto& [object, track] : tracks_) {
    std::map<GQuark, ObjectLabel> renamed;
    for (auto& [attribute, label] : track.labels) {
      const auto to = attributes.find(attribute);
      renamed.emplace(to != attributes.end() ? to->second : attribute, std::move(label));
    }
    track.labels = std::move(renamed);
  }
}

/// Drops objects that have not been seen for long, now and then.
void KeptResults::prune() {
  if (frame_ % kForgetAfterFrames != 0) return;
  std::erase_if(tracks_,
                [&](const auto& track) { return frame_ - track.second.seen > kForgetAfterFrames; });
}

}  // namespace keepbox
