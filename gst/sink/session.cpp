// SPDX-License-Identifier: LGPL-2.1-or-later
// Opens boxsink's files, and writes those of single frames.
#include "gst/sink/session.h"

#include <glib/gstdio.h>

#include <cerrno>
#include <utility>

#include "gst/base/error.h"

namespace keepbox {
namespace {

/// Creates the folder now, so that an invalid path is reported before the first frame.
Status make_folder_of(const std::string& path) {
  g_autofree gchar* folder = g_path_get_dirname(path.c_str());
  if (g_mkdir_with_parents(folder, 0777) == 0 && g_access(folder, W_OK | X_OK) == 0) return {};
  return file_error("a writable folder " + std::string(folder), g_strerror(errno),
                    "set location= to another path");
}

}  // namespace

Result<Session> Session::open(const SinkProps& props, const Interrupt& interrupt) {
  KB_ASSIGN(auto writer, make_writer(props));
  Session out{.props = props, .writer = std::move(writer)};
  out.number = props.is(BoxFormat::kMot) ? 1 : 0;
  if (props.first_frame >= 0) out.number = props.first_frame;
  if (props.is(BoxFormat::kKitti)) {
    KB_ASSIGN(out.names, NumberedName::parse(props.location));
    KB_TRY(make_folder_of(out.names->of(out.number)));
    return out;
  }
  if (props.is(BoxFormat::kDota)) {
    KB_ASSIGN(auto classes, ClassFiles::parse(props.location));
    KB_TRY(make_folder_of(classes.of({})));
    out.classes = std::move(classes);
    return out;
  }
  KB_ASSIGN(out.file, OutFile::open(props.location, &interrupt));
  out.note_older(*out.file);
  if (!out.writer.head().empty()) KB_TRY(out.file->write(out.writer.head()));
  return out;
}

Status Session::write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& text) {
  if (classes) {
    std::map<std::string, std::string> by_class;
    KB_TRY(writer.write(frame, boxes, by_class));
    for (const auto& [name, lines] : by_class) {
      KB_ASSIGN(const auto written, classes->write(name, lines));
      note_older(*written);
    }
    return {};
  }
  text.clear();
  KB_TRY(writer.write(frame, boxes, text));
  if (file && !text.empty()) KB_TRY(file->write(text));
  if (names && (!boxes.empty() || props.write_empty)) KB_TRY(write_file_of_frame(text));
  return {};
}

Status Session::finish() {
  if (classes) return classes->finish();
  return file ? file->finish(writer.tail()) : Status();
}

Status Session::resume() {
  if (classes) return classes->resume();
  return file ? file->resume() : Status();
}

std::string Session::unnamed() const {
  if (classes && classes->any()) return classes->of("CLASS") + ".part";
  return file ? file->part() : std::string();
}

/// Writes the complete file of the next frame.
Status Session::write_file_of_frame(const std::string& text) {
  const std::string path = names->of(number);
  KB_TRY(make_folder_of(path));
  KB_ASSIGN(auto whole, OutFile::open(path));
  note_older(whole);
  KB_TRY(whole.write(text));
  return whole.finish({});
}

void Session::note_older(const OutFile& opened) {
  const auto older = opened.older();
  if (older && !std::exchange(noted_older, true)) warnings.push_back(*older);
}

void Session::tell_models_apart(std::span<FrameBox> boxes) {
  for (const FrameBox& box : boxes) models.insert(box.model);
  if (models.size() > 1)
    for (FrameBox& box : boxes) box.unnamed = false;
}

}  // namespace keepbox
