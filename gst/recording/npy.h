// SPDX-License-Identifier: LGPL-2.1-or-later
// NumPy array files, format versions 1 to 3 (numpy.lib.format), C order, little endian.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/base/tensor.h"

namespace keepbox {

/// Returns the header of a file with such an array, padded so that the data is aligned to 64 bytes.
/// bfloat16, which NumPy lacks, is written as uint16.
std::string npy_header(DataType type, const Shape& shape);

struct NpyArray {
  DataType type = DataType::kFloat32;
  Shape shape;
  size_t offset = 0;  // of the data in the file
};

/// Parses a header. Errors are kTruncated or kUnsupported, and name the cause.
Result<NpyArray> parse_npy(std::string_view file);

}  // namespace keepbox
