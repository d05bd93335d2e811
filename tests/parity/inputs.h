// SPDX-License-Identifier: LGPL-2.1-or-later
// Random frames and inputs, and input makers run on them.
#pragma once

#include <array>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/run/backend.h"
#include "tests/parity/families.h"
#include "tests/parity/harness.h"

namespace keepbox::test {

/// Location of a format's components.
struct FrameLayout {
  const char* name;
  std::array<FrameComponent, 3> components;
  bool yuv;
};

std::span<const FrameLayout> layouts();

/// Memory whose end is followed by an inaccessible page, because sanitizers do not check vector
/// gathers.
class FencedBytes {
 public:
  FencedBytes() = default;
  explicit FencedBytes(size_t bytes);
  std::span<uint8_t> bytes() const { return bytes_; }

 private:
  struct Unmap {
    size_t bytes;
    void operator()(uint8_t* pages) const;
  };
  std::unique_ptr<uint8_t, Unmap> pages_;
  std::span<uint8_t> bytes_;
};

/// A frame and its conversion.
struct InputCase {
  InputPlan plan;
  CropPlan crops;                     // of the same frames and inputs
  Crop crop;                          // random, in part outside of the frame
  std::array<FencedBytes, 3> planes;  // of any alignment
  std::array<size_t, 3> stride{};

  FramePlanes frame() const;
  std::string to_string() const;
};

InputCase input_case(const FrameLayout& layout, unsigned seed);

inline constexpr size_t kGuard = 64;  // bytes on both sides of an output, a multiple of 16

/// The bytes of an input, or an error text.
using Made = std::expected<std::vector<uint8_t>, std::string>;

/// Makes an input of a frame in a maker's memory. @param stream see InputMaker::make().
using MakeInput = std::function<Status(const FramePlanes& frame, void* input, void* stream)>;

/// Return what makes the input of the whole frame, or of the crop. Errors as a text.
std::expected<MakeInput, std::string> whole_maker(const Backend& backend, const InputCase& each);
std::expected<MakeInput, std::string> crop_maker(const Backend& backend, const InputCase& each);
using MakerOf = std::expected<MakeInput, std::string> (*)(const Backend&, const InputCase&);

/// Runs a maker twice on poisoned memory between guard zones.
Made make_on_host(const Backend& backend, const InputCase& each, MakerOf maker_of = whole_maker);

/// Runs a maker in CUDA memory, on copies of the frame's bytes.
Made make_on_device(const Backend& backend, const InputCase& each, MakerOf maker_of = whole_maker);

std::optional<std::string> input_difference(const Made& got, const Made& want, DataType type);

}  // namespace keepbox::test
