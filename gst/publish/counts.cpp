// SPDX-License-Identifier: LGPL-2.1-or-later
// Topics of a source, and its counts per class.
#include "gst/publish/counts.h"

#include <glib.h>

#include <algorithm>

#include "core/base/text.h"
#include "gst/sink/classes.h"

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

namespace {

constexpr size_t kLongestValue = 1024;   // bytes of a value
constexpr size_t kLongestTopic = 65535;  // its length has 16 bits

constexpr char kAny = '\1';  // in a pattern: a part of a level

/// True for control characters, and for those that are no characters.
bool is_forbidden(gunichar c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0xfdd0 && c < 0xfdf0) ||
         (c & 0xfffe) == 0xfffe;
}

/// Replaces characters of valid UTF-8 by underscores.
template <class Condition>
std::string without(std::string_view text, Condition condition) {
  std::string out;
  for (const char* at = text.data(); at < text.data() + text.size(); at = g_utf8_next_char(at)) {
    if (condition(g_utf8_get_char(at))) out += '_';
    else out.append(at, g_utf8_next_char(at));
  }
  return out;
}

bool matches(std::string_view pattern, std::string_view text) {
  const size_t any = pattern.find(kAny);
  if (any == pattern.npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, any))) return false;
  text.remove_prefix(any);
  pattern.remove_prefix(any + 1);
  for (size_t n = 1; n <= text.size() && text[n - 1] != '/'; ++n)
    if (matches(pattern, text.substr(n))) return true;
  return false;
}

std::string TopicValues::* value_of(std::string_view name) {
  if (name == "source") return &TopicValues::source;
  if (name == "class") return &TopicValues::label;
  if (name == "model") return &TopicValues::model;
  if (name == "name") return &TopicValues::name;
  return name == "id" ? &TopicValues::id : nullptr;
}

std::string as_level(std::string_view value) {
  g_autofree gchar* valid =
      g_utf8_make_valid(value.data(), static_cast<gssize>(std::min(value.size(), kLongestValue)));
  const std::string out = without(
      valid, [](gunichar c) { return c == '/' || c == '+' || c == '#' || is_forbidden(c); });
  return out.empty() ? "_" : out;
}

/// Fails for a topic that is too long whatever its values are.
Status check_length(const std::string& text, const std::string& property) {
  if (text.size() <= kLongestTopic) return {};
  return reject(ErrorKind::kInvalid,
                property + "=" + in_quotes(text) + " has " + std::to_string(text.size()) +
                    " bytes, and MQTT allows " + std::to_string(kLongestTopic),
                "set " + property + "= to a shorter topic");
}

}  // namespace

Result<TopicPattern> TopicPattern::parse(const std::string& text, const char* property) {
  const auto wrong = [&] {
    return reject(ErrorKind::kInvalid,
                  std::string(property) + "=" + text +
                      " is not a topic: it may have {source}, "
                      "{class}, {model}, {id} and {name}, but not + and #",
                  "set " + std::string(property) + "= to one such as keepbox/{source}/boxes");
  };
  if (g_utf8_validate(text.data(), static_cast<gssize>(text.size()), nullptr) == FALSE ||
      text.find_first_of("+#") != text.npos || without(text, is_forbidden) != text)
    return wrong();
  KB_TRY(check_length(text, property));
  TopicPattern out;
  for (std::string_view rest = text; !rest.empty();) {
    Part part;
    const size_t open = std::min(rest.find('{'), rest.size());
    part.text = rest.substr(0, open);
    rest.remove_prefix(open);
    if (!rest.empty()) {
      const size_t end = rest.find('}');
      if (end == rest.npos) return wrong();
      part.value = value_of(rest.substr(1, end - 1));
      if (part.value == nullptr) return wrong();
      rest.remove_prefix(end + 1);
    }
    out.parts_.push_back(std::move(part));
  }
  return out;
}

std::string TopicPattern::of(const TopicValues& values) const {
  std::string out;
  for (const Part& part : parts_) {
    out += part.text;
    if (part.value != nullptr) out += as_level(values.*part.value);
  }
  return out;
}

std::string TopicPattern::with_wildcards(const std::string& source) const {
  std::string out;
  for (const Part& part : parts_) {
    out += part.text;
    if (part.value == &TopicValues::source) out += as_level(source);
    else if (part.value != nullptr) out += kAny;
  }
  return out;
}

std::string TopicPattern::filter(const std::string& source) const {
  const std::string pattern = with_wildcards(source);
  std::string out;
  for (size_t start = 0; start <= pattern.size();) {
    const size_t end = std::min(pattern.find('/', start), pattern.size());
    const std::string level = pattern.substr(start, end - start);
    if (start > 0) out += '/';
    out += level.contains(kAny) ? "+" : level;
    start = end + 1;
  }
  return out;
}

bool TopicPattern::makes(std::string_view topic, const std::string& source) const {
  return matches(with_wildcards(source), topic);
}

}  // namespace keepbox
