// SPDX-License-Identifier: LGPL-2.1-or-later
// Compares the shapes of read and unread tensors.
#include "core/recognition/unread.h"

#include <algorithm>
#include <set>

#include "core/recognition/grid.h"

namespace keepbox {
namespace {

/// Returns the tensors that are neither read nor ignored by the family.
std::vector<size_t> left_over(const Layout& layout, size_t count) {
  const std::vector<size_t> read = read_tensors(layout);
  std::vector<size_t> out;
  for (size_t i = 0; i < count; ++i)
    if (!std::ranges::contains(read, i) &&
        !std::ranges::contains(layout.ignored, static_cast<int>(i)))
      out.push_back(i);
  return out;
}

}  // namespace

std::vector<size_t> read_tensors(const Layout& layout) {
  std::set<size_t> used;
  for (const Segment& segment : layout.segments)
    for (const Field& field : segment.fields)
      if (field.present()) used.insert(static_cast<size_t>(field.tensor));
  return {used.begin(), used.end()};
}

bool belong_together(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  size_t shared = 1, others = 0;
  for (size_t i = 0; i < a.rank(); ++i) {
    if (a[i] == b[i]) shared *= std::min<size_t>(a[i], kMinGrid);
    else ++others;
  }
  return others <= 1 && shared >= kMinGrid;
}

std::vector<size_t> unread_parts(const Layout& layout, std::span<const TensorView> tensors) {
  const std::vector<size_t> read = read_tensors(layout);
  std::vector<size_t> out = left_over(layout, tensors.size());
  std::erase_if(out, [&](size_t i) {
    return std::ranges::none_of(read, [&](size_t other) {
      return belong_together(tensors[i].shape, tensors[other].shape);
    });
  });
  return out;
}

std::vector<size_t> misfits(const Layout& layout, std::span<const TensorView> tensors) {
  std::vector<size_t> out = left_over(layout, tensors.size());
  std::erase_if(out, [&](size_t i) {
    const std::string_view id = tensors[i].id;
    return std::ranges::none_of(layout.spec->rules(), [&](const TensorRule& rule) {
      const auto of_level = [&](uint32_t stride) { return rule.has(id, stride); };
      return rule.optional && (rule.has(id) || rule.has_plain(id) ||
                               std::ranges::any_of(layout.spec->strides, of_level));
    });
  });
  return out;
}

}  // namespace keepbox
