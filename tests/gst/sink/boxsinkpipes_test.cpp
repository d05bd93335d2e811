// SPDX-License-Identifier: LGPL-2.1-or-later
// boxsink with other than regular files: FIFOs with late, slow or missing readers, links; and
// classes with invalid file names.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <sstream>
#include <thread>

#include "tests/gst/sink/boxsink.h"

namespace keepbox::test {
namespace {

using std::chrono::milliseconds;

/// A FIFO with a reader that reads on request.
class Fifo {
 public:
  explicit Fifo(const std::string& path) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    reader_ = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;
  ~Fifo() { close(reader_); }

  int bytes() const {
    int count = 0;
    ioctl(reader_, FIONREAD, &count);
    return count;
  }

  /// Waits until the FIFO is full.
  void await_full() const {
    for (int last = -1, tries = 0; tries < 200 && (bytes() == 0 || bytes() != last); ++tries) {
      last = bytes();
      std::this_thread::sleep_for(milliseconds(100));
    }
  }

  /// Reads what is available now.
  std::string take() {
    std::string out;
    char block[4096];
    for (ssize_t got; (got = ::read(reader_, block, sizeof block)) > 0;)
      out.append(block, static_cast<size_t>(got));
    return out;
  }

  /// True if a function returns although there is no reader; otherwise unblocks it.
  bool ends_alone(const std::function<void()>& function) {
    auto done = std::async(std::launch::async, function);
    if (done.wait_for(std::chrono::seconds(5)) == std::future_status::ready) return true;
    while (done.wait_for(milliseconds(10)) != std::future_status::ready) take();
    return false;
  }

 private:
  int reader_;
};

TEST_F(BoxSink, WritesIntoAFifo) {
  Fifo fifo(path("fifo"));
  set("location", path("fifo"));
  set("format", "mot");
  run_three();
  const std::string seen = fifo.take();
  EXPECT_TRUE(seen.starts_with("1,-1,1.25,2.5")) << seen;
  EXPECT_EQ(files_in(folder_), 1u);
}

TEST_F(BoxSink, RejectsAFifoWithoutAReader) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  set("location", path("fifo"));
  EXPECT_FALSE(can_start());
  EXPECT_TRUE(mentions(message(), "The FIFO " + path("fifo") + " has no reader"));
  while (!message().empty()) {
  }  // GStreamer's own error of that start
  ASSERT_EQ(mkfifo(path("0").c_str(), 0600), 0);
  set("location", path("%d"));
  set("format", "kitti");
  start();
  EXPECT_EQ(push(with_ours(0)), GST_FLOW_ERROR);
  EXPECT_TRUE(mentions(message(), path("0")));
}

TEST_F(BoxSink, RejectsAPartThatIsNotAFile) {
  folder_.write("precious", "old");
  fs::create_symlink("precious", path("out.csv.part"));
  set("location", path("out.csv"));
  EXPECT_FALSE(can_start());
  EXPECT_TRUE(mentions(message(), "a symbolic link"));
  EXPECT_EQ(read(path("precious")), "old");
  ASSERT_EQ(mkfifo(path("x.csv.part").c_str(), 0600), 0);
  set("location", path("x.csv"));
  EXPECT_FALSE(can_start());
  EXPECT_TRUE(mentions(message(), "a FIFO"));
}

TEST_F(BoxSink, WritesClassesWithInvalidFileNames) {
  set("location", path("Task1_%s.txt"));
  set("format", "dota");
  start();
  EXPECT_EQ(push(with_foreign(0, std::string(300, 'x').c_str())), GST_FLOW_OK);
  EXPECT_TRUE(mentions(message(GST_MESSAGE_WARNING), "is too long for a file"));
  EXPECT_EQ(push(with_foreign(1, "a/b")), GST_FLOW_OK);
  EXPECT_EQ(push(with_foreign(2, "a_b")), GST_FLOW_OK);
  EXPECT_TRUE(
      mentions(message(GST_MESSAGE_WARNING), "give the file name a_b: the file of \"a_b\""));
  EXPECT_TRUE(end());
  stop();
  EXPECT_EQ(files_in(folder_), 3u);
  EXPECT_TRUE(read(path("Task1_a_b-2.txt")).starts_with("2 0.5 "));
}

constexpr int kFrames = 3000;  // more lines than a FIFO holds

/// A line of frames to a FIFO.
class BoxSinkFifo : public BoxSink {
 protected:
  BoxSinkFifo() : fifo_(path("fifo")) {
    const std::string text =
        "videotestsrc num-buffers=" + std::to_string(kFrames) +
        " ! video/x-raw,format=GRAY8,width=16,height=16 ! boxsink location=" + path("fifo");
    line_ = gst_parse_launch(text.c_str(), nullptr);
    gst_element_set_state(line_, GST_STATE_PLAYING);
    fifo_.await_full();
    EXPECT_GT(fifo_.bytes(), 30'000);
  }
  ~BoxSinkFifo() override {
    fifo_.take();
    gst_element_set_state(line_, GST_STATE_NULL);
    gst_object_unref(line_);
  }

  Fifo fifo_;
  GstElement* line_;
};

TEST_F(BoxSinkFifo, StopsWhileItsReaderSleeps) {
  EXPECT_TRUE(fifo_.ends_alone([this] { gst_element_set_state(line_, GST_STATE_NULL); }));
}

TEST_F(BoxSinkFifo, PausesWhileItsReaderSleepsAndLosesNothing) {
  EXPECT_TRUE(fifo_.ends_alone([this] { gst_element_set_state(line_, GST_STATE_PAUSED); }));
  std::string all;
  std::atomic<bool> ended = false;
  std::thread reader([&] {
    while (!ended) {
      all += fifo_.take();
      std::this_thread::sleep_for(milliseconds(1));
    }
    all += fifo_.take();
  });
  gst_element_set_state(line_, GST_STATE_PLAYING);
  g_autoptr(GstBus) bus = gst_element_get_bus(line_);
  g_autoptr(GstMessage) eos = gst_bus_timed_pop_filtered(bus, 20 * GST_SECOND, GST_MESSAGE_EOS);
  EXPECT_NE(eos, nullptr);
  ended = true;
  reader.join();
  std::istringstream lines(all);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    ASSERT_TRUE(line.starts_with("{\"resolution\"") &&
                line.ends_with("\"frame\":" + std::to_string(count) + "}"))
        << line;
  EXPECT_EQ(count, kFrames);
}

TEST_F(BoxSink, EndsWhenAFullFifoIsReadAgain) {
  Fifo fifo(path("fifo"));
  const int other = open(path("fifo").c_str(), O_WRONLY | O_NONBLOCK);
  while (write(other, "x", 1) == 1) {
  }
  set("location", path("fifo"));
  set("format", "coco");
  EXPECT_TRUE(fifo.ends_alone([this] { start(); }));
  bool done = false;
  std::thread ending([&] { done = end(); });
  std::this_thread::sleep_for(milliseconds(200));
  std::string seen = fifo.take();
  ending.join();
  EXPECT_TRUE(done);
  seen += fifo.take();
  EXPECT_TRUE(seen.ends_with("x[]\n")) << seen.substr(seen.size() - 10);
  close(other);
}

}  // namespace
}  // namespace keepbox::test
