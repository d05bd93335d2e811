// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes file names from class names.
#include "gst/sink/classfiles.h"

#include <algorithm>
#include <utility>

namespace keepbox {

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
