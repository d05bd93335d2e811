// SPDX-License-Identifier: LGPL-2.1-or-later
// Input maker of the vector backend: schedules source rows and fills the padding.
#include <algorithm>
#include <optional>

#include "core/base/tensor.h"
#include "kernels/simd/backend.h"
#include "kernels/simd/input_rows.h"

namespace keepbox::simd {
namespace {

constexpr size_t kWord = 4;

bool same_samples(const FrameComponent& a, const FrameComponent& b) {
  return a.plane == b.plane && a.step == b.step && a.sub_x == b.sub_x && a.sub_y == b.sub_y &&
         a.shift_x == b.shift_x && a.shift_y == b.shift_y &&
         std::max(a.offset, b.offset) - std::min(a.offset, b.offset) < int{kWord};
}

/// Derives the remaining fields of a strand from its components.
void settle(SampleGroup& group, const InputPlan& plan) {
  const FrameComponent& any = plan.frame.components[group.component[0]];
  group.offset = 255;
  for (size_t i = 0; i < group.count; ++i)
    group.offset = std::min(group.offset, plan.frame.components[group.component[i]].offset);
  size_t last = 0;
  for (size_t i = 0; i < group.count; ++i) {
    group.at[i] =
        static_cast<uint8_t>(plan.frame.components[group.component[i]].offset - group.offset);
    last = std::max<size_t>(last, group.at[i]);
  }
  group.plane = any.plane;
  group.step = any.step;
  group.columns = plan.columns[group.component[0]];
  group.rows = plan.rows[group.component[0]];
  const uint32_t samples = any.samples_per_row(plan.frame.size.width);
  group.bytes = size_t{samples - 1} * any.step + last + 1;
  group.exact = group.plain = true;
  for (const Tap& tap : group.columns) {
    group.first.push_back(tap.first * any.step);
    group.next.push_back(tap.next * any.step);
    group.weight.push_back(tap.weight);
    const auto x = static_cast<int32_t>(group.weight.size()) - 1;
    group.exact &= tap.weight == 0;
    group.plain &= tap.weight == 0 && tap.first == x;
    if (group.next.back() + kWord <= group.bytes) group.word_columns = group.weight.size();
  }
  group.one_word = last + any.step < kWord;
  // Interleaved samples take at most four bytes.
  group.plain &= any.step <= kWord && last < any.step;
}

/// Returns the component of each channel if no colour conversion is needed, or nothing.
std::optional<std::array<uint8_t, 3>> identity_source(const PixelRules& rules) {
  std::array<uint8_t, 3> source{};
  for (size_t channel = 0; channel < 3; ++channel) {
    size_t ones = 0, zeros = 0;
    for (uint8_t i = 0; i < 4; ++i) {
      if (rules.matrix[channel][i] == 0) ++zeros;
      if (i == 3 || rules.matrix[channel][i] != 1) continue;
      ++ones;
      source[channel] = i;
    }
    if (ones != 1 || zeros != 3) return std::nullopt;
  }
  return source;
}

class Maker final : public InputMaker {
 public:
  explicit Maker(const InputPlan& plan);
  Status make(const FramePlanes& frame, void* input, void* stream) override;

 private:
  /// Resampled rows, by the last bit of their index: the two rows of a tap are adjacent.
  struct Cache {
    std::vector<float> floats;
    RowBuffers lines[2];
    int32_t row[2];
  };

  const float* const* fetch(size_t group, const FramePlanes& frame, int32_t row);
  void make_row(const FramePlanes& frame, uint32_t y, std::byte* to);

  const InputPlan plan_;
  std::vector<SampleGroup> groups_;
  std::vector<Cache> caches_;
  Mix mix_;
};

Maker::Maker(const InputPlan& plan) : plan_(plan) {
  for (uint8_t i = 0; i < 3; ++i) {
    const FrameComponent& each = plan.frame.components[i];
    const auto fits = std::ranges::find_if(groups_, [&](const SampleGroup& group) {
      return std::all_of(group.component, group.component + group.count, [&](uint8_t other) {
        return same_samples(plan.frame.components[other], each);
      });
    });
    SampleGroup& group = fits != groups_.end() ? *fits : groups_.emplace_back();
    group.component[group.count++] = i;
  }
  mix_.width = plan.place.width;
  const auto source = identity_source(plan.rules);
  mix_.is_identity = source.has_value();
  if (source) mix_.source = *source;
  caches_.resize(groups_.size());
  for (size_t s = 0; s < groups_.size(); ++s) {
    settle(groups_[s], plan);
    caches_[s].floats.resize(size_t{6} * mix_.width);
    for (size_t i = 0; i < 6; ++i)
      caches_[s].lines[i / 3][i % 3] = caches_[s].floats.data() + i * mix_.width;
  }
}

const float* const* Maker::fetch(size_t group, const FramePlanes& frame, int32_t row) {
  const SampleGroup& from = groups_[group];
  Cache& cache = caches_[group];
  const int slot = row & 1;
  if (cache.row[slot] != row) {
    const uint8_t* const data =
        frame.data[from.plane] + from.offset + ptrdiff_t{row} * frame.stride[from.plane];
    resample_row(from, data, cache.lines[slot]);
    cache.row[slot] = row;
  }
  return cache.lines[slot].data();
}

void Maker::make_row(const FramePlanes& frame, uint32_t y, std::byte* to) {
  for (size_t s = 0; s < groups_.size(); ++s) {
    const SampleGroup& group = groups_[s];
    const Tap& tap = group.rows[y];
    const float* const* top = fetch(s, frame, tap.first);
    const float* const* bottom = tap.weight == 0 ? top : fetch(s, frame, tap.next);
    for (size_t i = 0; i < group.count; ++i) {
      mix_.top[group.component[i]] = top[i];
      mix_.bottom[group.component[i]] = bottom[i];
      mix_.weight[group.component[i]] = tap.weight;
    }
  }
  mix_row(plan_.rules, mix_, to);
}

Status Maker::make(const FramePlanes& frame, void* input, void*) {
  const auto [left, top, width, height] = plan_.place;
  const Size size = plan_.input.size;
  const size_t pixel = plan_.rules.pixel_step * size_of(plan_.rules.type);
  const auto at = [&](uint32_t x, uint32_t y) {
    return static_cast<std::byte*>(input) + (size_t{y} * size.width + x) * pixel;
  };
  for (Cache& cache : caches_) std::ranges::fill(cache.row, -1);
  fill_pixels(plan_.rules, size_t{top} * size.width, at(0, 0));
  for (uint32_t y = 0; y < height; ++y) {
    fill_pixels(plan_.rules, left, at(0, top + y));
    make_row(frame, y, at(left, top + y));
    fill_pixels(plan_.rules, size.width - left - width, at(left + width, top + y));
  }
  fill_pixels(plan_.rules, size_t{size.height - top - height} * size.width, at(0, top + height));
  return {};
}

}  // namespace

Result<std::unique_ptr<InputMaker>> input_maker(const InputPlan& plan) {
  return std::make_unique<Maker>(plan);
}

}  // namespace keepbox::simd
