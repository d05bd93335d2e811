// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks that boxsink's files have everything that was written, under the right names.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gst/sink/files.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/drawnboxes.h"
#include "tests/fuzz/writers.h"
#include "tests/tempdir.h"

namespace keepbox::fuzz {
namespace {

std::string text_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_single(BoxFormat format) { return output_format(format).files == FileSet::kSeries; }

/// The expected content of the files, from a separate writer.
class Expected {
 public:
  Expected(BoxFormat format, const std::string& location)
      : format_(format), location_(location), writer_(format, {}) {}

  void add(const FrameInfo& frame, std::span<const FrameBox> boxes) {
    const FileSet files = output_format(format_).files;
    if (files == FileSet::kPerClass) {
      std::map<std::string, std::string> by_class;
      if (!writer_.write(frame, boxes, by_class)) violated("a frame that is refused");
      for (const auto& [word, text] : by_class)
        files_[ClassFiles(FilePattern::parse(location_, FileSet::kPerClass)->name(nullptr, 0))
                   .of(word)] += text;
    } else {
      std::string text;
      if (!writer_.write(frame, boxes, text)) violated("a frame that is refused");
      if (files == FileSet::kPerFrame)
        files_[FilePattern::parse(location_, FileSet::kPerFrame)
                   ->name(nullptr, frame.number)
                   .before] = text;
      else frames_ += text;
    }
  }

  void check() const {
    const auto path = [&] {
      return FilePattern::parse(location_, FileSet::kSeries)->name(nullptr, 0).before;
    };
    if (is_single(format_) &&
        text_in(path()) != std::string(writer_.head()) + frames_ + std::string(writer_.tail()))
      violated("a file that has something else");
    for (const auto& [path, text] : files_)
      if (text_in(path) != text) violated("a file that has something else: " + path);
  }

 private:
  BoxFormat format_;
  std::string location_;
  BoxWriter writer_;
  std::string frames_;
  std::map<std::string, std::string> files_;
};

/// True if a file would have a name that file systems reject.
bool has_long_name(std::span<const FrameBox> boxes) {
  return std::ranges::any_of(boxes, [](const FrameBox& box) {
    const std::string label = written_name(box.label);
    return (label.empty() ? written_model(box) : label).size() > 200;
  });
}

bool write_frames(Input& input, Session& session, Expected& expected) {
  std::string scratch;
  for (uint32_t i = input.below(4); i > 0; --i) {
    const FrameInfo info{
        .number = session.number, .timestamp = input.below(1000), .size = {32, 24}};
    const DrawnBoxes drawn(input, 4, info.size);
    if (const Status done = session.write(info, drawn.boxes, scratch); !done) {
      if (!has_long_name(drawn.boxes)) violated("not written: " + done.error().message());
      count("frames that a disk refused");
      return false;
    }
    expected.add(info, drawn.boxes);
    ++session.number;
    count("frames in files");
  }
  return true;
}

}  // namespace

void check_sessions(Input& input) {
  // Names of a single file; with a pattern they would depend on the time.
  static constexpr const char* kSingle[]{"boxes", "x/boxes.txt", "100%%"};
  static constexpr const char* kNames[]{"boxes",  "x/%d", "x/%06d.txt",
                                        "%s.txt", "y/%s", "Task1_%s.txt"};
  const test::TempDir folder;
  const Interrupt interrupt;
  const auto format = input.pick(output_formats()).format;
  const char* name = is_single(format) ? input.pick(kSingle) : input.pick(kNames);
  SinkProps props{.format = static_cast<int>(format), .location = folder / name};
  auto session = Session::open(props, interrupt);
  if (!session) return count("locations that are refused");
  Expected expected(static_cast<BoxFormat>(props.format), props.location);
  for (uint32_t ends = input.between(1, 3); ends > 0; --ends) {
    if (!write_frames(input, *session, expected)) return;
    if (const Status done = session->finish(); !done) violated("no end: " + done.error().message());
    expected.check();
    if (ends > 1)
      if (const Status done = session->resume(); !done)
        violated("no more: " + done.error().message());
  }
}

}  // namespace keepbox::fuzz
