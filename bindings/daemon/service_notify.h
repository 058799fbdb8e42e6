// SPDX-License-Identifier: Apache-2.0
// Tells a service manager how the engine is, where one asked for it ($NOTIFY_SOCKET): "READY=1",
// "STOPPING=1".
#pragma once

#include <string_view>

namespace pinnace::daemon {

// True if somebody asked and was told.
bool notify_service_manager(std::string_view state);

}  // namespace pinnace::daemon
