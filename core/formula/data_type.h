// SPDX-License-Identifier: LGPL-2.1-or-later
// Data types, and the conversion of a tensor element to float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/formula/numeric.h"

namespace keepbox {

enum class DataType : uint8_t {
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
};

/// Reads a T at `bytes`, which need not be aligned.
template <class T>
KB_HD T read_as(const void* bytes) {
  T value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

/// Reads an element of that type at `bytes`, rounded to the nearest float.
KB_HD inline float load_element(DataType type, const void* bytes) {
  switch (type) {
    case DataType::kInt8: return static_cast<float>(read_as<int8_t>(bytes));
    case DataType::kInt16: return static_cast<float>(read_as<int16_t>(bytes));
    case DataType::kInt32: return static_cast<float>(read_as<int32_t>(bytes));
    case DataType::kInt64: return static_cast<float>(read_as<int64_t>(bytes));
    case DataType::kUInt8: return static_cast<float>(read_as<uint8_t>(bytes));
    case DataType::kUInt16: return static_cast<float>(read_as<uint16_t>(bytes));
    case DataType::kUInt32: return static_cast<float>(read_as<uint32_t>(bytes));
    case DataType::kUInt64: return static_cast<float>(read_as<uint64_t>(bytes));
    case DataType::kFloat16: return half_to_float(read_as<uint16_t>(bytes));
    case DataType::kBFloat16: return bfloat16_to_float(read_as<uint16_t>(bytes));
    case DataType::kFloat32: return read_as<float>(bytes);
    case DataType::kFloat64: return static_cast<float>(read_as<double>(bytes));
  }
  return 0;
}

}  // namespace keepbox
