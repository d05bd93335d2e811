// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the export of a family that a model's inputs, metadata and outputs are those of.
#include "gst/infer/facts/exports.h"

#include <glib.h>

#include <algorithm>

#include "core/recognition/fit.h"
#include "core/recognition/maps.h"

namespace keepbox {
namespace {

constexpr int64_t kMinGrid = 21;  // cells of the smallest input
constexpr int64_t kReadyColumns = 6;
constexpr int64_t kUnknown = -1;
constexpr int64_t kMaxFound = 1000;  // end-to-end rows of a picture
/// Tasks of models without boxes, which their users know.
constexpr std::string_view kNoBoxes[] = {"classify", "depth", "semantic"};

/// An export and its family.
struct FamilyExport {
  const DetectorSpec* spec = nullptr;
  const Export* as = nullptr;
};

/// Returns the exports of all families for which a condition holds, in the order of the table.
template <class Condition>
std::vector<FamilyExport> exports_where(Condition condition) {
  std::vector<FamilyExport> out;
  for (const DetectorSpec& spec : detectors())
    for (const Export& each : spec.exports)
      if (condition(each)) out.push_back({&spec, &each});
  return out;
}

/// Returns the first output of that rank.
std::optional<size_t> output_of_rank(const ModelDeclaration& declaration, size_t rank) {
  const auto found = std::ranges::find(declaration.outputs, rank,
                                       [](const ModelPort& port) { return port.dims.size(); });
  if (found == declaration.outputs.end()) return std::nullopt;
  return static_cast<size_t>(found - declaration.outputs.begin());
}

/// Returns the first output 1xAxB, or else AxB.
std::optional<size_t> table_of(const ModelDeclaration& declaration) {
  const auto batched = output_of_rank(declaration, 3);
  return batched ? batched : output_of_rank(declaration, 2);
}

/// Returns the output with the dimension of the batch.
ModelPort with_batch(ModelPort port) {
  if (port.dims.size() == 2) port.dims.insert(port.dims.begin(), 1);
  return port;
}

/// Takes the input, units and name of a family.
void take_family(const FamilyExport& found, KnownExport& out) {
  const DetectorSpec& spec = *found.spec;
  if (found.as->names_family) out.detector = spec.name;
  out.input = found.as->input.known() ? found.as->input : spec.input;
  out.units = spec.units == Units::kAuto ? Units::kPixels : spec.units;
}

/// Takes a family whose boxes are in one output. @param transposed its planes are rows.
void take_boxes(const FamilyExport& found, size_t boxes, KnownExport& out,
                bool transposed = false) {
  take_family(found, out);
  out.outputs[boxes] = {.id = std::string(found.spec->tensors[0].ids[0]),
                        .column_major = found.as->form == OutputForm::kPlanes && !transposed};
}

/// Returns the number of values per anchor after its class scores.
int64_t payload_of(const DetectorSpec& spec, const ModelMetadata& metadata, const ModelPort* maps) {
  switch (spec.payload) {
    case Payload::kKeypoints:
      return metadata.keypoint_numbers == 0 ? kUnknown : metadata.keypoint_numbers;
    case Payload::kMaskCoefficients:
      return maps != nullptr && maps->dims[1] > 0 ? maps->dims[1] : kUnknown;
    case Payload::kAngle: return 1;
    case Payload::kNone:
    case Payload::kEmbedding: break;
  }
  return 0;
}

/// Returns the form of boxes in an output 1xAxB: planes of 4 + classes + more by anchors, or
/// end-to-end rows of 6 + more. @param classes 0: unknown. @param more may be kUnknown.
std::optional<OutputForm> form_of(const ModelPort& port, int64_t classes, int64_t more,
                                  bool sorted) {
  const int64_t a = port.dims[1], b = port.dims[2];
  const bool six = more != kUnknown && b == kReadyColumns + more;
  if (sorted && (six || b < 0)) return OutputForm::kEndToEnd;
  const bool known = classes > 0 && more != kUnknown;
  if (known && a == 4 + classes + more && !(six && b < kMinGrid)) return OutputForm::kPlanes;
  if (six) return OutputForm::kEndToEnd;
  if (sorted || (known && a > 0)) return std::nullopt;
  return a < 0 || b < 0 || a < b ? std::optional(OutputForm::kPlanes) : std::nullopt;
}

/// True if an output 1xAxB has rows of 4 + classes + more where the family has planes: one row for
/// each anchor of the input, more than end-to-end rows.
bool is_transposed(const ModelPort& port, const DetectorSpec& spec, const ModelMetadata& metadata,
                   int64_t more) {
  const int64_t a = port.dims[1], b = port.dims[2];
  const auto classes = static_cast<int64_t>(metadata.labels.size());
  if (classes == 0 || more == kUnknown || metadata.sorted) return false;
  const int64_t columns = 4 + classes + more;
  if (b != columns || a == columns) return false;
  const bool grid =
      a > kMaxFound || (metadata.size.width != 0 && a == grid_anchors(metadata.size, spec));
  return b != kReadyColumns + more || grid;
}

/// Returns the form of queries: class scores or, from Ultralytics 8.4 on, the best score and its
/// class.
OutputForm form_of_queries(const ModelPort& port, const ModelMetadata& metadata) {
  const auto classes = static_cast<int64_t>(metadata.labels.size());
  const bool rows = !metadata.head.empty() || metadata.sorted || port.dims[2] != 4 + classes;
  return rows && port.dims[2] == kReadyColumns ? OutputForm::kEndToEnd : OutputForm::kRows;
}

/// True if the metadata has the head or a word of the export.
bool is_described(const Export& each, const ModelMetadata& metadata) {
  g_autofree gchar* lower = g_ascii_strdown(metadata.description.c_str(), -1);
  const std::string_view text(lower);
  return (!each.head.empty() && metadata.head == each.head) ||
         std::ranges::any_of(each.words, [&](std::string_view word) {
           return !word.empty() && text.contains(word);
         });
}

/// Notes a task without boxes; tasks that are not known to have none are a warning.
void take_no_boxes(const ModelMetadata& metadata, KnownExport& out) {
  out.remarks.push_back("task " + metadata.task + " has no boxes");
  if (!std::ranges::contains(kNoBoxes, metadata.task))
    out.warnings.push_back("task " + metadata.task + ", whose tensors hold no boxes");
}

void take_task(const ModelDeclaration& declaration, const ModelMetadata& metadata,
               KnownExport& out) {
  const auto of_task = [&](const Export& each, bool described) {
    return each.exporter == metadata.exporter && each.task == metadata.task &&
           (described ? is_described(each, metadata) : each.head.empty());
  };
  auto candidates = exports_where([&](const Export& each) { return of_task(each, true); });
  const bool described = !candidates.empty();
  if (!described)
    candidates = exports_where([&](const Export& each) { return of_task(each, false); });
  const auto boxes = table_of(declaration), maps = output_of_rank(declaration, 4);
  if (candidates.empty() || !boxes) return take_no_boxes(metadata, out);
  out.units = Units::kPixels;
  const ModelPort port = with_batch(declaration.outputs[*boxes]);
  const int64_t more =
      payload_of(*candidates[0].spec, metadata, maps ? &declaration.outputs[*maps] : nullptr);
  const bool transposed = !described && is_transposed(port, *candidates[0].spec, metadata, more);
  const auto form = described    ? form_of_queries(port, metadata)
                    : transposed ? OutputForm::kPlanes
                                 : form_of(port, static_cast<int64_t>(metadata.labels.size()), more,
                                           metadata.sorted);
  const auto found = std::ranges::find_if(
      candidates, [&](const FamilyExport& each) { return form == each.as->form; });
  if (found == candidates.end()) {
    out.remarks.push_back("output " + port.to_string() + " is not a known output of task " +
                          metadata.task);
    return;
  }
  take_boxes(*found, *boxes, out, transposed);
  if (!found->as->why.empty()) out.remarks.emplace_back(found->as->why);
  if (maps && !found->as->maps_id.empty()) out.outputs[*maps].id = found->as->maps_id;
}

/// Recognises LibreYOLO's exports by the model's family and an output with the channels of a box
/// and the classes.
void take_libre_yolo(const ModelDeclaration& declaration, const ModelMetadata& metadata,
                     KnownExport& out) {
  const auto candidates = exports_where([&](const Export& each) {
    return each.exporter == metadata.exporter && each.task == metadata.task &&
           each.head == metadata.head;
  });
  const auto columns = static_cast<int64_t>(4 + metadata.labels.size());
  for (const FamilyExport& each : candidates)
    for (size_t i = 0; i < declaration.outputs.size(); ++i) {
      const ModelPort port = with_batch(declaration.outputs[i]);
      const bool planes = each.as->form == OutputForm::kPlanes;
      if (port.dims.size() != 3 || port.dims[planes ? 1 : 2] != columns) continue;
      take_boxes(each, i, out);
      if (metadata.resize) out.input.resize = *metadata.resize;
      return;
    }
  out.why = {};  // the input is not known either
  out.remarks.push_back("LibreYOLO's " + metadata.head + " for task " + metadata.task +
                        " is not a known export");
}

/// Recognises an export without a task by an output with the channels of a box and the classes.
void take_classes(const ModelDeclaration& declaration, const ModelMetadata& metadata,
                  KnownExport& out) {
  const auto boxes = output_of_rank(declaration, 3);
  if (!boxes || metadata.labels.empty()) return;
  const ModelPort& port = declaration.outputs[*boxes];
  const auto candidates =
      exports_where([&](const Export& each) { return each.exporter == metadata.exporter; });
  for (const FamilyExport& each : candidates) {
    const size_t channels = channels_besides_classes(*each.spec) + metadata.labels.size();
    if (port.dims[each.as->form == OutputForm::kPlanes ? 1 : 2] == static_cast<int64_t>(channels))
      return take_boxes(each, *boxes, out);
  }
  out.remarks.push_back("output " + port.to_string() + " is not a known output for " +
                        counted(metadata.labels.size(), "class"));
}

bool is(const ExportOutput& rule, const ModelPort& port) {
  if (!rule.name.empty() && port.name == rule.name) return true;
  const bool whole = port.type == DataType::kInt64 || port.type == DataType::kInt32;
  const size_t rank = port.dims.size();
  return (!rule.integer || whole) &&
         (rule.rank == 0 || rank == rule.rank || (rule.rank == 1 && rank == 0)) &&
         (rule.columns == 0 || port.dims.back() == rule.columns);
}

/// Gives the outputs the ids of the family's tensors. @return false if a required one is missing.
bool name_outputs(const ModelDeclaration& declaration, const FamilyExport& found,
                  KnownExport& out) {
  const auto rules = std::span(found.as->outputs).first(found.as->output_count);
  std::vector<Role> taken;
  for (size_t i = 0; i < declaration.outputs.size(); ++i) {
    const auto rule = std::ranges::find_if(
        rules, [&](const ExportOutput& each) { return is(each, declaration.outputs[i]); });
    if (rule == rules.end() || std::ranges::contains(taken, rule->role)) continue;
    taken.push_back(rule->role);
    const auto tensor = std::ranges::find(found.spec->rules(), rule->role, &TensorRule::role);
    out.outputs[i].id = tensor->ids[0];
  }
  return std::ranges::all_of(found.spec->rules(), [&](const TensorRule& rule) {
    return rule.optional || std::ranges::contains(taken, rule.role);
  });
}

/// Takes an export that is recognised by an input in addition to the picture.
void take_by_input(const ModelDeclaration& declaration, const FamilyExport& found,
                   KnownExport& out) {
  take_family(found, out);
  out.why = found.as->why;
  if (name_outputs(declaration, found, out)) return;
  out.remarks.push_back(std::string(found.as->missing));
  out.outputs.assign(declaration.outputs.size(), {});
  out.detector = {};
  out.units = Units::kAuto;
}

void take_ids(const std::vector<std::string>& given, KnownExport& out) {
  const DetectorSpec* spec = find_detector_by_ids(given);
  if (spec == nullptr || !spec->input.known()) return;
  out.why = "the id of " + std::string(spec->name);
  out.input = spec->input;
  out.input.caveat = {};
  const auto registered = [](const std::string& id) { return id.starts_with("yolo-"); };
  // GStreamer's ids describe outputs only: its .modelinfo has the range of the input. Its scaler,
  // used before the element with these ids, pads this way.
  out.open_range = std::ranges::any_of(given, registered);
  if (out.open_range) out.input.pad = 0;
}

}  // namespace

KnownExport recognize_export(const ModelDeclaration& declaration, const ModelMetadata& metadata,
                             const ModelInputs& inputs, const std::vector<std::string>& given) {
  KnownExport out;
  out.outputs.resize(declaration.outputs.size());
  const auto by_input = exports_where([&](const Export& each) {
    return std::ranges::any_of(inputs.sizes, [&](const SizeInput& size) {
      return declaration.inputs[size.index].name == each.size_input;
    });
  });
  if (!by_input.empty()) {
    take_by_input(declaration, by_input[0], out);
  } else if (metadata.exporter == Exporter::kUnknown) {
    take_ids(given, out);
  } else {
    const ExporterTraits traits = traits_of(metadata.exporter);
    out.why = traits.why;
    out.contract = traits.contract;
    out.iou_threshold = traits.iou_threshold;
    if (metadata.exporter == Exporter::kUltralytics) take_task(declaration, metadata, out);
    else if (metadata.exporter == Exporter::kLibreYolo) take_libre_yolo(declaration, metadata, out);
    else take_classes(declaration, metadata, out);
  }
  return out;
}

bool identifies_family(const std::string& id) {
  return id.ends_with("-normalized") || find_detector_by_ids({&id, 1}) != nullptr;
}

}  // namespace keepbox
