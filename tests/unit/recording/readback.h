// SPDX-License-Identifier: LGPL-2.1-or-later
// A tensor to record, and what becomes of recordings that are read.
#pragma once

#include <array>
#include <string>

#include "gst/recording/tensorreader.h"
#include "tests/tempdir.h"

namespace keepbox::test {

inline constexpr std::array<float, 4> kValues{1, 2, 3, 4};

/// What is said when a recording is opened and its first frame read; "" when it is good.
inline std::string said(const std::string& location, const RawForm& form = {}) {
  auto reader = TensorReader::open(location, form);
  if (!reader) return reader.error().message();
  const auto tensors = reader->read(0);
  return tensors ? "" : tensors.error().message();
}

}  // namespace keepbox::test
