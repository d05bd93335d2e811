// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses and prints families as key files.
#include "core/model/detector_text.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/infile.h"
#include "core/base/result.h"
#include "core/base/text.h"
#include "core/model/detector_check.h"
#include "core/model/detector_fields.h"

namespace keepbox {

struct KeyLine {
  size_t line = 0;         // from 1
  std::string key, value;  // unescaped and trimmed
};

struct KeyGroup {
  size_t line = 0;
  std::string name;
  std::vector<KeyLine> keys;  // in the order of lines

  const KeyLine* find(std::string_view key) const;
};

/// The groups of a text, each once, with each key once.
struct KeyText {
  std::string path;  // for messages
  std::vector<KeyGroup> groups;

  const KeyGroup* find(std::string_view group) const;
};

/// Returns an error in a text: "path:line: what: expected ..., found ...".
std::unexpected<Error> wrong_at(const std::string& path, size_t line, std::string_view what,
                                std::string expected, std::string found);

/// Parses a text. Errors name path and line: invalid UTF-8, no group, no key, a duplicate.
Result<KeyText> key_text(const std::string& text, const std::string& path);

namespace {

constexpr std::string_view kFamilyGroup = "detector", kTensorGroup = "tensor ";

/// Keys of [detector] that are not fields of a family.
struct FileKey {
  std::string_view key, expected, summary;
};
constexpr FileKey kBase{"base", "a family listed by keepbox detectors",
                        "The family that supplies all values that the other keys do not set."};
constexpr FileKey kLabels{"label-file", "the name of a file",
                          "Label file if the property is unset, relative to this file."};
constexpr FileKey kPriors{
    "priors-file", "the name of a file",
    "Text file with the prior boxes of an SSD model, relative to this file: N "
    "lines of cy cx h w, or four lines of N numbers, as fractions of the model "
    "input."};
constexpr FileKey kFileKeys[] = {kBase, kLabels, kPriors};

/// Owns the data of a family that was read.
struct Owned {
  DetectorSpec spec;
  FamilyStorage kept;
};

/// Returns the role, with a number after it if the role occurs again.
std::string tensor_group(const DetectorSpec& spec, size_t number) {
  const Role role = spec.tensors[number].role;
  const auto before = std::ranges::count(spec.rules().first(number), role, &TensorRule::role);
  return std::string(kTensorGroup) + std::string(word_of(role)) +
         (before > 0 ? " " + std::to_string(before + 1) : "");
}

template <class Of>
std::string keys_of(std::span<const TextField<Of>> fields) {
  std::string out;
  for (const auto& each : fields) append(out, each.key);
  return out;
}

class Reading {
 public:
  explicit Reading(const KeyText& text) : text_(text) {}

  Result<DetectorFile> done() {
    const KeyGroup* family = text_.find(kFamilyGroup);
    if (family == nullptr) return wrong(1, "", "a group [detector]", "none");
    KB_TRY(start(*family));
    for (const KeyGroup& group : text_.groups) {
      if (&group == family) KB_TRY(take_family(group));
      else KB_TRY(take_tensor(group));
    }
    if (spec().name.empty())
      spec().name =
          owned_->kept.texts.emplace_back(std::filesystem::path(text_.path).stem().string());
    spec().by_shape = false;
    KB_TRY(check(*family));
    return DetectorFile{{owned_, &owned_->spec}, label_file_, priors_file_};
  }

 private:
  DetectorSpec& spec() { return owned_->spec; }

  std::unexpected<Error> wrong(size_t line, std::string_view what, std::string expected,
                               std::string found) const {
    return wrong_at(text_.path, line, what, std::move(expected), std::move(found));
  }

  template <class Of>
  Status take(const KeyGroup& group, const KeyLine& line, std::span<const TextField<Of>> fields,
              Of& of) {
    const TextField<Of>* field = find_field(fields, line.key);
    if (field == nullptr) {
      const bool is_family = group.name == kFamilyGroup;
      std::string keys = keys_of(fields);
      if (is_family)
        for (const FileKey& each : kFileKeys) keys += ", " + std::string(each.key);
      return wrong(line.line, line.key, "a key of [" + group.name + "], one of " + keys,
                   in_quotes(line.key));
    }
    if (field->read(line.value, of, owned_->kept)) return {};
    return wrong(line.line, line.key, field->expected, in_quotes(line.value));
  }

  /// Applies the keys that affect others: the base, and the reader with its columns.
  Status start(const KeyGroup& family) {
    const KeyLine* base = family.find(kBase.key);
    if (base != nullptr) {
      const DetectorSpec* found = find_detector(base->value);
      if (found == nullptr)
        return wrong(base->line, base->key, std::string(kBase.expected), in_quotes(base->value));
      spec() = *found;
      spec().name = {};
      for (size_t i = 0; i < spec().tensor_count; ++i) groups_.push_back(tensor_group(spec(), i));
    } else if (text_.groups.size() > 1) {
      spec().tensor_count = 0;  // the file's own groups count
    }
    const KeyLine* reader = family.find("reader");
    const Reader before = spec().reader;
    if (reader != nullptr) KB_TRY(take(family, *reader, detector_fields(), spec()));
    if (spec().reader != before) spec().columns = default_columns(spec().reader);
    return {};
  }

  Status take_family(const KeyGroup& group) {
    for (const KeyLine& line : group.keys) {
      if (line.key == kBase.key || line.key == "reader") continue;
      if (line.key == kLabels.key) KB_TRY(take_path(line, label_file_));
      else if (line.key == kPriors.key) KB_TRY(take_path(line, priors_file_));
      else KB_TRY(take(group, line, detector_fields(), spec()));
    }
    return {};
  }

  Status take_path(const KeyLine& line, std::string& path) {
    if (line.value.empty())
      return wrong(line.line, line.key, std::string(kLabels.expected), "nothing");
    path = (std::filesystem::path(text_.path).parent_path() / line.value).string();
    return {};
  }

  /// Reads a tensor of the base, or adds one whose role is in the name of the group.
  Status take_tensor(const KeyGroup& group) {
    const std::string_view name = group.name;
    if (!name.starts_with(kTensorGroup))
      return wrong(group.line, "[" + group.name + "]", "[detector] or [tensor ROLE]",
                   "another group");
    size_t number = static_cast<size_t>(std::ranges::find(groups_, group.name) - groups_.begin());
    if (number == groups_.size()) {
      if (number == spec().tensors.size())
        return wrong(group.line, "[" + group.name + "]",
                     "at most " + std::to_string(spec().tensors.size()) + " tensors", "one more");
      groups_.push_back(group.name);
      spec().tensors[number] = {};
      spec().tensor_count = static_cast<uint8_t>(number + 1);
      const TextField<TensorRule>& role = tensor_fields().front();
      const std::string_view called = name.substr(kTensorGroup.size());
      if (!group.find(role.key) && !role.read(called, spec().tensors[number], owned_->kept))
        return wrong(group.line, "[" + group.name + "]",
                     "a role key, or a role in the name of the group, "
                     "" + role.expected,
                     in_quotes(called));
    }
    for (const KeyLine& line : group.keys)
      KB_TRY(take(group, line, tensor_fields(), spec().tensors[number]));
    return {};
  }

  /// Reports a fault at its key's line, or else at its group's.
  Status check(const KeyGroup& family) {
    const auto fault = find_fault(spec());
    if (!fault) return {};
    const KeyGroup* group = fault->tensor < 0 || groups_.empty()
                                ? &family
                                : text_.find(groups_[static_cast<size_t>(fault->tensor)]);
    if (group == nullptr) group = &family;
    const KeyLine* line = group->find(fault->key);
    return wrong(line != nullptr ? line->line : group->line, fault->key, fault->expected,
                 fault->found);
  }

  const KeyText& text_;
  std::shared_ptr<Owned> owned_ = std::make_shared<Owned>();
  std::vector<std::string> groups_;  // of the tensors
  std::string label_file_, priors_file_;
};

/// Characters that values have after a backslash, and what they mean.
constexpr std::pair<char, char> kEscapes[] = {
    {'s', ' '}, {'t', '\t'}, {'n', '\n'}, {'r', '\r'}, {'\\', '\\'}};

/// Returns a text as a value of a key file. Blanks need a backslash only at its start.
std::string escaped(const std::string& text) {
  std::string out;
  const size_t start = std::min(text.find_first_not_of(" \t"), text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto found = std::ranges::find(kEscapes, text[i], &std::pair<char, char>::second);
    const bool blank = text[i] == ' ' || text[i] == '\t';
    if (found == std::end(kEscapes) || (blank && i >= start)) out += text[i];
    else out += {'\\', found->first};
  }
  return out;
}

template <class Of>
std::string lines_of(const Of& of, const Of& plain, std::span<const TextField<Of>> fields) {
  std::string out;
  for (const TextField<Of>& field : fields) {
    const std::string value = field.print(of);
    if (field.always || value != field.print(plain))
      out += std::string(field.key) + "=" + escaped(value) + "\n";
  }
  return out;
}

}  // namespace

Result<DetectorFile> read_detector(const std::string& text, const std::string& path) {
  KB_ASSIGN(const auto keys, key_text(text, path));
  return Reading(keys).done();
}

std::string print_detector(const DetectorSpec& spec) {
  DetectorSpec plain;
  plain.columns = default_columns(spec.reader);
  std::string out = "[" + std::string(kFamilyGroup) + "]\n";
  out += lines_of(spec, plain, detector_fields());
  for (size_t i = 0; i < spec.tensor_count; ++i)
    out += "\n[" + tensor_group(spec, i) + "]\n" +
           lines_of(spec.tensors[i], TensorRule(), tensor_fields());
  return out;
}

std::string detector_keys_text() {
  std::string out = "[" + std::string(kFamilyGroup) + "]\n";
  const auto add = [&](std::string_view key, std::string_view summary, std::string_view expected) {
    out += "  " + std::string(key) + ": " + std::string(summary) + "\n      " +
           std::string(expected) + "\n";
  };
  for (const FileKey& each : kFileKeys) add(each.key, each.summary, each.expected);
  for (const auto& each : detector_fields()) add(each.key, each.summary, each.expected);
  out += "[" + std::string(kTensorGroup) + "ROLE]\n";
  for (const auto& each : tensor_fields()) add(each.key, each.summary, each.expected);
  return out;
}

namespace {

size_t line_of(std::string_view text, size_t at) {
  return static_cast<size_t>(std::ranges::count(text.substr(0, at), '\n')) + 1;
}

bool is_key(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

/// Replaces what follows backslashes; an error names one that is unknown.
Result<std::string> unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const std::string_view escape = text.substr(i++, 2);
    const auto found = std::ranges::find(kEscapes, escape.back(), &std::pair<char, char>::first);
    if (escape.size() < 2 || found == std::end(kEscapes))
      return fail(ErrorKind::kInvalid, "\\s, \\n, \\t, \\r or \\\\ after a backslash",
                  in_quotes(escape));
    out += found->second;
  }
  return out;
}

/// Collects the groups and keys of a text.
class Scan {
 public:
  explicit Scan(const std::string& path) { out_.path = path; }

  Status take(size_t line, std::string_view text) {
    if (text.empty() || text.starts_with('#')) return {};
    if (text.starts_with('[')) return open(line, text);
    const size_t equals = text.find('=');
    const std::string_view key = trimmed(text.substr(0, equals));
    if (equals == text.npos || !is_key(key))
      return wrong_at(out_.path, line, "", "KEY=VALUE, [GROUP] or a # comment", in_quotes(text));
    if (out_.groups.empty())
      return wrong_at(out_.path, line, key, "a group such as [detector] before the key", "none");
    KeyGroup& group = out_.groups.back();
    if (const KeyLine* before = group.find(key))
      return wrong_at(out_.path, line, key, "the key only once in [" + group.name + "]",
                      "it also on line " + std::to_string(before->line));
    const auto value = unescaped(trimmed(text.substr(equals + 1)));
    if (!value) return wrong_at(out_.path, line, key, value.error().expected, value.error().found);
    group.keys.push_back({line, std::string(key), std::string(trimmed(*value))});
    return {};
  }

  KeyText done() { return std::move(out_); }

 private:
  Status open(size_t line, std::string_view text) {
    const std::string name(text.substr(1, text.size() - 2));
    if (!text.ends_with(']') || trimmed(name).empty() || name.find_first_of("[]") != name.npos)
      return wrong_at(out_.path, line, "", "a group such as [detector]", in_quotes(text));
    if (const KeyGroup* before = out_.find(name))
      return wrong_at(out_.path, line, text, "the group only once",
                      "it also on line " + std::to_string(before->line));
    out_.groups.push_back({.line = line, .name = name});
    return {};
  }

  KeyText out_;
};

Result<KeyText> scanned(std::string_view text, const std::string& path) {
  Scan scan(path);
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    KB_TRY(scan.take(line, trimmed(text.substr(0, end))));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return scan.done();
}

}  // namespace

const KeyLine* KeyGroup::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key, &KeyLine::key);
  return found != keys.end() ? &*found : nullptr;
}

const KeyGroup* KeyText::find(std::string_view group) const {
  const auto found = std::ranges::find(groups, group, &KeyGroup::name);
  return found != groups.end() ? &*found : nullptr;
}

std::unexpected<Error> wrong_at(const std::string& path, size_t line, std::string_view what,
                                std::string expected, std::string found) {
  auto error = fail(ErrorKind::kInvalid, std::move(expected), std::move(found));
  if (!what.empty()) error.error().put_in(what);
  error.error().put_in(path + ":" + std::to_string(line));
  return error;
}

Result<KeyText> key_text(const std::string& text, const std::string& path) {
  for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(utf8_length(rest)))
    if (utf8_length(rest) == 0)
      return wrong_at(path, line_of(text, text.size() - rest.size()), "", "UTF-8 text",
                      "invalid bytes");
  return scanned(text, path);
}

bool means_detector_file(const std::string& text) {
  std::error_code error;
  return text != "auto" && find_detector(text) == nullptr &&
         (text.contains('/') || text.ends_with(".detector") ||
          std::filesystem::is_regular_file(text, error));
}

Result<DetectorFile> load_detector(const std::string& path) {
  constexpr size_t kMaxBytes = 64 * 1024;
  KB_ASSIGN(const auto text,
            read_text(path, kMaxBytes, "set detector= to a family or to a detector file"));
  return read_detector(text, path);
}

}  // namespace keepbox
