// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of boxsink, and the writer that they define.
#pragma once

#include <gst/gst.h>

#include <string>

#include "gst/base/props.h"
#include "gst/sink/frameinfo.h"
#include "gst/sink/writer.h"

namespace keepbox {

/// Property values as set. Plain data: copied under the object lock.
struct SinkProps : JsonProps {
  int format = 0;  // BoxFormat
  std::string location = "-";
  gint64 max_file_time = 0;  // ns; 0: no limit
  gint64 max_file_size = 0;  // bytes; 0: no limit
  int first_frame = -1;
  std::string image_ids, category_ids;

  const OutputFormat& output() const { return output_format(static_cast<BoxFormat>(format)); }
};

const PropertyTable<SinkProps>& sink_properties();

/// Makes the writer and reads its lists of ids. Errors name the property.
Result<BoxWriter> make_writer(const SinkProps& props);

}  // namespace keepbox
