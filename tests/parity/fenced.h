// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory of a comparison: outputs between guard zones, and copies of tensors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/run/workspace.h"
#include "tests/parity/harness.h"

namespace keepbox::test {

inline constexpr size_t kMargin = 16;  // whole cache lines for any type

/// An array with poisoned guard zones at both ends.
template <class T>
class Fenced {
 public:
  explicit Fenced(size_t count)
      : count_(count),
        bytes_((count + 2 * kMargin) * sizeof(T)),
        lines_(bytes_ / sizeof(Line) + 1) {
    std::memset(lines_.data(), kPoison, bytes_);
  }

  std::span<T> span() { return {reinterpret_cast<T*>(lines_.data()) + kMargin, count_}; }

  bool intact() const {
    const std::span all(reinterpret_cast<const uint8_t*>(lines_.data()), bytes_);
    const auto poisoned = [](uint8_t byte) { return byte == kPoison; };
    return std::ranges::all_of(all.first(kMargin * sizeof(T)), poisoned) &&
           std::ranges::all_of(all.last(kMargin * sizeof(T)), poisoned);
  }

 private:
  struct alignas(Carver::kAlignment) Line {
    uint8_t bytes[Carver::kAlignment];
  };
  size_t count_, bytes_;
  std::vector<Line> lines_;
};

/// Copies of tensors, misaligned if the input requires it.
struct Placed {
  std::vector<std::vector<std::byte>> blobs;
  std::vector<TensorView> views;

  explicit Placed(const Input& input) {
    for (const Tensor& tensor : input.tensors) {
      TensorView view = tensor.view();
      std::vector<std::byte>& blob = blobs.emplace_back(view.bytes + input.shift + 1);
      if (view.bytes != 0) std::memcpy(blob.data() + input.shift, view.data, view.bytes);
      view.data = blob.data() + input.shift;
      views.push_back(view);
    }
  }
};

struct Image {
  const Plan& plan;
  std::span<const TensorView> tensors;
  uint32_t index;
};

}  // namespace keepbox::test
