// SPDX-License-Identifier: Apache-2.0
// Everything of the C++ client in one include.
#pragma once

#include "bindings/cpp/connection.h"
#include "bindings/cpp/publisher.h"
#include "bindings/cpp/queue_client.h"
#include "bindings/cpp/subscriber.h"
