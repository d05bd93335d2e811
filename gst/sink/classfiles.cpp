// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes file names from class names.
#include "gst/sink/classfiles.h"

#include <algorithm>
#include <utility>

namespace keepbox {

Result<ClassFiles> ClassFiles::parse(std::string_view pattern) {
  const size_t at = pattern.find("%s");
  if (at == pattern.npos || std::ranges::count(pattern, '%') != 1)
    return fail(ErrorKind::kInvalid, "a location with one %s and no other %",
                '"' + std::string(pattern) + '"',
                "set location= to a pattern such as Task1_%s.txt");
  ClassFiles out;
  out.before_ = pattern.substr(0, at);
  out.after_ = pattern.substr(at + 2);
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
  return before_ + as_file_name(name) + after_;
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

Status ClassFiles::finish() {
  for (auto& [path, file] : files_) KB_TRY(file.finish({}));
  return {};
}

Status ClassFiles::resume() {
  for (auto& [path, file] : files_) KB_TRY(file.resume());
  return {};
}

}  // namespace keepbox
