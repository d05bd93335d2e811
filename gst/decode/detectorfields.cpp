// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of a family's fields.
#include "gst/decode/detectorfields.h"

#include <functional>
#include <utility>

#include "gst/decode/detectorcodecs.h"

namespace keepbox {
namespace {

using namespace codec;

enum class Printed { kWhereSet, kAlways };

/// @param member of Of: a pointer, or a function that finds it.
template <class Of, class Member, class Codec>
TextField<Of> field(std::string_view key, Member member, Codec codec, std::string_view summary,
                    Printed printed = Printed::kWhereSet) {
  return {.key = key,
          .summary = summary,
          .expected = codec.expected(),
          .read = [=](std::string_view text, Of& of,
                      Kept& kept) { return codec.read(text, std::invoke(member, of), kept); },
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
                          "First of the columns of a box, in one tensor for all."));
  out.push_back(of_family("objectness-column", column<&Columns::objectness>, Column(),
                          "Column of the objectness."));
  out.push_back(of_family("classes-column", column<&Columns::classes>, Column(),
                          "First of the columns of class scores."));
  out.push_back(of_family("score-column", column<&Columns::score>, Column(),
                          "Column of the score of a row that the model sorted out."));
  out.push_back(of_family("class-id-column", column<&Columns::class_id>, Column(),
                          "Column of the class of such a row."));
  out.push_back(of_family("image-column", column<&Columns::image>, Column(),
                          "Column of the image of a batch; a number below zero ends the rows."));
  out.push_back(of_family("angle-column", column<&Columns::angle>, Column(),
                          "Column of the angle of such a row in radians, with payload=angle."));
  out.push_back(of_family("box-last", column<&Columns::box_last>, OneOf(kYesNo),
                          "The box follows the class scores."));
}

void add_coding(Fields& out) {
  out.push_back(of_family("coding", &Family::coding, OneOf(kCodingNicks),
                          "What the numbers of a box mean.", Printed::kAlways));
  out.push_back(of_family("box-order", &Family::box_yx, OneOf(kOrderNicks),
                          "Order of a box's numbers: x y, or y x."));
  out.push_back(of_family("box-units", &Family::units, OneOf(kUnitsNicks),
                          "Units of coordinates; auto tells by the numbers."));
  out.push_back(of_family("box-scale", &Family::box_scale, Numbers<float, 4>{0, kLargest, 4},
                          "The four raw numbers, x first, are multiplied by these."));
  out.push_back(of_family("cell-offset", &Family::cell_offset, Number<float>{-16, 16},
                          "Added to a cell's column and row."));
  out.push_back(of_family("xy-scales", &Family::xy_scales, Numbers<float, kMostLevels>{0, kLargest},
                          "Of grid-darknet: scale of the centre on each level; 0 is 1."));
  out.push_back(of_family("delta-limit", &Family::delta_limit, Number<float>{0, kLargest},
                          "Of prior-delta: sizes' logarithms are at most this; 0 is no limit."));
  out.push_back(of_family("bins", &Family::bins, Number<uint8_t>{1, 255},
                          "Of distance-bins: numbers of each side."));
}

void add_scores(Fields& out) {
  out.push_back(of_family("score-rule", &Family::score, OneOf(kScoreNicks),
                          "How a score comes out of objectness and class score."));
  out.push_back(of_family("activation", &Family::activation, OneOf(kActivationNicks),
                          "What makes probabilities of scores."));
  out.push_back(of_family("background", &Family::background, OneOf(kBackgroundNicks),
                          "Which of the class scores is of no class. The first is number 0, and has "
                          "a line in the label file."));
  out.push_back(of_family("logit-limit", &Family::logit_limit, Number<float>{0, kLargest},
                          "Logits are clamped to this and its opposite first; 0 is no limit."));
  out.push_back(of_family("probabilities", &Family::probabilities, OneOf(kYesNo),
                          "Scores are in 0 to 1, activated; others are not looked at for sense."));
  out.push_back(
      of_family("multi-label", &Family::multi_label, OneOf(kYesNo),
                "A box for each class of an anchor that passes, where the property is auto."));
  out.push_back(of_family("peaks", &Family::peaks, OneOf(kYesNo),
                          "A score counts where none of the eight cells around has a better one."));
}

void add_anchors(Fields& out) {
  out.push_back(of_family("strides", &Family::strides, Numbers<uint16_t, kMostLevels>{1, 65535},
                          "Input pixels from cell to cell on each level."));
  out.push_back(of_family("cell-anchors", &Family::cell_anchors,
                          Numbers<uint8_t, kMostLevels>{1, 255},
                          "Anchors of a cell on each level; the last number is for the rest."));
  out.push_back(of_family("interleaved", &Family::interleaved, OneOf(kYesNo),
                          "Anchors of a cell follow each other; else each has a grid of its own."));
  out.push_back(of_family("anchor-sizes", anchor<&AnchorRule::sizes>, Sizes(),
                          "Sizes in input pixels of all levels' anchors of a cell."));
  out.push_back(of_family("anchor-input", anchor<&AnchorRule::input>, Number<float>{0, kLargest},
                          "The input's side that anchor-sizes of prior boxes are of; 0: of any."));
  out.push_back(of_family("anchor-base", anchor<&AnchorRule::base>, Number<float>{0, kLargest},
                          "Else: the side of an anchor of scale 1 and ratio 1, in strides."));
  out.push_back(of_family("anchor-scales", anchor<&AnchorRule::scales>, Floats(),
                          "With anchor-base: factors of that."));
  out.push_back(of_family("anchor-ratios", anchor<&AnchorRule::ratios>, Sizes(),
                          "With anchor-base: factors of width and height."));
  out.push_back(of_family("anchor-scales-inner", anchor<&AnchorRule::scales_inner>, OneOf(kYesNo),
                          "All scales of a ratio follow each other, not all ratios of a scale."));
  out.push_back(of_family("anchor-whole", anchor<&AnchorRule::whole>, OneOf(kYesNo),
                          "Anchors and steps have whole pixels, as torchvision rounds them."));
  out.push_back(of_family("anchor-of-grid", anchor<&AnchorRule::of_grid>, OneOf(kYesNo),
                          "Cells share the input evenly, whatever the stride."));
  out.push_back(of_family("priors", &Family::priors, OneOf(kYesNo),
                          "The table of priors-file counts, where there are no anchors."));
}

void add_input(Fields& out) {
  out.push_back(of_family("input-std", input<&InputRule::deviation>,
                          Numbers<float, 3>{0, kLargest, 3},
                          "Deviation of R, G, B in 0 to 255, with which tensorinfer before boxdecode "
                          "makes the input: (pixel - input-mean) / input-std; 0 if it is not known."));
  out.push_back(of_family("input-mean", input<&InputRule::mean>,
                          Numbers<float, 3>{-kLargest, kLargest, 3},
                          "Mean of R, G, B in 0 to 255, which counts with input-std."));
  out.push_back(of_family("channel-order", input<&InputRule::bgr>, OneOf(kChannelNicks),
                          "Order of the input's channels, which counts with input-std."));
  out.push_back(of_family("resize-mode", input<&InputRule::resize>, OneOf(kResizeNicks),
                          "How a picture is fitted into the input, which counts with input-std."));
  out.push_back(of_family("pad-value", input<&InputRule::pad>, Number<uint8_t>{0, 255},
                          "Grey of the input around the picture, which counts with input-std."));
  out.push_back(of_family("input-caveat", input<&InputRule::caveat>, Text(),
                          "Which models of the family want another input, for a warning."));
}

void add_rest(Fields& out) {
  out.push_back(of_family("payload", &Family::payload, OneOf(kPayloadNicks),
                          "What an anchor has beside its box and scores: an angle, keypoints or "
                          "mask-coefficients. Prototypes are told by their shape."));
  out.push_back(of_family("payload-count", &Family::payload_count, Number<uint16_t>{0, 65535},
                          "Numbers of that an anchor."));
  out.push_back(of_family("payload-column", column<&Columns::payload>, Column(),
                          "Its first column, where it does not follow the class scores, or the box "
                          "with reader=split."));
  out.push_back(of_family("point-coding", point<&PointRule::coding>, OneOf(kPointCodingNicks),
                          "What x and y of a keypoint mean: as the box's corners, from cells in "
                          "strides or in pixels, from priors, or in the box's width and height."));
  out.push_back(of_family("point-numbers", point<&PointRule::numbers>, Number<uint8_t>{0, 3},
                          "Numbers of a keypoint: 2, or 3 with its score; 0: found out."));
  out.push_back(of_family("point-yx", point<&PointRule::yx>, OneOf(kYesNo),
                          "Keypoints are y x."));
  out.push_back(of_family("point-set", point<&PointRule::set>, Text(),
                          "What keypoints are, as body-pose/coco-17: known ones have lines."));
  out.push_back(
      of_family("nms-method", &Family::nms, OneOf<NmsMethod>{std::span(kMethodNicks).subspan(1)},
                "Suppression, where the property is auto; greedy takes the contract's, none is "
                "for models that did it themselves."));
  out.push_back(of_family("nms-contract", &Family::contract, Contract(),
                          "Conventions of suppression, where the property is auto."));
  out.push_back(of_family("score-threshold", &Family::score_threshold, Number<float>{0, 1},
                          "Where the property is not set; 0 is the property's default."));
  out.push_back(of_family("iou-threshold", &Family::iou_threshold, Number<float>{0, 1},
                          "Where the property is not set; 0 is the property's default."));
}

Fields make_detector_fields() {
  Fields out;
  out.push_back(of_family("name", &Family::name, Text(), "What messages call the family."));
  out.push_back(of_family("summary", &Family::summary, Text(), "A sentence for readers."));
  out.push_back(of_family("reader", &Family::reader, OneOf(kReaderNicks),
                          "How anchors and their numbers lie in the tensors.", Printed::kAlways));
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
      field<Rule>("role", &Rule::role, OneOf(kRoleNicks), "What the tensor is for.",
                  Printed::kAlways),
      field<Rule>("optional", &Rule::optional, OneOf(kYesNo), "It may be missing."),
      field<Rule>("ids", &Rule::ids, Names<std::tuple_size_v<decltype(Rule::ids)>>(),
                  "Ids that producers give it; a * is the stride of its level."),
      field<Rule>("names", &Rule::plain, Names<std::tuple_size_v<decltype(Rule::plain)>>(),
                  "Its name in the model, which counts where all tensors have such names."),
      field<Rule>("channels", &Rule::channels, Number<uint16_t>{0, 65535},
                  "Numbers of an anchor; 0 for those of the role, of scores for any."),
      field<Rule>("scale", &Rule::scale, Number<float>{1e-12f, kLargest},
                  "Of integers: number = (stored - zero-point) * scale."),
      field<Rule>("zero-point", &Rule::zero_point, Number<float>{-4294967296.0f, 4294967296.0f},
                  "Of integers, the same."),
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
    case Reader::kIndices:
      return {.classes = 0};
    case Reader::kOutputs:
      return {.score = 0, .class_id = 0};
    default:
      return {};
  }
}

std::string_view role_nick(Role role) {
  return std::ranges::find(kRoleNicks, role, &Nick<Role>::value)->nick;
}

}  // namespace keepbox
