// SPDX-License-Identifier: LGPL-2.1-or-later
// Decides which tensors of a frame are meant for a decoder.
#include "gst/decode/intake.h"

#include <algorithm>
#include <memory>
#include <ranges>
#include <vector>

#include "gst/base/error.h"
#include "gst/metas/pixelmap.h"
#include "gst/tensors/provenance.h"

namespace keepbox {
namespace {

/// True if there are tensors of that source's element.
bool has_tensors_of(const FrameTensors& tensors, const SharedProvenance& source) {
  for (size_t i = 0; i < tensors.listed().size(); ++i)
    if (same_element(tensors.source(i), source)) return true;
  return false;
}

/// Reports why there are no tensors for this decoder.
Status check_any(GstBuffer* buffer, const FrameTensors& tensors) {
  if (!tensors.listed().empty()) return {};
  FrameTensors all;
  KB_TRY(all.list_tensors(buffer));
  if (all.listed().empty()) return {};
  return reject(ErrorKind::kMismatch,
                "All tensors on this frame were decoded upstream: " + to_string(all.listed()),
                "put an inference element between the two decoders, or remove one of them");
}

std::string text_of(Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

std::unexpected<Error> lost_transforms(Size seen, Size now) {
  return reject(ErrorKind::kMismatch,
                "The frame has " + text_of(now) + " pixels, but had " + text_of(seen) +
                    " when the model ran: an element in between dropped the transform metadata",
                "put boxdecode directly after the inference element");
}

}  // namespace

Status explained(Status status, const FrameTensors& tensors) {
  const bool mismatch = !status && !tensors.listed().empty() &&
                        (status.error().kind == ErrorKind::kMismatch ||
                         status.error().kind == ErrorKind::kUnsupported);
  const SharedProvenance source = mismatch ? tensors.source(0) : nullptr;
  if (source == nullptr || !source->objects) return status;
  Error error = status.error();
  error.hint += std::string(error.hint.empty() ? "" : ", or ") +
                "use classdecode for classes and text of objects";
  return std::unexpected(std::move(error));
}

/// True if the inference element skipped this frame on purpose, so that any tensors on it belong to
/// another decoder.
bool TensorIntake::is_skipped(GstBuffer* buffer, const FrameTensors& tensors) const {
  if (!was_skipped(buffer) && !had_no_objects(buffer)) return false;
  if (was_skipped_by(buffer, decoded_) && !has_tensors_of(tensors, decoded_)) return true;
  return tensors.listed().empty() || !has_wanted_id(tensors);
}

/// True if tensor-ids is unset, or has one of the listed ids.
bool TensorIntake::has_wanted_id(const FrameTensors& tensors) const {
  const auto ids = ids_of(stream_.props.tensor_ids);
  return ids.empty() || std::ranges::any_of(tensors.listed(), [&](const TensorView& tensor) {
           return std::ranges::contains(ids, tensor.id);
         });
}

Status TensorIntake::list_tensors(GstBuffer* buffer, FrameTensors& tensors) const {
  const bool of_objects = decoded_ != nullptr && decoded_->objects;
  if (!of_objects) {
    KB_TRY(tensors.list_tensors(buffer, TensorSelection::kOfFrames));
    if (!tensors.listed().empty() && has_wanted_id(tensors)) return {};
  }
  FrameTensors others;
  KB_TRY(others.list_tensors(buffer, TensorSelection::kOfObjects));
  const bool none = others.listed().empty() || (!of_objects && !has_wanted_id(others));
  if (none && !of_objects) return {};
  KB_TRY(tensors.list_tensors(buffer,
                              none ? TensorSelection::kOfFrames : TensorSelection::kOfObjects));
  if (!none) tensors.split_images();
  return {};
}

/// Notes the ids that tensor-ids= can name. A skipped frame lacks those of a model.
void TensorIntake::note_ids(GstBuffer* buffer) {
  if (was_skipped(buffer) || had_no_objects(buffer)) return;
  FrameTensors all;
  if (!all.list_tensors(buffer, TensorSelection::kUndecoded) || all.listed().empty()) return;
  const auto has_id = [](const TensorView& tensor) { return !tensor.id.empty(); };
  auto named = all.listed() | std::views::filter(has_id);
  auto& known = stream_.names.ids;
  if (known != nullptr && std::ranges::equal(*known, named, {}, {}, &TensorView::id)) return;
  auto ids = std::make_shared<std::vector<std::string>>();
  for (const TensorView& each : named) ids->emplace_back(each.id);
  known = std::move(ids);
}

Status TensorIntake::take(GstBuffer* buffer, FrameTensors& tensors) {
  note_ids(buffer);
  KB_TRY(list_tensors(buffer, tensors));
  skipped_ = is_skipped(buffer, tensors);
  if (skipped_) return {};
  KB_TRY(check_any(buffer, tensors));
  KB_TRY(follow_picture(buffer, tensors));
  return quantize(tensors);
}

/// Maps boxes through the transforms that elements after inference applied, onto the current frame.
Status TensorIntake::follow_picture(GstBuffer* buffer, FrameTensors& tensors) const {
  const auto mode = static_cast<ResizeMode>(stream_.props.resize_mode);
  const Picture& now = stream_.picture;
  for (size_t i = 0; i < tensors.listed().size(); ++i) {
    SharedProvenance source = tensors.source(i);
    if (source == nullptr || source->objects) continue;  // metas follow the picture of objects
    const Size seen = source->geometry.frame;
    if (source->producer != 0 && source->has_geometry()) {
      const auto map = map_from_inferred(buffer, source->producer, now, mode);
      if (!map && seen != now.size) return lost_transforms(seen, now.size);
      // A cut at the right or below moves no pixel, but the frame is another one.
      if (map && (map->rows() != PixelMap().rows() || seen != now.size)) {
        source = moved_provenance(source, seen, now.size, *map);
        tensors.set_source(i, source);
      }
    }
    if (source->lost_geometry)
      return reject(ErrorKind::kMismatch, "The picture was flipped or rotated after inference",
                    "put boxdecode before the element that flips it, or before framerestore");
  }
  return {};
}

Status TensorIntake::quantize(FrameTensors& tensors) {
  KB_TRY(quantization_);
  const auto warning = keepbox::quantize(tensors, *quantization_, stream_.files.family().get(),
                                         ids_of(stream_.props.tensor_ids));
  if (warning && !tensors.listed().empty()) stream_.warn_once(*warning);
  return {};
}

void TensorIntake::mark_decoded(GstBuffer* buffer, const FrameTensors& tensors, const Plan& plan,
                                const SharedProvenance& source) const {
  const auto known = [&](const TensorForm& form) {
    return std::ranges::any_of(plan.spec->rules(), [&](const TensorRule& rule) {
      return rule.has(form.id) || rule.has_plain(form.id);
    });
  };
  if (!stream_.props.tensor_ids.empty() ||
      (source == nullptr && std::ranges::any_of(plan.forms, known))) {
    tensors.mark_decoded(buffer, plan.reads);
    return;
  }
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < tensors.listed().size(); ++i)
    if (same_source(tensors.source(i), source)) all.push_back(i);
  tensors.mark_decoded(buffer, all);
}

/// True if a tensor with that id, which no plan reads, is meant for this decoder: tensor-ids lists
/// it or, without such a list, it has no id.
bool TensorIntake::is_own(std::string_view id) const {
  const auto ids = ids_of(stream_.props.tensor_ids);
  return ids.empty() ? id.empty() : std::ranges::contains(ids, id);
}

void TensorIntake::mark_undecodable(GstBuffer* buffer, const FrameTensors& tensors) const {
  const SharedProvenance first =
      tensors.listed().empty() || !stream_.props.tensor_ids.empty() ? nullptr : tensors.source(0);
  std::vector<uint32_t> own;
  for (uint32_t i = 0; i < tensors.listed().size(); ++i)
    if (is_own(tensors.listed()[i].id) ||
        (first != nullptr && same_source(tensors.source(i), first)))
      own.push_back(i);
  tensors.mark_decoded(buffer, own);
}

}  // namespace keepbox
