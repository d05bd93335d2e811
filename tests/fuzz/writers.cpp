// SPDX-License-Identifier: LGPL-2.1-or-later
// boxsink's formats: all boxes, labels and times are read back by a separate reader.
#include "tests/fuzz/writers.h"

#include <gst/gst.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/fuzz/damage.h"
#include "tests/fuzz/drawnboxes.h"

namespace keepbox::fuzz {
namespace {

constexpr uint32_t kMaxBoxes = 5;

FrameInfo any_frame(Input& input) {
  FrameInfo out{.number = input.below(1 << 20),
                .size = {input.between(1, 64), input.between(1, 64)}};
  if (input.chance(10)) out.number = int64_t{input.below(UINT32_MAX)} << input.below(32);
  if (input.chance(70)) out.timestamp = uint64_t{input.below(UINT32_MAX)} << input.below(33);
  if (input.chance(10)) out.sender_time = uint64_t{input.below(UINT32_MAX)} << input.below(33);
  out.tracked = input.chance(30);
  if (input.chance(10)) out.wall_time = "2024-02-29T12:00:00.000Z";
  if (input.chance(40)) out.source = any_name(input);
  return out;
}

std::vector<CocoId> any_ids(Input& input) {
  std::vector<CocoId> out(input.below(30));
  for (CocoId& id : out) id = {int64_t{input.below(1000)} - 10, any_name(input)};
  return out;
}

WriterOptions any_options(Input& input) {
  WriterOptions out{.write_empty = input.chance(50)};
  if (input.chance(20)) out.tags = R"({"camera":3,"x":12345678901234567890123})";
  if (input.chance(15)) out.images = any_ids(input);
  if (input.chance(15)) out.categories = any_ids(input);
  return out;
}

/// Accepts only errors about entries that a list lacks.
void refused(const WriterOptions& options, const Error& error) {
  if (options.images.empty() && options.categories.empty()) violated("refused: " + error.message());
  count("frames refused for a list");
}

void coco(Input& input) {
  const WriterOptions options = any_options(input);
  BoxWriter writer(BoxFormat::kCoco, options);
  std::string text(writer.head());
  std::deque<DrawnBoxes> drawn;
  std::vector<CocoFrame> frames;
  for (uint32_t i = input.between(1, 4); i > 0; --i) {
    const FrameInfo info = any_frame(input);
    drawn.emplace_back(input, kMaxBoxes, info.size);
    std::string part;
    if (const Status done = writer.write(info, drawn.back().boxes, part); !done) {
      refused(options, done.error());
      break;
    }
    text += part;
    frames.push_back({info, drawn.back().boxes});
    count("boxes of coco", drawn.back().boxes.size());
  }
  static_cast<void>(writer.take_messages());
  check_coco(frames, options, text + std::string(writer.tail()));
}

void dota(Input& input) {
  BoxWriter writer(BoxFormat::kDota, {});
  const FrameInfo info = any_frame(input);
  const DrawnBoxes drawn(input, kMaxBoxes, info.size);
  std::map<std::string, std::string> by_class;
  if (!writer.write(info, drawn.boxes, by_class)) violated("a frame that is refused");
  check_dota(info, drawn.boxes, by_class);
  count("boxes of dota", drawn.boxes.size());
}

void lines(Input& input) {
  static constexpr BoxFormat kFormats[]{BoxFormat::kJsonl, BoxFormat::kMot, BoxFormat::kKitti,
                                        BoxFormat::kCsv};
  static constexpr const char* kTallies[]{"boxes of jsonl", "boxes of mot", "boxes of kitti",
                                          "boxes of csv"};
  const uint32_t which = input.below(std::size(kFormats));
  const WriterOptions options = any_options(input);
  BoxWriter writer(kFormats[which], options);
  for (uint32_t i = input.between(1, 3); i > 0; --i) {
    const FrameInfo info = any_frame(input);
    const DrawnBoxes drawn(input, kMaxBoxes, info.size);
    std::string text;
    if (!writer.write(info, drawn.boxes, text)) violated("a frame that is refused");
    if (!is_utf8(text)) violated("a text that is not UTF-8");
    if (which == 0) check_jsonl(info, drawn.boxes, options, text);
    if (which == 1) check_mot(info, drawn.boxes, text);
    if (which == 2) check_kitti(drawn.boxes, text);
    if (which == 3) check_csv(info, drawn.boxes, text);
    count(kTallies[which], drawn.boxes.size());
  }
}

}  // namespace

const char* const kSurface = "writers";

void set_up() {
  gst_init(nullptr, nullptr);
  if (access("/dev/shm", W_OK | X_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
}

std::string written_name(GQuark name) {
  const char* text = g_quark_to_string(name);
  if (text == nullptr) return {};
  g_autofree gchar* valid = g_utf8_make_valid(text, -1);
  return valid;
}

std::string written_model(const FrameBox& box) {
  return box.unnamed ? "" : written_name(box.model);
}

void run_one(Input& input) {
  static constexpr void (*kKinds[])(Input&){lines, lines, coco, dota, check_sessions};
  input.pick(kKinds)(input);
}

}  // namespace keepbox::fuzz
