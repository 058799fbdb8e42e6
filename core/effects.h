// SPDX-License-Identifier: Apache-2.0
// Effects: what the core asks of the world. The engine, the scenario runner and the simulator each implement
// it. Calls come during a command, from the thread that gave the command; none of them may call back into the
// core.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/record.h"
#include "core/types.h"

namespace pinnace {

struct Delivery {
    ClientId client = kNone;
    SubscriptionId subscription = kNone;
    QueueId queue = kNone;
    TopicId topic = kNone;
    Position position = 0;
    LeaseId lease = 0;        // 0: a barrier or a pub/sub message; nothing is to be acknowledged
    Time deadline = kNever;   // end of the lease; kNever: infinite
    std::uint32_t count = 0;  // 1 for the first delivery (D7)
    Handle handle = kNone;
    Time published = 0;  // engine time of the publish (D7)
    BodyRef body;        // body.data is null unless the delivery is part of the publish itself
    Position body_position =
        0;  // of the record that has the body; not `position` if the message was moved (A2)
};

// Why a message left without being processed (X1), as bits; texts are joined in this order.
enum Reason : std::uint8_t {
    kTimeLimit = 1,
    kMaxCancels = 2,
    kMaxDeliveries = 4,
    kForcedExpire = 8,
};

struct Expired {
    QueueId queue = kNone;
    Position position = 0;
    std::uint8_t reasons = 0;
    BodyRef body;
};

class Effects {
 public:
    // A change of durable state. `head` is copied before the call returns; the body is referenced by body.log
    // (or, for a message whose body is not in the log, taken from body.data). Returns the record's index;
    // what waits for it to be durable is told by Core::durable.
    virtual RecordIndex record(const RecordHeader& header, std::span<const std::byte> head,
                               const BodyRef& body) = 0;

    // Hands a message to a subscription; the core has made sure of room. True: the subscriber can see it now.
    // False: its body must be read first; the lease's period starts with Core::visible (D12, L1).
    virtual bool deliver(const Delivery& delivery) = 0;

    // A message left for a reason of X1, exactly once each (X5).
    virtual void expired(const Expired& event) = 0;

    // What was recorded up to here may be durable without what the command still records: a step may end.
    // Said where a command makes bodies of its own (A1), so that a step's size keeps its bound.
    virtual void part_ends() {}
    // The same, said after each message of many that leave, return or are handed over in one command: a step
    // that has become long should end here.
    virtual void part_may_end() {}

    // The core ended a subscription by itself (B2: it let too many barriers wait).
    virtual void subscription_ended(SubscriptionId subscription, std::string_view why) = 0;

    // The bytes of a queued message's body, for an expression that comes later than the message (D12); valid
    // until the next call. `position` is that of the record which has the body. Null: it cannot be read, and
    // all its fields are NULL.
    virtual const std::byte* body(Position /*position*/, const BodyRef& /*body*/) { return nullptr; }

 protected:
    ~Effects() = default;
};

}  // namespace pinnace
