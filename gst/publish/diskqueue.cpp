// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes and reads records.
#include "gst/publish/diskqueue.h"

#include <fcntl.h>
#include <glib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <format>
#include <optional>
#include <span>

#include "gst/base/fileerror.h"
#include "gst/base/words.h"

namespace keepbox {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kMagic = 0x3171626b;  // "kbq1"
constexpr auto kBetweenSaves = 1s;       // of the number in `sent`
constexpr const char* kExtension = ".messages";

struct Header {
  uint32_t magic = kMagic;
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

std::string_view bytes_of(const Header& header) {
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

uint64_t sum_of(const Header& header, std::string_view text) {
  return sum_of(text, sum_of(bytes_of(header).substr(0, offsetof(Header, sum))));
}

/// Returns the header at an offset if its record is complete; fills `text` with topic and payload.
std::optional<Header> read_record(int file, uint64_t offset, std::string& text) {
  Header header;
  const auto at = static_cast<off_t>(offset);
  if (pread(file, &header, sizeof header, at) != ssize_t{sizeof header} || header.magic != kMagic)
    return std::nullopt;
  struct stat status;
  const uint64_t size = uint64_t{header.topic} + header.payload;
  if (fstat(file, &status) != 0 ||
      offset + sizeof header + size > static_cast<uint64_t>(status.st_size))
    return std::nullopt;
  text.resize(size);
  if (pread(file, text.data(), size, at + ssize_t{sizeof header}) != static_cast<ssize_t>(size) ||
      sum_of(header, text) != header.sum)
    return std::nullopt;
  return header;
}

std::unexpected<Error> unusable(const std::string& name, int reason) {
  const std::string why = g_strerror(reason);
  return file_error("Cannot write to the folder " + name + ": " + why,
                    limit_hint(why, "set queue-location= to another folder"));
}

}  // namespace

Result<DiskQueue> DiskQueue::open(const std::string& folder) {
  DiskQueue out;
  out.folder_ = folder;
  const auto file = [&](const char* name) {
    return Descriptor(::open((folder + '/' + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  };
  if (g_mkdir_with_parents(folder.c_str(), 0700) != 0) return unusable(folder, errno);
  out.lock_ = file("lock");
  if (!out.lock_) return unusable(folder, errno);
  if (flock(out.lock_.number(), LOCK_EX | LOCK_NB) != 0)
    return file_error("Another element uses the folder " + folder,
                      "set a different queue-location= for each element");
  out.sent_file_ = file("sent");
  if (!out.sent_file_) return unusable(folder, errno);
  KB_TRY(out.find_left());
  return out;
}

DiskQueue::~DiskQueue() {
  if (sent_file_) save_sent();
}

std::string DiskQueue::path_of(uint64_t file) const {
  return std::format("{}/{:020}{}", folder_, file, kExtension);
}

Status DiskQueue::find_left() {
  std::array<char, 32> text{};
  const ssize_t length = pread(sent_file_.number(), text.data(), text.size() - 1, 0);
  if (length > 0) parse(trimmed({text.data(), static_cast<size_t>(length)}), sent_);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    uint64_t first = 0;
    if (entry.path().extension() == kExtension && parse(entry.path().stem().native(), first))
      files_[first] = 0;
  }
  if (error) return unusable(folder_, error.value());
  for (auto at = files_.begin(); at != files_.end(); ++at) scan(at->first);
  forget_below(sent_);
  return {};
}

/// Finds the records of a file up to the first one that is incomplete.
void DiskQueue::scan(uint64_t file) {
  const Descriptor in(::open(path_of(file).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  for (uint64_t offset = 0; in;) {
    const auto header = read_record(in.number(), offset, text);
    if (!header) return;
    const auto bytes = static_cast<uint32_t>(sizeof(Header) + text.size());
    if (header->number >= sent_) unsent_.push_back({header->number, {file, offset, bytes}});
    files_[file] = header->number;
    offset += bytes;
  }
}

uint64_t DiskQueue::next_number() const {
  const uint64_t last = files_.empty() ? 0 : files_.rbegin()->second;
  return std::max({sent_, last + 1, uint64_t{1}});
}

Status DiskQueue::begin_file(uint64_t number) {
  tail_ = Descriptor(
      ::open(path_of(number).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!tail_) return unusable(folder_, errno);
  tail_bytes_ = 0;
  files_[number] = number;
  return {};
}

Result<DiskPlace> DiskQueue::append(uint64_t number, const Message& message) {
  if (!tail_ || tail_bytes_ >= kFileBytes) KB_TRY(begin_file(number));
  const std::string text = message.topic + message.payload;
  Header header{.topic = static_cast<uint32_t>(message.topic.size()),
                .payload = static_cast<uint32_t>(message.payload.size()),
                .flags = static_cast<uint32_t>(message.qos) | (message.retain ? 256u : 0u),
                .number = number};
  header.sum = sum_of(header, text);
  const std::string record = std::string(bytes_of(header)) + text;
  const auto offset = static_cast<off_t>(tail_bytes_);
  errno = ENOSPC;  // if it is written in part
  if (pwrite(tail_.number(), record.data(), record.size(), offset) !=
      static_cast<ssize_t>(record.size()))
    return unusable(folder_, errno);
  const DiskPlace place{files_.rbegin()->first, tail_bytes_, static_cast<uint32_t>(record.size())};
  files_.rbegin()->second = number;
  tail_bytes_ += record.size();
  return place;
}

Result<Message> DiskQueue::read(DiskPlace place) const {
  const Descriptor in(::open(path_of(place.file).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  const auto header = in ? read_record(in.number(), place.offset, text) : std::nullopt;
  if (!header)
    return reject(ErrorKind::kTruncated,
                  "A message is missing in " + path_of(place.file) + ": the file was changed",
                  "do not change files of queue-location= while it is in use");
  return Message{.topic = text.substr(0, header->topic),
                 .payload = text.substr(header->topic),
                 .qos = static_cast<int>(header->flags & 3),
                 .retain = (header->flags & 256) != 0};
}

void DiskQueue::forget_below(uint64_t number) {
  if (number <= sent_ && !files_.empty() && files_.begin()->second >= number) return;
  sent_ = std::max(sent_, number);
  while (!files_.empty() && files_.begin()->second < sent_) {
    unlink(path_of(files_.begin()->first).c_str());
    if (files_.size() == 1) tail_ = {};
    files_.erase(files_.begin());
  }
  if (std::chrono::steady_clock::now() - saved_ >= kBetweenSaves) save_sent();
}

/// A number that is not up to date only means that some messages are sent again.
void DiskQueue::save_sent() {
  const std::string text = std::format("{:020}\n", sent_);
  [[maybe_unused]] const auto written = pwrite(sent_file_.number(), text.data(), text.size(), 0);
  saved_ = std::chrono::steady_clock::now();
}

}  // namespace keepbox
