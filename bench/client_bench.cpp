// SPDX-License-Identifier: Apache-2.0
#include "bench/client_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/floor.h"
#include "bench/raw_append.h"
#include "bench/ticks.h"

namespace pinnace::bench {
namespace {

using std::chrono::seconds;
constexpr auto kPatience = seconds(30);

struct Client {
    Connection connection;
    Publisher publisher;
    Subscriber subscriber;
};

std::expected<Client, std::string> connect(const EngineChild& engine, const ClientChoice& choice,
                                           std::uint64_t backlog) {
    ConnectionOptions options;
    options.socket = engine.socket_path();
    options.name = "bench";
    options.wait = choice.wait;
    options.reconnect = false;
    // Rings that stay in the cache, as a user would choose them who measures.
    options.submit_size =
        std::max<std::uint64_t>(backlog == 1 ? 1u << 20 : 16u << 20, std::bit_ceil(choice.size * 64));
    options.delivery_count = std::bit_ceil(std::max<std::uint64_t>(2 * backlog, 1024));
    options.acknowledgment_count = options.delivery_count;
    auto connection = Connection::open(options);
    if (!connection) return std::unexpected(connection.error().text);
    auto publisher = Publisher::open(*connection);
    if (!publisher) return std::unexpected(publisher.error().text);
    auto subscriber = Subscriber::open(*connection, "bench", {.max_backlog = backlog});
    if (!subscriber) return std::unexpected(subscriber.error().text);
    return Client{std::move(*connection), std::move(*publisher), std::move(*subscriber)};
}

std::string body_of(std::uint64_t size) { return std::string(size, 'x'); }

template <class Result>
bool failed(const Result& result, std::string& why) {
    if (!result) why = result.error().text;
    return !result;
}

// One message there and back; false: `why`.
bool pass_one(Client& client, std::string_view body, std::uint64_t& received, std::uint64_t& acked,
              std::string& why) {
    if (failed(client.publisher.publish("bench", body), why)) return false;
    const auto messages = client.subscriber.take(1, kPatience);
    if (failed(messages, why)) return false;
    if (messages->empty() || messages->front().body().size() != body.size()) {
        why = "the message did not come back whole";
        return false;
    }
    received = ticks();
    const auto number = client.subscriber.ack(messages->front());
    if (failed(number, why)) return false;
    if (failed(client.subscriber.wait_applied(*number, kPatience), why)) return false;
    acked = ticks();
    return true;
}

}  // namespace

std::expected<Report, std::string> roundtrip(const ClientChoice& choice) {
    auto engine = EngineChild::start(choice.engine);
    if (!engine) return std::unexpected(engine.error());
    pin_this_thread(choice.engine.place.client);
    auto client = connect(*engine, choice, 1);
    if (!client) return std::unexpected(client.error());
    const std::string body = body_of(choice.size);
    Histogram received;
    Histogram acked;
    std::string why;
    const std::uint64_t warm_up = choice.count / 10 + 1;
    const std::uint64_t began = monotonic_ns();
    for (std::uint64_t i = 0; i < warm_up + choice.count; ++i) {
        const std::uint64_t start = ticks();
        std::uint64_t received_at = 0;
        std::uint64_t acked_at = 0;
        if (!pass_one(*client, body, received_at, acked_at, why)) return std::unexpected(why);
        if (i < warm_up) continue;
        received.record(received_at - start);
        acked.record(acked_at - start);
    }
    const double elapsed = static_cast<double>(monotonic_ns() - began) / 1e9;
    Report report("roundtrip", choice.size, choice.count);
    report.set_latency(received);
    report.set_rate(static_cast<double>(warm_up + choice.count) / elapsed);
    report.add("acked_p50_ns", to_ns(acked.quantile(0.5)));
    // The engine spins on the other core until it is gone.
    {
        const EngineChild ended = std::move(*engine);
    }
    const Histogram queues = queue_round_trip(choice.engine.place, choice.size, choice.count);
    report.add("spsc_p50_ns", to_ns(queues.quantile(0.5)));
    return report;
}

std::expected<Report, std::string> throughput(const ClientChoice& choice) {
    constexpr std::uint64_t kInFlight = 4096;
    constexpr std::size_t kTake = 256;
    EngineChoice prepared = choice.engine;
    prepared.journal_size = choice.count * (choice.size + 96);
    auto engine = EngineChild::start(prepared);
    if (!engine) return std::unexpected(engine.error());
    pin_this_thread(choice.engine.place.client);
    auto client = connect(*engine, choice, kInFlight);
    if (!client) return std::unexpected(client.error());
    // Each body begins with the instant of its publish.
    std::string body = body_of(std::max<std::uint64_t>(choice.size, sizeof(std::uint64_t)));
    Histogram spans;
    std::vector<Lease> leases;
    std::string why;
    std::uint64_t sent = 0;
    std::uint64_t done = 0;
    std::uint64_t last = 0;
    const std::uint64_t began = monotonic_ns();
    while (done < choice.count) {
        for (std::size_t i = 0; i < kTake && sent < choice.count && sent - done < kInFlight; ++i, ++sent) {
            const std::uint64_t now = ticks();
            std::memcpy(body.data(), &now, sizeof now);
            if (failed(client->publisher.publish("bench", std::string_view(body)), why))
                return std::unexpected(why);
        }
        const auto messages = client->subscriber.take(kTake, kPatience);
        if (failed(messages, why)) return std::unexpected(why);
        if (messages->empty()) return std::unexpected("the messages stopped coming");
        leases.clear();
        const std::uint64_t received = ticks();
        for (const Message& message : *messages) {
            std::uint64_t published = 0;
            std::memcpy(&published, message.body().data(), sizeof published);
            spans.record(received - published);
            leases.push_back(message.lease());
        }
        const auto number = client->subscriber.ack(leases);
        if (failed(number, why)) return std::unexpected(why);
        last = *number;
        done += leases.size();
    }
    if (failed(client->subscriber.wait_applied(last, kPatience), why)) return std::unexpected(why);
    if (choice.persisted && failed(client->publisher.wait_persisted(kPatience), why))
        return std::unexpected(why);
    const double elapsed = static_cast<double>(monotonic_ns() - began) / 1e9;
    Report report("throughput", choice.size, choice.count);
    report.set_latency(spans);  // of a full pipe
    report.set_rate(static_cast<double>(choice.count) / elapsed);
    return report;
}

std::expected<Report, std::string> durable(const ClientChoice& choice) {
    auto engine = EngineChild::start(choice.engine);
    if (!engine) return std::unexpected(engine.error());
    pin_this_thread(choice.engine.place.client);
    auto client = connect(*engine, choice, 64);
    if (!client) return std::unexpected(client.error());
    auto file = RawAppend::create(engine->directory() + "/bench-raw");
    if (!file) return std::unexpected(file.error());
    const std::string body = body_of(choice.size);
    Histogram spans;
    Histogram raw;
    std::string why;
    const std::uint64_t warm_up = choice.count / 10 + 1;
    const std::uint64_t began = monotonic_ns();
    for (std::uint64_t i = 0; i < warm_up + choice.count; ++i) {
        const std::uint64_t start = ticks();
        const auto sent = client->publisher.publish("bench", std::string_view(body));
        if (failed(sent, why) || failed(client->publisher.wait_persisted(*sent, kPatience), why)) {
            return std::unexpected(why);
        }
        const std::uint64_t persisted = ticks();
        if (!file->append(why)) return std::unexpected(why);
        const std::uint64_t appended = ticks();
        if (i >= warm_up) {
            spans.record(persisted - start);
            raw.record(appended - persisted);
        }
    }
    const double elapsed = static_cast<double>(monotonic_ns() - began) / 1e9;
    Report report("durable", choice.size, choice.count);
    report.set_latency(spans);
    report.set_rate(static_cast<double>(warm_up + choice.count) / elapsed);
    report.add("raw_p50_ns", to_ns(raw.quantile(0.5)));
    return report;
}

}  // namespace pinnace::bench
