// SPDX-License-Identifier: LGPL-2.1-or-later
// Recordings: inconsistent indexes and arrays, and raw files.
#include <fcntl.h>
#include <gst/gst.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "gst/recording/files.h"
#include "gst/recording/tensorreader.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/recordingdraws.h"

namespace keepbox::fuzz {
namespace {

constexpr size_t kMaxRead = size_t{1} << 24;  // bytes per tensor

void check_tensor(const StoredTensor& tensor) {
  const auto count = tensor.shape.count();
  if (!count || *count * size_of(tensor.type) != gst_buffer_get_size(tensor.data.get()))
    violated("a tensor whose data are not what its shape says");
  if (tensor.id.contains('\0')) violated("a tensor whose id has a NUL");
  GstMapInfo map;
  if (!gst_buffer_map(tensor.data.get(), &map, GST_MAP_READ))
    violated("a tensor that cannot be read");
  uint8_t sum = 0;
  for (const uint8_t byte : std::span(map.data, map.size)) sum ^= byte;
  volatile uint8_t read = sum;  // for AddressSanitizer
  static_cast<void>(read);
  gst_buffer_unmap(tensor.data.get(), &map);
}

void find_frames(Input& input, const TensorReader& reader) {
  const auto any_time = [&] {
    const auto time = static_cast<int64_t>(input.below(UINT32_MAX)) << input.below(30);
    return input.chance(20) ? -time : time;
  };
  const auto mode = static_cast<SyncMode>(input.below(3));
  FrameFinder finder(reader.frames(), reader.times().timeline, mode,
                     input.chance(20) ? any_time() : 0);
  const bool loop = input.chance(50);
  for (int i = 0; i < 6; ++i) {
    Moment moment{.duration = any_time(), .rate = {static_cast<int>(input.below(60)), 1}};
    if (input.chance(80)) moment.time = any_time();
    moment.backward = input.chance(10);
    if (input.chance(20)) finder.seek();
    const auto found = finder.next(moment, loop);
    if (found.where == FrameFinder::Where::kFrame && found.frame >= reader.frames())
      violated("a frame that the recording does not have");
  }
}

void read_frames(Input& input, TensorReader& reader, const std::string& location) {
  find_frames(input, reader);
  for (int i = 0; i < 4; ++i) {
    const size_t frame =
        input.below(static_cast<uint32_t>(std::min<size_t>(reader.frames(), 1 << 20)));
    const auto tensors = reader.read(frame);
    count(tensors ? "frames read" : "frames refused");
    if (!tensors) check_error(tensors.error(), location);
    else
      for (const StoredTensor& tensor : *tensors) check_tensor(tensor);
  }
}

void open_and_read(Input& input, const std::string& location, const RawForm& form) {
  auto reader = TensorReader::open(location, form);
  count(reader ? "recordings opened" : "recordings refused");
  if (reader) read_frames(input, *reader, location);
  else if (reader.error().kind != ErrorKind::kInvalid) check_error(reader.error(), location);
}

/// Makes a sparse file of any length.
void make_long(const std::string& path, uint64_t bytes) {
  std::error_code ignored;
  std::filesystem::resize_file(path, bytes, ignored);
}

/// Makes files that an index could name: ones that must not be opened, and many labels.
void make_files(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directories(path + "/sub", ignored);
  std::filesystem::create_symlink("a.npy", path + "/link.npy", ignored);
  mkfifo((path + "/fifo.npy").c_str(), 0600);
  std::string labels;
  for (int i = 0; i < 60000; ++i) labels += std::to_string(i) + "-a-name-of-some-length\n";
  folder().write("recording/many.labels", labels);
}

}  // namespace

void headers(Input& input) {
  std::string text = array_file(input);
  if (input.chance(70)) text = damaged(input, text, kWords);
  // Memory of the exact length, so that AddressSanitizer detects reads beyond it.
  const std::unique_ptr<char[]> exact(new char[text.size()]);
  text.copy(exact.get(), text.size());
  const auto array = parse_npy({exact.get(), text.size()});
  count(array ? "headers read" : "headers refused");
  if (!array) check_error(array.error(), "");
  else if (array->offset > text.size()) violated("data that begin after the end");
}

void raw_files(Input& input) {
  static constexpr std::string_view kDims[]{"1,4,6",
                                            "24",
                                            "0",
                                            "1,0,6",
                                            "1000000000,1000000000",
                                            "4294967296,4294967296",
                                            "99999999999999999999",
                                            "1,2,3,4,5,6,7,8,9",
                                            "-1",
                                            "",
                                            "1,,2",
                                            "4,6,",
                                            "nan",
                                            "18446744073709551615",
                                            "9223372036854775807",
                                            "1152921504606846975",
                                            "1x4x6",
                                            " 6"};
  static constexpr std::string_view kTypes[]{"float32", "float16", "int8", "uint64",
                                             "float64", "x",       ""};
  const bool npy = input.chance(40);
  const std::string path = folder().write(
      npy ? "raw.npy" : "raw",
      npy ? array_file(input)
          : std::string(96 * input.below(5) + (input.chance(10) ? input.below(96) : 0), 'z'));
  RawForm form{.dims = "1,4,6", .type = "float32"};
  if (input.chance(30)) form.dims = input.pick(kDims);
  if (input.chance(30)) form.type = input.pick(kTypes);
  if (input.chance(10)) make_long(path, uint64_t{96} << input.below(32));
  auto reader = TensorReader::open(path, form);
  count(reader ? "raw files opened" : "raw files refused");
  const auto huge = [&] {
    const auto shape = shape_from(form.dims);
    const auto elements = shape ? shape->count() : Result<size_t>(0);
    return npy || (elements && *elements > kMaxRead);
  };
  if (!reader && reader.error().kind != ErrorKind::kInvalid) check_error(reader.error(), path);
  if (reader && (!huge() || std::filesystem::file_size(path) <= kMaxRead))
    read_frames(input, *reader, path);
}

void recordings(Input& input) {
  const std::string path = folder() / "recording";
  static const bool made = (make_files(path), true);
  static_cast<void>(made);
  const auto write = [&](const char* name, const std::string& text) {
    folder().write(std::string("recording/") + name, text);
  };
  write("a.npy", npy_header(DataType::kFloat32, {2, 3}) + std::string(24, '\1'));
  write("b.npy", array_file(input));
  std::string labels = "person\ncar\n\ntraffic light\n";
  write("a.labels", input.chance(20) ? damaged(input, labels, kWords) : labels);
  write(kIndexName, input.chance(1) ? long_index(input) : any_index(input));
  open_and_read(input, path, {});
}

}  // namespace keepbox::fuzz
