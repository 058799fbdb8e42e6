// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/requests.h"

#include <fmt/format.h>

#include <string>

#include "bindings/daemon/answers.h"
#include "bindings/daemon/queue_query.h"
#include "bindings/daemon/queue_requests.h"
#include "bindings/protocol/requests.h"
#include "bindings/protocol/wire.h"

namespace pinnace::daemon {
namespace {

using protocol::RequestKind;
using protocol::WireReader;
using Answerer = std::function<bool()>;

Answerer malformed(std::vector<std::byte>& answer) {
    return [&answer] { return refuse(answer, Answer::bad_request, "the request is malformed"); };
}

Answerer resolve(const RequestContext& context, WireReader& in, std::vector<std::byte>& answer) {
    return [d = context.dispatcher, name = std::string(in.get_text()), &answer] {
        Core& core = d->pump().core();
        const QueueId queue = core.find_queue(name);
        const TopicId topic = queue == kNone ? core.resolve_topic(name) : core.publish_target(queue);
        if (topic == kNone) {
            return refuse(
                answer, Answer::unknown_topic,
                fmt::format("unknown_topic: \"{}\" is neither a topic that the transaction log covers nor a "
                            "queue of this engine",
                            name));
        }
        // Most queues need not know that a message came by their name.
        return give(answer, topic, core.deduplicates(queue) ? queue : kNone);
    };
}

Answerer open_publisher(const RequestContext& context, WireReader& in, std::vector<std::byte>& answer) {
    const std::string name(in.get_text());
    if (name.empty() || name.size() > 255) {
        return [&answer] {
            return refuse(answer, Answer::bad_request, "a publisher's name has 1 to 255 bytes");
        };
    }
    return [d = context.dispatcher, uid = context.uid, session = context.session, name, &answer] {
        const PublisherId publisher = d->pump().core().publisher(uid, name);
        const auto highest = d->pump().bind_publisher(session, publisher);
        if (!highest) return false;
        return give(answer, publisher, *highest);
    };
}

Answerer subscribe(const RequestContext& context, WireReader& in, std::vector<std::byte>& answer) {
    const std::string target(in.get_text());
    const auto max_backlog = in.get<std::uint64_t>();
    const std::string filter(in.get_text());
    return [context, target, max_backlog, filter, &answer] {
        if (!context.deliveries_allowed()) return false;
        const auto subscribed =
            context.dispatcher->pump().subscribe(context.session, {kNone, target, max_backlog, filter});
        if (!subscribed) return refuse(answer, subscribed.error().answer, subscribed.error().text);
        return give(answer, subscribed->subscription, subscribed->max_backlog);
    };
}

Answerer replace(const RequestContext& context, WireReader& in, std::vector<std::byte>& answer) {
    const auto subscription = in.get<std::uint32_t>();
    const auto given = in.get<std::uint8_t>();
    const std::string target(in.get_text());
    const auto max_backlog = in.get<std::uint64_t>();
    const std::string filter(in.get_text());
    return [context, subscription, given, target, max_backlog, filter, &answer] {
        const std::string_view target_view = target;
        const std::string_view filter_view = filter;
        ReplaceRequest request{.subscription = subscription};
        if ((given & 1) != 0) request.target = &target_view;
        if ((given & 2) != 0) request.max_backlog = &max_backlog;
        if ((given & 4) != 0) request.filter = &filter_view;
        const auto replaced = context.dispatcher->pump().replace(context.session, request);
        if (!replaced) return refuse(answer, replaced.error().answer, replaced.error().text);
        return give(answer, replaced->subscription, replaced->max_backlog);
    };
}

Answerer unsubscribe(const RequestContext& context, WireReader& in, std::vector<std::byte>& answer) {
    return [context, subscription = in.get<std::uint32_t>(), &answer] {
        if (!context.dispatcher->pump().unsubscribe(context.session, subscription)) {
            return refuse(answer, Answer::bad_request, "no such subscription of this session");
        }
        return give(answer);
    };
}

Answerer name_of(const RequestContext& context, RequestKind kind, WireReader& in,
                 std::vector<std::byte>& answer) {
    return [d = context.dispatcher, kind, id = in.get<std::uint32_t>(), &answer] {
        const Core& core = d->pump().core();
        const std::string_view name =
            kind == RequestKind::topic_name ? core.topic_name(id) : core.queue_name(id);
        if (name.empty()) return refuse(answer, Answer::unknown, "there is nothing with this number");
        return give(answer, name);
    };
}

Answerer status(const RequestContext& context, std::vector<std::byte>& answer) {
    return [make = context.status, &answer] { return give(answer, make()); };
}

Answerer leave(std::vector<std::byte>& answer) {
    return [&answer] { return give(answer); };
}

}  // namespace

RequestState::RequestState() = default;
RequestState::~RequestState() = default;

std::function<bool()> make_request(const RequestContext& context, std::uint32_t type,
                                   std::span<const std::byte> payload, std::vector<std::byte>& answer) {
    WireReader in(payload);
    Answerer made;
    switch (static_cast<RequestKind>(type)) {
        case RequestKind::resolve:
            made = resolve(context, in, answer);
            break;
        case RequestKind::open_publisher:
            made = open_publisher(context, in, answer);
            break;
        case RequestKind::subscribe:
            made = subscribe(context, in, answer);
            break;
        case RequestKind::replace:
            made = replace(context, in, answer);
            break;
        case RequestKind::unsubscribe:
            made = unsubscribe(context, in, answer);
            break;
        case RequestKind::topic_name:
        case RequestKind::queue_name:
            made = name_of(context, static_cast<RequestKind>(type), in, answer);
            break;
        case RequestKind::status:
            made = status(context, answer);
            break;
        case RequestKind::leave:
            made = leave(answer);
            break;
        case RequestKind::find_queue:
        case RequestKind::query:
        case RequestKind::more:
        case RequestKind::pull:
        case RequestKind::verbs_where:
        case RequestKind::purge:
        case RequestKind::redrive:
            made = make_queue_request(context, static_cast<RequestKind>(type), in, answer);
            break;
    }
    if (!made || !in.done()) return malformed(answer);
    // A request may wait for its turn longer than its session lives.
    return [context, made = std::move(made)] {
        return !context.dispatcher->is_open(context.session, context.port) || made();
    };
}

}  // namespace pinnace::daemon
