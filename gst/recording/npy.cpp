// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes and parses NumPy headers.
#include "gst/recording/npy.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace keepbox {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kLastVersion = 3;
static_assert(std::endian::native == std::endian::little, "recordings are little endian");

struct Descr {
  std::string_view text;
  DataType type;
};

constexpr Descr kDescrs[] = {
    {"|i1", DataType::kInt8},    {"<i2", DataType::kInt16},   {"<i4", DataType::kInt32},
    {"<i8", DataType::kInt64},   {"|u1", DataType::kUInt8},   {"<u2", DataType::kUInt16},
    {"<u4", DataType::kUInt32},  {"<u8", DataType::kUInt64},  {"<f2", DataType::kFloat16},
    {"<f4", DataType::kFloat32}, {"<f8", DataType::kFloat64},
};

std::unexpected<Error> broken(std::string found) {
  return fail(ErrorKind::kTruncated, "a NumPy array in C order", std::move(found));
}

/// Returns the text after "'key':" up to the end of the header.
std::string_view value_of(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == header.npos) return {};
  std::string_view rest = header.substr(at + key.size());
  const size_t first = rest.find_first_not_of(": ");
  return first == rest.npos ? std::string_view() : rest.substr(first);
}

}  // namespace

std::string npy_header(DataType type, const Shape& shape) {
  if (type == DataType::kBFloat16) type = DataType::kUInt16;
  std::string dims;
  for (const size_t dim : shape.dims()) dims += std::to_string(dim) + ",";
  std::string dict = "{'descr': '" +
                     std::string(std::ranges::find(kDescrs, type, &Descr::type)->text) +
                     "', 'fortran_order': False, 'shape': (" + dims + "), }";
  constexpr size_t kFixed = 10;  // magic, version, length
  dict.append(63 - (kFixed + dict.size()) % 64, ' ');
  dict += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(dict.size() & 0xff);
  out += static_cast<char>(dict.size() >> 8);
  return out + dict;
}

Result<NpyArray> parse_npy(std::string_view file) {
  if (!file.starts_with(kMagic) || file.size() < 12) return broken("a file without a NumPy header");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(file[i])); };
  if (byte(6) < 1 || byte(6) > kLastVersion)
    return fail(ErrorKind::kUnsupported,
                "a NumPy file of version 1 to " + std::to_string(kLastVersion),
                "version " + std::to_string(byte(6)));
  const bool wide = byte(6) >= 2;
  const size_t length = byte(8) | byte(9) << 8 | (wide ? byte(10) << 16 | byte(11) << 24 : 0);
  NpyArray out{.offset = (wide ? 12 : 10) + length};
  if (out.offset > file.size()) return broken("a header that ends too early");
  const std::string_view header = file.substr(0, out.offset).substr(wide ? 12 : 10);
  const std::string_view descr = value_of(header, "'descr'");
  const auto* type = std::ranges::find_if(kDescrs, [&](const Descr& each) {
    return descr.size() > 4 && descr.substr(1, 3) == each.text;
  });
  if (type == std::end(kDescrs)) return broken("type " + std::string(descr.substr(0, 8)));
  out.type = type->type;
  if (!value_of(header, "'fortran_order'").starts_with("False")) return broken("Fortran order");
  std::string_view dims = value_of(header, "'shape'");
  if (!dims.starts_with('(')) return broken("no shape");
  dims = dims.substr(1, dims.find(')') - 1);
  std::string plain;
  for (const char c : dims)
    if (c != ' ') plain += c;
  if (plain.ends_with(',')) plain.pop_back();
  KB_ASSIGN(out.shape, shape_from(plain));
  return out;
}

}  // namespace keepbox
