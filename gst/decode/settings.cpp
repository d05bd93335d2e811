// SPDX-License-Identifier: LGPL-2.1-or-later
// The settings of a stream, from properties and files, and its warnings.
#include "gst/decode/settings.h"

#include <glib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <format>
#include <optional>
#include <string>
#include <utility>

#include "core/base/text.h"
#include "core/formula/box.h"
#include "core/model/detector.h"
#include "gst/base/error.h"
#include "gst/base/infile.h"
#include "gst/base/props.h"
#include "gst/decode/detectorfile.h"
#include "gst/decode/properties.h"

#define GST_CAT_DEFAULT ::keepbox::decode_log()

namespace keepbox {
namespace {

std::optional<bool> multi_label_of(const DecodeProps& props) {
  if (props.multi_label == kMultiLabelAuto) return std::nullopt;
  return props.multi_label == kMultiLabelTrue;
}

/// Fills in the settings that properties leave unset.
void take_source(Settings& settings, const TensorProvenance& source) {
  settings.declared_detector = source.detector;
  settings.declared_contract = source.contract;
  settings.declared_iou_threshold = source.iou_threshold;
  settings.dynamic_rows = source.dynamic_rows;
  settings.units = source.units;
  if (!source.has_geometry()) return;
  settings.letterbox = source.geometry;
  settings.tiles = source.tiles;
  settings.parts = source.objects;
}

Result<FilterSettings> filters_of(const DecodeProps& props, const Labels& labels) {
  KB_ASSIGN(FilterSettings out, regions_of(props.regions));
  KB_ASSIGN(out.min, sizes_of(props.min_size, labels, "min-size"));
  KB_ASSIGN(out.max, sizes_of(props.max_size, labels, "max-size"));
  return out;
}

TileRules tile_rules_of(const DecodeProps& props) {
  return {.merge = static_cast<TileMerge>(props.tile_merge % kUnionOf),
          .threshold = props.tile_threshold,
          .border = props.tile_border,
          .united = props.tile_merge >= kUnionOf};
}

/// Reads the classes to keep, and those with ! before them, which are dropped.
Status take_classes(Settings& settings, std::string_view text, const Labels& labels) {
  if (trimmed(text).empty()) return {};
  for (const std::string_view part : split(text, ',')) {
    const bool dropped = part.starts_with('!');
    KB_ASSIGN(const auto called,
              labels.classes_called(trimmed(part.substr(dropped ? 1 : 0)), "include-classes"));
    auto& classes = dropped ? settings.exclude_classes : settings.include_classes;
    classes.insert(classes.end(), called.begin(), called.end());
  }
  return {};
}

}  // namespace

Result<Settings> resolve(const DecodeProps& props, const Labels& labels, const Picture& frame,
                         const TensorProvenance* source) {
  Settings out{.detector = props.detector.empty() ? Settings{}.detector : props.detector,
               .tensor_ids = ids_of(props.tensor_ids),
               .score_threshold = props.score_threshold,
               .iou_threshold = props.iou_threshold,
               .max_detections = props.max_detections,
               .default_score_threshold = props.default_score_threshold,
               .default_iou_threshold = props.default_iou_threshold,
               .multi_label = multi_label_of(props),
               .contract = nick_of(contract_type(), props.nms_contract),
               .class_agnostic = props.class_agnostic,
               .method = static_cast<NmsMethod>(props.nms_method),
               .resize = static_cast<ResizeMode>(props.resize_mode),
               .frame = frame,
               .tile_rules = tile_rules_of(props),
               .label_count = labels.size(),
               .num_classes = props.num_classes,
               .masks = props.mask_size != kMaskSizeNone,
               .frame_masks = props.mask_size == kMaskSizeFrame};
  if (props.track_score_threshold > 0) out.track_score_threshold = props.track_score_threshold;
  if (source != nullptr) take_source(out, *source);
  KB_ASSIGN(out.model, model_size_of(props.model_size));
  KB_TRY(take_classes(out, props.include_classes, labels));
  KB_ASSIGN(out.class_thresholds, labels.thresholds_of(props.class_thresholds, "class-thresholds"));
  KB_ASSIGN(out.filters, filters_of(props, labels));
  return out;
}

namespace {

/// Reads the file of a path that has changed. @param content nullptr without a file.
template <class Content>
Status read_once(std::string& known, const std::string& path,
                 std::shared_ptr<const Content>& content, Result<Content> read(const char*)) {
  if (path == known) return {};
  content = nullptr;
  known = path;
  if (path.empty()) return {};
  KB_ASSIGN(auto found, read(path.c_str()));
  content = std::make_shared<const Content>(std::move(found));
  return {};
}

}  // namespace

Status DecodeFiles::read_family(const std::string& detector) {
  if (detector == family_of_) return {};
  family_ = {};
  family_of_ = detector;
  if (means_detector_file(detector)) {
    KB_ASSIGN(family_, load_detector(detector));
  } else if (!detector.empty() && detector != Settings{}.detector &&
             find_detector(detector) == nullptr) {
    NearestName nearest(detector);
    for (const DetectorSpec& spec : detectors()) nearest.consider(spec.name);
    return reject(ErrorKind::kInvalid, "detector=" + detector + " is unknown",
                  set_or_ask(nearest.found()) +
                      "it to auto, a family listed by keepbox detectors, or a file whose name "
                      "contains a / or ends in .detector");
  }
  return {};
}

Status DecodeFiles::read(const DecodeProps& props) {
  KB_TRY(read_family(props.detector));
  const std::string& labels = props.label_file.empty() ? family_.label_file : props.label_file;
  KB_TRY(read_once(labels_path_, labels, labels_, Labels::load));
  return read_once(priors_path_, family_.priors_file, priors_, load_priors);
}

Status check_texts(const DecodeProps& props, const DecodeFiles& files, const StreamNames& names) {
  const SharedLabels& labels = files.labels() != nullptr ? files.labels() : names.labels;
  KB_TRY(Quantization::from(props.quantization));
  KB_TRY(resolve(props, labels != nullptr ? *labels : Labels::unknown_names(), {}, nullptr));
  return {};
}

Status check_ids(const std::string& tensor_ids, const StreamNames& names) {
  if (names.ids == nullptr) return {};
  for (const std::string& id : ids_of(tensor_ids))
    if (!std::ranges::contains(*names.ids, id))
      return reject(ErrorKind::kMismatch,
                    "No tensor has the id " + id + "; the tensors have " +
                        (names.ids->empty() ? "none" : joined(*names.ids)),
                    "set tensor-ids= to ids of these");
  return {};
}

Result<Settings> DecodeStream::settings(const SharedProvenance& source) {
  // Labels are kept while they stay the same, because quarks are made on first use.
  const auto& declared = source != nullptr ? source->labels : std::vector<std::string>();
  if (names.labels == nullptr || names.labels->names() != declared)
    names.labels = std::make_shared<const Labels>(declared);
  auto out = resolve(props, *labels(), picture, source.get());
  if (!out) return out;
  out->family = files.family();
  const bool has_units = out->family != nullptr && out->family->units != Units::kAuto;
  if (has_units) out->units = Units::kAuto;  // the file's, whatever the source declares
  if (files.priors() != nullptr) out->priors = *files.priors();
  return out;
}

SharedLabels DecodeStream::labels() const {
  return files.labels() != nullptr ? files.labels() : names.labels;
}

std::string DecodeStream::labels_from() const {
  return files.labels() != nullptr ? files.labels_path() : "the model";
}

Size input_size_of(const DecodeProps& props, std::span<const TensorForm> tensors) {
  DecodeStream stream{.element = nullptr, .props = props};
  if (!stream.files.read(props)) return {};
  auto settings = stream.settings(nullptr);
  if (!settings) return {};
  if (settings->model.width != 0 && settings->model.height != 0) return settings->model;
  std::vector<TensorView> views;
  for (const TensorForm& each : tensors)
    views.push_back(form_of({.id = each.id, .type = each.type, .shape = each.shape}));
  const auto plan = make_plan(*settings, views);
  return plan ? plan->letterbox.model : Size{};
}

namespace {

std::unexpected<Error> bad(const char* form, std::string_view found, const char* property,
                           const char* example) {
  return reject(ErrorKind::kInvalid,
                std::string(property) + " has " + in_quotes(found) + ", which is not " + form,
                std::string("set ") + property + "= to a value such as " + example);
}

/// Parses a finite number that is not negative.
bool parse_pixels(std::string_view text, float& value) {
  return parse_finite(text, value) && value >= 0;
}

std::optional<BoxSize> size_of_text(std::string_view text) {
  const auto sides = split(text, 'x');
  BoxSize size;
  if (sides.size() == 2 && parse_pixels(sides[0], size.width) &&
      parse_pixels(sides[1], size.height))
    return size;
  return std::nullopt;
}

std::optional<Region> region_of_text(std::string_view text) {
  const auto parts = split(text, ',');
  std::array<float, 4> v{};
  if (parts.size() != v.size()) return std::nullopt;
  for (size_t i = 0; i < v.size(); ++i)
    if (!parse_pixels(parts[i], v[i])) return std::nullopt;
  if (v[2] == 0 || v[3] == 0) return std::nullopt;
  const bool fractions = std::ranges::all_of(v, [](float each) { return each <= 1; });
  return Region{.box = {v[0], v[1], v[0] + v[2], v[1] + v[3]}, .fractions = fractions ? 1u : 0u};
}

}  // namespace

Result<BoxSizes> sizes_of(std::string_view text, const Labels& labels, const char* property) {
  BoxSizes sizes;
  if (trimmed(text).empty()) return sizes;
  for (const std::string_view part : split(text, ',')) {
    const size_t colon = part.rfind(':');
    const bool all = colon == part.npos;
    const auto size = size_of_text(all ? part : trimmed(part.substr(colon + 1)));
    if (!size)
      return bad("WIDTHxHEIGHT or CLASS:WIDTHxHEIGHT", part, property, "16x16,person:32x64");
    if (all) {
      sizes.all = *size;
      continue;
    }
    KB_ASSIGN(const auto called, labels.classes_called(trimmed(part.substr(0, colon)), property));
    for (const uint32_t id : called) sizes.of_class.emplace_back(id, *size);
  }
  return sizes;
}

Result<FilterSettings> regions_of(std::string_view text) {
  constexpr std::pair<std::string_view, RegionRule> kRules[] = {{"center:", RegionRule::kCenter},
                                                                {"inside:", RegionRule::kInside},
                                                                {"touch:", RegionRule::kTouch}};
  FilterSettings out;
  text = trimmed(text);
  for (const auto& [prefix, rule] : kRules) {
    if (!text.starts_with(prefix)) continue;
    out.rule = rule;
    text.remove_prefix(prefix.size());
    break;
  }
  if (text.empty()) return out;
  for (const std::string_view part : split(text, ';')) {
    const bool dropping = part.starts_with('!');
    const auto region = region_of_text(part.substr(dropping ? 1 : 0));
    if (!region)
      return bad("X,Y,WIDTH,HEIGHT of a region with an area, or ! and that", part, "regions",
                 "0,0.5,1,0.5;!100,50,640,360");
    (dropping ? out.excluded : out.wanted).push_back(*region);
  }
  KB_TRY(check_filters(out));
  return out;
}

Result<Size> model_size_of(std::string_view text) {
  constexpr uint32_t kMaxPixels = 1u << 16;
  Size size;
  if (trimmed(text).empty()) return size;
  const auto sides = split(text, 'x');
  const auto is_side = [](std::string_view side, uint32_t& value) {
    return parse(side, value) && value > 0 && value <= kMaxPixels;
  };
  if (sides.size() != 2 || !is_side(sides[0], size.width) || !is_side(sides[1], size.height))
    return bad("WIDTHxHEIGHT in pixels", text, "model-size", "640x640");
  return size;
}

namespace {

constexpr size_t kMaxPriorsBytes = size_t{1} << 26;
constexpr const char* kPriorsHint =
    "set priors-file= in the detector file to a file of N lines of cy cx h w, or of 4 lines of N "
    "numbers";

/// Reads the numbers of one line; false if it contains anything else.
bool numbers_of(std::string_view line, std::vector<float>& out) {
  const char* at = line.data();
  const char* end = at + line.size();
  while (true) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
    if (at == end) return true;
    float value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{}) return false;
    out.push_back(value);
    at = next;
  }
}

}  // namespace

Result<std::vector<Prior>> load_priors(const char* path) {
  KB_ASSIGN(const auto file, read_text(path, kMaxPriorsBytes, kPriorsHint));

  std::vector<float> numbers;   // all lines together
  std::vector<size_t> in_line;  // count per line that is not empty
  std::string_view rest(file);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const size_t before = numbers.size();
    if (!numbers_of(line, numbers))
      return file_error(
          std::string(path) + " has a line that is not numbers: " + in_quotes(line.substr(0, 40)),
          kPriorsHint);
    const size_t found = numbers.size() - before;
    if (found > 0) in_line.push_back(found);
    if (in_line.size() > kMaxAnchors || found > kMaxAnchors)
      return file_error(
          std::string(path) + " has more than " + std::to_string(kMaxAnchors) + " priors",
          kPriorsHint);
  }
  if (in_line.empty()) return file_error(std::string(path) + " is empty", kPriorsHint);
  const bool across = in_line.size() == 4 && in_line[0] != 4;
  const size_t wanted = across ? in_line[0] : 4;
  for (const size_t found : in_line)
    if (found != wanted)
      return file_error(std::format("{} has a line of {} numbers, not {}", path, found, wanted),
                        kPriorsHint);
  std::vector<Prior> priors;
  const size_t count = across ? wanted : in_line.size();
  for (size_t i = 0; i < count; ++i) {
    const auto at = [&](size_t field) {
      return numbers[across ? field * count + i : i * wanted + field];
    };
    priors.push_back({.cx = at(1), .cy = at(0), .width = at(3), .height = at(2)});
  }
  return priors;
}

namespace {

constexpr const char* kQuantizationHint =
    "set quantization= to a value such as boxes:0.5:128,scores:0.00390625, or 0.05:3 for all "
    "tensors";

/// Takes the text after the last colon, or the whole text.
std::string_view take_last(std::string_view& text) {
  const size_t colon = text.rfind(':');
  const std::string_view last = trimmed(colon == text.npos ? text : text.substr(colon + 1));
  text = colon == text.npos ? std::string_view{} : text.substr(0, colon);
  return last;
}

std::unexpected<Error> wrong_entry(std::string_view found, std::string_view why) {
  return reject(ErrorKind::kInvalid, std::format("quantization has \"{}\", {}", found, why),
                kQuantizationHint);
}

}  // namespace

Result<Quantization::Entry> Quantization::entry_from(std::string_view text) {
  Entry entry;
  std::string_view rest = text;
  if (!parse_finite(take_last(rest), entry.scale))
    return wrong_entry(text, "which is not ID:SCALE:ZERO-POINT (ID and ZERO-POINT are optional)");
  // If two numbers are last, they are scale and zero point.
  std::string_view before = rest;
  if (float scale = 0; parse_finite(take_last(before), scale)) {
    entry.zero_point = std::exchange(entry.scale, scale);
    rest = before;
  }
  if (!(entry.scale > 0)) return wrong_entry(text, "whose scale is not above 0");
  entry.id = trimmed(rest);
  return entry;
}

Result<Quantization> Quantization::from(const std::string& text) {
  Quantization out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(",;"), rest.size());
    const std::string_view part = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.empty()) continue;
    KB_ASSIGN(auto entry, entry_from(part));
    if (std::ranges::contains(out.entries_, entry.id, &Entry::id))
      return wrong_entry(text, "with two entries for a tensor");
    out.entries_.push_back(std::move(entry));
  }
  return out;
}

const Quantization::Entry* Quantization::find(const TensorView& tensor) const {
  const auto with_id = [&](std::string_view id) -> const Entry* {
    const auto found = std::ranges::find(entries_, id, &Entry::id);
    return found != entries_.end() ? &*found : nullptr;
  };
  const Entry* own = tensor.id.empty() ? nullptr : with_id(tensor.id);
  return own != nullptr || is_floating(tensor.type) ? own : with_id("");
}

std::optional<Error> Quantization::apply(FrameTensors& tensors) const {
  const auto listed = tensors.listed();
  for (size_t i = 0; i < listed.size(); ++i)
    if (const Entry* entry = find(listed[i]))
      tensors.set_quantization(i, entry->scale, entry->zero_point);
  std::string missing;
  for (const Entry& entry : entries_)
    if (!entry.id.empty() && !std::ranges::contains(listed, entry.id, &TensorView::id))
      missing += (missing.empty() ? "" : ", ") + entry.id;
  if (missing.empty()) return {};
  return problem(ErrorKind::kMismatch,
                 "quantization names " + missing + ", but the tensors are " + to_string(listed),
                 kQuantizationHint);
}

void quantize_as(const DetectorSpec& family, FrameTensors& tensors,
                 std::span<const std::string> tensor_ids) {
  const auto listed = tensors.listed();
  for (size_t i = 0; i < listed.size(); ++i) {
    if (is_real(listed[i])) continue;
    if (const TensorRule* rule = quantization_of(family, listed[i].id, tensor_ids))
      tensors.set_quantization(i, rule->scale, rule->zero_point);
  }
}

namespace {

std::string without_numbers(std::string text) {
  std::erase_if(text, [](char c) { return g_ascii_isdigit(c); });
  return text;
}

}  // namespace

std::string cause_of(const Error& error) {
  return error.what.empty() ? error.expected : without_numbers(error.what);
}

bool Mismatches::add(const Error& error) {
  constexpr size_t kMaxKinds = 16;
  std::string kind = without_numbers(error.message());
  if (kinds_.size() >= kMaxKinds || std::ranges::contains(kinds_, kind)) return false;
  kinds_.push_back(std::move(kind));
  return true;
}

bool Mismatches::tolerate(GstElement* element, OnMismatch policy, const Error& error) {
  const bool about_tensors =
      error.kind != ErrorKind::kInvalid && error.kind != ErrorKind::kNoResource;
  if (policy == OnMismatch::kError || !about_tensors) return false;
  if (!add(error)) return true;
  if (policy == OnMismatch::kWarn) post_warning(element, error);
  else GST_INFO_OBJECT(element, "%s", error.message().c_str());
  return true;
}

}  // namespace keepbox
