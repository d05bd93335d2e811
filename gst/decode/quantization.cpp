// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses scales and zero points, and applies them to tensors.
#include "gst/decode/quantization.h"

#include <algorithm>
#include <format>
#include <utility>

#include "gst/base/words.h"

namespace keepbox {
namespace {

constexpr const char* kQuantizationHint =
    "set quantization= to a value such as boxes:0.5:128,scores:0.00390625, or 0.05:3 for all "
    "tensors";

/// Takes the text after the last colon, or the whole text.
std::string_view take_last(std::string_view& text) {
  const size_t colon = text.rfind(':');
  const std::string_view last = trimmed(colon == text.npos ? text : text.substr(colon + 1));
  text = colon == text.npos ? std::string_view{} : text.substr(0, colon);
  return last;
}

std::unexpected<Error> wrong_entry(std::string_view found, std::string_view why) {
  return reject(ErrorKind::kInvalid, std::format("quantization has \"{}\", {}", found, why),
                kQuantizationHint);
}

}  // namespace

Result<Quantization::Entry> Quantization::entry_from(std::string_view text) {
  Entry entry;
  std::string_view rest = text;
  if (!parse_finite(take_last(rest), entry.scale))
    return wrong_entry(text, "which is not ID:SCALE:ZERO-POINT (ID and ZERO-POINT are optional)");
  // If two numbers are last, they are scale and zero point.
  std::string_view before = rest;
  if (float scale = 0; parse_finite(take_last(before), scale)) {
    entry.zero_point = std::exchange(entry.scale, scale);
    rest = before;
  }
  if (!(entry.scale > 0)) return wrong_entry(text, "whose scale is not above 0");
  entry.id = trimmed(rest);
  return entry;
}

Result<Quantization> Quantization::from(const std::string& text) {
  Quantization out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(",;"), rest.size());
    const std::string_view part = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.empty()) continue;
    KB_ASSIGN(auto entry, entry_from(part));
    if (std::ranges::contains(out.entries_, entry.id, &Entry::id))
      return wrong_entry(text, "with two entries for a tensor");
    out.entries_.push_back(std::move(entry));
  }
  return out;
}

const Quantization::Entry* Quantization::find(const TensorView& tensor) const {
  const auto with_id = [&](std::string_view id) -> const Entry* {
    const auto found = std::ranges::find(entries_, id, &Entry::id);
    return found != entries_.end() ? &*found : nullptr;
  };
  const Entry* own = tensor.id.empty() ? nullptr : with_id(tensor.id);
  return own != nullptr || is_floating(tensor.type) ? own : with_id("");
}

std::optional<Error> Quantization::apply(FrameTensors& tensors) const {
  const auto listed = tensors.listed();
  for (size_t i = 0; i < listed.size(); ++i)
    if (const Entry* entry = find(listed[i]))
      tensors.set_quantization(i, entry->scale, entry->zero_point);
  std::string missing;
  for (const Entry& entry : entries_)
    if (!entry.id.empty() && !std::ranges::contains(listed, entry.id, &TensorView::id))
      missing += (missing.empty() ? "" : ", ") + entry.id;
  if (missing.empty()) return {};
  return problem(ErrorKind::kMismatch,
                 "quantization names " + missing + ", but the tensors are " + to_string(listed),
                 kQuantizationHint);
}

void quantize_as(const DetectorSpec& family, FrameTensors& tensors,
                 std::span<const std::string> tensor_ids) {
  const auto listed = tensors.listed();
  for (size_t i = 0; i < listed.size(); ++i) {
    if (is_real(listed[i])) continue;
    if (const TensorRule* rule = quantization_of(family, listed[i].id, tensor_ids))
      tensors.set_quantization(i, rule->scale, rule->zero_point);
  }
}

}  // namespace keepbox
