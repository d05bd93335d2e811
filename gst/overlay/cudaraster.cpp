// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws by kernels, in the context and on the stream of the frame's memory.
#include "gst/overlay/cudaraster.h"

#include <array>
#include <bit>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gst/tensors/cudaobjects.h"
#include "kernels/cuda/draw/drawer.h"

namespace keepbox {
namespace {

using cuda::ByteRows;
using cuda::DrawnRect;

/// Flags for reading and writing in device memory.
constexpr GstMapFlags kChangeCuda =
    std::bit_cast<GstMapFlags>(int{GST_MAP_READ} | int{GST_MAP_WRITE} | GST_MAP_CUDA);

DrawnRect rect_of(const cv::Rect& at) { return {at.x, at.y, at.width, at.height}; }

cuda::Paint paint_of(const Paint& paint) { return {{paint[0], paint[1], paint[2], paint[3]}}; }

ByteRows rows_of(const cv::Mat& bytes) { return {bytes.ptr(), bytes.step, bytes.cols, bytes.rows}; }

class CudaRaster final : public Raster {
 public:
  CudaRaster(cuda::Drawer& drawer, const GstVideoInfo& info) : drawer_(drawer), info_(info) {}

  /// Returns the first error of the device.
  const Status& status() const { return status_; }

  void fill(size_t plane, const cv::Rect& at, const Paint& paint) override {
    if (!at.empty())
      require(drawer_.fill(static_cast<uint32_t>(plane), rect_of(at), paint_of(paint)));
  }
  void blend(const cv::Mat& cover, std::span<const Ink> inks, int gain, cv::Mat&) override {
    require(drawer_.blend(rows_of(cover), device_inks(inks), static_cast<uint8_t>(gain)));
  }
  bool tint(const EnlargedMask& mask, const cv::Rect& at, int edge,
            std::span<const Ink> inks) override {
    const MaskView& pixels = *mask.pixels;
    const ByteRows rows{pixels.row(0), static_cast<size_t>(pixels.row(1) - pixels.row(0)),
                        static_cast<int>(pixels.width()), static_cast<int>(pixels.height())};
    require(drawer_.tint({rows, mask.across, mask.down, rect_of(at), edge}, device_inks(inks)));
    return true;
  }
  cv::Mat take(size_t plane, const cv::Rect& at) override {
    const PlaneForm form = plane_form(info_, static_cast<guint>(plane));
    taken_.create(at.size(), form.type());
    if (!at.empty())
      require(drawer_.read(static_cast<uint32_t>(plane), rect_of(at), taken_.ptr(), taken_.step));
    return taken_;
  }
  void put(size_t plane, const cv::Rect& at, const cv::Mat& pixels) override {
    if (!at.empty())
      require(drawer_.write(static_cast<uint32_t>(plane), rect_of(at), pixels.ptr(), pixels.step));
  }

 private:
  /// Keeps an error, and throws to end the drawing.
  void require(const Status& status) {
    if (status) return;
    status_ = status;
    throw std::runtime_error(status.error().message());
  }

  std::span<const cuda::PlaneInk> device_inks(std::span<const Ink> inks) {
    for (size_t i = 0; i < inks.size(); ++i)
      inks_[i] = {rect_of(inks[i].at), paint_of(inks[i].paint),
                  static_cast<uint8_t>(inks[i].shift_x), static_cast<uint8_t>(inks[i].shift_y)};
    return std::span(inks_).first(inks.size());
  }

  cuda::Drawer& drawer_;
  const GstVideoInfo& info_;
  std::array<cuda::PlaneInk, cuda::kDrawnPlanes> inks_;
  cv::Mat taken_;
  Status status_;
};

/// A drawer with the context that its memory is in.
struct DeviceDrawer {
  CudaContext context;
  CudaStream own;  // for frames without a stream
  std::unique_ptr<cuda::Drawer> drawer = std::make_unique<cuda::Drawer>();

  explicit DeviceDrawer(CudaContext of) : context(std::move(of)) {}
  DeviceDrawer(const DeviceDrawer&) = delete;
  DeviceDrawer& operator=(const DeviceDrawer&) = delete;
  ~DeviceDrawer() {
    const CudaScope scope(context);
    if (scope.status()) drawer.reset();
    else (void)drawer.release();  // its memory was lost with the context
  }
};

class CudaRasters final : public DeviceRasters {
 public:
  Status draw(GstBuffer* buffer, const GstVideoInfo& info,
              const std::function<Status(Raster&)>& act) override {
    const CudaContext context = CudaContext::of(buffer);
    const CudaScope scope(context);
    KB_TRY(scope.status());
    KB_TRY(prepare(context));
    GstVideoFrame frame;
    if (!gst_video_frame_map(&frame, &info, buffer, kChangeCuda))
      return reject(ErrorKind::kTruncated, "The frame in CUDA memory cannot be mapped for writing");
    const Status status = draw(frame, stream_of(buffer), act);
    gst_video_frame_unmap(&frame);
    return status;
  }

 private:
  /// Makes a drawer for another context than before.
  Status prepare(const CudaContext& context) {
    if (side_ && side_->context == context) return {};
    side_.reset();
    auto side = std::make_unique<DeviceDrawer>(context);
    KB_ASSIGN(side->own, make_stream(context, StreamPriority::kHigh));
    side_ = std::move(side);
    return {};
  }

  /// Returns the stream of the memory, after mapping may have copied it; nullptr if it has none.
  static CUstream stream_of(GstBuffer* buffer) {
    GstCudaStream* stream =
        gst_cuda().memory_get_stream(GST_CUDA_MEMORY_CAST(gst_buffer_peek_memory(buffer, 0)));
    return stream != nullptr ? gst_cuda().stream_get_handle(stream) : nullptr;
  }

  Status draw(const GstVideoFrame& frame, CUstream stream,
              const std::function<Status(Raster&)>& act) {
    std::vector<cuda::DrawnPlane> planes;
    for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&frame); ++i) {
      const PlaneForm form = plane_form(frame.info, i);
      planes.push_back({static_cast<uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, i)),
                        static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, i)), form.width,
                        form.height, form.channels, form.bytes, form.unused_bits});
    }
    const CUstream used = stream != nullptr ? stream : side_->own.get();
    KB_TRY(side_->drawer->begin(planes, used));
    CudaRaster raster(*side_->drawer, frame.info);
    Status status = act(raster);
    if (!raster.status()) status = raster.status();
    if (status) status = side_->drawer->flush();
    if (stream != nullptr) return status;
    // Also after an error, because the host draws on the frame then.
    const Status done = cuda_status(cuda_driver().stream_synchronize(used), "drawing on a frame");
    return status ? done : status;
  }

  std::unique_ptr<DeviceDrawer> side_;
};

}  // namespace

Result<std::unique_ptr<DeviceRasters>> make_device_rasters() {
  return std::make_unique<CudaRasters>();
}

const char* device_feature() { return GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY; }

}  // namespace keepbox
