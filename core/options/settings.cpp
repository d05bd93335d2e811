// SPDX-License-Identifier: LGPL-2.1-or-later
// From options to settings: the files that they name, and their texts.
#include "core/options/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <format>
#include <optional>
#include <string>
#include <utility>

#include "core/base/infile.h"
#include "core/base/text.h"
#include "core/formula/box.h"
#include "core/model/detector.h"
#include "core/options/options.h"

namespace keepbox {
namespace {

std::optional<bool> multi_label_of(const DecodeOptions& options) {
  if (options.multi_label == kMultiLabelAuto) return std::nullopt;
  return options.multi_label == kMultiLabelTrue;
}

Result<FilterSettings> filters_of(const DecodeOptions& options, const ClassNames& names) {
  KB_ASSIGN(FilterSettings out, regions_of(options.regions));
  KB_ASSIGN(out.min_size, sizes_of(options.min_size, names, "min-size"));
  KB_ASSIGN(out.max_size, sizes_of(options.max_size, names, "max-size"));
  return out;
}

TileRules tile_rules_of(const DecodeOptions& options) {
  return {.merge = static_cast<TileMerge>(options.tile_merge % kUnionOf),
          .threshold = options.tile_threshold,
          .border = options.tile_border,
          .united = options.tile_merge >= kUnionOf};
}

/// Reads the classes to keep, and those to drop.
Status take_classes(Settings& settings, std::string_view text, const ClassNames& names) {
  const auto [kept, dropped] = class_choice(text);
  for (const auto& [words, classes] :
       {std::pair{&kept, &settings.include_classes}, {&dropped, &settings.exclude_classes}})
    for (const std::string_view word : *words) {
      KB_ASSIGN(const auto called, names.classes_called(word, "include-classes"));
      classes->insert(classes->end(), called.begin(), called.end());
    }
  return {};
}

}  // namespace

Result<Settings> resolve(const DecodeOptions& options, const ClassNames& names,
                         const Picture& frame) {
  Settings out{.detector = options.detector.empty() ? Settings{}.detector : options.detector,
               .tensor_ids = ids_of(options.tensor_ids),
               .score_threshold = options.score_threshold,
               .iou_threshold = options.iou_threshold,
               .max_detections = options.max_detections,
               .multi_label = multi_label_of(options),
               .nms_contract = nick_of(contract_words(), options.nms_contract),
               .class_agnostic = options.class_agnostic,
               .nms_method = static_cast<NmsMethod>(options.nms_method),
               .resize_mode = static_cast<ResizeMode>(options.resize_mode),
               .frame = frame,
               .tile_rules = tile_rules_of(options),
               .label_count = names.size(),
               .num_classes = options.num_classes,
               .mask_size = static_cast<MaskSize>(options.mask_size)};
  if (options.track_score_threshold > 0) out.track_score_threshold = options.track_score_threshold;
  KB_ASSIGN(out.model_size, model_size_of(options.model_size));
  KB_TRY(take_classes(out, options.include_classes, names));
  KB_ASSIGN(out.class_thresholds,
            names.thresholds_of(options.class_thresholds, "class-thresholds"));
  KB_ASSIGN(out.filters, filters_of(options, names));
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

Status DecodeFiles::read(const DecodeOptions& options) {
  KB_TRY(read_family(options.detector));
  const std::string& labels = options.label_file.empty() ? family_.label_file : options.label_file;
  KB_TRY(read_once(labels_path_, labels, labels_, ClassNames::load));
  return read_once(priors_path_, family_.priors_file, priors_, load_priors);
}

void take_files(Settings& settings, const DecodeFiles& files) {
  settings.family = files.family();
  const bool has_units = settings.family != nullptr && settings.family->units != Units::kAuto;
  if (has_units) settings.units = Units::kAuto;
  if (files.priors() != nullptr) settings.priors = *files.priors();
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

Result<BoxSizes> sizes_of(std::string_view text, const ClassNames& names, const char* property) {
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
    KB_ASSIGN(const auto called, names.classes_called(trimmed(part.substr(0, colon)), property));
    for (const uint32_t id : called) sizes.of_class.emplace_back(id, *size);
  }
  return sizes;
}

Result<FilterSettings> regions_of(std::string_view text) {
  FilterSettings out;
  text = trimmed(text);
  for (const auto& [rule, word, _] : kRegionWords) {
    if (!text.starts_with(std::string(word) + ":")) continue;
    out.rule = rule;
    text.remove_prefix(word.size() + 1);
    break;
  }
  if (text.empty()) return out;
  for (const std::string_view part : split(text, ';')) {
    const bool dropping = part.starts_with('!');
    const auto region = region_of_text(part.substr(dropping ? 1 : 0));
    if (!region)
      return bad("X,Y,WIDTH,HEIGHT of a region with an area, or ! and that", part, "regions",
                 "0,0.5,1,0.5;!100,50,640,360");
    (dropping ? out.excluded : out.regions).push_back(*region);
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

std::optional<Error> Quantization::check_ids(std::span<const TensorView> tensors) const {
  std::string missing;
  for (const Entry& entry : entries_)
    if (!entry.id.empty() && !std::ranges::contains(tensors, entry.id, &TensorView::id))
      append(missing, entry.id);
  if (missing.empty()) return {};
  return problem(ErrorKind::kMismatch,
                 "quantization names " + missing + ", but the tensors are " + to_string(tensors),
                 kQuantizationHint);
}

std::optional<Error> quantize(std::span<TensorView> tensors, const Quantization& set,
                              const DetectorSpec* family, std::span<const std::string> tensor_ids) {
  const auto before = std::vector<TensorView>(tensors.begin(), tensors.end());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (const auto* entry = set.find(before[i]))
      tensors[i].scale = entry->scale, tensors[i].zero_point = entry->zero_point;
    if (family == nullptr || is_real(tensors[i])) continue;
    if (const TensorRule* rule = quantization_of(*family, tensors[i].id, tensor_ids))
      tensors[i].scale = rule->scale, tensors[i].zero_point = rule->zero_point;
  }
  return set.check_ids(before);
}

}  // namespace keepbox
