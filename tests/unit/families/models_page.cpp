// SPDX-License-Identifier: LGPL-2.1-or-later
// Generates the page of all families from the table and from the results of tests.
#include <algorithm>
#include <format>
#include <map>
#include <set>

#include "core/model/detector.h"
#include "core/model/words.h"
#include "core/recognition/fit.h"
#include "core/recognition/recognise.h"
#include "tests/parity/families.h"
#include "tests/unit/families/dialects.h"
#include "tests/unit/families/formula.h"
#include "tests/unit/families/proofs.h"

namespace keepbox::test {
namespace {

std::string joined(const std::set<std::string>& words, const char* empty = "") {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out.empty() ? empty : out;
}

const char* role_name(Role role) {
  switch (role) {
    case Role::kAll: return "all";
    case Role::kBoxes: return "boxes";
    case Role::kScores: return "scores";
    case Role::kObjectness: return "objectness";
    case Role::kSizes: return "sizes";
    case Role::kClasses: return "classes";
    case Role::kCount: return "count";
    case Role::kIndices: return "indices";
    case Role::kKeypoints: return "points";
    default: return "ignored";
  }
}

const char* reader_name(Reader reader) {
  constexpr const char* kNames[] = {"dense", "split", "ready", "outputs", "indices"};
  return kNames[static_cast<size_t>(reader)];
}

std::string tensors_text(const DetectorSpec& spec) {
  std::string out;
  for (const TensorRule& rule : spec.rules()) {
    const bool one = rule.role == Role::kClasses || rule.role == Role::kCount ||
                     (rule.role == Role::kScores && spec.reader == Reader::kOutputs);
    size_t channels = one ? 1 : channels_of(spec, rule);
    std::string count = channels != 0 ? std::to_string(channels) : "C";
    if (rule.role == Role::kAll)
      count = (spec.reader == Reader::kReady ? "" : ">= ") + std::to_string(min_channels(spec));
    out += std::format("{}{} {}{}", out.empty() ? "" : ", ", role_name(rule.role), count,
                       rule.optional ? " (optional)" : "");
  }
  return out;
}

std::string levels_text(const DetectorSpec& spec) {
  std::string out;
  for (size_t level = 0; level < spec.level_count(); ++level)
    out +=
        std::format("{}{}x{}", level == 0 ? "" : " ", spec.strides[level], spec.anchors_of(level));
  return out.empty() ? "-" : out;
}

std::string family_lines() {
  std::string out =
      "| family | reader | values per anchor, by tensor | stride x anchors per cell | score, IoU "
      "above | contract | labels |\n| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const DetectorSpec& spec : detectors()) {
    const bool none = spec.nms == NmsMethod::kNone;
    out += std::format("| `{}` | {} | {} | {} | {}, {} | {} | {} |\n", spec.name,
                       reader_name(spec.reader), tensors_text(spec), levels_text(spec),
                       spec.score_threshold > 0 ? spec.score_threshold : 0.25f,
                       none                     ? std::string("none")
                       : spec.iou_threshold > 0 ? std::format("{}", spec.iou_threshold)
                                                : std::string("0.45"),
                       none                    ? "-"
                       : spec.contract.empty() ? "exact"
                                               : spec.contract,
                       spec.multi_label ? "all" : "the best");
  }
  return out;
}

/// Formats "0", or "123.675,116.28,103.53".
std::string three(const std::array<float, 3>& of) {
  return of[0] == of[1] && of[1] == of[2] ? std::format("{}", of[0])
                                          : std::format("{},{},{}", of[0], of[1], of[2]);
}

std::string input_section() {
  std::string out =
      "\n## Inputs\n\nThe input that tensorinfer prepares for models of a family which is "
      "recognised or set; it becomes\n(pixel - input-mean) / input-std.\n\n"
      "| family | channel-order | input-mean | input-std | resize-mode | pad-value | caveat |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const DetectorSpec& spec : detectors()) {
    const InputRule& input = spec.input;
    const bool padded = input.resize != ResizeMode::kStretch && input.resize != ResizeMode::kCrop;
    if (!input.known()) out += std::format("| `{}` | unknown | | | | | |\n", spec.name);
    else
      out += std::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", spec.name,
                         input.bgr ? "bgr" : "rgb", three(input.mean), three(input.deviation),
                         keepbox::to_string(input.resize), padded ? std::to_string(input.pad) : "-",
                         input.caveat);
  }
  return out;
}

/// Frames of a family, and how their tensors were recognised.
struct Seen {
  unsigned frames = 0;
  std::set<std::string> forms, types, by_id, by_name, by_shape;
};

/// Returns the family that "auto" recognises, or the kind of error.
std::string recognised(const Frame& frame, bool with_ids, std::string& how) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : frame.tensors) {
    views.push_back(tensor.view());
    if (!with_ids) views.back().id = {};
  }
  Settings settings = frame.settings;
  if (const auto plan = make_plan(settings, views))
    settings.label_count = plan->layout.classes - plan->spec->background_count();
  settings.detector = "auto";
  settings.priors = {};
  const auto plan = make_plan(settings, views);
  how = {};
  if (!plan) return plan.error().kind == ErrorKind::kAmbiguous ? "ambiguous" : "no";
  how = plan->remark;
  return plan->spec->name == frame.family ? "yes" : "as " + std::string(plan->spec->name);
}

void look(const Frame& frame, Seen& seen) {
  ++seen.frames;
  seen.forms.insert(frame.form.substr(0, frame.form.find(' ')));
  bool plain = true, named = false;
  for (const Tensor& tensor : frame.tensors) {
    named = named || !tensor.id.empty();
    seen.types.insert(std::string(keepbox::to_string(tensor.type)));
    plain = plain && (tensor.type == DataType::kFloat32 || !is_real(tensor.view()));
  }
  if (!plain) return;
  std::string how;
  if (named) {
    const std::string found = recognised(frame, true, how);
    const bool by_id = find_detector(frame.family)->tensors[0].ids[0] != "";
    (by_id && !how.contains("(by tensor names)") ? seen.by_id : seen.by_name).insert(found);
  }
  seen.by_shape.insert(recognised(frame, false, how));
}

std::set<std::string> parity_families() {
  std::set<std::string> out;
  for (const Family& family : families())
    for (unsigned seed = 1; family.share == 1 && seed <= 60; ++seed) {
      Random random(seed);
      out.insert(family.make(random).settings.detector);
    }
  return out;
}

std::string proof_lines(const std::map<std::string, Seen>& all) {
  std::string out =
      "| family | frames by formula | tensor types | the model's own code | an independent decoder "
      "| parity inputs |\n| --- | ---: | --- | --- | --- | --- |\n";
  const std::set<std::string> parity = parity_families();
  for (const DetectorSpec& spec : detectors()) {
    const Seen& seen = all.at(std::string(spec.name));
    std::set<std::string> own, peers;
    for (const OwnCode& each : kOwnCode)
      if (each.family == spec.name) own.insert(std::string(each.package));
    for (const Peer& each : kPeers)
      if (each.family == spec.name) peers.insert(std::string(each.tensors));
    out += std::format("| `{}` | {} | {} | {} | {} | {} |\n", spec.name, seen.frames,
                       joined(seen.types), joined(own, "-"), joined(peers, "-"),
                       parity.contains(std::string(spec.name)) ? "yes" : "by its reader");
  }
  return out;
}

std::string recognition_lines(const std::map<std::string, Seen>& all) {
  std::string out =
      "| family | by ids | by names | by shapes and numbers |\n| --- | --- | --- | --- |\n";
  for (const DetectorSpec& spec : detectors()) {
    const Seen& seen = all.at(std::string(spec.name));
    out += std::format("| `{}` | {} | {} | {} |\n", spec.name, joined(seen.by_id, "-"),
                       joined(seen.by_name, "-"), joined(seen.by_shape, "-"));
  }
  return out;
}

/// Returns the lines for thresholds at which contracts differ.
std::string photo_lines() {
  constexpr std::pair<float, float> kThresholds[]{
      {0.3f, 0.45f}, {0.3f, 0.65f}, {0.01f, 0.45f}, {0.01f, 0.65f}};
  std::string head = "| contract |", rule = "| --- |", boxes = "| boxes by `exact` |", list;
  std::map<std::string, std::string> lines;
  for (const auto& [score, iou] : kThresholds) {
    const Dialects seen = compare_dialects(score, iou);
    head += std::format(" above {}, IoU {} |", score, iou);
    rule += " ---: |";
    boxes += std::format(" {} |", seen.boxes);
    for (const std::string& contract : seen.contracts) {
      const auto count = std::ranges::count(seen.differences, contract, &Difference::contract);
      lines[contract] += std::format(" {} |", count);
    }
    for (const Difference& each : seen.differences)
      if (score > 0.1f && each.contract == "plus-one") list += "- " + to_string(each) + "\n";
  }
  std::string out = head + "\n" + rule + "\n" + boxes + "\n";
  for (const auto& [contract, cells] : lines) out += "| `" + contract + "` |" + cells + "\n";
  return out +
         "\nBoxes that differ because of the added pixel of `plus-one`, at 0.3 and 0.65:\n\n" +
         list;
}

}  // namespace

std::string models_page(bool photos) {
  std::map<std::string, Seen> all;
  each_frame([&](const Frame& frame) { look(frame, all[frame.family]); });
  std::string out =
      "# Model families\n\nGenerated by `models-page` of `tests/unit` from the table of families "
      "and from the tests' results; a test\nchecks that it is up to date. "
      "[Families](families.md) has the overview.\n\n## Families\n\n";
  for (const DetectorSpec& spec : detectors())
    out += std::format("- `{}`: {}\n", spec.name, spec.summary);
  out +=
      "\n## Expected tensors\n\nC is the number of classes, background included. `dense`: boxes "
      "and scores of an anchor in one tensor; `split`:\nin separate tensors; `ready`, `outputs`, "
      "`indices`: end-to-end models. There may be one tensor per stride.\nThe "
      "contract is that of `nms-contract=` ([NMS](nms.md#contracts)); labels are the classes of an "
      "anchor that become boxes, as set\nby `multi-label=`: the best one, or all above the "
      "threshold. Thresholds, contract and labels are the defaults; exports\nwith Ultralytics' "
      "metadata have an IoU of 0.7 and the contract `ultralytics`.\n\n" +
      family_lines() + input_section();
  out +=
      "\n## Verification\n\nEvery family is decoded on each backend of the build (`reference`, "
      "`simd`, `cuda` if there is a device), and\nclass, anchor, score (within 1e-5) and box "
      "(within 0.001 pixels of a 640x640 input) are compared with its\npublished formula in "
      "float64. If a package ships the model, they are also compared with the boxes of its own "
      "code,\nand with those of an independent float32 decoder on real tensors. Parity: the "
      "reference is compared with the\ntests' second implementation, and all other backends bit "
      "for bit with the reference, on random inputs of that\nfamily, or of others with its "
      "reader.\n\n" +
      proof_lines(all);
  out +=
      "\n## Recognition\n\nResults for float32 frames with a label for each of the model's "
      "classes, without `detector=`. yes: as that family;\nas X: as another one, which decodes the "
      "same boxes or has the same shapes; ambiguous: an error lists those that\nfit; no: an error. "
      "Several results: they depend on the layout. By ids: tensor ids given by producers; by "
      "names:\ntensor names in the models.\n\n" +
      recognition_lines(all) + "\n";
  out += kPhotosTitle;
  if (photos)
    out +=
        "\nNumber of boxes kept by only one of `exact` and the contract, for YOLOX-Nano's tensors "
        "of four photos. Reasons are\nan IoU that the added pixel moves across the threshold, "
        "classes that suppress each other (`tflite`), and boxes\nthat these suppress or no longer "
        "suppress. Scores equal to the threshold and ties, in which `numpy` and\n`efficientnms` "
        "differ, do not occur.\n\n" +
        photo_lines();
  return out;
}

}  // namespace keepbox::test
