// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs one inference on a picture of squares, and lets core recognise the outputs.
#include "gst/infer/facts/trial.h"

#include <utility>
#include <vector>

#include "core/plan/plan.h"
#include "core/recognition/recognise.h"
#include "gst/infer/frameform.h"
#include "gst/infer/inferencer.h"
#include "gst/infer/runs/triedpictures.h"

namespace keepbox {
namespace {

OwnedBuffer drawn(const GstVideoInfo& info) {
  OwnedBuffer buffer(gst_buffer_new_allocate(nullptr, info.size, nullptr));
  GstMapInfo map;
  if (buffer == nullptr || !gst_buffer_map(buffer.get(), &map, GST_MAP_WRITE)) return nullptr;
  const gint width = GST_VIDEO_INFO_WIDTH(&info), stride = GST_VIDEO_INFO_PLANE_STRIDE(&info, 0);
  for (gint y = 0; y < GST_VIDEO_INFO_HEIGHT(&info); ++y)
    for (gint x = 0; x < 3 * width; ++x)
      map.data[gsize(y) * gsize(stride) + gsize(x)] =
          pixel_of_squares(guint(x / 3), guint(y))[size_t(x % 3)];
  gst_buffer_unmap(buffer.get(), &map);
  return buffer;
}

Result<std::vector<InferredTensor>> run_once(const SessionSpec& spec, const ModelFacts& facts) {
  KB_ASSIGN(auto inferencer, make_host_inferencer(spec));
  KB_TRY(inferencer->set_model(facts));
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB, facts.input.size.width,
                            facts.input.size.height);
  KB_ASSIGN(const auto form, frame_form_of(info));
  KB_ASSIGN(Pictures pictures,
            plan_pictures(form, {.size = facts.input.size}, {}, facts.input, facts.resize));
  KB_TRY(inferencer->set_frames(std::move(pictures), info, 1));
  const OwnedBuffer picture = drawn(info);
  if (picture == nullptr)
    return reject(ErrorKind::kNoResource, "Not enough memory for a picture of the model's size");
  KB_ASSIGN(const auto pending, inferencer->begin(picture.get(), 0, {}));
  return pending->finish();
}

/// Keeps the tensors' memory mapped.
class Mapped {
 public:
  explicit Mapped(const std::vector<InferredTensor>& tensors) : tensors_(tensors) {
    maps_.resize(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i)
      if (!gst_buffer_map(tensors[i].data.get(), &maps_[i], GST_MAP_READ)) maps_[i].data = nullptr;
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    for (size_t i = 0; i < maps_.size(); ++i)
      if (maps_[i].data != nullptr) gst_buffer_unmap(tensors_[i].data.get(), &maps_[i]);
  }

  std::vector<TensorView> views(const ModelDeclaration& declaration) const {
    std::vector<TensorView> out;
    for (size_t i = 0; i < tensors_.size(); ++i)
      out.push_back({.id = declaration.outputs[i].name,
                     .data = maps_[i].data,
                     .bytes = maps_[i].size,
                     .type = tensors_[i].type,
                     .shape = tensors_[i].shape});
    return out;
  }

 private:
  const std::vector<InferredTensor>& tensors_;
  std::vector<GstMapInfo> maps_;
};

}  // namespace

Result<FamilyOfModel> try_model(SessionSpec spec, const ModelDeclaration& declaration,
                                const ModelFacts& facts) {
  spec.provider = "cpu";
  KB_ASSIGN(const auto tensors, run_once(spec, facts));
  const Mapped mapped(tensors);
  Settings settings;
  settings.frame.size = facts.input.size;
  settings.label_count = static_cast<uint32_t>(facts.labels.size());
  KB_ASSIGN(const auto plan, make_plan(settings, mapped.views(declaration)));
  return FamilyOfModel{.name = std::string(plan.spec->name),
                       .input = plan.spec->input,
                       .caveat = std::string(plan.spec->input.caveat),
                       .why = "a trial run: " + plan.remark,
                       .sure = plan.basis != Basis::kShape};
}

}  // namespace keepbox
