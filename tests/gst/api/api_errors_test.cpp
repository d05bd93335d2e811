// SPDX-License-Identifier: LGPL-2.1-or-later
// Invalid arguments, memory and buffers, given to the C API.
#include <cstring>
#include <utility>

#include "gst/metas/boxes.h"
#include "gst/metas/masks.h"
#include "tests/gst/api/api.h"
#include "tests/gst/api/api_c.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::count_call;
using test::describe;
using test::Lent;
using test::refusal;
using test::Tensor;

/// Returns an enumeration value out of range, which C allows and C++ cannot express.
template <class Enum>
Enum numbered(int number) {
  Enum value{};
  static_assert(sizeof value == sizeof number);
  std::memcpy(&value, &number, sizeof number);
  return value;
}

void expect_refused(const char* word, const Lent& lent) {
  SCOPED_TRACE(word);
  int given_back = 0;
  const Buffer frame = test::empty_frame();
  const std::string text = refusal(frame.get(), lent, count_call, &given_back);
  EXPECT_NE(text.find(word), std::string::npos) << text;
  EXPECT_EQ(gst_buffer_get_meta(frame.get(), gst_tensor_meta_api_get_type()), nullptr);
  EXPECT_FALSE(keepbox_buffer_add_tensor(frame.get(), lent.info.get(), lent.data, lent.size,
                                         nullptr, nullptr, nullptr));
  EXPECT_EQ(given_back, 0) << "what is not taken stays the caller's";
}

TEST(Api, ReportsInvalidArgumentsAndAddsNothing) {
  constexpr auto kFloat = GST_TENSOR_DATA_TYPE_FLOAT32;
  constexpr gsize kHuge = gsize{1} << 40;
  const float row[6] = {10, 10, 50, 50, 0.9f, 3};
  const auto odd_type = numbered<GstTensorDataType>(999);
  const std::pair<const char*, Lent> mistakes[] = {
      {"data_type", describe("a", GST_TENSOR_DATA_TYPE_INT4, {1, 1, 6}, row, 24)},
      {"GstTensorDataType 999", describe("a", odd_type, {1, 1, 6}, row, 24)},
      {"24 bytes for 1x1x6 float32", describe("a", kFloat, {1, 1, 6}, row, 12)},
      {"12 bytes", describe("a", GST_TENSOR_DATA_TYPE_FLOAT16, {1, 1, 6}, row, 24)},
      {"n_dims", describe("a", kFloat, {}, row, 24)},
      {"1 to 8 dimensions", describe("a", kFloat, std::vector<gsize>(9, 1), row, 4)},
      {"does not fit in memory", describe("a", kFloat, {kHuge, kHuge, 6}, row, 24)},
      {"NULL", describe("a", kFloat, {1, 1, 6}, nullptr, 24)},
  };
  for (const auto& [word, lent] : mistakes) expect_refused(word, lent);
}

TEST(Api, ReportsInvalidMemory) {
  struct Mistake {
    const char* word;
    gint memory, ready;
  };
  const Mistake mistakes[] = {
      {"KeepboxMemory", 2, KEEPBOX_READY_NOW},
      {"KeepboxReady", KEEPBOX_MEMORY_SYSTEM, 9},
      {"KEEPBOX_READY_NOW", KEEPBOX_MEMORY_SYSTEM, KEEPBOX_READY_STREAM},
      {"event", KEEPBOX_MEMORY_CUDA, KEEPBOX_READY_EVENT},
  };
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  for (const Mistake& mistake : mistakes) {
    const Lent lent = describe(rows);
    api_c_set_place(lent.info.get(), mistake.memory, mistake.ready);
    expect_refused(mistake.word, lent);
  }
}

TEST(Api, ReportsInvalidBuffers) {
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  const Lent lent = describe(rows);
  const Buffer frame = test::empty_frame();
  EXPECT_NE(refusal(nullptr, lent).find("GstBuffer"), std::string::npos);
  EXPECT_NE(refusal(frame.get(), {}).find("KeepboxTensorInfo"), std::string::npos);
  const Buffer held(gst_buffer_ref(frame.get()));
  EXPECT_NE(refusal(frame.get(), lent).find("gst_buffer_make_writable"), std::string::npos);
}

TEST(Api, WithoutADriverCudaIsAnError) {
  g_autoptr(GError) error = nullptr;
  if (keepbox_cuda_available(&error)) GTEST_SKIP() << "this machine has CUDA";
  EXPECT_EQ(error->domain, GST_RESOURCE_ERROR);
  EXPECT_NE(std::string(error->message).find("CUDA"), std::string::npos);
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  const Lent lent = describe(rows);
  keepbox_tensor_info_set_memory(lent.info.get(), KEEPBOX_MEMORY_CUDA);
  int given_back = 0;
  const Buffer frame = test::empty_frame();
  const std::string refused = refusal(frame.get(), lent, count_call, &given_back);
  // the hint differs there
  EXPECT_TRUE(refused.starts_with(std::string(error->message).substr(0, refused.find(':') + 1)))
      << refused;
  EXPECT_EQ(given_back, 0);
}

}  // namespace
}  // namespace keepbox
