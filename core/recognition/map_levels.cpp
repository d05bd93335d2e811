// SPDX-License-Identifier: LGPL-2.1-or-later
// Fits tensors to the rules of a family, level by level.
#include "core/recognition/map_levels.h"

#include <algorithm>
#include <functional>

#include "core/recognition/channels.h"

namespace keepbox {
namespace {

bool accepts(const DetectorSpec& spec, const TensorRule& rule, const Request& request,
             size_t channels) {
  if (rule.role == Role::kAll) return channels >= min_channels(spec) && channels < kMaxClasses * 2;
  const size_t exact = channels_of(spec, rule, request);
  return exact == 0 ? channels >= 1 && channels <= kMaxClasses : channels == exact;
}

class LevelFitter {
 public:
  LevelFitter(const DetectorSpec& spec, std::span<const TensorView> tensors, const Request& request,
              Order order)
      : spec_(spec), tensors_(tensors), request_(request), order_(order) {}

  std::optional<std::vector<MapLevel>> fit(size_t levels) {
    used_.assign(tensors_.size(), false);
    std::vector<MapLevel> out;
    for (const size_t anchors : counts(levels)) {
      auto level = at(anchors, levels, out.size());
      if (level) out.push_back(*level);
    }
    return out.size() == levels ? std::optional(std::move(out)) : std::nullopt;
  }

 private:
  MapViews views(size_t tensor, size_t slots) const {
    return views_of(tensors_[tensor], static_cast<int>(tensor), slots, order_);
  }

  size_t slots(size_t levels, size_t level) const {
    return levels == 1 && spec_.level_count() != 1 ? 1 : spec_.anchors_of(level);
  }

  const TensorRule& base() const {
    const auto is_base = [](const TensorRule& rule) {
      return rule.role == Role::kAll || rule.role == Role::kBoxes;
    };
    return *std::ranges::find_if(spec_.rules(), is_base);
  }

  /// True if the tensor may belong to the rule; ids and names decide if they are known.
  bool allowed(size_t index, size_t rule, size_t levels, size_t level) const {
    if (!request_.tensor_ids.empty()) return index / levels == rule;
    const auto stride = levels == 1 && spec_.level_count() != 1 ? 0 : spec_.strides[level];
    const auto named = [&](const TensorRule& each, const TensorView& view) {
      return each.has(view.id, stride) || each.has_plain(view.id);
    };
    const TensorView& tensor = tensors_[index];
    if (tensor.id.empty()) return true;
    const auto names = [&](const TensorRule& each) { return named(each, tensor); };
    if (names(spec_.tensors[rule])) return true;
    const auto is_mine = [&](const TensorView& view) { return named(spec_.tensors[rule], view); };
    return std::ranges::none_of(tensors_, is_mine) && std::ranges::none_of(spec_.rules(), names);
  }

  /// Returns the possible numbers of anchors of the base tensors, in descending order.
  std::vector<size_t> counts(size_t levels) const {
    std::vector<size_t> out;
    for (size_t i = 0; i < tensors_.size(); ++i)
      for (size_t level = 0; level < levels; ++level)
        for (const MapView& view : views(i, slots(levels, level)))
          if (accepts(spec_, base(), request_, view.channels) && is_real(tensors_[i]))
            out.push_back(view.anchors);
    std::ranges::sort(out, std::greater());
    out.erase(std::ranges::unique(out).begin(), out.end());
    return out;
  }

  /// Returns the first unused tensor for a rule with that many anchors.
  MapView find(size_t rule, size_t anchors, size_t levels, size_t level) const {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (used_[i] || !is_real(tensors_[i]) || !allowed(i, rule, levels, level)) continue;
      for (const MapView& view : views(i, slots(levels, level)))
        if (view.anchors == anchors && accepts(spec_, spec_.tensors[rule], request_, view.channels))
          return view;
    }
    return {};
  }

  /// Returns the tensors of all rules with that many anchors: rules with a fixed number of channels
  /// first, because others take any.
  std::optional<MapLevel> at(size_t anchors, size_t levels, size_t level) {
    const std::vector<bool> before = used_;
    MapLevel out;
    if (level >= levels) return std::nullopt;
    for (const bool exact : {true, false}) {
      for (size_t rule = 0; rule < spec_.tensor_count; ++rule) {
        const TensorRule& each = spec_.tensors[rule];
        if ((each.role == Role::kAll || channels_of(spec_, each, request_) != 0) != exact) continue;
        out[rule] = find(rule, anchors, levels, level);
        if (out[rule].tensor >= 0) used_[static_cast<size_t>(out[rule].tensor)] = true;
        if (out[rule].tensor >= 0 || each.optional) continue;
        used_ = before;
        return std::nullopt;
      }
    }
    return out;
  }

  const DetectorSpec& spec_;
  std::span<const TensorView> tensors_;
  const Request& request_;
  Order order_;
  std::vector<bool> used_;
};

}  // namespace

std::optional<std::vector<MapLevel>> find_levels(const DetectorSpec& spec,
                                                 std::span<const TensorView> tensors,
                                                 const Request& request, size_t count,
                                                 Order order) {
  return LevelFitter(spec, tensors, request, order).fit(count);
}

}  // namespace keepbox
