// SPDX-License-Identifier: LGPL-2.1-or-later
// The elements of this plugin.
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

GST_ELEMENT_REGISTER_DECLARE(boxdecode)
GST_ELEMENT_REGISTER_DECLARE(boxoverlay)
GST_ELEMENT_REGISTER_DECLARE(boxsink)
GST_ELEMENT_REGISTER_DECLARE(framerestore)
GST_ELEMENT_REGISTER_DECLARE(framesave)
GST_ELEMENT_REGISTER_DECLARE(tensorinfer)
GST_ELEMENT_REGISTER_DECLARE(tensorrecord)
GST_ELEMENT_REGISTER_DECLARE(tensorreplay)

G_END_DECLS
