// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of files: patterns with numbers, and a file per class.
#include "gst/sink/names.h"

#include <glob.h>

#include <algorithm>
#include <charconv>

namespace keepbox {
namespace {

constexpr size_t kMaxDigits = 18;
constexpr std::string_view kModifiers = "_-0EO:";  // between % and the letter of a time

std::unexpected<Error> wrong(std::string_view pattern, FileSet files) {
  if (files == FileSet::kPerFrame)
    return reject(
        ErrorKind::kInvalid,
        "location=" + std::string(pattern) + " does not have one %d or %0Nd and no other %",
        "set location= to a pattern such as labels/%06d.txt");
  const std::string rest =
      "conversions of a time, such as %Y, and at most one number, such as %05d";
  if (files == FileSet::kPerClass)
    return reject(ErrorKind::kInvalid,
                  "location=" + std::string(pattern) +
                      " must have one %s for the class, and may otherwise only have " + rest,
                  "set location= to a pattern such as Task1_%s.txt");
  return reject(ErrorKind::kInvalid, "location=" + std::string(pattern) + " may only have " + rest,
                "write %% for a percent sign");
}

/// Returns the digits of %0Nd, and its length in `length`; 0 if the text is not a number.
size_t digits_of(std::string_view text, size_t& length) {
  size_t digits = 0;
  if (!text.starts_with("%0")) return 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), digits);
  length = static_cast<size_t>(end - text.data()) + 1;
  const bool number = error == std::errc{} && length <= text.size() && *end == 'd';
  return number && digits >= 1 && digits <= kMaxDigits ? digits : 0;
}

/// Returns a text in which no character is special to glob().
std::string literally(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[\\").contains(c)) out += '\\';
    out += c;
  }
  return out;
}

std::string formatted(GDateTime* time, const std::string& conversion) {
  g_autofree gchar* text = g_date_time_format(time, conversion.c_str());
  return text != nullptr ? text : "";
}

}  // namespace

bool FileName::exists(bool of_classes) const {
  if (!of_classes) return g_file_test(before.c_str(), G_FILE_TEST_EXISTS) != FALSE;
  glob_t found{};
  const bool any =
      glob((literally(before) + '*' + literally(after)).c_str(), GLOB_NOSORT, nullptr, &found) == 0;
  globfree(&found);
  return any;
}

/// Takes a conversion from the beginning of the rest of a pattern. @return false if it is none.
bool FilePattern::add_conversion(std::string_view& rest, FileSet files) {
  size_t length = 2;
  const auto take = [&](Part part) {
    parts_.push_back(std::move(part));
    rest.remove_prefix(length);
    return true;
  };
  if (const size_t digits = digits_of(rest, length)) {
    if (std::exchange(numbered_, true)) return false;
    return take({Kind::kNumber, {}, digits});
  }
  length = rest.find_first_not_of(kModifiers, 1);
  if (length >= rest.size()) return false;
  const std::string conversion(rest.substr(0, ++length));
  if (conversion == "%%") return take({Kind::kText, "%"});
  if (conversion == "%s" && files == FileSet::kPerClass)
    return !std::exchange(classes_, true) && take({Kind::kClass, {}});
  if (!g_utf8_validate(conversion.c_str(), -1, nullptr)) return false;
  g_autoptr(GDateTime) now = g_date_time_new_now_utc();
  g_autofree gchar* text = g_date_time_format(now, conversion.c_str());
  return text != nullptr && *text != '\0' && take({Kind::kTime, conversion});
}

/// Makes %d a number, unless it is the day of a month. @return false for a second number.
bool FilePattern::resolve_day_or_number() {
  const auto is_time = [](const Part& part) {
    return part.kind == Kind::kTime && part.text != "%d";
  };
  timed_ = std::ranges::any_of(parts_, is_time);
  for (Part& part : parts_) {
    if (part.kind != Kind::kTime || timed_) continue;
    if (std::exchange(numbered_, true)) return false;
    part = {Kind::kNumber, {}, 1};
  }
  return true;
}

Result<FilePattern> FilePattern::parse(std::string_view pattern, FileSet files) {
  const bool of_frames = files == FileSet::kPerFrame, of_classes = files == FileSet::kPerClass;
  if (of_frames && std::ranges::count(pattern, '%') != 1) return wrong(pattern, files);
  FilePattern out;
  for (std::string_view rest = pattern; !rest.empty();) {
    if (rest.starts_with('%')) {
      if (!out.add_conversion(rest, files)) return wrong(pattern, files);
      continue;
    }
    const size_t length = std::min(rest.find('%'), rest.size());
    out.parts_.push_back({Kind::kText, std::string(rest.substr(0, length))});
    rest.remove_prefix(length);
  }
  if (out.classes_ != of_classes || !out.resolve_day_or_number()) return wrong(pattern, files);
  if (of_frames && (out.timed_ || !out.numbered_)) return wrong(pattern, files);
  return out;
}

FileName FilePattern::name(GDateTime* time, int64_t number) const {
  FileName out;
  std::string text;
  for (const Part& part : parts_) {
    if (part.kind == Kind::kClass) out.before = std::exchange(text, {});
    else if (part.kind == Kind::kText) text += part.text;
    else if (part.kind == Kind::kTime) text += formatted(time, part.text);
    else {
      const std::string digits = std::to_string(number);
      text.append(part.digits - std::min(part.digits, digits.size()), '0') += digits;
    }
  }
  (classes_ ? out.after : out.before) = std::move(text);
  return out;
}

std::string as_file_name(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '/', '_');
  // "." and ".." would be folders; the latter outside of the location
  if (out.find_first_not_of('.') == out.npos) std::ranges::replace(out, '.', '_');
  return out;
}

std::string ClassFiles::of(std::string_view name) const {
  return name_.before + as_file_name(name) + name_.after;
}

Result<const OutFile*> ClassFiles::write(const std::string& name, std::string_view text) {
  const std::string path = of(name);
  auto at = files_.find(path);
  if (at == files_.end()) {
    KB_ASSIGN(auto file, OutFile::open(path));
    at = files_.emplace(path, std::move(file)).first;
  }
  KB_TRY(at->second.write(text));
  return &at->second;
}

uint64_t ClassFiles::size_with(const std::string& name, std::string_view text) const {
  const auto file = files_.find(of(name));
  return (file == files_.end() ? 0 : file->second.size()) + text.size();
}

Status ClassFiles::finish() {
  for (auto& [path, file] : files_) KB_TRY(file.finish({}));
  return {};
}

Status ClassFiles::resume() {
  for (auto& [path, file] : files_) KB_TRY(file.resume());
  return {};
}

}  // namespace keepbox
