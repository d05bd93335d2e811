// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of files by time and number, and their limits.
#include "gst/sink/fileseries.h"

#include <string>
#include <utility>

namespace keepbox {
namespace {

/// Adds a number before the extension of a path.
FileName with_number(const FileName& name, int64_t number) {
  FileName out = name;
  std::string& text = name.after.empty() ? out.before : out.after;
  // A dot at the beginning of a name does not separate an extension.
  const size_t first = name.after.empty() ? text.rfind('/') + 2 : 0;
  const size_t dot = text.rfind('.');
  const bool has_extension = dot != text.npos && dot >= first;
  text.insert(has_extension ? dot : text.size(), '-' + std::to_string(number));
  return out;
}

Status check_limits(const SinkProps& props, const FilePattern* pattern) {
  if (props.max_file_time == 0 && props.max_file_size == 0) return {};
  if (pattern == nullptr)
    return reject(ErrorKind::kInvalid,
                  "max-file-time and max-file-size have no effect with format=kitti, whose files "
                  "have one frame each",
                  "leave them unset");
  if (pattern->varies()) return {};
  return reject(
      ErrorKind::kInvalid,
      "max-file-time and max-file-size need a number or a time in location=" + props.location,
      "set location= to a pattern such as boxes-%05d.jsonl or boxes-%Y%m%d-%H%M%S.jsonl");
}

}  // namespace

Result<FileSeries> FileSeries::of(const SinkProps& props) {
  FileSeries out;
  if (props.is(BoxFormat::kKitti)) {  // whose pattern is another one: a file for each frame
    KB_TRY(check_limits(props, nullptr));
    return out;
  }
  out.of_classes_ = props.is(BoxFormat::kDota);
  KB_ASSIGN(out.pattern_, FilePattern::parse(props.location, out.of_classes_));
  KB_TRY(check_limits(props, &out.pattern_));
  out.utc_ = props.timestamp_utc;
  out.max_time_ = static_cast<uint64_t>(props.max_file_time);
  out.max_size_ = static_cast<uint64_t>(props.max_file_size);
  return out;
}

FileName FileSeries::next() {
  g_autoptr(GDateTime) now = utc_ ? g_date_time_new_now_utc() : g_date_time_new_now_local();
  FileName name = pattern_.name(now, number_++);
  if (!pattern_.varies()) return name;
  const FileName first = name;
  for (int64_t more = 1; name.exists(of_classes_); ++more)
    name = pattern_.numbered() ? pattern_.name(now, number_++) : with_number(first, more);
  return name;
}

bool FileSeries::starts_next_file(std::optional<uint64_t> time, uint64_t bytes) {
  // A flush starts the running time again.
  if (time && (!begin_ || *time < *begin_)) begin_ = time;
  const bool late = max_time_ != 0 && time && *time - *begin_ >= max_time_;
  const bool large = max_size_ != 0 && has_text_ && bytes > max_size_;
  if (!late && !large) return false;
  begin_ = time;
  has_text_ = false;
  return true;
}

}  // namespace keepbox
