// SPDX-License-Identifier: LGPL-2.1-or-later
// A decoder for applications: options, recognition, and a processor for the tensors that come.
#include "decode/decoder.h"

#include <algorithm>
#include <cstring>
#include <format>
#include <type_traits>
#include <utility>

#include "core/base/text.h"
#include "core/plan/limits.h"
#include "core/plan/lint.h"
#include "core/recognition/value_checks.h"
#include "core/run/backend.h"
#include "decode/device.h"
#include "decode/error.h"

namespace keepbox {
namespace {

static_assert(sizeof(KeepboxDecodeBox) == sizeof(Detection) &&
              offsetof(KeepboxDecodeBox, score) == offsetof(Detection, score) &&
              offsetof(KeepboxDecodeBox, angle) == offsetof(Detection, angle) &&
              offsetof(KeepboxDecodeBox, class_id) == offsetof(Detection, class_id) &&
              offsetof(KeepboxDecodeBox, anchor) == offsetof(Detection, anchor));
static_assert(sizeof(KeepboxDecodePoint) == sizeof(Keypoint) &&
              offsetof(KeepboxDecodePoint, score) == offsetof(Keypoint, score));

/// Parses "1920x1080".
Result<Size> frame_size_of(std::string_view text) {
  auto size = model_size_of(text);
  if (size) return size;
  return reject(ErrorKind::kInvalid,
                "frame-size has " + in_quotes(text) + ", which is not WIDTHxHEIGHT in pixels",
                "set frame-size= to a value such as 1920x1080");
}

bool only_live_differ(const DecodeOptions& a, const DecodeOptions& b) {
  return std::ranges::all_of(decode_options(), [&](const Option& option) {
    return option.live ||
           std::visit([&](auto member) { return a.*member == b.*member; }, option.member);
  });
}

}  // namespace

Status DecoderSetup::set(std::string_view text) {
  KB_ASSIGN(const auto texts, option_texts(text));
  for (const OptionText& each : texts) {
    if (each.name == "frame-size") {
      KB_ASSIGN(frame, frame_size_of(each.value));
    } else {
      KB_TRY(set_option(options, each.name, each.value));
    }
  }
  KB_TRY(files.read(options));
  KB_ASSIGN(quantization, Quantization::from(options.quantization));
  tensor_ids = ids_of(options.tensor_ids);
  backend = nick_of(backend_words(), options.backend);
  KB_TRY(settings(frame));
  return {};
}

Result<Settings> DecoderSetup::settings(Size of_frame) const {
  const ClassNames unnamed;
  KB_ASSIGN(Settings out, resolve(options, files.labels() != nullptr ? *files.labels() : unnamed,
                                  {.size = of_frame}));
  take_files(out, files);
  return out;
}

namespace {

Result<DataType> type_of(KeepboxDecodeType type) {
  constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16,
                                 DataType::kFloat64, DataType::kInt8,    DataType::kInt16,
                                 DataType::kInt32,   DataType::kInt64,   DataType::kUInt8,
                                 DataType::kUInt16,  DataType::kUInt32,  DataType::kUInt64};
  const auto number = static_cast<size_t>(static_cast<unsigned>(type));
  if (number < std::size(kTypes)) return kTypes[number];
  return reject(ErrorKind::kInvalid, std::format("A tensor has the type {}", number),
                "set it to one of KeepboxDecodeType");
}

Result<Shape> shape_of(const KeepboxDecodeTensor& tensor) {
  std::array<size_t, Shape::kMaxRank> dims{};
  if (tensor.rank == 0 || tensor.rank > dims.size())
    return reject(ErrorKind::kInvalid, std::format("A tensor has {} dimensions", tensor.rank),
                  std::format("set rank to a number from 1 to {}", dims.size()));
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dims[i] < 0)
      return reject(ErrorKind::kInvalid,
                    std::format("A tensor has a dimension of {}", tensor.dims[i]),
                    "set dims to the dimensions of the tensor");
    dims[i] = static_cast<size_t>(tensor.dims[i]);
  }
  return Shape(std::span(dims).first(tensor.rank));
}

/// True if the strides are those of a dense tensor. Those of dimensions of 1 do not matter.
bool is_dense(const KeepboxDecodeTensor& tensor) {
  const auto strides = std::span(tensor.strides).first(tensor.rank);
  if (std::ranges::all_of(strides, [](int64_t each) { return each == 0; })) return true;
  int64_t wanted = 1;
  for (size_t i = tensor.rank; i-- > 0;) {
    if (tensor.dims[i] != 1 && strides[i] != wanted) return false;
    wanted *= tensor.dims[i];
  }
  return true;
}

/// Refuses strides by which elements would be out of reach of an address.
Status check_strides(const KeepboxDecodeTensor& tensor, size_t element) {
  int64_t reach = 0;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    constexpr int64_t kMost = int64_t{1} << 62;
    int64_t bytes = 0;
    const bool fits = !__builtin_mul_overflow(tensor.strides[i],
                                              std::max<int64_t>(tensor.dims[i], 1) - 1, &bytes) &&
                      !__builtin_mul_overflow(bytes, static_cast<int64_t>(element), &bytes) &&
                      bytes > -kMost && bytes < kMost &&
                      !__builtin_add_overflow(reach, bytes < 0 ? -bytes : bytes, &reach);
    if (!fits)
      return reject(ErrorKind::kInvalid,
                    std::format("A tensor has a stride of {} elements", tensor.strides[i]),
                    "set strides to the elements between neighbours of each dimension, or to 0");
  }
  return {};
}

/// Copies a tensor in host memory, row by row of its last dimension.
void copy_dense(const KeepboxDecodeTensor& from, const Shape& shape, size_t element,
                std::byte* to) {
  const size_t last = shape.rank() - 1;
  std::array<size_t, Shape::kMaxRank> at{};
  const int64_t step = from.strides[last] * static_cast<int64_t>(element);
  for (bool more = true; more;) {
    int64_t offset = 0;
    for (size_t i = 0; i < last; ++i) offset += static_cast<int64_t>(at[i]) * from.strides[i];
    const auto* row =
        static_cast<const std::byte*>(from.data) + offset * static_cast<int64_t>(element);
    for (size_t i = 0; i < shape[last]; ++i, to += element)
      std::memcpy(to, row + static_cast<int64_t>(i) * step, element);
    more = false;
    for (size_t i = last; i-- > 0 && !more;) {
      more = ++at[i] < shape[i];
      if (!more) at[i] = 0;
    }
  }
}

}  // namespace

Status CallTensors::take(std::span<const KeepboxDecodeTensor> tensors, const DecoderSetup& setup) {
  views_.clear();
  warning_.reset();
  if (tensors.empty())
    return reject(ErrorKind::kInvalid, "There are no tensors", "pass those of the model");
  dense_.resize(std::max(dense_.size(), tensors.size()));
  bool integers = false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    KB_TRY(take_one(tensors[i], i));
    integers |= !is_real(views_[i]);
    if (views_[i].space != views_[0].space)
      return reject(ErrorKind::kInvalid,
                    "Some tensors are in host memory, and others in CUDA memory",
                    "copy them to the same memory");
  }
  if (integers || !setup.options.quantization.empty())
    warning_ = quantize(views_, setup.quantization, setup.files.family().get(), setup.tensor_ids);
  return {};
}

Status CallTensors::take_one(const KeepboxDecodeTensor& tensor, size_t index) {
  TensorView view{.id = tensor.id != nullptr ? tensor.id : std::string_view(), .data = tensor.data};
  KB_ASSIGN(view.type, type_of(tensor.type));
  KB_ASSIGN(view.shape, shape_of(tensor));
  KB_ASSIGN(const size_t count, view.shape.count());
  view.bytes = count * size_of(view.type);
  if (tensor.data == nullptr && count != 0)
    return reject(ErrorKind::kInvalid, "A tensor has no data", "set data to its first element");
  if (tensor.memory == KEEPBOX_DECODE_CUDA) {
    view.space = MemorySpace::kCuda;
    view.ready_stream = named_stream(tensor.stream);
  } else if (tensor.memory != KEEPBOX_DECODE_HOST) {
    return reject(ErrorKind::kInvalid, "A tensor is in an unknown memory",
                  "set memory to one of KeepboxDecodeMemory");
  }
  if (tensor.scale != 0) {
    if (is_floating(view.type) || !(tensor.scale > 0) || !std::isfinite(tensor.scale) ||
        !std::isfinite(tensor.zero_point))
      return reject(ErrorKind::kInvalid,
                    std::format("{} has the scale {}", view.to_string(), tensor.scale),
                    "set scale to a number above 0 for quantised integers, and to 0 for others");
    view.scale = tensor.scale, view.zero_point = tensor.zero_point;
  }
  if (count != 0 && !is_dense(tensor)) {
    KB_TRY(check_strides(tensor, size_of(view.type)));
    if (view.space != MemorySpace::kSystem)
      return reject(ErrorKind::kUnsupported, view.to_string() + " in CUDA memory is not dense",
                    "make it contiguous");
    dense_[index].resize(view.bytes);
    copy_dense(tensor, view.shape, size_of(view.type), dense_[index].data());
    view.data = dense_[index].data();
  }
  views_.push_back(view);
  return {};
}

bool CallTensors::are_batches_of(size_t images) const {
  return std::ranges::all_of(views_, [&](const TensorView& view) {
    return view.shape.rank() > 1 && view.shape[0] == images;
  });
}

void CallTensors::image(uint32_t number, std::vector<TensorView>& out) const {
  out.clear();
  for (TensorView view : views_) {
    std::array<size_t, Shape::kMaxRank> dims{};
    std::ranges::copy(view.shape.dims(), dims.begin());
    view.bytes /= std::max<size_t>(dims[0], 1);
    view.data = static_cast<const std::byte*>(view.data) + number * view.bytes;
    dims[0] = 1;
    view.shape = Shape(std::span(dims).first(view.shape.rank()));
    out.push_back(view);
  }
}

Result<std::unique_ptr<Decoder>> Decoder::create(std::string_view options) {
  auto out = std::make_unique<Decoder>();
  KB_TRY(out->setup_.set(options));
  return out;
}

Decoder::~Decoder() { drop(); }

void Decoder::drop() {
  const CurrentDevice current(device_);
  processor_.reset();
  device_ = -1;
  joint_ = 0;
}

Status Decoder::set(std::string_view options) {
  DecoderSetup wanted = setup_;
  KB_TRY(wanted.set(options));
  const bool tuned = processor_ && joint_ == 0 && wanted.frame == setup_.frame &&
                     only_live_differ(wanted.options, setup_.options);
  if (tuned) {
    const CurrentDevice current(device_);
    KB_TRY(current.status());
    KB_ASSIGN(const Settings settings, wanted.settings(wanted.frame));
    if (!processor_->retune(settings)) drop();
  } else {
    drop();
  }
  setup_ = std::move(wanted);
  return {};
}

/// True if the processor decodes these tensors.
bool Decoder::fits(size_t frames, int device) {
  if (!processor_ || memory_ != tensors_.memory() || device != device_) return false;
  const Plan& plan = processor_->plan();
  if (joint_ == 0) return (frames <= 1 || plan.frames() == 1) && plan.holds_for(tensors_.views());
  const size_t images = tensors_.views()[0].shape[0];
  if (images > joint_ || images == 0 || !tensors_.are_batches_of(images)) return false;
  tensors_.image(0, image_);
  return plan.holds_for(image_);
}

/// Plans with values, for which tensors in device memory are copied to the host.
Result<Plan> Decoder::plan(std::span<const TensorView> tensors) {
  KB_ASSIGN(const Settings settings, setup_.settings(setup_.frame));
  if (tensors_.memory() == MemorySpace::kSystem) return make_plan(settings, tensors);
  std::vector<std::vector<std::byte>> copies;
  std::vector<TensorView> views(tensors.begin(), tensors.end());
  for (TensorView& view : views) {
    KB_TRY(check_bounds(view));
    std::vector<std::byte>& copy = copies.emplace_back(view.bytes);
    KB_TRY(download(view, copy));
    view.data = copy.data();
    view.space = MemorySpace::kSystem;
    view.ready_event = view.ready_stream = nullptr;
  }
  return make_plan(settings, views);
}

/// Returns the device for the tensors, -1 for the host.
Result<int> Decoder::device() const {
  return device_for(tensors_.views(), wanted_backend(setup_.backend), setup_.options.device_id);
}

Status Decoder::make_processor(size_t frames, int device) {
  drop();
  memory_ = tensors_.memory();
  device_ = device;
  const CurrentDevice current(device_);
  KB_TRY(current.status());
  const bool joint = frames > 1 && tensors_.are_batches_of(frames);
  if (joint) tensors_.image(0, image_);
  KB_ASSIGN(Plan made, plan(joint ? std::span<const TensorView>(image_) : tensors_.views()));
  const bool cannot_join = joint ? !can_join(made) : frames > 1 && made.frames() > 1;
  if (cannot_join)
    return reject(ErrorKind::kUnsupported,
                  "Images of these tensors cannot have frames of their own",
                  "pass no frames, and set frame-size=");
  own_map_ = made.letterbox;
  remark_ = made.remark;
  if (joint) made = joint_plan(std::move(made), static_cast<uint32_t>(frames));
  KB_ASSIGN(auto backend, select_backend(setup_.backend, made, memory_));
  if (setup_.options.threads > 1) threads_ = make_worker_threads(setup_.options.threads);
  KB_ASSIGN(processor_,
            Processor::create(std::move(made), std::move(backend), memory_, threads_.get()));
  joint_ = joint ? static_cast<uint32_t>(frames) : 0;
  return {};
}

Result<Letterbox> Decoder::map_of(const KeepboxDecodeFrame& frame) const {
  const Size size =
      frame.width != 0 && frame.height != 0 ? Size{frame.width, frame.height} : own_map_.frame;
  if ((frame.width == 0) != (frame.height == 0))
    return reject(ErrorKind::kInvalid,
                  std::format("A frame of {}x{} pixels is not possible", frame.width, frame.height),
                  "set both sides, or none");
  if (frame.scale_x == 0 && frame.scale_y == 0)
    return make_letterbox({.size = size}, {.size = own_map_.model},
                          static_cast<ResizeMode>(setup_.options.resize_mode));
  const auto positive = [](float value) { return value > 0 && std::isfinite(value); };
  if (!positive(frame.scale_x) || !positive(frame.scale_y) || !std::isfinite(frame.pad_x) ||
      !std::isfinite(frame.pad_y))
    return reject(ErrorKind::kInvalid, "A frame has an invalid scale or padding",
                  "set scale_x and scale_y to frame pixels per model pixel, above 0");
  return Letterbox{.frame = size,
                   .model = own_map_.model,
                   .scale_x = frame.scale_x,
                   .scale_y = frame.scale_y,
                   .pad_x = frame.pad_x,
                   .pad_y = frame.pad_y};
}

Status Decoder::set_maps(std::span<const KeepboxDecodeFrame> frames, uint32_t images) {
  maps_.assign(std::max<size_t>(images, 1), own_map_);
  for (size_t i = 0; i < frames.size(); ++i) {
    KB_ASSIGN(maps_[i], map_of(frames[i]));
  }
  if (joint_ != 0) {
    processor_->set_maps(maps_);
  } else {
    processor_->refit(maps_[0], {}, maps_[0].frame);
  }
  return {};
}

/// Makes the processor fit the tensors, and lists those that it reads.
Status Decoder::prepare(std::span<const KeepboxDecodeTensor> tensors,
                        std::span<const KeepboxDecodeFrame> frames) {
  KB_TRY(tensors_.take(tensors, setup_));
  KB_ASSIGN(const int wanted, device());
  if (!fits(frames.size(), wanted)) KB_TRY(make_processor(frames.size(), wanted));
  const Plan& plan = processor_->plan();
  const auto images =
      static_cast<uint32_t>(joint_ != 0 ? tensors_.views()[0].shape[0] : plan.frames());
  if (!frames.empty() && frames.size() != images && !(joint_ == 0 && frames.size() == 1))
    return reject(ErrorKind::kInvalid,
                  std::format("There are {} frames for {} images", frames.size(), images),
                  "pass one frame for each image of the batch");
  KB_TRY(set_maps(frames, images));
  reads_.clear();
  for (uint32_t image = 0; image < (joint_ != 0 ? images : 1); ++image) {
    if (joint_ != 0) tensors_.image(image, image_);
    for (const uint32_t read : plan.reads)
      reads_.push_back(joint_ != 0 ? image_[read] : tensors_.views()[read]);
  }
  n_images_ = images;
  return {};
}

/// Checks the boxes against the family, and collects warnings.
Status Decoder::check_boxes() {
  const Plan& plan = processor_->plan();
  warnings_.clear();
  const auto warn = [&](const Error& error) {
    warnings_ += (warnings_.empty() ? "" : " ") + error.message();
  };
  if (tensors_.warning()) warn(*tensors_.warning());
  for (const Error& each : plan.warnings) warn(each);
  for (uint32_t i = 0; i < n_images_; ++i) {
    const auto found = processor_->detections(i);
    const Status fits = found.empty() ? Status{} : check_best_score(plan.layout, found[0].score);
    if (!fits && plan.basis != Basis::kSet) return fits;
    if (!fits) warn(fits.error());
    const Funnel& funnel = processor_->funnel(i);
    if (const auto full = ceiling_reached(plan, funnel.after_class_filter, funnel.after_top_k))
      warn(*full);
  }
  return {};
}

void Decoder::fill_masks(uint32_t number) {
  auto& out = masks_[number];
  out.clear();
  for (const Mask& mask : processor_->masks(number))
    out.push_back({.bits = mask.width == 0 || mask.height == 0 ? nullptr : mask.bits,
                   .stride = mask.stride,
                   .first = mask.first,
                   .width = mask.width,
                   .height = mask.height,
                   .x1 = mask.place.x1,
                   .y1 = mask.place.y1,
                   .x2 = mask.place.x2,
                   .y2 = mask.place.y2});
}

void Decoder::fill_image(uint32_t number, KeepboxDecodeImage& out) {
  const auto boxes = processor_->detections(number);
  const auto points = processor_->keypoints(number);
  const Plan& plan = processor_->plan();
  fill_masks(number);
  out = {.n_boxes = static_cast<uint32_t>(boxes.size()),
         .n_points = 0,
         .n_values = 0,
         .boxes = reinterpret_cast<const KeepboxDecodeBox*>(boxes.data()),
         .points = nullptr,
         .masks = masks_[number].empty() ? nullptr : masks_[number].data(),
         .values = nullptr,
         .funnel = public_funnel(processor_->funnel(number))};
  if (plan.payload.has(Moves::kAsPoints)) {
    out.n_points = plan.payload.count / kPointValues;
    out.points = reinterpret_cast<const KeepboxDecodePoint*>(points.data());
  } else if (plan.payload.any() && !plan.payload.has(Moves::kAsMask)) {
    out.n_values = plan.payload.count;
    out.values = processor_->payload(number).data();
  }
}

Status Decoder::run(std::span<const KeepboxDecodeTensor> tensors,
                    std::span<const KeepboxDecodeFrame> frames, KeepboxDecodeResult& result) {
  KB_TRY(prepare(tensors, frames));
  const CurrentDevice current(device_);
  KB_TRY(current.status());
  KB_TRY(processor_->run(reads_));
  KB_TRY(check_boxes());
  images_.resize(n_images_);
  masks_.resize(std::max<size_t>(masks_.size(), n_images_));
  for (uint32_t i = 0; i < n_images_; ++i) fill_image(i, images_[i]);
  result.n_images = n_images_;
  result.image_size = sizeof(KeepboxDecodeImage);
  result.images = images_.data();
  result.remark = remark_.c_str();
  result.warnings = warnings_.c_str();
  return {};
}

Status Decoder::enqueue(std::span<const KeepboxDecodeTensor> tensors,
                        std::span<const KeepboxDecodeFrame> frames, void* stream,
                        const KeepboxDecodeOutput& output) {
  KB_TRY(prepare(tensors, frames));
  if (tensors_.memory() == MemorySpace::kSystem)
    return reject(ErrorKind::kInvalid, "The tensors are in host memory",
                  "use keepbox_decoder_run() for them");
  if (output.boxes == nullptr || output.counts == nullptr ||
      output.capacity < processor_->plan().rules.kept_capacity)
    return reject(ErrorKind::kInvalid,
                  std::format("The output has no memory for {} boxes per image",
                              processor_->plan().rules.kept_capacity),
                  "set boxes, counts and capacity, or lower max-detections=");
  const CurrentDevice current(device_);
  KB_TRY(current.status());
  return processor_->enqueue(reads_, {.boxes = reinterpret_cast<Detection*>(output.boxes),
                                      .counts = output.counts,
                                      .funnels = reinterpret_cast<OutputFunnel*>(output.funnels),
                                      .capacity = output.capacity,
                                      .stream = named_stream(stream)});
}

const char* Decoder::class_name(uint32_t class_id) {
  const SharedNames& names = setup_.files.labels();
  const bool named =
      names != nullptr && class_id < names->size() && !names->names()[class_id].empty();
  class_name_ = named ? names->names()[class_id] : std::format("class-{}", class_id);
  return class_name_.c_str();
}

}  // namespace keepbox

// The C functions.

struct KeepboxDecoder {
  std::unique_ptr<keepbox::Decoder> decoder;
  std::vector<KeepboxDecodeTensor> tensors;  // of a call, as this version has them
  std::vector<KeepboxDecodeFrame> frames;
};

namespace keepbox {
namespace {

/// True if a struct has a plausible size: that of this version, or of a later one.
template <class T>
bool has_size(const T* at) {
  constexpr size_t kMost = 4096;
  return at != nullptr && at->size >= sizeof(T) && at->size <= kMost;
}

/// Copies an array of structs whose size the caller knows. @param first begins with its size.
template <class T>
Status take_structs(const T* first, size_t count, const char* init, std::vector<T>& out) {
  out.clear();
  const auto* at = reinterpret_cast<const std::byte*>(first);
  for (size_t i = 0; i < count; ++i, at += first->size) {
    const auto* own = reinterpret_cast<const T*>(at);
    if (!has_size(own) || own->size != first->size)
      return reject(ErrorKind::kInvalid, "An argument is not initialised",
                    std::string("initialise it with ") + init);
    std::memcpy(&out.emplace_back(), at, sizeof(T));
  }
  return {};
}

/// Empties a result, so that one of an earlier call is not taken for that of a call that failed.
void clear(KeepboxDecodeResult& result) {
  const size_t size = result.size;
  result = {};
  result.size = size;
  result.remark = result.warnings = "";
}

Status take_arguments(KeepboxDecoder* decoder, const KeepboxDecodeTensor* tensors, size_t n_tensors,
                      const KeepboxDecodeFrame* frames, size_t n_frames) {
  if (decoder == nullptr)
    return reject(ErrorKind::kInvalid, "There is no decoder",
                  "make one with keepbox_decoder_new()");
  KB_TRY(take_structs(tensors, n_tensors, "KEEPBOX_DECODE_TENSOR_INIT", decoder->tensors));
  return take_structs(frames, n_frames, "KEEPBOX_DECODE_FRAME_INIT", decoder->frames);
}

}  // namespace
}  // namespace keepbox

const char* keepbox_decode_version() { return PACKAGE_VERSION; }

const char* keepbox_decoder_options() {
  static const std::string text = keepbox::describe_options() +
                                  "frame-size=\n  Size in pixels of the picture that boxes refer "
                                  "to, such as 1920x1080. Empty takes the model's input.\n";
  return text.c_str();
}

KeepboxDecoder* keepbox_decoder_new(const char* options, KeepboxDecodeError* error) {
  auto made = keepbox::Decoder::create(options != nullptr ? options : "");
  keepbox::report(made ? keepbox::Status{} : std::unexpected(made.error()), error);
  return made ? new KeepboxDecoder{std::move(*made), {}, {}} : nullptr;
}

KeepboxDecodeStatus keepbox_decoder_set(KeepboxDecoder* decoder, const char* options,
                                        KeepboxDecodeError* error) {
  auto status = keepbox::take_arguments(decoder, nullptr, 0, nullptr, 0);
  if (status) status = decoder->decoder->set(options != nullptr ? options : "");
  return keepbox::report(status, error);
}

KeepboxDecodeStatus keepbox_decoder_run(KeepboxDecoder* decoder, const KeepboxDecodeTensor* tensors,
                                        size_t n_tensors, const KeepboxDecodeFrame* frames,
                                        size_t n_frames, KeepboxDecodeResult* result,
                                        KeepboxDecodeError* error) {
  auto status = keepbox::take_arguments(decoder, tensors, n_tensors, frames, n_frames);
  if (keepbox::has_size(result)) keepbox::clear(*result);
  else if (status)
    status = keepbox::reject(keepbox::ErrorKind::kInvalid, "The result is not initialised",
                             "initialise it with KEEPBOX_DECODE_RESULT_INIT");
  if (status) status = decoder->decoder->run(decoder->tensors, decoder->frames, *result);
  return keepbox::report(status, error);
}

KeepboxDecodeStatus keepbox_decoder_enqueue(KeepboxDecoder* decoder,
                                            const KeepboxDecodeTensor* tensors, size_t n_tensors,
                                            const KeepboxDecodeFrame* frames, size_t n_frames,
                                            void* stream, const KeepboxDecodeOutput* output,
                                            KeepboxDecodeError* error) {
  auto status = keepbox::take_arguments(decoder, tensors, n_tensors, frames, n_frames);
  if (status && !keepbox::has_size(output))
    status = keepbox::reject(keepbox::ErrorKind::kInvalid, "The output is not initialised",
                             "initialise it with KEEPBOX_DECODE_OUTPUT_INIT");
  if (status)
    status = decoder->decoder->enqueue(decoder->tensors, decoder->frames, stream, *output);
  return keepbox::report(status, error);
}

const char* keepbox_decoder_class_name(KeepboxDecoder* decoder, uint32_t class_id) {
  return decoder != nullptr ? decoder->decoder->class_name(class_id) : "";
}

void keepbox_decoder_free(KeepboxDecoder* decoder) { delete decoder; }
