// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory of a comparison: outputs between guard zones, and copies of tensors.
#pragma once

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
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

/// Memory between pages that cannot be read.
class Guarded {
 public:
  explicit Guarded(size_t bytes)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        bytes_((bytes + page_ - 1) / page_ * page_),
        memory_(mmap(nullptr, bytes_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED || mprotect(begin(), bytes_, PROT_READ | PROT_WRITE) != 0)
      std::abort();
  }
  Guarded(Guarded&& from) noexcept
      : page_(from.page_), bytes_(from.bytes_), memory_(std::exchange(from.memory_, MAP_FAILED)) {}
  Guarded& operator=(Guarded&&) = delete;
  ~Guarded() {
    if (memory_ == MAP_FAILED) return;
    ASAN_UNPOISON_MEMORY_REGION(begin(), bytes_);
    munmap(memory_, bytes_ + 2 * page_);
  }

  /// Copies data to the memory. AddressSanitizer reports accesses to the bytes before and after it.
  std::byte* place(const void* data, size_t bytes, size_t offset) {
    std::byte* const to = begin() + offset;
    if (bytes != 0) std::memcpy(to, data, bytes);
    ASAN_POISON_MEMORY_REGION(begin(), offset);
    ASAN_POISON_MEMORY_REGION(to + bytes, bytes_ - offset - bytes);
    return to;
  }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* begin() const { return static_cast<std::byte*>(memory_) + page_; }

  size_t page_, bytes_;
  void* memory_;
};

/// Copies of tensors, misaligned if the input requires it. In system memory, copies that are not
/// misaligned end at a page that cannot be read; in CUDA memory they are aligned like allocations.
struct Placed {
  std::vector<Guarded> blobs;
  std::vector<TensorView> views;

  Placed(const Input& input, MemorySpace memory) {
    for (const Tensor& tensor : input.tensors) {
      TensorView view = tensor.view();
      Guarded& blob = blobs.emplace_back(view.bytes + input.shift);
      const bool at_end = memory == MemorySpace::kSystem && input.shift == 0;
      view.data =
          blob.place(view.data, view.bytes, at_end ? blob.bytes() - view.bytes : input.shift);
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
