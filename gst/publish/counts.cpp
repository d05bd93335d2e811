// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts boxes by topic.
#include "gst/publish/counts.h"

#include "gst/sink/text.h"

namespace keepbox {

TopicValues topic_values(const FrameBox& box, const std::string& source) {
  TopicValues out{.source = source, .label = name_of(box.label), .model = name_of(box.model)};
  if (out.label.empty() && box.class_id) out.label = "class-" + std::to_string(*box.class_id);
  if (box.tracking_id) out.id = std::to_string(*box.tracking_id);
  return out;
}

void Counts::add(const std::string& topic, GQuark model, uint32_t more) {
  if (counts_.size() < kMaxTopics || counts_.contains(topic))
    counts_[topic].of_models[model] += more;
  else full_ = true;
}

void Counts::set(std::span<const FrameBox> boxes, const SkippedModels& skipped,
                 const TopicPattern& topics, const std::string& source) {
  for (auto& [topic, count] : counts_)
    std::erase_if(count.of_models, [&](const auto& each) { return !skipped.has(each.first); });
  // Frames without boxes have a number too.
  if (boxes.empty() && counts_.empty() && !skipped.any())
    add(topics.of({.source = source, .label = "all"}), 0, 0);
  for (const FrameBox& box : boxes) {
    if (skipped.has(box.model)) continue;  // held or predicted
    TopicValues values = topic_values(box, source);
    const std::string one = topics.of(values);
    values.label = "all";
    const std::string all = topics.of(values);
    add(one, box.model, 1);
    if (all != one) add(all, box.model, 1);
  }
}

void Counts::clear() {
  for (auto& [topic, count] : counts_) count.of_models.clear();
}

std::vector<std::pair<std::string, uint32_t>> Counts::take(bool changed) {
  std::vector<std::pair<std::string, uint32_t>> out;
  for (auto& [topic, count] : counts_) {
    uint32_t now = 0;
    for (const auto& [model, boxes] : count.of_models) now += boxes;
    if (changed && count.taken == now) continue;
    count.taken = now;
    out.emplace_back(topic, now);
  }
  return out;
}

}  // namespace keepbox
