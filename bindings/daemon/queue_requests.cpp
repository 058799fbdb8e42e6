// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/queue_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bindings/daemon/answers.h"
#include "bindings/daemon/queue_query.h"

namespace pinnace::daemon {
namespace {

using protocol::RequestKind;
using protocol::WireReader;
using Answerer = std::function<bool()>;

// kNone: the request was refused for it.
QueueId find(const RequestContext& context, std::string_view name, std::vector<std::byte>& answer) {
    const QueueId queue = context.dispatcher->pump().core().find_queue(name);
    if (queue == kNone) {
        refuse(answer, Answer::unknown_topic,
               fmt::format("unknown_topic: this engine has no queue named \"{}\"", name));
    }
    return queue;
}

Answerer find_queue(const RequestContext& context, WireReader& in, std::vector<std::byte>& answer) {
    return [context, name = std::string(in.get_text()), &answer] {
        const QueueId queue = find(context, name, answer);
        return queue == kNone || give(answer, queue);
    };
}

// --- A list in parts

bool give_part(const RequestContext& context, std::vector<std::byte>& answer) {
    QueueQuery::Part part = context.state->query->take_part();
    if (!part.more) context.state->query.reset();
    protocol::WireWriter writer;
    writer.put(static_cast<std::uint8_t>(Answer::ok)).put(static_cast<std::uint8_t>(part.more));
    answer = writer.take();
    answer.insert(answer.end(), part.bytes.begin(), part.bytes.end());
    return true;
}

bool go_on(const RequestContext& context, std::vector<std::byte>& answer) {
    return context.state->query->work(*context.dispatcher) && give_part(context, answer);
}

Answerer query(const RequestContext& context, WireReader& in, std::vector<std::byte>& answer) {
    const std::string name(in.get_text());
    const std::string where(in.get_text());
    const auto count_max = in.get<std::uint64_t>();
    return [context, name, where, count_max, is_open = false, &answer]() mutable {
        if (is_open) return go_on(context, answer);
        const QueueId queue = find(context, name, answer);
        if (queue == kNone) return true;
        auto opened = QueueQuery::open(*context.dispatcher, queue, where, count_max);
        if (!opened) return refuse(answer, opened.error().answer, opened.error().text);
        context.state->query = std::move(*opened);
        is_open = true;
        return go_on(context, answer);
    };
}

Answerer more(const RequestContext& context, std::vector<std::byte>& answer) {
    return [context, &answer] {
        if (context.state->query == nullptr) {
            return refuse(answer, Answer::bad_request, "there is no list to go on with");
        }
        return go_on(context, answer);
    };
}

// --- Pulls

Answerer pull(const RequestContext& context, WireReader& in, std::vector<std::byte>& answer) {
    const auto subscription = in.get<std::uint32_t>();
    const std::string name(in.get_text());
    const std::uint32_t count_max = std::min(in.get<std::uint32_t>(), protocol::kPullCountMax);
    const std::string filter(in.get_text());
    return [context, subscription, name, count_max, filter, &answer] {
        if (!context.deliveries_allowed()) return false;
        if (find(context, name, answer) == kNone) return true;
        if (!context.dispatcher->log().room_for_verbs(count_max)) return false;
        PullRequest request;
        request.subscription = subscription;
        request.queue = name;
        request.count_max = count_max;
        request.filter = filter;
        const auto pulled = context.dispatcher->pump().pull(context.session, request);
        if (!pulled) return refuse(answer, pulled.error().answer, pulled.error().text);
        return give(answer, pulled->subscription, pulled->count);
    };
}

// --- What changes many messages

// Runs `apply` slice by slice over what is there when the request comes, a slice a turn, and answers the
// sum of their counts when all of it is durable (rule 18).
class Change {
 public:
    using Apply =
        std::function<std::expected<std::uint64_t, RequestError>(const RequestContext&, QueueId, Slice&)>;

    enum class Over : std::uint8_t { with_state, all };  // beyond TargetQueueDepth too (TD1)

    Change(const RequestContext& context, std::string queue, Over over, std::uint32_t slice_size, Apply apply,
           std::vector<std::byte>& answer)
        : context_(context), name_(std::move(queue)), over_(over), apply_(std::move(apply)), answer_(answer) {
        slice_.count_max = slice_size;
    }

    bool operator()() {
        EngineLog& log = context_.dispatcher->log();
        Core& core = context_.dispatcher->pump().core();
        if (slice_.done) return log.durable() >= last_record_ && give(answer_, count_);
        const QueueId queue = find(context_, name_, answer_);
        if (queue == kNone) return true;
        const auto room = static_cast<std::uint32_t>(kRecordsPerMessage * slice_.count_max);
        if (!log.room_for_verbs(room)) return false;
        if (!is_begun_) {
            slice_.until = over_ == Over::all ? core.last_position() : core.last_position(queue);
        }
        is_begun_ = true;
        const auto done = apply_(context_, queue, slice_);
        log.end_step(core.now());
        if (!done) return refuse(answer_, done.error().answer, done.error().text);
        count_ += *done;
        last_record_ = log.appended();
        return false;  // whatever it emitted goes to the journal with this turn
    }

 private:
    // A move's head is larger than a removal's, and deliveries follow.
    static constexpr std::uint32_t kRecordsPerMessage = 2;

    RequestContext context_;
    std::string name_;
    Over over_;
    Apply apply_;
    std::vector<std::byte>& answer_;
    Slice slice_;
    bool is_begun_ = false;
    std::uint64_t count_ = 0;
    RecordIndex last_record_ = 0;
};

// Where bodies are looked at, cold ones are waited for one after the other.
constexpr std::uint32_t kSliceSize = 1024;
constexpr std::uint32_t kFilteredSliceSize = 64;

Answerer verbs_where(const RequestContext& context, WireReader& in, std::vector<std::byte>& answer) {
    const auto verb = static_cast<Verb>(in.get<std::uint8_t>());
    const std::string name(in.get_text());
    return Change(
        context, name, Change::Over::with_state, kFilteredSliceSize,
        [verb, where = std::string(in.get_text())](const RequestContext& c, QueueId queue, Slice& slice) {
            return c.dispatcher->pump().verbs_where(c.session, {verb, kNone, queue, where}, slice);
        },
        answer);
}

Answerer purge(const RequestContext& context, WireReader& in, std::vector<std::byte>& answer) {
    return Change(
        context, std::string(in.get_text()), Change::Over::all, kSliceSize,
        [](const RequestContext& c, QueueId queue,
           Slice& slice) -> std::expected<std::uint64_t, RequestError> {
            return c.dispatcher->pump().core().purge(queue, slice);
        },
        answer);
}

Answerer redrive(const RequestContext& context, WireReader& in, std::vector<std::byte>& answer) {
    const std::string from(in.get_text());
    return Change(
        context, from, Change::Over::with_state, kSliceSize,
        [to = std::string(in.get_text())](const RequestContext& c, QueueId queue,
                                          Slice& slice) -> std::expected<std::uint64_t, RequestError> {
            Core& core = c.dispatcher->pump().core();
            const QueueId target = core.find_queue(to);
            if (target != kNone) return core.redrive(queue, target, slice);
            return std::unexpected(
                RequestError{Answer::unknown_topic,
                             fmt::format("unknown_topic: this engine has no queue named \"{}\"", to)});
        },
        answer);
}

}  // namespace

std::function<bool()> make_queue_request(const RequestContext& context, RequestKind kind, WireReader& in,
                                         std::vector<std::byte>& answer) {
    switch (kind) {
        case RequestKind::find_queue:
            return find_queue(context, in, answer);
        case RequestKind::query:
            return query(context, in, answer);
        case RequestKind::more:
            return more(context, answer);
        case RequestKind::pull:
            return pull(context, in, answer);
        case RequestKind::verbs_where:
            return verbs_where(context, in, answer);
        case RequestKind::purge:
            return purge(context, in, answer);
        case RequestKind::redrive:
            return redrive(context, in, answer);
        default:
            return {};
    }
}

}  // namespace pinnace::daemon
