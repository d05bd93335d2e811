// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of a family's fields.
#include "core/model/detector_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/base/text.h"
#include "core/formula/conventions.h"
#include "core/model/contracts.h"
#include "core/model/words.h"

namespace keepbox::codec {

/// Prints the fewest digits that read back as the same number.
template <class T>
std::string number_text(T value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

template <class T>
bool read_number(std::string_view text, T& out) {
  T value{};
  if (!parse_finite(text, value)) return false;
  out = value;
  return true;
}

/// Splits "a, b" at commas; an empty text has no parts.
inline std::vector<std::string_view> parts_of(std::string_view text) {
  return text.empty() ? std::vector<std::string_view>{} : split(text, ',');
}

template <class Range, class Print>
std::string joined_by_commas(const Range& range, Print print) {
  std::string out;
  for (const auto& each : range) out += (out.empty() ? "" : ",") + print(each);
  return out;
}

struct Text {
  std::string expected() const { return "text"; }
  bool read(std::string_view text, std::string_view& out, FamilyStorage& kept) const {
    out = kept.texts.emplace_back(text);
    return true;
  }
  std::string print(std::string_view value) const { return std::string(value); }
};

/// A word of an enum.
template <class E>
struct OneOf {
  std::span<const Word<E>> words;

  std::string expected() const {
    std::string out;
    for (const auto& each : words) append(out, each.word);
    return "one of " + out;
  }
  bool read(std::string_view text, E& out, FamilyStorage&) const {
    const auto found = std::ranges::find(words, text, &Word<E>::word);
    if (found == words.end()) return false;
    out = found->value;
    return true;
  }
  std::string print(E value) const {
    return std::string(std::ranges::find(words, value, &Word<E>::value)->word);
  }
};
template <class E, size_t N>
OneOf(const Word<E> (&)[N]) -> OneOf<E>;

struct Contract {
  std::string expected() const {
    std::string out;
    for (const auto& each : contracts()) append(out, each.name);
    return "one of " + out;
  }
  bool read(std::string_view text, std::string_view& out, FamilyStorage&) const {
    const NmsContract* found = find_contract(text);
    if (found != nullptr) out = found->name;
    return found != nullptr;
  }
  std::string print(std::string_view value) const { return std::string(value); }
};

template <class T>
struct Number {
  T minimum, maximum;

  std::string expected() const {
    const bool real = std::is_floating_point_v<T>;
    return std::string(real ? "a number" : "an integer") + " from " + number_text(minimum) +
           " to " + number_text(maximum);
  }
  bool read(std::string_view text, T& out, FamilyStorage&) const {
    T value{};
    if (!read_number(text, value) || value < minimum || value > maximum) return false;
    out = value;
    return true;
  }
  std::string print(T value) const { return number_text(value); }
};

/// A channel index, or none.
struct Column {
  static constexpr int8_t kNone = -1;
  Number<int8_t> number{0, 127};

  std::string expected() const { return number.expected() + ", or none"; }
  bool read(std::string_view text, int8_t& out, FamilyStorage& kept) const {
    if (text != "none") return number.read(text, out, kept);
    out = kNone;
    return true;
  }
  std::string print(int8_t value) const { return value == kNone ? "none" : number_text(value); }
};

/// An array of numbers; trailing zeros may be omitted.
template <class T, size_t kMax>
struct Numbers {
  T minimum, maximum;
  size_t fewest = 1;

  std::string expected() const {
    const std::string count =
        fewest == kMax ? std::to_string(kMax) : "up to " + std::to_string(kMax);
    return count + (std::is_floating_point_v<T> ? " numbers" : " integers") + " from " +
           number_text(minimum) + " to " + number_text(maximum) + ", comma-separated";
  }
  bool read(std::string_view text, std::array<T, kMax>& out, FamilyStorage& kept) const {
    const auto parts = parts_of(text);
    std::array<T, kMax> values{};
    if (parts.size() < fewest || parts.size() > kMax) return false;
    for (size_t i = 0; i < parts.size(); ++i)
      if (!Number<T>{minimum, maximum}.read(parts[i], values[i], kept)) return false;
    out = values;
    return true;
  }
  std::string print(const std::array<T, kMax>& values) const {
    size_t count = kMax;
    while (count > fewest && values[count - 1] == T{}) --count;
    return joined_by_commas(std::span(values).first(count), number_text<T>);
  }
};

/// An array of names; trailing empty names may be omitted.
template <size_t kMax>
struct Names {
  std::string expected() const {
    return "up to " + std::to_string(kMax) + " comma-separated names";
  }
  bool read(std::string_view text, std::array<std::string_view, kMax>& out,
            FamilyStorage& kept) const {
    const auto parts = parts_of(text);
    if (parts.size() > kMax || std::ranges::contains(parts, std::string_view())) return false;
    out = {};
    for (size_t i = 0; i < parts.size(); ++i) out[i] = kept.texts.emplace_back(parts[i]);
    return true;
  }
  std::string print(const std::array<std::string_view, kMax>& names) const {
    const auto end = std::ranges::find(names, std::string_view());
    return joined_by_commas(std::span(names.begin(), end),
                            [](std::string_view name) { return std::string(name); });
  }
};

inline constexpr float kMaxField = 1e6f;  // for sizes and scales

struct Floats {
  std::string expected() const { return "comma-separated numbers above 0"; }
  bool read(std::string_view text, std::span<const float>& out, FamilyStorage& kept) const {
    std::vector<float> values;
    for (const std::string_view part : parts_of(text)) {
      float value = 0;
      if (!read_number(part, value) || !(value > 0) || value > kMaxField) return false;
      values.push_back(value);
    }
    out = kept.numbers.emplace_back(std::move(values));
    return true;
  }
  std::string print(std::span<const float> values) const {
    return joined_by_commas(values, number_text<float>);
  }
};

/// Sizes of anchors, or their ratios.
struct Sizes {
  std::string expected() const { return "sizes above 0 as 10x13,16x30"; }
  bool read(std::string_view text, std::span<const AnchorSize>& out, FamilyStorage& kept) const {
    std::vector<AnchorSize> sizes;
    for (const std::string_view part : parts_of(text)) {
      const size_t cross = part.find('x');
      AnchorSize size{};
      if (cross == part.npos || !read_number(part.substr(0, cross), size.width) ||
          !read_number(part.substr(cross + 1), size.height) || !(size.width > 0) ||
          !(size.height > 0) || size.width > kMaxField || size.height > kMaxField)
        return false;
      sizes.push_back(size);
    }
    out = kept.sizes.emplace_back(std::move(sizes));
    return true;
  }
  std::string print(std::span<const AnchorSize> sizes) const {
    return joined_by_commas(sizes, [](const AnchorSize& size) {
      return number_text(size.width) + "x" + number_text(size.height);
    });
  }
};

}  // namespace keepbox::codec

namespace keepbox {
namespace {

using namespace codec;

enum class Printed { kWhereSet, kAlways };

/// @param member of Of: a pointer, or a function that returns the field.
template <class Of, class Member, class Codec>
TextField<Of> field(std::string_view key, Member member, Codec codec, std::string_view summary,
                    Printed printed = Printed::kWhereSet) {
  return {
      .key = key,
      .summary = summary,
      .expected = codec.expected(),
      .read = [=](std::string_view text, Of& of,
                  FamilyStorage& kept) { return codec.read(text, std::invoke(member, of), kept); },
      .print = [=](const Of& of) { return codec.print(std::invoke(member, of)); },
      .always = printed == Printed::kAlways};
}

using Family = DetectorSpec;

template <class Member, class Codec>
TextField<Family> of_family(std::string_view key, Member member, Codec codec,
                            std::string_view summary, Printed printed = Printed::kWhereSet) {
  return field<Family>(key, member, codec, summary, printed);
}

template <auto kMember>
constexpr auto column = [](auto& family) -> auto& { return family.columns.*kMember; };
template <auto kMember>
constexpr auto anchor = [](auto& family) -> auto& { return family.anchors.*kMember; };

template <auto kMember>
constexpr auto point = [](auto& family) -> auto& { return family.points.*kMember; };

template <auto kMember>
constexpr auto input = [](auto& family) -> auto& { return family.input.*kMember; };

using Fields = std::vector<TextField<Family>>;

void add_columns(Fields& out) {
  out.push_back(of_family("box-column", column<&Columns::box>, Number<int8_t>{0, 127},
                          "First column of the box, if one tensor has everything."));
  out.push_back(of_family("objectness-column", column<&Columns::objectness>, Column(),
                          "Column of the objectness score."));
  out.push_back(of_family("classes-column", column<&Columns::classes>, Column(),
                          "First column of the class scores."));
  out.push_back(of_family("score-column", column<&Columns::score>, Column(),
                          "Column of the score in end-to-end rows."));
  out.push_back(of_family("class-id-column", column<&Columns::class_id>, Column(),
                          "Column of the class in end-to-end rows."));
  out.push_back(of_family("image-column", column<&Columns::image>, Column(),
                          "Column of the image index in a batch; a negative value ends the rows."));
  out.push_back(of_family("angle-column", column<&Columns::angle>, Column(),
                          "Column of the angle in radians in end-to-end rows, with "
                          "payload=angle."));
  out.push_back(of_family("box-last", column<&Columns::box_last>, OneOf(kYesNo),
                          "True if the box follows the class scores."));
}

void add_coding(Fields& out) {
  out.push_back(of_family("coding", &Family::coding, OneOf(kCodingWords),
                          "Meaning of the four box values.", Printed::kAlways));
  out.push_back(of_family("box-order", &Family::box_yx, OneOf(kOrderWords),
                          "Order of box coordinates: x y, or y x."));
  out.push_back(of_family("box-units", &Family::units, OneOf(kUnitsWords),
                          "Units of the coordinates; auto derives them from the values."));
  out.push_back(of_family("box-scale", &Family::box_scale, Numbers<float, 4>{0, kMaxField, 4},
                          "Factors for the four raw box values, x first."));
  out.push_back(of_family("cell-offset", &Family::cell_offset, Number<float>{-16, 16},
                          "Offset added to a cell's column and row."));
  out.push_back(of_family("xy-scales", &Family::xy_scales, Numbers<float, kMaxLevels>{0, kMaxField},
                          "With grid-darknet: scale of the centre per level; 0 means 1."));
  out.push_back(of_family("delta-limit", &Family::delta_limit, Number<float>{0, kMaxField},
                          "With prior-delta: maximum of the sizes' logarithms; 0 means no limit."));
  out.push_back(of_family("bins", &Family::bins, Number<uint8_t>{1, 255},
                          "With distance-bins: number of bins per side."));
}

void add_scores(Fields& out) {
  out.push_back(of_family("score-rule", &Family::score, OneOf(kScoreWords),
                          "How objectness and class score are combined."));
  out.push_back(of_family("activation", &Family::activation, OneOf(kActivationWords),
                          "Function that maps raw scores to probabilities."));
  out.push_back(of_family("background", &Family::background, OneOf(kBackgroundWords),
                          "Position of the background among the class scores. If first, it is "
                          "class 0 and has a line in the label file."));
  out.push_back(of_family("logit-limit", &Family::logit_limit, Number<float>{0, kMaxField},
                          "Logits are clamped to plus or minus this value first; 0 means no "
                          "limit."));
  out.push_back(of_family("probabilities", &Family::probabilities, OneOf(kYesNo),
                          "Activated scores are in 0 to 1; if false, their range is not checked."));
  out.push_back(
      of_family("multi-label", &Family::multi_label, OneOf(kYesNo),
                "One box per class of an anchor that passes, if the multi-label property is "
                "auto."));
  out.push_back(of_family("peaks", &Family::peaks, OneOf(kYesNo),
                          "Keep a score only if none of its eight neighbour cells has a higher "
                          "one."));
}

void add_anchors(Fields& out) {
  out.push_back(of_family("strides", &Family::strides, Numbers<uint16_t, kMaxLevels>{1, 65535},
                          "Distance between cells in input pixels, per level."));
  out.push_back(
      of_family("min-levels", &Family::min_levels, Number<uint8_t>{0, kMaxLevels},
                "Smallest number of levels of a model, which may lack the last strides; 0 "
                "if all models have all."));
  out.push_back(of_family("cell-anchors", &Family::cell_anchors,
                          Numbers<uint8_t, kMaxLevels>{1, 255},
                          "Anchors per cell on each level; the last value applies to remaining "
                          "levels."));
  out.push_back(of_family("interleaved", &Family::interleaved, OneOf(kYesNo),
                          "Anchors of a cell are consecutive; otherwise each anchor has its own "
                          "grid."));
  out.push_back(of_family("anchor-sizes", anchor<&AnchorRule::sizes>, Sizes(),
                          "Anchor sizes per cell in input pixels, for all levels in turn."));
  out.push_back(of_family("anchor-input", anchor<&AnchorRule::input>, Number<float>{0, kMaxField},
                          "Input side that the anchor-sizes of prior boxes refer to; 0 means "
                          "any."));
  out.push_back(of_family("anchor-base", anchor<&AnchorRule::base>, Number<float>{0, kMaxField},
                          "Instead of anchor-sizes: side of an anchor of scale 1 and ratio 1, in "
                          "strides."));
  out.push_back(of_family("anchor-scales", anchor<&AnchorRule::scales>, Floats(),
                          "With anchor-base: factors of the side."));
  out.push_back(of_family("anchor-ratios", anchor<&AnchorRule::ratios>, Sizes(),
                          "With anchor-base: factors for width and height."));
  out.push_back(of_family("anchor-scales-inner", anchor<&AnchorRule::scales_inner>, OneOf(kYesNo),
                          "Order of anchors: all scales per ratio, instead of all ratios per "
                          "scale."));
  out.push_back(of_family("anchor-whole", anchor<&AnchorRule::integer_sides>, OneOf(kYesNo),
                          "Round anchors and steps to integer pixels, as torchvision does."));
  out.push_back(of_family("anchor-of-grid", anchor<&AnchorRule::of_grid>, OneOf(kYesNo),
                          "Cells divide the input evenly, whatever the stride."));
  out.push_back(of_family("anchor-clipped", anchor<&AnchorRule::clipped>, OneOf(kYesNo),
                          "Limit the sides of prior boxes to those of the input."));
  out.push_back(of_family("priors", &Family::priors, OneOf(kYesNo),
                          "Use the table of priors-file if there are no anchors."));
}

void add_input(Fields& out) {
  out.push_back(of_family("input-std", input<&InputRule::deviation>,
                          Numbers<float, 3>{0, kMaxField, 3},
                          "Standard deviation of R, G, B on a scale of 0 to 255, with which "
                          "tensorinfer before boxdecode prepares the input: (pixel - input-mean) / "
                          "input-std; 0 if unknown."));
  out.push_back(of_family("input-mean", input<&InputRule::mean>,
                          Numbers<float, 3>{-kMaxField, kMaxField, 3},
                          "Mean of R, G, B on a scale of 0 to 255; used if input-std is set."));
  out.push_back(of_family("channel-order", input<&InputRule::bgr>, OneOf(kChannelWords),
                          "Channel order of the input; used if input-std is set."));
  out.push_back(of_family("resize-mode", input<&InputRule::resize>, OneOf(kResizeWords),
                          "How a frame is fitted into the input; used if input-std is set."));
  out.push_back(of_family("pad-value", input<&InputRule::pad>, Number<uint8_t>{0, 255},
                          "Grey level of the padding; used if input-std is set."));
  out.push_back(of_family("input-caveat", input<&InputRule::caveat>, Text(),
                          "Which models of the family need another input; shown in a warning."));
}

void add_rest(Fields& out) {
  out.push_back(of_family("payload", &Family::payload, OneOf(kPayloadWords),
                          "What an anchor has in addition to box and scores: an angle, keypoints, "
                          "mask-coefficients or an embedding. Prototypes are recognised by their "
                          "shape."));
  out.push_back(of_family("payload-count", &Family::payload_count, Number<uint16_t>{0, 65535},
                          "Number of payload values per anchor."));
  out.push_back(of_family("payload-column", column<&Columns::payload>, Column(),
                          "First column of the payload, if it does not follow the class scores, or "
                          "the box with reader=split."));
  out.push_back(of_family("point-coding", point<&PointRule::coding>, OneOf(kPointCodingWords),
                          "Coding of keypoint x and y: like the box's corners, relative to cells "
                          "in strides or in pixels, relative to priors, or as fractions of the "
                          "box."));
  out.push_back(of_family("point-numbers", point<&PointRule::values>, Number<uint8_t>{0, 3},
                          "Values per keypoint: 2, or 3 with its score; 0 derives it from the "
                          "tensor."));
  out.push_back(of_family("point-yx", point<&PointRule::yx>, OneOf(kYesNo),
                          "True if keypoints are ordered y x."));
  out.push_back(of_family("point-set", point<&PointRule::set>, Text(),
                          "Name of the keypoint set, such as body-pose/coco-17; known sets have "
                          "edges."));
  out.push_back(
      of_family("nms-method", &Family::nms, OneOf<NmsMethod>{std::span(kMethodWords).subspan(1)},
                "Suppression method if the property is auto; greedy takes the contract's method, "
                "none is for end-to-end models."));
  out.push_back(of_family("nms-contract", &Family::contract, Contract(),
                          "Suppression conventions if the property is auto."));
  out.push_back(of_family("nms-sigma", &Family::nms_sigma, Number<float>{1e-6f, kMaxField},
                          "Sigma of nms-method=soft-gaussian and matrix: the smaller, the more "
                          "scores are lowered. 0.5 corresponds to a sigma of 2 in code that "
                          "multiplies by it. With nms-contract=tensorflow, TensorFlow's value."));
  out.push_back(of_family("score-threshold", &Family::score_threshold, Number<float>{0, 1},
                          "Threshold if the property is unset; 0 means the property's default."));
  out.push_back(of_family("iou-threshold", &Family::iou_threshold, Number<float>{0, 1},
                          "Threshold if the property is unset; 0 means the property's default."));
}

Fields make_detector_fields() {
  Fields out;
  out.push_back(of_family("name", &Family::name, Text(), "Name of the family in messages."));
  out.push_back(of_family("summary", &Family::summary, Text(), "One-sentence description."));
  out.push_back(of_family("reader", &Family::reader, OneOf(kReaderWords),
                          "Layout of anchors and their values in the tensors.", Printed::kAlways));
  add_columns(out);
  add_coding(out);
  add_scores(out);
  add_anchors(out);
  add_rest(out);
  add_input(out);
  return out;
}

std::vector<TextField<TensorRule>> make_tensor_fields() {
  using Rule = TensorRule;
  return {
      field<Rule>("role", &Rule::role, OneOf(kRoleWords), "Purpose of the tensor.",
                  Printed::kAlways),
      field<Rule>("optional", &Rule::optional, OneOf(kYesNo), "True if the tensor may be missing."),
      field<Rule>("ids", &Rule::ids, Names<std::tuple_size_v<decltype(Rule::ids)>>(),
                  "Ids that producers assign; * stands for the stride of its level."),
      field<Rule>("names", &Rule::plain, Names<std::tuple_size_v<decltype(Rule::plain)>>(),
                  "Name in the model; used only if all tensors of the family have such names."),
      field<Rule>("channels", &Rule::channels, Number<uint16_t>{0, 65535},
                  "Values per anchor; 0 takes the number from the role (any number, for scores)."),
      field<Rule>("scale", &Rule::scale, Number<float>{1e-12f, kMaxField},
                  "For integer tensors: value = (stored - zero-point) * scale."),
      field<Rule>("zero-point", &Rule::zero_point, Number<float>{-4294967296.0f, 4294967296.0f},
                  "For integer tensors, see scale."),
  };
}

}  // namespace

std::span<const TextField<DetectorSpec>> detector_fields() {
  static const auto fields = make_detector_fields();
  return fields;
}

std::span<const TextField<TensorRule>> tensor_fields() {
  static const auto fields = make_tensor_fields();
  return fields;
}

Columns default_columns(Reader reader) {
  switch (reader) {
    case Reader::kSplit:
    case Reader::kIndices: return {.classes = 0};
    case Reader::kOutputs: return {.score = 0, .class_id = 0};
    case Reader::kDense:
    case Reader::kReady: break;
  }
  return {};
}

std::string_view word_of(Role role) {
  return std::ranges::find(kRoleWords, role, &Word<Role>::value)->word;
}

}  // namespace keepbox
