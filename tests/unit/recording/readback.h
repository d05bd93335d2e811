// SPDX-License-Identifier: LGPL-2.1-or-later
// A tensor to record, and the result of reading recordings.
#pragma once

#include <array>
#include <string>

#include "gst/recording/tensorreader.h"
#include "tests/tempdir.h"

namespace keepbox::test {

inline constexpr std::array<float, 4> kValues{1, 2, 3, 4};

/// Returns the error from opening a recording and reading its first frame, or "".
inline std::string read_error(const std::string& location, const RawForm& form = {}) {
  auto reader = TensorReader::open(location, form);
  if (!reader) return reader.error().message();
  const auto tensors = reader->read(0);
  return tensors ? "" : tensors.error().message();
}

}  // namespace keepbox::test
