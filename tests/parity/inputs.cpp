// SPDX-License-Identifier: LGPL-2.1-or-later
// Input makers compared with the reference: frame layouts, sizes, types, modes.
#include "tests/parity/inputs.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <format>

namespace keepbox::test {
namespace {

FrameComponent at(uint8_t plane, uint8_t offset, uint8_t step, uint8_t sub_x = 1,
                  uint8_t sub_y = 1) {
  return {.plane = plane, .offset = offset, .step = step, .sub_x = sub_x, .sub_y = sub_y};
}

const FrameLayout kLayouts[] = {
    {"RGB", {at(0, 0, 3), at(0, 1, 3), at(0, 2, 3)}, false},
    {"BGR", {at(0, 2, 3), at(0, 1, 3), at(0, 0, 3)}, false},
    {"RGBx", {at(0, 0, 4), at(0, 1, 4), at(0, 2, 4)}, false},
    {"xRGB", {at(0, 1, 4), at(0, 2, 4), at(0, 3, 4)}, false},
    {"BGRx", {at(0, 2, 4), at(0, 1, 4), at(0, 0, 4)}, false},
    {"GRAY8", {at(0, 0, 1), at(0, 0, 1), at(0, 0, 1)}, false},
    {"GBR", {at(2, 0, 1), at(0, 0, 1), at(1, 0, 1)}, false},
    {"NV12", {at(0, 0, 1), at(1, 0, 2, 2, 2), at(1, 1, 2, 2, 2)}, true},
    {"NV21", {at(0, 0, 1), at(1, 1, 2, 2, 2), at(1, 0, 2, 2, 2)}, true},
    {"NV16", {at(0, 0, 1), at(1, 0, 2, 2, 1), at(1, 1, 2, 2, 1)}, true},
    {"I420", {at(0, 0, 1), at(1, 0, 1, 2, 2), at(2, 0, 1, 2, 2)}, true},
    {"YV12", {at(0, 0, 1), at(2, 0, 1, 2, 2), at(1, 0, 1, 2, 2)}, true},
    {"Y42B", {at(0, 0, 1), at(1, 0, 1, 2, 1), at(2, 0, 1, 2, 1)}, true},
    {"Y41B", {at(0, 0, 1), at(1, 0, 1, 4, 1), at(2, 0, 1, 4, 1)}, true},
    {"YUY2", {at(0, 0, 2), at(0, 1, 4, 2, 1), at(0, 3, 4, 2, 1)}, true},
    {"UYVY", {at(0, 1, 2), at(0, 0, 4, 2, 1), at(0, 2, 4, 2, 1)}, true},
    {"far", {at(0, 0, 7), at(0, 3, 7), at(0, 6, 7)}, true},
};

int pick(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

/// Draws a side: tiny, around vector sizes, and sometimes large.
uint32_t side(Random& random) {
  const int kind = pick(random, 0, 9);
  const int most = kind < 7 ? 33 : kind < 9 ? 99 : 400;
  return static_cast<uint32_t>(pick(random, 1, most));
}

FrameForm form_of(const FrameLayout& layout, Random& random, Size size) {
  FrameForm form{.size = size, .components = layout.components};
  const bool cosited = pick(random, 0, 1) == 1;
  for (FrameComponent& each : form.components) {
    form.planes = std::max<uint8_t>(form.planes, each.plane + 1);
    if (cosited) each.shift_x = 0.5f / static_cast<float>(each.sub_x);
  }
  form.matrix = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  if (layout.yuv)
    form.matrix = {{{1.164384f, 0, 1.596027f, -222.921f},
                    {1.164384f, -0.391762f, -0.812968f, 135.576f},
                    {1.164384f, 2.017232f, 0, -276.836f}}};
  return form;
}

InputForm input_of(Random& random, Size size) {
  constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kUInt8};
  InputForm input{.size = size, .type = kTypes[pick(random, 0, 2)]};
  input.channels_last = pick(random, 0, 1) == 1;
  input.channels = pick(random, 0, 3) == 0 ? 1 : 3;
  input.bgr = pick(random, 0, 1) == 1;
  input.pad = static_cast<uint8_t>(pick(random, 0, 255));
  const int scaling = pick(random, 0, 3);
  if (scaling == 1) input.deviation = {255, 255, 255};
  if (scaling == 2) {
    input.mean = {123.675f, 116.28f, 103.53f};
    input.deviation = {58.395f, 57.12f, 57.375f};
  }
  if (scaling == 3) {  // beyond the range of float16 and bytes
    input.mean = {0, 300, -7};
    input.deviation = {0.001f, -2, 1e6f};
  }
  return input;
}

/// Draws a box, turned or not, or any affine map and place.
Crop random_crop(Random& random, const CropPlan& plan) {
  std::uniform_real_distribution<float> part(-0.3f, 1.3f), small(-2, 2);
  const auto width = static_cast<float>(plan.frame.size.width);
  const auto height = static_cast<float>(plan.frame.size.height);
  const float x = part(random) * width, y = part(random) * height;
  const OrientedBox box{
      {x, y, x + 1 + (part(random) + 0.3f) * width, y + 1 + (part(random) + 0.3f) * height},
      pick(random, 0, 1) == 0 ? 0 : 2 * small(random)};
  const auto mode = static_cast<ResizeMode>(pick(random, 0, 4));
  if (const auto crop = crop_of(plan, box, mode); crop && pick(random, 0, 3) != 0) return *crop;
  const Size input = plan.input.size;
  const auto begin = [&](uint32_t side) { return uint32_t(pick(random, 0, int(side))); };
  const uint32_t left = begin(input.width), top = begin(input.height);
  return {{small(random), small(random), x, small(random), small(random), y},
          {left, top, begin(input.width - left), begin(input.height - top)}};
}

}  // namespace

std::expected<MakeInput, std::string> whole_maker(const Backend& backend, const InputCase& each) {
  auto made = backend.input_maker(each.plan);
  if (!made) return std::unexpected(made.error().message());
  return [maker = std::shared_ptr<InputMaker>(std::move(*made))](const FramePlanes& frame,
                                                                 void* input, void* stream) {
    return maker->make(frame, input, stream);
  };
}

std::expected<MakeInput, std::string> crop_maker(const Backend& backend, const InputCase& each) {
  auto made = backend.crop_maker(each.crops);
  if (!made) return std::unexpected(made.error().message());
  return [maker = std::shared_ptr<CropMaker>(std::move(*made)), crop = each.crop](
             const FramePlanes& frame, void* input, void* stream) {
    return maker->make(frame, crop, input, stream);
  };
}

FencedBytes::FencedBytes(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t readable = (bytes + page - 1) / page * page;
  void* const pages =
      mmap(nullptr, readable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) std::abort();
  pages_ = {static_cast<uint8_t*>(pages), Unmap{readable + page}};
  mprotect(pages_.get() + readable, page, PROT_NONE);
  bytes_ = {pages_.get() + readable - bytes, bytes};
}

void FencedBytes::Unmap::operator()(uint8_t* pages) const { munmap(pages, bytes); }

std::span<const FrameLayout> layouts() { return kLayouts; }

InputCase input_case(const FrameLayout& layout, unsigned seed) {
  std::seed_seq sequence{seed, static_cast<unsigned>(&layout - kLayouts)};
  Random random(sequence);
  InputCase out;
  const Size frame{side(random), side(random)};
  const Size size = pick(random, 0, 3) == 0 ? frame : Size{side(random), side(random)};
  const auto mode = static_cast<ResizeMode>(pick(random, 0, 4));
  const auto plan = plan_input(form_of(layout, random, frame), pick(random, 0, 4) == 0 ? 2 : 1, 1,
                               input_of(random, size), mode);
  if (!plan) return out;
  out.plan = *plan;
  out.crops = *plan_crops(plan->frame, 1, 1, plan->input);
  out.crop = random_crop(random, out.crops);
  for (size_t p = 0; p < plan->frame.planes; ++p) {
    size_t row = 0, rows = 0;
    for (const FrameComponent& each : plan->frame.components) {
      if (each.plane != p) continue;
      row = std::max(row,
                     size_t{each.offset} + (each.samples_per_row(frame.width) - 1) * each.step + 1);
      rows = std::max<size_t>(rows, each.samples_per_column(frame.height));
    }
    out.stride[p] = row + static_cast<size_t>(pick(random, 0, 2) == 0 ? 0 : pick(random, 0, 70));
    out.planes[p] = FencedBytes(out.stride[p] * (rows - 1) + row);
    for (uint8_t& byte : out.planes[p].bytes())
      byte = static_cast<uint8_t>(pick(random, 0, 4) == 0 ? pick(random, 0, 1) * 255
                                                          : pick(random, 0, 255));
  }
  return out;
}

FramePlanes InputCase::frame() const {
  FramePlanes out;
  for (size_t p = 0; p < plan.frame.planes; ++p) {
    out.data[p] = planes[p].bytes().data();
    out.stride[p] = static_cast<int32_t>(stride[p]);
  }
  return out;
}

std::string InputCase::to_string() const {
  const InputForm& input = plan.input;
  return std::format("{}x{} to {}x{} at {},{} of {}x{} {} x{}{}{}", plan.frame.size.width,
                     plan.frame.size.height, plan.place.width, plan.place.height, plan.place.x,
                     plan.place.y, input.size.width, input.size.height,
                     keepbox::to_string(input.type), input.channels,
                     input.channels_last ? " last" : "", input.bgr ? " bgr" : "");
}

Made make_on_host(const Backend& backend, const InputCase& each, MakerOf maker_of) {
  const auto make = maker_of(backend, each);
  if (!make) return std::unexpected(make.error());
  const size_t bytes = each.plan.input.bytes();
  std::vector<uint8_t> memory(bytes + 2 * kGuard + 16, kPoison);
  const size_t aligned = 16 - reinterpret_cast<uintptr_t>(memory.data()) % 16;
  uint8_t* const input = memory.data() + aligned + kGuard;
  for (int run = 0; run < 2; ++run)  // the second frame must not see the first
    if (const Status status = (*make)(each.frame(), input, nullptr); !status)
      return std::unexpected(status.error().message());
  const auto poisoned = [](uint8_t byte) { return byte == kPoison; };
  if (!std::all_of(memory.data(), input, poisoned) ||
      !std::all_of(input + bytes, memory.data() + memory.size(), poisoned))
    return std::unexpected("wrote beside the input");
  return std::vector<uint8_t>(input, input + bytes);
}

std::optional<std::string> input_difference(const Made& got, const Made& want, DataType type) {
  if (!got) return got.error();
  if (!want) return want.error();
  if (*got == *want) return std::nullopt;
  const auto first = std::ranges::mismatch(*got, *want).in1 - got->begin();
  const size_t number = static_cast<size_t>(first) / size_of(type);
  const auto value = [&](const Made& made) {
    return load_element(type, made->data() + number * size_of(type));
  };
  return std::format("number {} of {}: {} instead of {}", number, got->size() / size_of(type),
                     value(got), value(want));
}

}  // namespace keepbox::test
