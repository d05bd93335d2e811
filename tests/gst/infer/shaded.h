// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of one shade, and a model that outputs its input.
#pragma once

#include <cstring>

#include "tests/gst/infer/infer.h"

namespace keepbox::test {

inline const std::string kSmallFrame = raw("RGB", 64, 48);

class InferFrames : public Inference {
 protected:
  std::string identity(const std::string& more = "") {
    return infer(identity_model({1, 3, 48, 64}),
                 "input-mean=0 input-std=1 channel-order=rgb " + more);
  }
};

/// Makes a frame of one grey level, which the identity model returns.
inline GstBuffer* shaded(int shade) {
  const auto value = static_cast<uint8_t>(shade);
  return painted(kSmallFrame, [=](int, int) { return Pixel{value, value, value}; });
}

inline float shade_of(const Buffer& out) {
  const auto tensors = tensors_of(out.get());
  return tensors.empty() ? -1 : tensors[0].values.at(0);
}

}  // namespace keepbox::test
