// SPDX-License-Identifier: LGPL-2.1-or-later
// Recordings are replayed unchanged.
#include <gst/gst.h>

#include <cmath>
#include <memory>
#include <vector>

#include "gst/recording/tensorreader.h"
#include "gst/recording/tensorwriter.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/files.h"

namespace keepbox::fuzz {
namespace {

struct Recorded {
  std::vector<std::byte> data;
  RecordedTensor tensor;
  std::string id;
};

/// Returns a scale of a letterbox: finite and above 0.
float any_scale(Input& input) {
  const float scale = std::abs(input.number());
  return std::isfinite(scale) && scale > 0 ? scale : 1;
}

std::unique_ptr<Recorded> any_recorded(Input& input) {
  auto out = std::make_unique<Recorded>();
  out->id = any_name(input);
  std::array<size_t, 4> dims{};
  const size_t rank = input.between(1, 4);
  for (size_t i = 0; i < rank; ++i) dims[i] = input.chance(3) ? 0 : 1 + input.below(4);
  TensorView& view = out->tensor.view;
  view.shape = Shape(std::span(dims).first(rank));
  view.type = any_type(input);
  out->data.resize(*view.shape.count() * size_of(view.type));
  for (std::byte& byte : out->data) byte = static_cast<std::byte>(input.below(256));
  view.id = out->id;
  view.data = out->data.data();
  view.bytes = out->data.size();
  if (input.chance(40)) out->tensor.order = GST_TENSOR_DIM_ORDER_COL_MAJOR;
  if (input.chance(50)) return out;
  TensorProvenance source{.model = any_name(input)};
  if (input.chance(50)) source.geometry = {{64, 48}, {32, 32}, 2, any_scale(input), 0, 4};
  for (uint32_t i = input.below(4); i > 0; --i) source.labels.push_back(any_name(input));
  out->tensor.source = std::make_shared<const TensorProvenance>(std::move(source));
  return out;
}

void compare(const Recorded& recorded, const StoredTensor& read) {
  if (read.shape != recorded.tensor.view.shape || read.type != recorded.tensor.view.type ||
      read.order != recorded.tensor.order)
    violated("a tensor that is read otherwise than it was written");
  if (is_utf8(recorded.id) && read.id != recorded.id) violated("an id that is read otherwise");
  const size_t size = recorded.data.size();
  if (gst_buffer_get_size(read.data.get()) != size ||
      (size != 0 && gst_buffer_memcmp(read.data.get(), 0, recorded.data.data(), size) != 0))
    violated("data that are read otherwise");
  const SharedProvenance &wrote = recorded.tensor.source,
                         read_back = provenance_of(read.data.get());
  if ((wrote == nullptr) != (read_back == nullptr)) violated("a source that is lost or invented");
  if (wrote == nullptr) return;
  if (read_back->labels.size() != wrote->labels.size()) violated("labels that are read otherwise");
  const Letterbox &a = wrote->geometry, &b = read_back->geometry;
  if (a.scale_x != b.scale_x || a.scale_y != b.scale_y || a.pad_y != b.pad_y)
    violated("a geometry that is read otherwise");
}

}  // namespace

void round_trips(Input& input) {
  const std::string path = folder() / "written";
  std::vector<std::vector<std::unique_ptr<Recorded>>> frames(input.between(1, 4));
  auto writer = TensorWriter::create(path);
  if (!writer) violated("no folder to record to: " + writer.error().message());
  int64_t time = 0;
  for (auto& frame : frames) {
    std::vector<RecordedTensor> tensors;
    for (uint32_t i = input.below(3); i > 0; --i) {
      frame.push_back(any_recorded(input));
      tensors.push_back(frame.back()->tensor);
    }
    RecordedFrame whole{.tensors = tensors, .duration = input.below(50), .size = {64, 48}};
    if (input.chance(90)) whole.time = time += input.between(0, 40);
    if (const Status done = writer->write(whole); !done)
      violated("not recorded: " + done.error().message());
  }
  if (const Status done = writer->finish(); !done)
    violated("not finished: " + done.error().message());
  {
    [[maybe_unused]] const auto closed = std::move(*writer);
  }
  auto reader = TensorReader::open(path, {});
  if (!reader) violated("what was recorded is refused: " + reader.error().message());
  if (reader->frames() != frames.size()) violated("as many frames are not replayed");
  for (size_t i = 0; i < frames.size(); ++i) {
    const auto read = reader->read(i);
    if (!read) violated("what was recorded is not read: " + read.error().message());
    if (read->size() != frames[i].size()) violated("as many tensors are not replayed");
    for (size_t t = 0; t < read->size(); ++t) compare(*frames[i][t], (*read)[t]);
  }
  count("recordings replayed");
}

}  // namespace keepbox::fuzz
