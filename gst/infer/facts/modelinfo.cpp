// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads GStreamer's .modelinfo.
#include "gst/infer/facts/modelinfo.h"

#include <glib.h>

#include <filesystem>

#include "core/base/infile.h"
#include "core/base/text.h"
#include "gst/base/error.h"

namespace keepbox {
namespace {

constexpr const char* kOwnGroup = "modelinfo";
constexpr const char* kHint = "correct the file or remove it";
constexpr size_t kMaxBytes = 1 << 20;
constexpr int64_t kMaxDim = INT32_MAX;  // GStreamer reads them as int

/// A group of a file: its values, and errors that name them.
struct Group {
  GKeyFile* file;
  std::string path, name;

  std::unexpected<Error> wrong(const char* key, std::string_view expected,
                               std::string found) const {
    return fail(
        ErrorKind::kInvalid,
        std::string(key) + "= of [" + name + "] in " + path + " to be " + std::string(expected),
        std::move(found), kHint);
  }

  /// Returns std::nullopt if the key is missing.
  Result<std::optional<std::string>> text(const char* key) const {
    g_autoptr(GError) error = nullptr;
    g_autofree gchar* value = g_key_file_get_string(file, name.c_str(), key, &error);
    if (value != nullptr) return std::string(trimmed(value));
    if (g_error_matches(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_KEY_NOT_FOUND))
      return std::nullopt;
    return wrong(key, "UTF-8 text", "an error (" + in_quotes(error->message) + ")");
  }

  /// True if the key is the first of two words; std::nullopt if it is missing.
  Result<std::optional<bool>> first_of(const char* key, std::string_view one,
                                       std::string_view other) const {
    KB_ASSIGN(const auto value, text(key));
    if (!value) return std::nullopt;
    if (*value == one || *value == other) return *value == one;
    return wrong(key, std::string(one) + " or " + std::string(other), in_quotes(*value));
  }

  /// Returns an id that is filled in, or an empty text.
  Result<std::string> id(const char* key) const {
    KB_ASSIGN(auto value, text(key));
    if (value && value->starts_with("PLACEHOLDER"))
      return wrong(key, "filled in by hand", in_quotes(*value));
    return value.value_or("");
  }
};

Result<std::vector<int64_t>> dims_of(const Group& group) {
  constexpr const char* kExpected = "up to 8 comma-separated sizes, -1 for dynamic ones";
  KB_ASSIGN(const auto text, group.text("dims"));
  std::vector<int64_t> dims;
  if (!text) return dims;
  for (const std::string_view part : split(*text, ',')) {
    int64_t dim = 0;
    if (!parse(part, dim) || (dim != -1 && (dim < 1 || dim > kMaxDim)))
      return group.wrong("dims", kExpected, in_quotes(*text));
    dims.push_back(dim);
  }
  if (dims.size() > Shape::kMaxRank) return group.wrong("dims", kExpected, in_quotes(*text));
  return dims;
}

Result<std::vector<std::array<double, 2>>> ranges_of(const Group& group) {
  KB_ASSIGN(const auto text, group.text("ranges"));
  std::vector<std::array<double, 2>> ranges;
  if (!text) return ranges;
  std::string_view list = *text;
  if (list.ends_with(';')) list.remove_suffix(1);
  for (const std::string_view part : split(list, ';')) {
    const auto ends = split(part, ',');
    std::array<double, 2> range{};
    if (ends.size() != 2 || !parse_finite(ends[0], range[0]) || !parse_finite(ends[1], range[1]))
      return group.wrong("ranges", "MIN,MAX;MIN,MAX;...", in_quotes(*text));
    if (range[0] == range[1])
      return group.wrong("ranges", "a range that is not empty", in_quotes(part));
    ranges.push_back(range);
  }
  return ranges;
}

Result<ModelInfoTensor> tensor_of(const Group& group) {
  ModelInfoTensor tensor{.name = group.name};
  KB_ASSIGN(tensor.id, group.id("id"));
  KB_ASSIGN(const auto type, group.text("type"));
  if (type) {
    const auto known = data_type_from(*type);
    if (!known) return group.wrong("type", known.error().expected, known.error().found);
    tensor.type = *known;
  }
  KB_ASSIGN(tensor.dims, dims_of(group));
  KB_ASSIGN(tensor.ranges, ranges_of(group));
  KB_ASSIGN(tensor.input, group.first_of("dir", "input", "output"));
  KB_ASSIGN(const auto column_major, group.first_of("dims-order", "col-major", "row-major"));
  tensor.column_major = column_major.value_or(false);
  return tensor;
}

Status check_version(const Group& group) {
  KB_ASSIGN(const auto version, group.text("version"));
  int64_t minor = 0;
  if (version && version->starts_with("1.") && parse(version->substr(2), minor) && minor >= 0)
    return {};
  return group.wrong("version", "1.0 or another 1.x", version ? in_quotes(*version) : "nothing");
}

Result<ModelInfo> load(const std::string& path) {
  g_autoptr(GKeyFile) file = g_key_file_new();
  g_autoptr(GError) error = nullptr;
  KB_ASSIGN(const auto text, read_text(path, kMaxBytes, kHint));
  if (!g_key_file_load_from_data(file, text.data(), text.size(), G_KEY_FILE_NONE, &error))
    return file_error("Cannot read " + path + ": " + error->message, kHint);
  ModelInfo info{.path = path};
  const Group own{file, path, kOwnGroup};
  if (!g_key_file_has_group(file, kOwnGroup))
    return own.wrong("version", "1.0 or another 1.x", "no such group");
  KB_TRY(check_version(own));
  KB_ASSIGN(info.group_id, own.id("group-id"));
  g_auto(GStrv) names = g_key_file_get_groups(file, nullptr);
  for (gchar** name = names; *name != nullptr; ++name) {
    if (std::string_view(*name) == kOwnGroup) continue;
    KB_ASSIGN(auto tensor, tensor_of({file, path, *name}));
    info.tensors.push_back(std::move(tensor));
  }
  return info;
}

}  // namespace

const ModelInfoTensor* ModelInfo::find(const std::string& name, bool input) const {
  for (const ModelInfoTensor& tensor : tensors)
    if (tensor.name == name && tensor.input.value_or(input) == input) return &tensor;
  return nullptr;
}

Result<std::optional<ModelInfo>> find_model_info(const std::string& model_file) {
  std::filesystem::path other(model_file);
  other.replace_extension(".modelinfo");
  for (const std::string& path : {model_file + ".modelinfo", other.string()})
    if (path != model_file && g_file_test(path.c_str(), G_FILE_TEST_EXISTS)) {
      KB_ASSIGN(auto info, load(path));
      return info;
    }
  return std::nullopt;
}

}  // namespace keepbox
