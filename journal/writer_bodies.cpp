// SPDX-License-Identifier: Apache-2.0
// The writer's other work: reading bodies back that are no longer in the log (rule 16).
#include "journal/writer.h"

namespace pinnace::journal {
namespace {

// Between two looks at the feed; reads of the batch in memory cost no more than copies.
constexpr int kBodiesPerTurn = 16;

}  // namespace

bool Writer::serve_bodies() {
    BodyRequest request;
    int count = 0;
    while (count < kBodiesPerTurn && !body_replies_.full() && body_requests_.pop(request)) {
        BodyReply reply;
        reply.token = request.token;
        reply.position = request.position;
        if (const auto place = bodies_.read(request.position, {request.destination, request.size})) {
            reply.readable = true;
            reply.place = *place;
        } else {
            reply.os_error = place.error().os_error;
            reply.place = place.error().place;
        }
        body_replies_.push(reply);
        ++count;
    }
    return count > 0;
}

}  // namespace pinnace::journal
