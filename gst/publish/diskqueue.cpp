// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps messages in a table of SQLite.
#include "gst/publish/diskqueue.h"

#include <fcntl.h>
#include <glib.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string_view>

#include "core/base/infile.h"
#include "core/base/text.h"

namespace keepbox {
namespace {

constexpr const char* kFile = "queue.db";
constexpr const char* kElsewhere = "set queue-location= to another folder";

/// A statement of SQL. Its parameters are numbered from 1.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int at, uint64_t value) {
    sqlite3_bind_int64(statement_, at, static_cast<sqlite3_int64>(value));
  }
  /// @param value outlives the statement's steps
  void bind_text(int at, const std::string& value) {
    sqlite3_bind_text64(statement_, at, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void bind_bytes(int at, const std::string& value) {
    sqlite3_bind_blob64(statement_, at, value.data(), value.size(), SQLITE_STATIC);
  }
  /// Returns SQLITE_ROW, SQLITE_DONE or an error.
  int step() { return statement_ != nullptr ? sqlite3_step(statement_) : SQLITE_ERROR; }
  uint64_t number(int column) {
    return static_cast<uint64_t>(sqlite3_column_int64(statement_, column));
  }
  std::string bytes(int column) {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return {data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

std::unexpected<Error> unusable(const std::string& name, int reason) {
  const std::string why = g_strerror(reason);
  return file_error("Cannot write to the folder " + name + ": " + why, limit_hint(why, kElsewhere));
}

/// Opens a folder that nobody else can put files into.
Result<Descriptor> open_folder(const std::string& name) {
  if (g_mkdir_with_parents(name.c_str(), 0700) != 0) return unusable(name, errno);
  Descriptor out(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  if (!out) {
    if (const int reason = errno; lstat(name.c_str(), &status) != 0 || !S_ISLNK(status.st_mode))
      return unusable(name, reason);
    return file_error("The folder " + name + " is a symbolic link",
                      "set queue-location= to the folder itself");
  }
  if (fstat(out.number(), &status) != 0) return unusable(name, errno);
  if (status.st_uid != geteuid())
    return file_error("The folder " + name + " belongs to another user", kElsewhere);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return file_error("The folder " + name + " can be written to by other users",
                      "chmod go-w " + name + ", or " + kElsewhere);
  return out;
}

/// Fails for a file that is there and that is not a regular one of this user.
Status check_file(int folder, const std::string& folder_name, const char* suffix) {
  const std::string file = std::string(kFile) + suffix, path = folder_name + '/' + file;
  struct stat status;
  if (fstatat(folder, file.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (!S_ISREG(status.st_mode)) return not_regular(path, status.st_mode, "remove it");
  if (status.st_uid != geteuid()) return file_error(path + " belongs to another user", "remove it");
  return {};
}

/// Makes the file, so that no one else can read it; SQLite's other files have its mode.
Status make_file(int folder, const std::string& folder_name) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"})
    KB_TRY(check_file(folder, folder_name, suffix));
  const Descriptor file(
      openat(folder, kFile, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file && errno != EEXIST) return unusable(folder_name, errno);
  return {};
}

}  // namespace

void DiskQueue::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

/// Returns the error of the last call of SQLite.
std::unexpected<Error> DiskQueue::failed() {
  const std::string why = sqlite3_errmsg(database_.get());
  switch (sqlite3_errcode(database_.get()) & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return file_error("Another element uses the folder " + folder_,
                        "set a different queue-location= for each element");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return reject(ErrorKind::kTruncated, "The queue " + file_ + " is damaged: " + why,
                    "move the file away, or set queue-location= to another folder; its messages "
                    "are not sent");
    case SQLITE_FULL:
      return file_error("There is no room for the queue " + file_ + ": " + why,
                        "make room on the disk");
    default:
      return file_error("Cannot read or write the queue " + file_ + ": " + why,
                        "set queue-location= to a folder with room on a local disk");
  }
}

Status DiskQueue::run(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failed();
  return {};
}

Result<std::string> DiskQueue::text_of(const char* sql) {
  Statement statement(database_.get(), sql);
  if (statement.step() != SQLITE_ROW) return failed();
  return statement.bytes(0);
}

Status DiskQueue::open_database() {
  // Links in the folder's path are allowed, and followed here, because SQLite allows none.
  const std::unique_ptr<char, decltype(&std::free)> path(realpath(folder_.c_str(), nullptr),
                                                         std::free);
  if (!path) return unusable(folder_, errno);
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2((std::string(path.get()) + '/' + kFile).c_str(), &database,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, nullptr);
  database_.reset(database);
  return code == SQLITE_OK ? Status() : failed();
}

Status DiskQueue::set_up() {
  // One user needs no shared memory. All that was confirmed to a caller outlives a power failure.
  KB_TRY(run("PRAGMA locking_mode=EXCLUSIVE"));
  KB_ASSIGN(const std::string mode, text_of("PRAGMA journal_mode=WAL"));
  if (mode != "wal")
    return file_error("The file system of the queue " + file_ + " does not allow a write-ahead log",
                      "set queue-location= to a folder on a local disk");
  KB_TRY(run("PRAGMA synchronous=FULL"));
  KB_TRY(run("BEGIN IMMEDIATE"));
  KB_ASSIGN(const std::string state, text_of("PRAGMA quick_check(1)"));
  if (state != "ok")
    return reject(ErrorKind::kTruncated, "The queue " + file_ + " is damaged: " + state,
                  "move the file away, or set queue-location= to another folder; its messages are "
                  "not sent");
  return run(
      "CREATE TABLE IF NOT EXISTS message (number INTEGER PRIMARY KEY, topic TEXT NOT NULL, "
      "payload BLOB NOT NULL, qos INTEGER NOT NULL, retain INTEGER NOT NULL)");
}

/// Adds the messages of files of the former format, which is done once.
Status DiskQueue::take_over(int folder) {
  OldQueue old = OldQueue::read(folder, folder_);
  KB_ASSIGN(const auto known, unsent());
  uint64_t number = known.empty() ? 1 : known.back().number + 1;
  for (Message& message : old.unsent)
    KB_TRY(add({.number = number++, .message = std::move(message)}));
  KB_TRY(run("COMMIT"));
  for (const std::string& file : old.damaged)  // so that it is not taken over again
    renameat(folder, file.c_str(), folder, (file + ".damaged").c_str());
  for (const std::string& file : old.files) unlinkat(folder, file.c_str(), 0);
  warning_ = std::move(old.damage);
  return {};
}

Result<DiskQueue> DiskQueue::open(const std::string& folder) {
  DiskQueue out;
  out.folder_ = folder;
  out.file_ = folder + '/' + kFile;
  KB_ASSIGN(const Descriptor opened, open_folder(folder));
  KB_TRY(make_file(opened.number(), folder));
  KB_TRY(out.open_database());
  KB_TRY(out.set_up());
  KB_TRY(out.take_over(opened.number()));
  return out;
}

Result<std::vector<DiskQueue::UnsentMessage>> DiskQueue::unsent() {
  Statement all(database_.get(),
                "SELECT number, length(CAST(topic AS BLOB)) + length(payload), "
                "CASE retain WHEN 0 THEN '' ELSE topic END FROM message ORDER BY number");
  std::vector<UnsentMessage> out;
  int code = SQLITE_ROW;
  while ((code = all.step()) == SQLITE_ROW)
    out.push_back({all.number(0), static_cast<size_t>(all.number(1)), all.bytes(2)});
  if (code != SQLITE_DONE) return failed();
  return out;
}

Status DiskQueue::add(const Outbox::Item& item) {
  const Message& message = item.message;
  Statement insert(database_.get(), "INSERT INTO message VALUES (?, ?, ?, ?, ?)");
  insert.bind(1, item.number);
  insert.bind_text(2, message.topic);
  insert.bind_bytes(3, message.payload);
  insert.bind(4, static_cast<uint64_t>(message.qos));
  insert.bind(5, message.retain ? 1 : 0);
  return insert.step() == SQLITE_DONE ? Status() : failed();
}

Status DiskQueue::remove(uint64_t number) {
  Statement erase(database_.get(), "DELETE FROM message WHERE number = ?");
  erase.bind(1, number);
  return erase.step() == SQLITE_DONE ? Status() : failed();
}

Status DiskQueue::write(std::span<const Outbox::Item> added, std::span<const uint64_t> gone) {
  const auto change = [&]() -> Status {
    KB_TRY(run("BEGIN IMMEDIATE"));
    for (const Outbox::Item& item : added) KB_TRY(add(item));
    for (const uint64_t number : gone) KB_TRY(remove(number));
    return run("COMMIT");
  };
  const Status done = change();
  // Some errors have ended the transaction already.
  if (!done && sqlite3_get_autocommit(database_.get()) == 0)
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return done;
}

Result<Message> DiskQueue::read(uint64_t number) {
  Statement one(database_.get(),
                "SELECT topic, payload, qos, retain FROM message WHERE number = ?");
  one.bind(1, number);
  const int code = one.step();
  if (code == SQLITE_DONE)
    return reject(ErrorKind::kTruncated,
                  "A message is missing in the queue " + file_ + ": the file was changed",
                  "do not change files of queue-location= while it is in use");
  if (code != SQLITE_ROW) return failed();
  return Message{.topic = one.bytes(0),
                 .payload = one.bytes(1),
                 .qos = static_cast<int>(one.number(2)),
                 .retain = one.number(3) != 0};
}

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
