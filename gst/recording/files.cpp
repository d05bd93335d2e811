// SPDX-License-Identifier: LGPL-2.1-or-later
// Folders of recordings, and NumPy's files in them.
#include "gst/recording/files.h"

#include <fcntl.h>
#include <glib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <filesystem>

#include "core/base/infile.h"
#include "gst/base/error.h"

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

namespace {

constexpr size_t kLongestLine = size_t{1} << 20;
constexpr const char* kTooLong = "more than 1 MiB";
constexpr const char* kReadHint = "set location= to a recording or a file of raw numbers";
constexpr const char* kWriteHint = "set location= to a folder on a disk with room";
constexpr const char* kOtherHint = "set location= to another path";

std::unexpected<Error> write_failed(const std::string& path) {
  const std::string why = g_strerror(errno);
  return file_error("Cannot write " + path + ": " + why, limit_hint(why, kWriteHint));
}

Status write_all(int file, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(file, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return write_failed(path);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return {};
}

}  // namespace

Status each_line(const PlainFile& file,
                 const std::function<Status(size_t, std::string_view)>& function) {
  std::vector<std::byte> block(size_t{1} << 16);
  std::string rest;
  size_t number = 0;
  const auto broken = [&](const char* found) {
    return fail(ErrorKind::kTruncated,
                "text on line " + std::to_string(number + 1) + " of " + file.path, found,
                "record it again");
  };
  for (size_t at = 0; at < file.bytes || !rest.empty();) {
    const size_t size = std::min(block.size(), file.bytes - at);
    KB_TRY(file.read(at, std::span(block).first(size)));
    at += size;
    rest.append(reinterpret_cast<const char*>(block.data()), size);
    if (at == file.bytes && !rest.ends_with('\n')) rest += '\n';
    size_t begin = 0;
    for (size_t end; (end = rest.find('\n', begin)) != rest.npos; begin = end + 1) {
      const std::string_view line = std::string_view(rest).substr(begin, end - begin);
      if (line.contains('\0')) return broken("a NUL");
      if (line.size() > kLongestLine) return broken(kTooLong);
      ++number;
      if (!line.empty()) KB_TRY(function(number, line));
    }
    rest.erase(0, begin);
    if (rest.size() > kLongestLine) return broken(kTooLong);
  }
  return {};
}

Result<Folder> Folder::open(const std::string& path, Use use) {
  Folder out;
  out.path_ = path;
  out.folder_ = Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out.folder_) {
    const std::string why = g_strerror(errno);
    return file_error("Cannot open the folder " + path + ": " + why,
                      limit_hint(why, use == Use::kRead ? kReadHint : kWriteHint));
  }
  const int lock = use == Use::kRead ? LOCK_SH : LOCK_EX;
  // Other errors mean that the file system has no locks.
  if (flock(out.folder_.number(), lock | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return file_error((use == Use::kRead ? "Another process records to "
                                         : "Another process replays or records ") +
                          path,
                      "set a different location= for each");
  return out;
}

std::string Folder::path_of(const std::string& name) const {
  g_autofree gchar* path = g_build_filename(path_.c_str(), name.c_str(), nullptr);
  return path;
}

Result<PlainFile> Folder::read(const std::string& name) const {
  return open_plain_in(folder_.number(), name, path_of(name), kReadHint);
}

Status Folder::check(const std::string& name) const {
  struct stat status;
  if (fstatat(folder_.number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISREG(status.st_mode))
    return not_regular(path_of(name), status.st_mode, kOtherHint);
  return {};
}

bool Folder::has(const std::string& name) const {
  return faccessat(folder_.number(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void Folder::remove(const std::string& name) const { unlinkat(folder_.number(), name.c_str(), 0); }

std::vector<std::string> Folder::names() const {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(path_, error))
    if (each.symlink_status(error).type() == std::filesystem::file_type::regular)
      out.push_back(each.path().filename());
  return out;
}

Status Folder::write(const std::string& name,
                     std::span<const std::span<const std::byte>> parts) const {
  KB_TRY(check(name));
  remove(name);  // O_EXCL creates a new file, even if the old one's data is shared
  Descriptor file(openat(folder_.number(), name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file) return write_failed(path_of(name));
  for (const auto part : parts) KB_TRY(write_all(file.number(), part, path_of(name)));
  if (!file.close()) return write_failed(path_of(name));
  return {};
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && !name.contains('/') &&
         !name.contains('\0');
}

}  // namespace keepbox
