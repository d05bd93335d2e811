// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes recordings of tensors.
#include "gst/recording/tensorwriter.h"

#include <glib.h>

#include <algorithm>
#include <cerrno>

#include "gst/base/error.h"
#include "gst/recording/index.h"

namespace keepbox {
namespace {

constexpr char kPrefix = 'b';  // of files next to an older recording without it

std::string_view prefix_of(std::string_view name) {
  return name.substr(0, std::min(name.find_first_not_of(kPrefix), name.size()));
}

/// True if a writer uses such names. A hand-made index may name other files, which are kept.
bool is_given(std::string_view name) {
  if (!name.ends_with(".npy") && !name.ends_with(".labels")) return false;
  name = name.substr(0, name.rfind('.'));
  name.remove_prefix(prefix_of(name).size());
  return !name.empty() && name.find_first_not_of("0123456789.") == name.npos;
}

/// Returns the files of the existing recording; none if it cannot be replayed.
std::vector<std::string> files_in(const Folder& folder) {
  std::vector<std::string> out;
  const auto index = read_index(folder);
  if (!index) return out;
  for (const IndexedFrame& frame : index->frames)
    for (const IndexedTensor& tensor : frame.tensors)
      for (const std::string& name : {tensor.file, tensor.source.labels})
        if (is_given(name)) out.push_back(name);
  return out;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

Result<TensorWriter> TensorWriter::create(const std::string& path) {
  if (path.empty())
    return reject(ErrorKind::kInvalid, "location= is not set", "set it to a folder");
  if (g_mkdir_with_parents(path.c_str(), 0777) != 0)
    return file_error("Cannot make the folder " + path + ": " + g_strerror(errno),
                      "set location= to a folder that exists or can be created");
  KB_ASSIGN(auto folder, Folder::open(path, Folder::Use::kWrite));
  KB_TRY(folder.check(kIndexName));
  KB_TRY(folder.check(std::string(kIndexName) + ".part"));
  KB_ASSIGN(auto index, OutFile::open(folder.path_of(kIndexName)));
  TensorWriter out(std::move(folder), std::move(index));
  out.old_ = files_in(out.folder_);
  // Files of an interrupted run are not overwritten either, because a kept index names them.
  std::vector<std::string> taken = out.folder_.names();
  std::erase_if(taken, [](const std::string& name) { return !is_given(name); });
  while (std::ranges::contains(taken, out.prefix_, prefix_of)) out.prefix_ += kPrefix;
  return out;
}

std::string TensorWriter::name_of(size_t tensor) const {
  g_autofree gchar* name = g_strdup_printf("%s%06zu.%zu.npy", prefix_.c_str(), frames_, tensor);
  return name;
}

/// Returns the file of these labels, writing it if they are new.
Result<std::string> TensorWriter::write_labels(const std::vector<std::string>& labels) {
  if (labels.empty()) return "";
  const auto known = std::ranges::find(labels_, labels);
  g_autofree gchar* name =
      g_strdup_printf("%s%06td.labels", prefix_.c_str(), known - labels_.begin());
  if (known != labels_.end()) return name;
  const std::string text = labels_text(labels);
  const std::span<const std::byte> part = bytes_of(text);
  KB_TRY(folder_.write(name, {&part, 1}));
  labels_.push_back(labels);
  return name;
}

Status TensorWriter::write_frame(const RecordedFrame& frame) {
  IndexedFrame entry{
      .time = frame.time, .duration = frame.duration, .size = frame.size, .skipped = frame.skipped};
  for (size_t i = 0; i < frame.tensors.size(); ++i) {
    const TensorView& view = frame.tensors[i].view;
    KB_TRY(check_bounds(view));
    const size_t bytes = *view.shape.count() * size_of(view.type);
    const std::string header = npy_header(view.type, view.shape);
    const std::span<const std::byte> parts[] = {bytes_of(header),
                                                {static_cast<const std::byte*>(view.data), bytes}};
    KB_TRY(folder_.write(name_of(i), parts));
    entry.tensors.push_back({.file = name_of(i),
                             .id = std::string(view.id),
                             .type = view.type,
                             .shape = view.shape,
                             .order = frame.tensors[i].order});
    const SharedProvenance& source = frame.tensors[i].source;
    if (source == nullptr) continue;
    KB_ASSIGN(auto labels, write_labels(source->labels));
    entry.tensors.back().source = {source, std::move(labels)};
  }
  return index_.write(to_line(frames_, entry));
}

Status TensorWriter::write(const RecordedFrame& frame) {
  if (finished_) KB_TRY(index_.resume());
  finished_ = false;
  Status status = write_frame(frame);
  failed_ = failed_ || !status;
  if (status) ++frames_;
  return status;
}

Status TensorWriter::finish() {
  if (finished_ || failed_ || frames_ == 0) return {};
  KB_TRY(index_.finish(""));
  finished_ = true;
  for (const std::string& name : old_) folder_.remove(name);
  old_.clear();
  return {};
}

}  // namespace keepbox
