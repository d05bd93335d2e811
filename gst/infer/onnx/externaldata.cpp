// SPDX-License-Identifier: LGPL-2.1-or-later
// Walks the messages of an ONNX file without reading its weights. ONNX is protobuf: a message is a
// sequence of fields; a field is a key and a varint, four or eight bytes, or a length and that many
// bytes.
#include "gst/infer/onnx/externaldata.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

#include "core/base/infile.h"
#include "core/base/text.h"
#include "gst/infer/onnx/session.h"

namespace keepbox {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepestMessage = 100;  // nested messages; protobuf has the same limit
constexpr size_t kLongestLocation = 4096;
/// The name by which ONNX Runtime refers to addresses in process memory.
constexpr std::string_view kMemoryAddress = "_ORT_MEM_ADDR_";

/// The messages on the path to a tensor's external data.
enum class OnnxMessage : uint8_t {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparse,
  kFunction,
  kTraining,
  kEntry,
};

/// Returns the type of a message's field, by the numbers of onnx.proto; std::nullopt for fields
/// that lead to no tensor.
std::optional<OnnxMessage> child_of(OnnxMessage of, uint64_t field) {
  using enum OnnxMessage;
  struct Child {
    OnnxMessage of;
    uint32_t field;
    OnnxMessage is;
  };
  static constexpr Child kChildren[] = {
      {kModel, 7, kGraph},       {kModel, 20, kTraining},     {kModel, 25, kFunction},
      {kGraph, 1, kNode},        {kGraph, 5, kTensor},        {kGraph, 15, kSparse},
      {kNode, 5, kAttribute},    {kAttribute, 5, kTensor},    {kAttribute, 6, kGraph},
      {kAttribute, 10, kTensor}, {kAttribute, 11, kGraph},    {kAttribute, 22, kSparse},
      {kAttribute, 23, kSparse}, {kSparse, 1, kTensor},       {kSparse, 2, kTensor},
      {kFunction, 7, kNode},     {kFunction, 11, kAttribute}, {kTraining, 1, kGraph},
      {kTraining, 2, kGraph},    {kTensor, 13, kEntry},
  };
  const auto* found = std::ranges::find_if(
      kChildren, [&](const Child& each) { return each.of == of && each.field == field; });
  return found == std::end(kChildren) ? std::nullopt : std::optional(found->is);
}

/// A range of bytes in the file.
struct FileSpan {
  uint64_t begin = 0, end = 0;
};

/// A pass over a file. Functions return false if it is not an ONNX file; why_not() has the cause.
class OnnxWalk {
 public:
  explicit OnnxWalk(const PlainFile& file) : file_(file) {}

  bool run() { return message(OnnxMessage::kModel, {0, file_.bytes}, 0); }
  std::set<std::string>& locations() { return locations_; }
  const std::string& why_not() const { return why_not_; }

 private:
  bool refuse(std::string why) {
    if (why_not_.empty()) why_not_ = std::move(why);
    return false;
  }

  bool fill() {
    begin_ = at_;
    count_ = std::min<uint64_t>(buffer_.size(), file_.bytes - at_);
    const Status read =
        file_.read(begin_, std::as_writable_bytes(std::span(buffer_).first(count_)));
    return read ? true : refuse("an error (" + read.error().statement() + ")");
  }

  bool byte(uint64_t end, uint8_t& out) {
    if (at_ >= end) return refuse("the end of the file inside a number");
    if ((at_ < begin_ || at_ - begin_ >= count_) && !fill()) return false;
    out = buffer_[at_++ - begin_];
    return true;
  }

  /// Reads seven bits per byte, lowest first.
  bool varint(uint64_t end, uint64_t& out) {
    out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      uint8_t next = 0;
      if (!byte(end, next)) return false;
      out |= uint64_t{next & 0x7fu} << shift;
      if (next < 0x80) return true;
    }
    return refuse("a number of more than 64 bits");
  }

  /// Takes one field. @param bytes the position of a field with a length; at_ is then after it.
  bool next(uint64_t end, uint64_t& field, std::optional<FileSpan>& bytes) {
    uint64_t key = 0, skipped = 0;
    bytes.reset();
    if (!varint(end, key)) return false;
    field = key >> 3;
    if (field == 0 || key > std::numeric_limits<uint32_t>::max())
      return refuse("a field without a number");
    switch (key & 7) {
      case 0: return varint(end, skipped);
      case 1: skipped = 8; break;
      case 5: skipped = 4; break;
      case 2:
        if (!varint(end, skipped)) return false;
        bytes = FileSpan{at_, at_ + skipped};
        break;
      default: return refuse("a field type that ONNX does not have");
    }
    if (skipped > end - at_) return refuse("a field longer than its message");
    at_ += skipped;
    return true;
  }

  bool message(OnnxMessage kind, FileSpan part, int depth) {
    if (depth > kDeepestMessage) return refuse("more than 100 nested messages");
    if (kind == OnnxMessage::kEntry) return entry(part);
    if (kind == OnnxMessage::kTensor) located_ = false;
    at_ = part.begin;
    while (at_ < part.end) {
      uint64_t field = 0;
      std::optional<FileSpan> bytes;
      if (!next(part.end, field, bytes)) return false;
      const auto child = bytes ? child_of(kind, field) : std::nullopt;
      if (child && !message(*child, *bytes, depth + 1)) return false;
    }
    return true;
  }

  std::optional<std::string> text(FileSpan part, size_t max_bytes) {
    std::string out;
    if (part.end - part.begin > max_bytes) return out;
    for (at_ = part.begin; at_ < part.end;) {
      uint8_t one = 0;
      if (!byte(part.end, one)) return std::nullopt;
      out += static_cast<char>(one);
    }
    return out;
  }

  /// Reads a key and a value, in either order and once: readers could disagree about duplicates.
  bool entry(FileSpan part) {
    std::array<std::optional<FileSpan>, 2> both;
    at_ = part.begin;
    while (at_ < part.end) {
      uint64_t field = 0;
      std::optional<FileSpan> bytes;
      if (!next(part.end, field, bytes)) return false;
      if (!bytes || field > both.size()) continue;
      if (std::exchange(both[field - 1], bytes))
        return refuse("external data with a duplicate key or value");
    }
    const auto key = both[0] ? text(*both[0], kMemoryAddress.size()) : std::string();
    if (!key) return false;
    if (*key == "location" && !location(both[1].value_or(FileSpan{}))) return false;
    at_ = part.end;
    return true;
  }

  bool location(FileSpan part) {
    const auto found = text(part, kLongestLocation);
    if (!found) return false;
    if (std::exchange(located_, true)) return refuse("a tensor with two data locations");
    if (found->empty()) return refuse("a tensor whose data file has an empty or overlong name");
    locations_.insert(*found);
    return true;
  }

  const PlainFile& file_;
  uint64_t at_ = 0;
  std::array<uint8_t, 1 << 14> buffer_;  // bytes of the file, starting at begin_
  uint64_t begin_ = 0, count_ = 0;
  bool located_ = false;  // the tensor has a location
  std::set<std::string> locations_;
  std::string why_not_;
};

std::unexpected<Error> elsewhere(const std::string& model, const std::string& found) {
  return reject(ErrorKind::kInvalid,
                "The weights of " + model + " are outside of its folder: " + found,
                "put the weights file into the model's folder, and store its plain name in the "
                "model");
}

/// True if the text names a file below a folder, ignoring links.
bool is_within_folder(const std::string& location) {
  const fs::path path(location);
  return location.find('\0') == location.npos && location.find(kMemoryAddress) == location.npos &&
         path.is_relative() &&
         std::ranges::none_of(path, [](const fs::path& part) { return part == ".."; });
}

bool is_below(const fs::path& file, const fs::path& folder) {
  const fs::path way = file.lexically_relative(folder);
  return !folder.empty() && !way.empty() && *way.begin() != "..";
}

/// Finds a weights file, below the folder of the model's name or of the file that name links to.
Result<std::string> weights_file(const std::string& model, const std::string& location) {
  if (!is_within_folder(location)) return elsewhere(model, in_quotes(location));
  std::error_code failed;
  const fs::path named = fs::path(model).parent_path();
  const fs::path real = fs::canonical(named / location, failed);
  if (failed)
    return file_error("The weights of " + model + " in " + in_quotes(location) +
                          " cannot be read: " + failed.message(),
                      "put the file next to the model");
  const fs::path folder = fs::canonical(named.empty() ? "." : named, failed);
  const fs::path home = fs::canonical(model, failed).parent_path();
  if (!is_below(real, folder) && !is_below(real, home))
    return elsewhere(model, in_quotes(location) + ", a link to " + in_quotes(real.string()));
  if (!fs::is_regular_file(real, failed))
    return elsewhere(model, in_quotes(location) + ", which is not a regular file");
  return real.string();
}

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Result<std::set<std::string>> external_locations(const PlainFile& model) {
  OnnxWalk walk(model);
  if (walk.run()) return std::move(walk.locations());
  return fail(ErrorKind::kInvalid, "an ONNX file " + model.path, walk.why_not(), kNoModelHint);
}

Result<std::vector<std::string>> external_files(const std::string& model) {
  std::vector<std::string> files;
  if (model.ends_with(".ort")) return files;
  KB_ASSIGN(const auto file, open_plain(model, kNoModelHint));
  KB_ASSIGN(const auto locations, external_locations(file));
  for (const std::string& location : locations) {
    KB_ASSIGN(auto path, weights_file(model, location));
    files.push_back(std::move(path));
  }
  return files;
}

std::vector<FileStamp> file_stamps(const std::string& model) {
  std::vector<std::string> files = external_files(model).value_or(std::vector<std::string>());
  files.push_back(model);
  std::vector<FileStamp> stamps;
  for (const std::string& file : files) {
    struct stat status;
    if (stat(file.c_str(), &status) == 0)
      stamps.push_back({.device = status.st_dev,
                        .inode = status.st_ino,
                        .bytes = status.st_size,
                        .modified = nanoseconds(status.st_mtim),
                        .changed = nanoseconds(status.st_ctim)});
  }
  return stamps;
}

}  // namespace keepbox
