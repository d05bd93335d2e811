// SPDX-License-Identifier: LGPL-2.1-or-later
// Records with checksums in files named by their first number, and the number up to which messages
// were sent in the file `sent`.
#include "gst/publish/diskqueue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "gst/base/plainfile.h"
#include "gst/base/words.h"

namespace keepbox {
namespace {

constexpr uint32_t kMagic = 0x3171626b;  // "kbq1"
constexpr const char* kExtension = ".messages";
constexpr size_t kMaxFileBytes = size_t{1} << 31;

struct Header {
  uint32_t magic = 0;
  uint32_t topic = 0, payload = 0;  // bytes
  uint32_t flags = 0;               // qos, and 256 for retain
  uint64_t number = 0;
  uint64_t sum = 0;  // of the bytes before it and after it
};

/// FNV-1a of 64 bits, continued.
uint64_t sum_of(std::string_view bytes, uint64_t sum = 0xcbf29ce484222325) {
  for (const char byte : bytes) sum = (sum ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return sum;
}

/// Returns the bytes of a file in the folder; nothing if it is no regular file.
std::optional<std::string> bytes_of(int folder, const std::string& name) {
  const auto file = open_plain_in(folder, name, name, {});
  if (!file || file->bytes > kMaxFileBytes) return std::nullopt;
  std::string out(file->bytes, '\0');
  if (!file->read(0, std::as_writable_bytes(std::span(out)))) return std::nullopt;
  return out;
}

/// Appends the messages of a file. @return false if it is damaged. A record at its end that a crash
/// left incomplete is no damage.
bool read_records(std::string_view text, std::map<uint64_t, Message>& out) {
  while (text.size() >= sizeof(Header)) {
    Header header;
    std::memcpy(&header, text.data(), sizeof header);
    if (header.magic != kMagic) return false;
    const std::string_view rest = text.substr(sizeof header);
    const uint64_t size = uint64_t{header.topic} + header.payload;
    if (size > rest.size()) return true;
    const std::string_view body = rest.substr(0, size);
    if (sum_of(body, sum_of(text.substr(0, offsetof(Header, sum)))) != header.sum) return false;
    out[header.number] = {.topic = std::string(body.substr(0, header.topic)),
                          .payload = std::string(body.substr(header.topic)),
                          .qos = static_cast<int>(header.flags & 3),
                          .retain = (header.flags & 256) != 0};
    text = rest.substr(size);
  }
  return true;
}

}  // namespace

OldQueue OldQueue::read(int folder, const std::string& name) {
  OldQueue out;
  std::map<uint64_t, Message> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(name, error)) {
    const std::string file = entry.path().filename();
    if (entry.path().extension() != kExtension) continue;
    const auto text = bytes_of(folder, file);
    if (text && read_records(*text, all)) out.files.push_back(file);
    else {
      out.damaged.push_back(file);
      out.damage = problem(
          ErrorKind::kTruncated,
          "The queue " + name + '/' + file + " is damaged: some of its messages are not sent",
          "remove the file, which is now called " + file + ".damaged");
    }
  }
  uint64_t sent = 0;
  if (const auto text = bytes_of(folder, "sent")) {
    out.files.insert(out.files.end(), {"sent", "lock"});
    parse(trimmed(*text), sent);
  }
  // A number above all of them cannot be right.
  if (!all.empty() && sent > all.rbegin()->first + 1) sent = 0;
  for (auto& [number, message] : all)
    if (number >= sent) out.unsent.push_back(std::move(message));
  return out;
}

}  // namespace keepbox
