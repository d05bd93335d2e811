// SPDX-License-Identifier: LGPL-2.1-or-later
// Locations of external weights in ONNX files, and rejection of files that readers may interpret
// differently.
#include "gst/infer/onnx/externaldata.h"

#include <gtest/gtest.h>

#include "tests/tempdir.h"

namespace keepbox {
namespace {

class ExternalData : public ::testing::Test {
 protected:
  using string = std::string;
  using Locations = std::set<string>;

  static string varint(uint64_t value) {
    string out;
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    return out + static_cast<char>(value);
  }

  /// Returns a length-delimited field.
  static string field(int number, const string& bytes) {
    return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
  }

  static string entry(const string& key, const string& value) {
    return field(1, key) + field(2, value);
  }

  /// Returns a tensor with that location, between other fields: dims, raw_data, data_location.
  static string tensor(const string& location) {
    return string("\x08\x03") + field(9, string(100000, '\x7f')) +
           field(13, entry("location", location)) + field(13, entry("offset", "0")) + "\x70\x01";
  }

  static string model(const string& graph) {
    return "\x08\x08" + field(7, graph) + field(14, entry("a", "b"));
  }

  Result<Locations> of(const string& bytes) {
    const auto file = open_plain(dir_.write("model.onnx", bytes), "");
    return file ? external_locations(*file) : std::unexpected(file.error());
  }
  string why_not(const string& bytes) {
    const auto locations = of(bytes);
    return locations ? "" : locations.error().message();
  }

  test::TempDir dir_;
};

TEST_F(ExternalData, IsFoundInAllTensorsOfAModel) {
  const string node = field(5, field(5, tensor("attribute")) + field(10, tensor("list")) +
                                   field(22, field(1, tensor("sparse value"))) +
                                   field(23, field(2, tensor("sparse index"))) +
                                   field(6, field(5, tensor("subgraph"))) +
                                   field(11, field(1, field(5, field(5, tensor("deeper"))))));
  const string graph = field(2, "graph") + field(1, node) + field(5, tensor("initializer")) +
                       field(15, field(1, tensor("sparse"))) + field(5, tensor("initializer"));
  const string function =
      field(7, field(5, field(5, tensor("function")))) + field(11, field(5, tensor("default")));
  const auto found =
      of(model(graph) + field(25, function) +
         field(20, field(1, field(5, tensor("start"))) + field(2, field(5, tensor("training")))) +
         field(7, field(5, tensor("graph's other half"))));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(*found, (Locations{"attribute", "list", "sparse value", "sparse index", "subgraph",
                               "deeper", "initializer", "sparse", "function", "default", "start",
                               "training", "graph's other half"}));
}

TEST_F(ExternalData, IsIgnoredInOtherFields) {
  const string other = field(13, entry("Location", "a")) + field(13, field(2, "b")) + field(13, "");
  const auto found = of(model(field(5, other) + field(6, tensor("no field of a graph"))));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(*found, Locations{});
}

TEST_F(ExternalData, IsReadInEveryEncoding) {
  // The value before the key, and varints with more bytes than needed.
  const string value = string("\x12\x88\x80\x00", 4) + "weights.";
  const string oriented = string("\xea\x80\x00\x16", 4) + value + field(1, "location");
  const auto found = of(model(field(5, oriented)));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(*found, Locations{"weights."});
}

TEST_F(ExternalData, IsFoundBesideFieldsOfAFixedWidth) {
  const string wide = "\x09" + string(8, '\x6a'), narrow = "\x15" + string(4, '\x6a');
  const auto found = of(wide + narrow + model(field(5, wide + tensor("a") + narrow)) + narrow);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(*found, Locations{"a"});
  EXPECT_NE(why_not(wide.substr(0, 8)).find("longer than its message"), string::npos);
  EXPECT_NE(why_not(narrow.substr(0, 4)).find("longer than its message"), string::npos);
}

TEST_F(ExternalData, IsReadUpToItsLimits) {
  const auto with = [](const string& fields) { return model(field(5, field(13, fields))); };
  const string longest(4096, 'a');
  EXPECT_EQ(of(with(entry("location", longest))).value_or(Locations{}), Locations{longest});
  EXPECT_NE(why_not(with(entry("location", longest + 'a'))).find("overlong"), string::npos);
  // Fields of an entry that are neither key nor value, and a key with a length of no known key.
  const string other = field(3, "c") + "\x08\x01" + entry("location", "a");
  EXPECT_EQ(of(with(other)).value_or(Locations{}), Locations{"a"});
  EXPECT_TRUE(of(with(entry(string(1000, 'k'), "a"))));
  EXPECT_TRUE(of(with(field(2, "a")))) << "without a key";
  EXPECT_NE(why_not(with(field(1, "location"))).find("empty"), string::npos);
  // The highest key of 32 bits is that of a field; the next is not.
  EXPECT_EQ(why_not(varint(0xfffffff8) + varint(1)), "");
  EXPECT_NE(why_not(varint(0x100000000) + varint(1)).find("without a number"), string::npos);
}

TEST_F(ExternalData, IsFoundInAHundredNestedMessages) {
  // The graph is nested in the model, and each subgraph in a node's attribute.
  const auto nested = [](string graph) {
    for (int i = 0; i < 33; ++i) graph = field(1, field(5, field(6, graph)));
    return model(graph);
  };
  EXPECT_EQ(why_not(nested(field(2, "graph"))), "");
  EXPECT_NE(why_not(nested(field(5, tensor("a")))).find("nested"), string::npos);
}

TEST_F(ExternalData, IsAnErrorIfReadersMayDiffer) {
  const auto in_tensor = [](const string& fields) { return model(field(5, fields)); };
  const string twice = field(13, entry("location", "a"));
  EXPECT_NE(why_not(in_tensor(twice + twice)).find("two data locations"), string::npos);
  EXPECT_NE(why_not(in_tensor(field(13, entry("location", "a") + field(2, "b")))).find("duplicate"),
            string::npos);
  EXPECT_NE(why_not(in_tensor(field(13, field(1, "x") + entry("location", "a")))).find("duplicate"),
            string::npos);
  EXPECT_NE(why_not(in_tensor(field(13, field(1, "location")))), "");
  EXPECT_NE(why_not(in_tensor(field(13, entry("location", string(5000, 'a'))))), "");
  EXPECT_NE(why_not(model(string("\x2b") + field(5, tensor("a")) + "\x2c")), "") << "a group";
}

TEST_F(ExternalData, OfInvalidFilesIsAnError) {
  const string whole = model(field(5, tensor("a")));
  ASSERT_TRUE(of(whole));
  for (const size_t length : {size_t{3}, whole.size() / 2, whole.size() - 1})
    EXPECT_NE(why_not(whole.substr(0, length)).find("model.onnx"), string::npos) << length;
  EXPECT_NE(why_not(string(20, '\xff')).find("more than 64 bits"), string::npos);
  EXPECT_NE(why_not(string(1, '\0') + whole), "") << "field 0";
  EXPECT_NE(why_not(varint(7 << 3 | 2) + string(9, '\xff') + "\x7f"), "")
      << "a length beyond any file";
  string deep;
  for (int i = 0; i < 100; ++i) deep = field(1, field(5, field(6, deep)));
  EXPECT_NE(why_not(model(deep)).find("nested"), string::npos);
}

TEST_F(ExternalData, IsNextToTheModelOrBelow) {
  namespace fs = std::filesystem;
  fs::create_directories(dir_.path() / "store/sub");
  fs::create_directories(dir_.path() / "names");
  dir_.write("store/sub/weights", "");
  const auto files = [&](const string& location, const string& at = "store/m.onnx") {
    const string path = dir_ / at;
    if (!fs::exists(path)) dir_.write(at, model(field(5, tensor(location))));
    const auto found = external_files(path);
    return found ? "" : found.error().message();
  };
  EXPECT_EQ(files("sub/weights"), "");
  fs::create_symlink("../store/m.onnx", dir_.path() / "names/m.onnx");
  EXPECT_NE(files("", "names/m.onnx"), "") << "no weights next to the link";
  fs::create_directory_symlink("../store/sub", dir_.path() / "names/sub");
  EXPECT_EQ(files("", "names/m.onnx"), "") << "they are next to the target of the link";
  EXPECT_NE(files(string("sub/weights\0.", 13), "store/nul.onnx"), "");
  EXPECT_NE(files("/dev/null", "store/device.onnx"), "");
  EXPECT_NE(files("..", "store/up.onnx"), "");
  EXPECT_NE(files(".", "store/folder.onnx"), "");
}

}  // namespace
}  // namespace keepbox
