// SPDX-License-Identifier: LGPL-2.1-or-later
// Settles how a model's tensors are read, and reads them.
#include "gst/classify/classifier.h"

#include <algorithm>
#include <format>
#include <utility>

#include "core/base/infile.h"
#include "core/base/text.h"
#include "core/recognition/value_patterns.h"

namespace keepbox {
namespace {

constexpr size_t kMaxDictionary = size_t{1} << 24;  // bytes

GQuark quark_of(const std::string& text) {
  return text.empty() ? 0 : g_quark_from_string(text.c_str());
}

/// Returns images x classes or images x steps x characters, without dimensions of 1 after the
/// first one; kMismatch for anything else. @param one a tensor without a batch is steps x
/// characters of one image.
Result<Shape> shape_of(const TensorView& tensor, bool one) {
  std::vector<size_t> dims(tensor.shape.dims().begin(), tensor.shape.dims().end());
  for (size_t i = dims.size(); i-- > 1;)
    if (dims[i] == 1 && dims.size() > 2) dims.erase(dims.begin() + static_cast<ptrdiff_t>(i));
  if (one && dims.size() == 2 && dims[0] > 1) dims.insert(dims.begin(), 1);
  if ((dims.size() == 2 || dims.size() == 3) && dims.back() > 1 && is_real(tensor))
    return Shape(std::span<const size_t>(dims));
  return fail(
      ErrorKind::kMismatch,
      "tensors of a classifier, images x classes, or of a text recogniser, images x steps x "
      "characters",
      tensor.to_string(), "decode boxes with boxdecode; leave other outputs out of the model");
}

/// True if the tensors have one image, of a whole frame.
bool of_frame(const SharedProvenance& source) {
  return source == nullptr || (!source->objects && source->tiles.empty());
}

/// Returns the characters of a recogniser's tensor images x steps x characters.
Result<Characters> characters_of(const std::vector<std::string>& names, const TensorView& tensor,
                                 const Shape& shape) {
  const size_t steps = shape[1], classes = shape[2];
  auto out = Characters::create(names, classes);
  if (out) return out;
  if (Characters::create(names, steps))
    return reject(ErrorKind::kMismatch,
                  std::format("The tensor {} has the characters before the steps of the text",
                              tensor.to_string()),
                  "export the model with its last two dimensions exchanged");
  if (names.empty())
    out.error().hint += std::format(
        "; if {} is the number of steps, export the model with its last two dimensions exchanged",
        classes);
  return out;
}

TensorForm form_of_image(const TensorView& tensor) {
  std::vector<size_t> dims(tensor.shape.dims().begin(), tensor.shape.dims().end());
  if (!dims.empty()) dims[0] = 1;
  return {std::string(tensor.id), tensor.type, Shape(std::span<const size_t>(dims))};
}

}  // namespace

Result<SharedLabelFile> load_label_file(const std::string& path) {
  if (path.empty()) return nullptr;
  LabelFile out;
  KB_ASSIGN(out.labels, Labels::load(path.c_str()));
  KB_ASSIGN(const std::string text, read_text(path, kMaxDictionary, "set label-file="));
  for (const std::string_view line : lines_of(text)) out.characters.emplace_back(line);
  return std::make_shared<const LabelFile>(std::move(out));
}

std::vector<RenamedSubject> Classifier::set(const ClassifyProps& props, SharedLabelFile given) {
  props_ = props;
  given_ = std::move(given);
  std::vector<RenamedSubject> renamed;
  for (const Head& head : heads_) renamed.push_back({head.about, subject_of(head)});
  forget();
  return renamed;
}

/// True if a tensor without a batch is of one image: that of a whole frame, unless the names are
/// those of its last dimension, which are the classes of several images.
bool Classifier::is_one(const TensorView& tensor, const SharedProvenance& source) const {
  if (!of_frame(source)) return false;
  const size_t rank = tensor.shape.rank();
  const size_t names = given_ != nullptr   ? given_->labels.size()
                       : source != nullptr ? source->labels.size()
                                           : 0;
  return rank == 0 || names != tensor.shape[rank - 1];
}

std::string Classifier::attribute_of(const std::string& id, bool text, bool alone) const {
  if (!alone) return props_.attribute.empty() ? id : props_.attribute + '.' + id;
  if (!props_.attribute.empty()) return props_.attribute;
  return text ? "text" : "class";
}

GQuark Classifier::model_of(const SharedProvenance& source) const {
  return quark_of(!props_.model_name.empty() ? props_.model_name
                  : source != nullptr        ? source->model
                                             : std::string());
}

LabelSubject Classifier::subject_of(const Head& head) const {
  return {
      .model = model_of(head.source),
      .attribute = quark_of(attribute_of(head.form.id, head.characters.has_value(), head.alone))};
}

Activation Classifier::activation_of(const TensorView& tensor, size_t rows, size_t columns) const {
  if (props_.activation >= 0) return static_cast<Activation>(props_.activation);
  return adds_to_one(tensor, rows, columns) ? Activation::kNone : Activation::kSoftmax;
}

Result<Classifier::Head> Classifier::settle(const TensorView& tensor,
                                            const SharedProvenance& source, bool alone) {
  KB_ASSIGN(const Shape shape, shape_of(tensor, is_one(tensor, source)));
  const bool text = shape.rank() == 3;
  const size_t classes = shape[shape.rank() - 1];
  Head out{.form = form_of_image(tensor), .source = source, .alone = alone};
  const std::string id(tensor.id);
  if (given_ != nullptr) out.labels = given_->labels;
  else if (source != nullptr && source->labels_of.contains(id))
    out.labels = Labels(source->labels_of.at(id));
  else if (source != nullptr && alone) out.labels = Labels(source->labels);
  if (text) {
    KB_ASSIGN(
        out.characters,
        characters_of(given_ != nullptr ? given_->characters : out.labels.names(), tensor, shape));
  } else if (out.labels.size() != 0 && out.labels.size() != classes) {
    warning_ = problem(ErrorKind::kMismatch,
                       std::format("There are {} class names for the {} classes of {}",
                                   out.labels.size(), classes, tensor.to_string()),
                       "set label-file= to the model's classes");
  }
  out.activation = activation_of(tensor, shape[0] * (text ? shape[1] : 1), classes);
  out.about = subject_of(out);
  constexpr const char* kActivations[] = {"probabilities", "sigmoid", "softmax"};
  remark_ += std::format("{}{}: {} of {}, {}", remark_.empty() ? "" : "; ",
                         attribute_of(id, text, alone), text ? "text" : "class", classes,
                         kActivations[static_cast<size_t>(out.activation)]);
  return out;
}

Result<const Classifier::Head*> Classifier::head_of(const TensorView& tensor,
                                                    const SharedProvenance& source, bool alone) {
  const TensorForm form = form_of_image(tensor);
  const auto found = std::ranges::find_if(heads_, [&](const Head& head) {
    return head.form == form && same_element(head.source, source);
  });
  if (found != heads_.end()) return &*found;
  constexpr size_t kMax = 64;  // producers and tensors that are remembered
  if (heads_.empty() || heads_.size() == kMax) {
    heads_.clear();
    remark_.clear();
  }
  KB_ASSIGN(Head made, settle(tensor, source, alone));
  heads_.push_back(std::move(made));
  return &heads_.back();
}

void Classifier::read_image(const TensorView& tensor, const Head& head, size_t image,
                            TensorResults& out) const {
  ObjectLabel label;
  if (head.characters) {
    ReadText read = read_text(tensor, image, *head.characters, head.activation);
    label.class_id = G_MAXUINT;
    if (!read.text.empty() && read.level >= props_.score_threshold) {
      label.text = std::move(read.text);
      label.level = read.level;
    }
    out.labels.push_back(std::move(label));
    return;
  }
  const auto best =
      best_classes(tensor, image, {head.activation, props_.top_k, props_.score_threshold});
  NamedClasses& named = out.classes.emplace_back();
  for (const ClassScore& each : best) {
    named.names.push_back(head.labels.quark(each.class_id));
    named.levels.push_back(each.level);
  }
  if (!best.empty())
    label = {.class_id = best[0].class_id, .name = named.names[0], .level = best[0].level};
  out.labels.push_back(std::move(label));
}

Result<std::vector<TensorResults>> Classifier::decode(const FrameTensors& tensors,
                                                      std::span<const uint32_t> which) {
  warning_.reset();
  const auto views = tensors.views();
  std::vector<uint32_t> fit;  // indices in views
  for (uint32_t i = 0; i < views.size(); ++i) {
    const auto shape = shape_of(views[i], is_one(views[i], tensors.source(which[i])));
    if (shape) fit.push_back(i);
    else if (views.size() == 1) return std::unexpected(shape.error());
    else warning_ = shape.error();
  }
  if (fit.empty() && warning_) return std::unexpected(*warning_);
  std::vector<TensorResults> out;
  for (const uint32_t i : fit) {
    TensorView view = views[i];
    KB_TRY(check_bounds(view));
    KB_ASSIGN(const Head* head, head_of(view, tensors.source(which[i]), fit.size() == 1));
    KB_ASSIGN(view.shape, shape_of(view, is_one(view, tensors.source(which[i]))));
    TensorResults& results = out.emplace_back(TensorResults{.about = head->about});
    for (size_t image = 0; image < view.shape[0]; ++image) read_image(view, *head, image, results);
  }
  return out;
}

}  // namespace keepbox
