// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads recordings of tensors.
#include "gst/recording/tensorreader.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "core/recognition/layout.h"
#include "gst/base/error.h"
#include "gst/tensors/tensors.h"

namespace keepbox {
namespace {

constexpr const char* kLocationHint = "set location= to a recording or a file of raw numbers";
constexpr size_t kMaxTensor = PTRDIFF_MAX;
constexpr const char* kRawHint = "set dims= and type= to those of the tensor in the file";
constexpr size_t kLongestHeader = 16384;  // NumPy's own limit is 10,000
constexpr size_t kDataAlign = 64;         // same as data in .npy files

Result<std::shared_ptr<GstBuffer>> read_data(const PlainFile& file, size_t offset, size_t bytes) {
  if (bytes == 0) return std::shared_ptr<GstBuffer>(gst_buffer_new(), gst_buffer_unref);
  // GStreamer's allocator would abort the process if memory is exhausted.
  std::unique_ptr<void, void (*)(void*)> data(
      std::aligned_alloc(kDataAlign, (bytes + kDataAlign - 1) / kDataAlign * kDataAlign),
      std::free);
  if (data == nullptr)
    return file_error("Not enough memory for " + std::to_string(bytes) + " bytes of " + file.path,
                      "replay smaller tensors");
  KB_TRY(file.read(offset, {static_cast<std::byte*>(data.get()), bytes}));
  GstBuffer* buffer = gst_buffer_new_wrapped_full(GST_MEMORY_FLAG_READONLY, data.get(), bytes, 0,
                                                  bytes, data.get(), std::free);
  data.release();
  return std::shared_ptr<GstBuffer>(buffer, gst_buffer_unref);
}

/// Reads the header of a .npy file; the data must have the declared length.
Result<NpyArray> read_header(const PlainFile& file) {
  if (file.bytes == 0) return file_error(file.path + " is empty", "record it again");
  std::string head(std::min(file.bytes, kLongestHeader), '\0');
  KB_TRY(file.read(0, std::as_writable_bytes(std::span(head))));
  auto array = parse_npy(head);
  if (!array) {
    array.error().put_in(file.path);
    array.error().hint = "record it again";
    return array;
  }
  const size_t bytes = file.bytes - array->offset;
  const auto count = array->shape.count();
  if (!count || *count != bytes / size_of(array->type) || bytes % size_of(array->type) != 0)
    return fail(
        ErrorKind::kTruncated,
        array->shape.to_string() + " " + std::string(to_string(array->type)) + " in " + file.path,
        std::to_string(bytes) + " bytes of data", "record it again");
  return array;
}

/// Reads the tensor of an index entry and checks it against the entry.
Result<StoredTensor> read_entry(const Folder& folder, const IndexedTensor& entry,
                                SourceLabels& labels) {
  KB_ASSIGN(auto file, folder.read(entry.file));
  KB_ASSIGN(const auto array, read_header(file));
  const bool same_type = entry.type == array.type ||
                         (entry.type == DataType::kBFloat16 && array.type == DataType::kUInt16);
  const bool same_shape = entry.shape.rank() == 0 || entry.shape == array.shape;
  if (!same_type || !same_shape)
    return fail(ErrorKind::kTruncated,
                (entry.shape.rank() == 0 ? "" : entry.shape.to_string() + " ") +
                    std::string(to_string(entry.type)) + " in " + file.path,
                array.shape.to_string() + " " + std::string(to_string(array.type)),
                "record it again");
  KB_ASSIGN(auto data, read_data(file, array.offset, file.bytes - array.offset));
  if (entry.source.facts != nullptr) set_provenance(data.get(), labels.whole(entry.source));
  return StoredTensor{entry.id, entry.type, array.shape, entry.order, std::move(data)};
}

/// Returns the tensor of a raw file's frames, without data.
Result<StoredTensor> raw_form(const std::string& path, const RawForm& form) {
  if (form.dims.empty())
    return reject(ErrorKind::kInvalid, "dims= is not set for the raw file " + path, kRawHint);
  KB_ASSIGN(const auto shape, shape_from(form.dims));
  auto type = data_type_from(form.type);
  if (!type) {
    type.error().hint = "set type= to the type of the numbers";
    return std::unexpected(type.error());
  }
  return StoredTensor{.id = form.id, .type = *type, .shape = shape};
}

/// Returns the number of frames in a tensor of a raw or .npy file.
size_t frames_in(const Shape& shape) {
  const auto dims = shape.dims();
  const auto broad = std::ranges::count_if(dims, [](size_t dim) { return dim > 1; });
  if (broad <= 2 || dims[0] == 0) return 1;
  return dims[0];
}

/// Returns the bytes of the tensor in a raw file, which must contain whole ones.
Result<size_t> tensor_bytes(const PlainFile& file, const StoredTensor& form) {
  const auto count = form.shape.count();
  if (!count || *count > kMaxTensor / size_of(form.type))
    return reject(ErrorKind::kInvalid,
                  "A tensor of " + form.shape.to_string() + " " +
                      std::string(to_string(form.type)) + " does not fit in memory",
                  kRawHint);
  const size_t one = *count * size_of(form.type);
  if (file.bytes == 0) return file_error(file.path + " is empty", "record it again");
  if (one == 0 || file.bytes % one != 0)
    return fail(ErrorKind::kTruncated,
                (frames_in(form.shape) > 1 ? "whole batches of " : "whole frames of ") +
                    std::to_string(one) + " bytes (" + form.shape.to_string() + " " +
                    std::string(to_string(form.type)) + ") in " + file.path,
                std::to_string(file.bytes) + " bytes", kRawHint);
  return one;
}

}  // namespace

Result<TensorReader> TensorReader::open(const std::string& location, const RawForm& form) {
  if (location.empty())
    return reject(ErrorKind::kInvalid, "location= is not set",
                  "set it to the folder or file of a recording");
  return g_file_test(location.c_str(), G_FILE_TEST_IS_DIR) ? open_folder(location)
                                                           : open_file(location, form);
}

Result<TensorReader> TensorReader::open_folder(const std::string& path) {
  KB_ASSIGN(auto folder, Folder::open(path, Folder::Use::kRead));
  KB_ASSIGN(auto index, read_index(folder));
  TensorReader out;
  out.folder_ = std::move(folder);
  out.index_ = std::move(index);
  out.frames_ = out.index_.frames.size();
  out.times_ = times_of(out.index_.frames);
  out.frame_size_ = out.index_.frames.front().size;
  return out;
}

Result<TensorReader> TensorReader::open_file(const std::string& path, const RawForm& form) {
  TensorReader out;
  const bool is_npy = path.ends_with(".npy");
  // A deleted recording is not a raw file.
  KB_ASSIGN(out.file_, open_plain(path, kLocationHint));
  if (!is_npy) {
    KB_ASSIGN(out.form_, raw_form(path, form));
  }
  if (is_npy) {  // one tensor, which may be empty
    KB_ASSIGN(const auto array, read_header(out.file_));
    out.form_ = {.id = form.id, .type = array.type, .shape = array.shape};
    out.offset_ = array.offset;
    out.frame_bytes_ = out.file_.bytes - array.offset;
    out.frames_ = 1;
  } else {
    KB_ASSIGN(const auto one, tensor_bytes(out.file_, out.form_));
    out.frame_bytes_ = one;
    out.frames_ = out.file_.bytes / one;
  }
  out.split_batches();
  return out;
}

void TensorReader::split_batches() {
  const size_t frames = frames_in(form_.shape);
  if (frames == 1 || frame_bytes_ == 0) return;
  form_.shape = slice_shape(form_.shape);
  frame_bytes_ /= frames;
  frames_ *= frames;
}

std::vector<TensorForm> TensorReader::forms() const {
  const auto form = [](const auto& tensor) {
    return TensorForm{.id = tensor.id, .type = tensor.type, .shape = tensor.shape};
  };
  if (!folder_) return {form(form_)};
  std::vector<TensorForm> out;
  for (const IndexedTensor& each : index_.frames.front().tensors) out.push_back(form(each));
  return out;
}

Status TensorReader::read_folder(size_t frame) {
  const IndexedFrame& whole = index_.frames[frame];
  for (const IndexedTensor& entry : whole.tensors) {
    auto tensor = read_entry(*folder_, entry, index_.labels);
    if (!tensor)
      return std::unexpected(tensor.error().add("(named on line " + std::to_string(whole.line) +
                                                " of " + kIndexName + ")"));
    tensors_.push_back(std::move(*tensor));
  }
  return {};
}

Result<std::span<const StoredTensor>> TensorReader::read(size_t frame) {
  if (held_ == frame) return tensors_;
  held_.reset();
  tensors_.clear();
  if (folder_) {
    KB_TRY(read_folder(frame));
  } else {
    KB_ASSIGN(auto data, read_data(file_, offset_ + frame * frame_bytes_, frame_bytes_));
    tensors_.push_back(form_);
    tensors_.back().data = std::move(data);
  }
  held_ = frame;
  return tensors_;
}

}  // namespace keepbox
