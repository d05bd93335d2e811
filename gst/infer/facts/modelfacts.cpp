// SPDX-License-Identifier: LGPL-2.1-or-later
// Settles a model's input and outputs from everything that is declared about it.
#include "gst/infer/facts/modelfacts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <format>
#include <iterator>

#include "core/base/text.h"
#include "gst/infer/facts/exports.h"

#include "core/model/words.h"

namespace keepbox {
namespace {

using PerChannel = std::array<float, 3>;

bool dims_match(const std::vector<int64_t>& model, const std::vector<int64_t>& declared) {
  return model.size() == declared.size() &&
         std::ranges::equal(model, declared,
                            [](int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; });
}

/// Checks that the .modelinfo describes this model.
Status check_info(const ModelDeclaration& declaration) {
  if (!declaration.info) return {};
  const ModelInfo& info = *declaration.info;
  for (const ModelInfoTensor& tensor : info.tensors) {
    const ModelPort* port = nullptr;
    for (const auto* ports : {&declaration.inputs, &declaration.outputs, &declaration.left_out})
      for (const ModelPort& each : *ports)
        if (each.name == tensor.name &&
            tensor.input.value_or(ports == &declaration.inputs) == (ports == &declaration.inputs))
          port = &each;
    const std::string group = "[" + tensor.name + "] in " + info.path;
    if (port == nullptr)
      return fail(ErrorKind::kMismatch, group + " to be an input or output of the model",
                  "inputs " + ports_text(declaration.inputs) + ", outputs " +
                      ports_text(declaration.outputs),
                  "name the group after the model's tensor, and set dir= accordingly");
    if (tensor.type && port->type && tensor.type != port->type)
      return fail(ErrorKind::kMismatch,
                  "type= of " + group + " as in the model's " + port->to_string(),
                  std::string(to_string(*tensor.type)));
    if (!tensor.dims.empty() && !dims_match(port->dims, tensor.dims))
      return fail(ErrorKind::kMismatch,
                  "dims= of " + group + " as in the model's " + port->to_string(),
                  dims_text(tensor.dims));
  }
  return {};
}

/// True if a metadata value may be a tensor's id, rather than other data under an output's name.
bool looks_like_id(const std::string& value) {
  constexpr size_t kLongest = 128;
  return !value.empty() && value.size() <= kLongest && std::ranges::all_of(value, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/' || c == ':';
  });
}

/// Returns ids that the .modelinfo or the file's metadata give the outputs; empty if there are
/// none.
std::vector<std::string> given_ids(const ModelDeclaration& declaration) {
  std::vector<std::string> ids;
  for (const ModelPort& port : declaration.outputs) {
    const ModelInfoTensor* declared =
        declaration.info ? declaration.info->find(port.name, false) : nullptr;
    const auto key = declaration.metadata.find(port.name);
    std::string& id = ids.emplace_back();
    if (declared != nullptr) id = declared->id;
    if (id.empty() && key != declaration.metadata.end() && looks_like_id(key->second))
      id = key->second;
  }
  return ids;
}

/// True if GStreamer's registry has planes under that id.
bool is_planes(const std::string& id) {
  return id.starts_with("yolo-v8-") && !id.ends_with("-protos");
}

void settle_outputs(const ModelDeclaration& declaration, const std::vector<std::string>& given,
                    KnownExport& known, ModelFacts& facts) {
  for (size_t i = 0; i < declaration.outputs.size(); ++i) {
    ModelFacts::Output& output = known.outputs[i];
    const ModelInfoTensor* declared =
        declaration.info ? declaration.info->find(declaration.outputs[i].name, false) : nullptr;
    if (!given[i].empty() && given[i] != output.id) {
      output = {.id = given[i], .column_major = is_planes(given[i])};
      if (identifies_family(given[i])) {
        known.detector = {};
        known.units = given[i].ends_with("-normalized") ? Units::kNormalized : Units::kAuto;
      }
    }
    if (declared != nullptr) output.column_major = declared->column_major;
    if (output.id.empty()) output.id = declaration.outputs[i].name;
  }
  facts.outputs = std::move(known.outputs);
  facts.detector = known.detector;
  facts.contract = known.contract;
  facts.iou_threshold = known.iou_threshold;
  facts.units = known.units;
}

/// Derives mean and deviation from the values that a .modelinfo maps 0 and 255 to.
Status take_ranges(const ModelInfo& info, const ModelInfoTensor& tensor, InputForm& form) {
  const auto& ranges = tensor.ranges;
  if (ranges.size() != 1 && ranges.size() != form.channels)
    return fail(ErrorKind::kInvalid,
                "ranges= of [" + tensor.name + "] in " + info.path + " for 1 or " +
                    std::to_string(form.channels) + " channels",
                std::to_string(ranges.size()));
  for (size_t channel = 0; channel < 3; ++channel) {
    // Ranges are in the model's order, mean and deviation in the order R, G, B.
    const size_t colour = form.bgr ? 2 - channel : channel;
    const auto [low, high] = ranges[std::min(channel, ranges.size() - 1)];
    const double deviation = 255 / (high - low);
    form.deviation[colour] = static_cast<float>(deviation);
    form.mean[colour] = static_cast<float>(-low * deviation);
    if (!std::isnormal(form.deviation[colour]) || !std::isfinite(form.mean[colour]))
      return fail(ErrorKind::kInvalid,
                  "ranges= of [" + tensor.name + "] in " + info.path +
                      " with a width that 32-bit floats can represent",
                  std::format("{},{}", low, high));
  }
  return {};
}

/// Formats "123.675,116.28,103.53".
std::string three(const std::array<float, 3>& of) {
  return std::format("{},{},{}", of[0], of[1], of[2]);
}

Status take_settings(const InputSettings& settings, InputForm& form) {
  if (settings.pad) form.pad = *settings.pad;
  if (settings.mean) form.mean = *settings.mean;
  if (settings.deviation) form.deviation = *settings.deviation;
  for (size_t i = 0; i < 3; ++i)
    if (!std::isfinite(form.mean[i]) || !std::isfinite(form.deviation[i]) || form.deviation[i] <= 0)
      return fail(ErrorKind::kInvalid, "a finite mean, and a deviation above 0",
                  three(form.mean) + " and " + three(form.deviation),
                  "set input-mean= and input-std=");
  return {};
}

/// Formats "RGB, 0..1, letterbox-center, pad 114".
std::string form_text(const InputForm& form, ResizeMode resize) {
  std::string text = form.channels == 1 ? "luma" : form.bgr ? "BGR" : "RGB";
  if (form.mean == PerChannel{} && form.deviation == PerChannel{1, 1, 1}) text += ", 0..255";
  else if (form.mean == PerChannel{} && form.deviation == PerChannel{255, 255, 255})
    text += ", 0..1";
  else text += ", mean " + three(form.mean) + " deviation " + three(form.deviation);
  text += ", " + std::string(to_string(resize));
  if (resize != ResizeMode::kStretch && resize != ResizeMode::kCrop)
    text += ", pad " + std::to_string(form.pad);
  return text;
}

bool is_set(const InputSettings& settings) {
  return settings.order != ChannelOrder::kAuto || settings.resize || settings.mean ||
         settings.deviation || settings.pad;
}

/// Describes assumptions on the input that settings do not replace.
std::string assumed_text(const KnownExport& known, const FamilyOfModel* family,
                         const InputSettings& settings, const InputForm& form, ResizeMode resize) {
  if (is_set(settings)) return {};
  const std::string text = form_text(form, resize);
  if (known.why.empty()) return text + ", as for most models";
  if (family != nullptr && !family->sure) return text + ", as for " + family->name;
  const bool bytes = form.type == DataType::kUInt8;
  return known.input.caveat.empty() || bytes ? std::string()
                                             : text + "; " + std::string(known.input.caveat);
}

Status settle_form(const ModelDeclaration& declaration, const InputSettings& settings,
                   const KnownExport& known, const FamilyOfModel* family, ModelFacts& facts) {
  InputForm& form = facts.input;
  form.bgr = settings.order == ChannelOrder::kAuto ? known.input.bgr
                                                   : settings.order == ChannelOrder::kBgr;
  form.pad = known.input.pad;
  if (form.type != DataType::kUInt8) {
    form.mean = known.input.mean;
    form.deviation = known.input.deviation;
  }
  const bool stretched = settings.objects && known.why.empty();
  facts.resize = settings.resize.value_or(stretched ? ResizeMode::kStretch : known.input.resize);
  const std::string& name = declaration.inputs[facts.image_input].name;
  const ModelInfoTensor* declared = declaration.info ? declaration.info->find(name, true) : nullptr;
  const bool ranges = declared != nullptr && !declared->ranges.empty();
  if (ranges) KB_TRY(take_ranges(*declaration.info, *declared, form));
  KB_TRY(take_settings(settings, form));
  facts.remark =
      form_text(form, facts.resize) + ": " + (known.why.empty() ? "assumed" : "by " + known.why);
  facts.unknown = known.why.empty() && !ranges;
  facts.lacks_info =
      known.open_range && !declaration.info && !is_set(settings) && form.type != DataType::kUInt8;
  if (facts.lacks_info) facts.assumed = form_text(form, facts.resize);
  else if (!ranges) facts.assumed = assumed_text(known, family, settings, form, facts.resize);
  if (ranges) facts.remark += ", ranges from .modelinfo";
  else if (form.type == DataType::kUInt8) facts.remark += ", uint8";
  if (is_set(settings)) facts.remark += ", and settings";
  return {};
}

/// Applies a family: one set by the user overrides files, one found by a trial run does not.
void take_family(const FamilyOfModel& family, KnownExport& known) {
  if (!family.input.known() || (!family.set && !known.why.empty())) return;
  known.why = family.why;
  known.input = family.input;
  known.input.caveat = family.caveat;
  known.open_range = false;
  const DetectorSpec* spec = find_detector(family.name);
  if (!family.set && family.sure && spec != nullptr) known.detector = spec->name;
}

/// True if Ultralytics runs the export on inputs with less padding than the model gets here.
bool cuts_padding(const ModelMetadata& metadata, const ModelInputs& inputs,
                  const ModelFacts& facts) {
  return metadata.exporter == Exporter::kUltralytics && inputs.image.size == Size{} &&
         facts.resize == ResizeMode::kLetterboxCenter && facts.rectangle_stride == 0;
}

}  // namespace

std::string ModelPort::to_string() const {
  return name + " " + dims_text(dims) + " " +
         (type ? std::string(keepbox::to_string(*type)) : "of unknown type");
}

Result<ModelFacts> settle_model(const ModelDeclaration& declaration, const InputSettings& settings,
                                const FamilyOfModel* family) {
  KB_TRY(check_info(declaration));
  if (declaration.outputs.empty())
    return reject(ErrorKind::kUnsupported, "The model has no outputs");
  ModelMetadata metadata = read_metadata(declaration.metadata);
  std::vector<std::string> warnings = metadata.remarks;
  KB_ASSIGN(auto inputs, find_inputs(declaration));
  KB_ASSIGN(const auto size,
            settle_size(declaration, inputs.image, metadata, settings.size, metadata.remarks));

  const std::vector<std::string> given = given_ids(declaration);
  KnownExport known = recognize_export(declaration, metadata, inputs, given);
  if (family != nullptr) take_family(*family, known);
  ModelFacts facts{.image_input = inputs.image.index,
                   .input = {.size = size,
                             .type = inputs.image.type,
                             .channels_last = inputs.image.channels_last,
                             .channels = inputs.image.channels},
                   .size_inputs = std::move(inputs.sizes),
                   .name = std::filesystem::path(declaration.file).stem().string(),
                   .labels = std::move(metadata.labels),
                   .labels_of = std::move(metadata.labels_of)};
  if (settings.rectangle) {
    KB_ASSIGN(facts.rectangle_stride, rectangle_stride(declaration, inputs.image, metadata));
  }
  KB_TRY(settle_form(declaration, settings, known, family, facts));
  if (cuts_padding(metadata, inputs, facts))
    known.remarks.emplace_back("resize-mode=rect is the input of yolo predict for dynamic sizes");
  std::ranges::copy(known.warnings, std::back_inserter(warnings));
  facts.warnings = std::move(warnings);
  settle_outputs(declaration, given, known, facts);
  if (!facts.labels.empty())
    facts.remark += "; " + std::to_string(facts.labels.size()) + " class names from metadata";
  for (const auto* remarks : {&metadata.remarks, &known.remarks})
    for (const std::string& remark : *remarks) facts.remark += "; " + remark;
  return facts;
}

Error assumption(const ModelFacts& facts, const std::string& file) {
  if (facts.lacks_info)
    return problem(ErrorKind::kAmbiguous,
                   file + " has tensor ids, but no " + file +
                       ".modelinfo with the range of its input; assumed: " + facts.assumed,
                   "copy the .modelinfo along with the model, or set input-std=: 255 for values of "
                   "0 to 1, 1 for values of 0 to 255");
  return problem(ErrorKind::kAmbiguous,
                 "Nothing defines the input of " + file +
                     " (metadata, a .modelinfo or known tensors); assumed: " + facts.assumed,
                 "if that is wrong, set detector= of boxdecode to the model's family, or set "
                 "channel-order=, input-mean=, input-std= and resize-mode=");
}

}  // namespace keepbox
