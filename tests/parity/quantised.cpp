// SPDX-License-Identifier: LGPL-2.1-or-later
// Quantises inputs.
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/parity/values.h"

namespace keepbox::test {
namespace {

template <class T>
Tensor quantised(const Tensor& from, DataType type, float scale, float zero_point) {
  Tensor out{.shape = from.shape,
             .id = from.id,
             .type = type,
             .raw = std::vector<std::byte>(from.values.size() * sizeof(T)),
             .scale = scale,
             .zero_point = zero_point};
  for (size_t i = 0; i < from.values.size(); ++i) {
    const float stored = std::isnan(from.values[i]) ? 0 : from.values[i] / scale + zero_point;
    const T value = static_cast<T>(std::clamp<float>(
        std::round(stored), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    std::memcpy(out.raw.data() + i * sizeof value, &value, sizeof value);
  }
  return out;
}

}  // namespace

Input in_integers(Random& random, Input input) {
  for (Tensor& tensor : input.tensors) {
    if (tensor.values.empty()) continue;
    float low = 0, high = 0;
    for (const float value : tensor.values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    const float range = std::max(high - low, 1e-3f);
    switch (pick(random, 0, 3)) {
      case 0:
        tensor =
            quantised<int8_t>(tensor, DataType::kInt8, range / 255, -128 - low / (range / 255));
        break;
      case 1:
        tensor = quantised<uint8_t>(tensor, DataType::kUInt8, range / 255,
                                    std::round(-low / (range / 255)));
        break;
      case 2:
        tensor = quantised<int16_t>(tensor, DataType::kInt16, range / 60000,
                                    -30000 - low / (range / 60000));
        break;
      default: break;
    }
  }
  return input;
}

}  // namespace keepbox::test
