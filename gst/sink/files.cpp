// SPDX-License-Identifier: LGPL-2.1-or-later
// Files of a stream of boxes, one after the other.
#include "gst/sink/files.h"

#include <glib/gstdio.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "gst/base/error.h"

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

Status check_limits(const SinkProps& props, const FilePattern& pattern) {
  if (props.max_file_time == 0 && props.max_file_size == 0) return {};
  if (props.output().files == FileSet::kPerFrame)
    return reject(ErrorKind::kInvalid,
                  "max-file-time and max-file-size have no effect with format=" +
                      std::string(props.output().name) + ", whose files have one frame each",
                  "leave them unset");
  if (pattern.varies()) return {};
  return reject(
      ErrorKind::kInvalid,
      "max-file-time and max-file-size need a number or a time in location=" + props.location,
      "set location= to a pattern such as boxes-%05d.jsonl or boxes-%Y%m%d-%H%M%S.jsonl");
}

}  // namespace

Result<FileSeries> FileSeries::of(const SinkProps& props) {
  FileSeries out;
  out.files_ = props.output().files;
  KB_ASSIGN(out.pattern_, FilePattern::parse(props.location, out.files_));
  KB_TRY(check_limits(props, out.pattern_));
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
  for (int64_t more = 1; name.exists(files_ == FileSet::kPerClass); ++more)
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

namespace {

/// Creates the folder now, so that an invalid path is reported before the first frame.
Status make_folder_of(const std::string& path) {
  g_autofree gchar* folder = g_path_get_dirname(path.c_str());
  if (g_mkdir_with_parents(folder, 0777) == 0 && g_access(folder, W_OK | X_OK) == 0) return {};
  return file_error("Cannot make the folder " + std::string(folder) + ": " + g_strerror(errno),
                    "set location= to another path");
}

}  // namespace

Result<Session> Session::open(const SinkProps& props, const Interrupt& interrupt) {
  KB_ASSIGN(auto writer, make_writer(props));
  KB_ASSIGN(auto series, FileSeries::of(props));
  Session out{.props = props,
              .writer = std::move(writer),
              .series = std::move(series),
              .interrupt = &interrupt};
  const OutputFormat& format = props.output();
  out.number = props.first_frame >= 0 ? props.first_frame : format.first_frame;
  if (format.files != FileSet::kPerFrame) KB_TRY(out.open_next());
  else KB_TRY(make_folder_of(out.series.of_frame(out.number)));
  return out;
}

/// Opens the next file, or prepares those of classes.
Status Session::open_next() {
  const FileName name = series.next();
  if (series.varies()) KB_TRY(make_folder_of(name.before + name.after));
  if (props.output().files == FileSet::kPerClass) {
    classes.emplace(name);
    return {};
  }
  // Only regular files can be finished and followed by others, so names that vary need them.
  KB_ASSIGN(file, OutFile::open(name.before, series.varies() ? nullptr : interrupt));
  note_older(*file);
  if (!writer.head().empty()) KB_TRY(file->write(writer.head()));
  return {};
}

/// Finishes the file, of which the next frame is not a part. @param tail as before that frame.
Status Session::begin_next(std::string_view tail) {
  KB_TRY(finish_with(tail));
  return open_next();
}

Status Session::write_classes(const FrameInfo& frame, std::span<const FrameBox> boxes) {
  std::map<std::string, std::string> by_class;
  KB_TRY(writer.write(frame, boxes, by_class));
  uint64_t largest = 0;
  for (const auto& [name, lines] : by_class)
    largest = std::max(largest, classes->size_with(name, lines));
  if (series.starts_next_file(frame.running_time, largest)) KB_TRY(begin_next({}));
  for (const auto& [name, lines] : by_class) {
    KB_ASSIGN(const auto written, classes->write(name, lines));
    note_older(*written);
  }
  if (!by_class.empty()) series.note_text();
  return {};
}

Status Session::write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& text) {
  if (classes) return write_classes(frame, boxes);
  text.clear();
  const std::string_view tail = writer.tail();
  KB_TRY(writer.write(frame, boxes, text));
  if (!file) {
    const bool wanted = !boxes.empty() || (props.write_empty && !frame.skipped);
    return wanted ? write_file_of_frame(text) : Status();
  }
  if (series.starts_next_file(frame.running_time,
                              file->size() + text.size() + writer.tail().size())) {
    KB_TRY(begin_next(tail));
    writer.start_file(text);
  }
  if (text.empty()) return {};
  series.note_text();
  return file->write(text);
}

Status Session::finish_with(std::string_view tail) {
  if (classes) {
    KB_TRY(classes->finish());
    for (const auto& [path, each] : classes->by_path()) finished.push_back(path);
  } else if (file) {
    KB_TRY(file->finish(tail));
    if (!file->part().empty()) finished.push_back(file->path());
  }
  return {};
}

Status Session::resume() {
  if (classes) return classes->resume();
  return file ? file->resume() : Status();
}

std::string Session::unnamed() const {
  if (classes && classes->any()) return classes->of("CLASS") + ".part";
  return file ? file->part() : std::string();
}

bool Session::discard_empty(guint64 frames) {
  if (!file || file->part().empty() || (frames != 0 && file->size() != 0)) return false;
  file->discard();
  return true;
}

/// Writes the complete file of the next frame.
Status Session::write_file_of_frame(const std::string& text) {
  const std::string path = series.of_frame(number);
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

// The table of properties.

namespace {

constexpr gint64 kMaxLimit = G_GINT64_CONSTANT(1) << 60;  // bytes; in ns 36 years

GType format_type() {
  static const GType type = [] {
    std::vector<EnumValue> values;
    for (const OutputFormat& each : output_formats())
      values.push_back({static_cast<int>(each.format), each.name, each.blurb});
    return register_enum("KeepboxBoxFormat", values);
  }();
  return type;
}

const Property<SinkProps> kSinkProperties[] = {
    {"format", "Output format.", &SinkProps::format, format_type},
    {"location",
     "Path of the output file, or - for stdout (run gst-launch-1.0 with -q). It may contain "
     "conversions of strftime, such as %Y%m%d-%H%M%S, for the time when the file is opened, "
     "and one number of the file, %d or %05d; if there is a time, %d is the day of the "
     "month. %% is a percent sign. Names with a time or a number do not replace existing "
     "files: numbers that are in use are skipped, or -1, -2 ... is added. For kitti a "
     "pattern with one %d or %0Nd for the number of the frame, such as labels/%06d.txt; for "
     "dota with %s for the class, such as results/Task1_%s.txt. The folder of a pattern is "
     "created if missing. Until EOS, or until max-file-time or max-file-size, the file is "
     "named PATH.part (gst-launch-1.0 -e sends EOS when interrupted); then a PATH without a "
     "time or number replaces any existing file. A PATH.part left by an earlier run is "
     "renamed to PATH.part.1 or the next free number.",
     &SinkProps::location},
    {"max-file-time",
     "Running time in nanoseconds after which a file is finished and the next one begins; requires "
     "a time or a number in location. 0 writes one file. Each file is complete: CSV has its "
     "header, COCO results are an array. Frame numbers continue. The files of all classes (dota) "
     "are finished together. Not for kitti.",
     &SinkProps::max_file_time, nullptr, 0, kMaxLimit},
    {"max-file-size",
     "Maximum size of a file in bytes; a frame that does not fit begins the next file. Only "
     "a file with a single frame may be larger. 0 writes one file. Each file is complete, "
     "as with max-file-time. For dota the largest file counts. Not for kitti.",
     &SinkProps::max_file_size, nullptr, 0, kMaxLimit},
    {"first-frame",
     "Number of the first frame; -1 means 1 for mot and 0 for other formats. Every buffer is "
     "counted.",
     &SinkProps::first_frame},
    {"image-ids",
     "Text file for coco and dota with one image_id (coco) or image name (dota) per line, one line "
     "per frame. If empty, the frame number is used.",
     &SinkProps::image_ids},
    {"category-ids",
     "Text file for coco: line N has the category_id of class N, optionally followed by the label, "
     "which is used for decoders without class numbers and for further models on a frame. If "
     "empty, models whose names are those of the 80 COCO classes get COCO's ids (1 to 90); others "
     "get their class numbers from 0. Of decoders without class numbers, labels that are names of "
     "COCO's classes get COCO's ids, and others 1001, 1002 ... in order of appearance. "
     "GST_DEBUG=boxsink:4 logs the choice.",
     &SinkProps::category_ids},
};

}  // namespace

const PropertyTable<SinkProps>& sink_properties() {
  static const auto rows = [] {
    auto out = with_json_rows<SinkProps>(kSinkProperties);
    std::ranges::find(out, std::string_view("source"), &Property<SinkProps>::name)->live = true;
    return out;
  }();
  static const PropertyTable<SinkProps> table(rows, kChangeWhenReady);
  return table;
}

Result<BoxWriter> make_writer(const SinkProps& props) {
  KB_ASSIGN(auto options, json_options(props));
  const OutputFormat& format = props.output();
  const char* images = props.image_ids.c_str();
  if (format.images == OutputFormat::Images::kNames && !props.image_ids.empty()) {
    KB_ASSIGN(options.names, load_names(images, "image-ids"));
  }
  if (format.images == OutputFormat::Images::kIds && !props.image_ids.empty()) {
    KB_ASSIGN(options.images, load_coco_ids(images, "image-ids"));
  }
  if (format.categories && !props.category_ids.empty()) {
    KB_ASSIGN(options.categories, load_coco_ids(props.category_ids.c_str(), "category-ids"));
  }
  return BoxWriter(format.format, std::move(options));
}

}  // namespace keepbox
