// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads and writes recordings of tensors.
#include "gst/recording/tensorfile.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/layout.h"
#include "gst/base/error.h"
#include "gst/recording/npy.h"
#include "gst/tensors/tensors.h"

namespace keepbox {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kIndex = "frames.jsonl";
constexpr const char* kRawHint = "set dims= and type= to what the file holds";

std::string path_in(const std::string& folder, const std::string& name) {
  g_autofree gchar* path = g_build_filename(folder.c_str(), name.c_str(), nullptr);
  return path;
}

std::unexpected<Error> write_failed(const std::string& path) {
  return file_error("to write " + path, g_strerror(errno),
                    "set location= to a folder on a disk with room");
}

/// A file's bytes, mapped as long as the buffer lives.
Result<std::shared_ptr<GstBuffer>> map_file(const std::string& path) {
  g_autoptr(GError) error = nullptr;
  GMappedFile* file = g_mapped_file_new(path.c_str(), FALSE, &error);
  if (file == nullptr)
    return unreadable("a readable file of tensors", *error,
                      "set location= to a recording or a file of raw numbers");
  if (g_mapped_file_get_length(file) == 0) {
    g_mapped_file_unref(file);
    return file_error("a tensor in " + path, "an empty file", "record it again");
  }
  GstBuffer* buffer = gst_buffer_new_wrapped_full(
      GST_MEMORY_FLAG_READONLY, g_mapped_file_get_contents(file), g_mapped_file_get_length(file),
      0, g_mapped_file_get_length(file), file,
      reinterpret_cast<GDestroyNotify>(g_mapped_file_unref));
  return std::shared_ptr<GstBuffer>(buffer, gst_buffer_unref);
}

std::shared_ptr<GstBuffer> part_of(const std::shared_ptr<GstBuffer>& whole, size_t offset,
                                   size_t bytes) {
  return {gst_buffer_copy_region(whole.get(), GST_BUFFER_COPY_MEMORY, offset, bytes),
          gst_buffer_unref};
}

/// The array of a .npy file; its data must be as long as its header says.
Result<StoredTensor> read_npy(const std::string& path) {
  auto file = map_file(path);
  if (!file) return std::unexpected(file.error());
  GstMapInfo map;
  if (!gst_buffer_map(file->get(), &map, GST_MAP_READ))
    return file_error("a file that can be mapped", path, "check the disk");
  const auto array = parse_npy({reinterpret_cast<const char*>(map.data), map.size});
  gst_buffer_unmap(file->get(), &map);
  if (!array) return std::unexpected(array.error());
  const size_t bytes = gst_buffer_get_size(file->get()) - array->offset;
  const auto count = array->shape.count();
  if (!count || *count * size_of(array->type) != bytes)
    return fail(ErrorKind::kTruncated,
                array->shape.to_string() + " " + std::string(to_string(array->type)) + " in " + path,
                std::to_string(bytes) + " bytes of data", "record it again");
  return StoredTensor{.type = array->type,
                      .shape = array->shape,
                      .data = part_of(*file, array->offset, bytes)};
}

Result<StoredTensor> read_raw(const std::string& path, const RawForm& form, size_t& frame_bytes) {
  if (form.dims.empty())
    return fail(ErrorKind::kInvalid, "dims for the raw file " + path, "none", kRawHint);
  auto shape = shape_from(form.dims);
  if (!shape) return std::unexpected(shape.error());
  auto type = data_type_from(form.type);
  if (!type) {
    type.error().hint = "set type=";
    return std::unexpected(type.error());
  }
  auto file = map_file(path);
  if (!file) return std::unexpected(file.error());
  const size_t bytes = gst_buffer_get_size(file->get());
  const auto count = shape->count();
  frame_bytes = count ? *count * size_of(*type) : 0;
  if (frame_bytes == 0 || bytes % frame_bytes != 0)
    return fail(ErrorKind::kTruncated,
                "whole frames of " + std::to_string(frame_bytes) + " bytes (" +
                    shape->to_string() + " " + form.type + ") in " + path,
                std::to_string(bytes) + " bytes", kRawHint);
  return StoredTensor{.id = form.id, .type = *type, .shape = *shape, .data = *file};
}

std::unexpected<Error> broken_index(size_t line, const std::string& folder) {
  return fail(ErrorKind::kTruncated,
              "a frame in line " + std::to_string(line + 1) + " of " + path_in(folder, kIndex),
              "something else", "record it again");
}

// Json::value() throws when the type is another one; a broken index is no exception here.
std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

uint32_t number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint32_t>() : 0;
}

Result<StoredTensor> read_entry(const std::string& folder, const Json& entry) {
  auto tensor = read_npy(path_in(folder, text_at(entry, "file")));
  if (!tensor) return tensor;
  auto type = data_type_from(text_at(entry, "type"));
  if (!type) return std::unexpected(type.error());
  if (size_of(*type) != size_of(tensor->type))
    return fail(ErrorKind::kTruncated, std::string(to_string(*type)) + " in " + text_at(entry, "file"),
                std::string(to_string(tensor->type)), "record it again");
  tensor->id = text_at(entry, "id");
  tensor->type = *type;
  if (text_at(entry, "dims-order") == "col-major") tensor->order = GST_TENSOR_DIM_ORDER_COL_MAJOR;
  return tensor;
}

Result<std::vector<std::string>> read_index(const std::string& folder) {
  g_autofree gchar* text = nullptr;
  g_autoptr(GError) error = nullptr;
  if (!g_file_get_contents(path_in(folder, kIndex).c_str(), &text, nullptr, &error))
    return unreadable("a recording by tensorrecord", *error,
                      "set location= to the folder that tensorrecord wrote");
  std::vector<std::string> lines;
  g_auto(GStrv) parts = g_strsplit(text, "\n", -1);
  for (gchar** part = parts; *part != nullptr; ++part)
    if (**part != '\0') lines.emplace_back(*part);
  if (lines.empty())
    return file_error("frames in " + path_in(folder, kIndex), "none", "record it again");
  return lines;
}

Status write_file(const std::string& path, const TensorView& tensor) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"), std::fclose);
  if (file == nullptr) return write_failed(path);
  const std::string header = npy_header(tensor.type, tensor.shape);
  if (std::fwrite(header.data(), 1, header.size(), file.get()) != header.size() ||
      std::fwrite(tensor.data, 1, tensor.bytes, file.get()) != tensor.bytes ||
      std::fclose(file.release()) != 0)
    return write_failed(path);
  return {};
}

}  // namespace

Result<TensorWriter> TensorWriter::create(const std::string& folder) {
  if (folder.empty())
    return fail(ErrorKind::kInvalid, "a folder to record to", "none", "set location=");
  if (g_mkdir_with_parents(folder.c_str(), 0777) != 0) return write_failed(folder);
  TensorWriter writer;
  writer.folder_ = folder;
  writer.index_.reset(std::fopen(path_in(folder, kIndex).c_str(), "wb"));
  if (writer.index_ == nullptr) return write_failed(path_in(folder, kIndex));
  return writer;
}

Status TensorWriter::write(std::span<const TensorView> tensors, const GstTensorDimOrder* orders,
                           GstClockTime pts, Size frame) {
  Json line{{"frame", frames_}, {"width", frame.width}, {"height", frame.height}};
  if (GST_CLOCK_TIME_IS_VALID(pts)) line["pts"] = pts;
  line["tensors"] = Json::array();
  for (size_t i = 0; i < tensors.size(); ++i) {
    g_autofree gchar* name = g_strdup_printf("%06u.%zu.npy", frames_, i);
    TensorView tensor = tensors[i];
    KB_TRY(check_bounds(tensor));
    tensor.bytes = *tensor.shape.count() * size_of(tensor.type);
    KB_TRY(write_file(path_in(folder_, name), tensor));
    line["tensors"].push_back(
        {{"file", name},
         {"id", tensor.id},
         {"type", to_string(tensor.type)},
         {"dims", tensor.shape.dims()},
         {"dims-order",
          orders[i] == GST_TENSOR_DIM_ORDER_COL_MAJOR ? "col-major" : "row-major"}});
  }
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), index_.get()) != text.size() ||
      std::fflush(index_.get()) != 0)
    return write_failed(path_in(folder_, kIndex));
  ++frames_;
  return {};
}

Result<TensorReader> TensorReader::open(const std::string& location, const RawForm& form) {
  if (location.empty())
    return fail(ErrorKind::kInvalid, "a recording to replay", "none", "set location=");
  TensorReader reader;
  if (g_file_test(location.c_str(), G_FILE_TEST_IS_DIR)) {
    auto index = read_index(location);
    if (!index) return std::unexpected(index.error());
    reader.folder_ = location;
    reader.index_ = std::move(*index);
    reader.frames_ = reader.index_.size();
    const Json first = Json::parse(reader.index_[0], nullptr, false);
    if (!first.is_object()) return broken_index(0, location);
    reader.frame_size_ = {number_at(first, "width"), number_at(first, "height")};
    return reader;
  }
  auto whole = location.ends_with(".npy") ? read_npy(location)
                                          : read_raw(location, form, reader.frame_bytes_);
  if (!whole) return std::unexpected(whole.error());
  const size_t bytes = gst_buffer_get_size(whole->data.get());
  reader.frames_ = 1;
  if (reader.frame_bytes_ != 0) {
    reader.frames_ = bytes / reader.frame_bytes_;
  } else {  // a .npy file is one frame, and may be an empty one
    reader.frame_bytes_ = bytes;
    whole->id = form.id;
  }
  reader.frame_size_ = likely_input(whole->shape);
  reader.whole_ = std::move(*whole);
  return reader;
}

void TensorReader::seek(GstClockTime time) {
  at_ = 0;
  while (at_ < index_.size()) {
    const Json line = Json::parse(index_[at_], nullptr, false);
    const auto pts = line.is_object() ? line.find("pts") : line.end();
    if (pts == line.end() || !pts->is_number_unsigned() || pts->get<GstClockTime>() >= time) break;
    ++at_;
  }
}

Result<bool> TensorReader::next(std::vector<StoredTensor>& out) {
  out.clear();
  if (at_ == frames_) return false;
  const size_t frame = at_++;
  if (folder_.empty()) {
    out.push_back(whole_);
    out.back().data = part_of(whole_.data, frame * frame_bytes_, frame_bytes_);
    return true;
  }
  const Json line = Json::parse(index_[frame], nullptr, false);
  if (!line.is_object() || !line.contains("tensors") || !line["tensors"].is_array())
    return broken_index(frame, folder_);
  for (const Json& entry : line["tensors"]) {
    if (!entry.is_object()) return broken_index(frame, folder_);
    auto tensor = read_entry(folder_, entry);
    if (!tensor) return std::unexpected(tensor.error());
    out.push_back(std::move(*tensor));
  }
  return true;
}

}  // namespace keepbox
