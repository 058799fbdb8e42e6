// SPDX-License-Identifier: Apache-2.0
// The example of README.md: publishes a few orders, then takes and acknowledges them.
#include <cstdio>
#include <string>

#include "bindings/cpp/pinnace.h"

int run() {
    auto connection = pinnace::Connection::open();
    if (!connection) return std::fprintf(stderr, "%s\n", connection.error().text.c_str()), 1;

    auto publisher = pinnace::Publisher::open(*connection);
    auto subscriber = pinnace::Subscriber::open(*connection, "orders", {.max_backlog = 8});
    if (!publisher || !subscriber) return 1;

    for (int i = 1; i <= 3; ++i) {
        const auto sent = publisher->publish("orders", "order " + std::to_string(i));
        if (!sent) return std::fprintf(stderr, "%s\n", sent.error().text.c_str()), 1;
    }
    if (!publisher->wait_persisted()) return 1;  // from here on they survive everything

    for (int done = 0; done < 3;) {
        const auto messages = subscriber->take(8);
        if (!messages) return 1;
        for (const pinnace::Message& message : *messages) {
            const std::string text(message.text());
            std::printf("%s: %s\n", message.bookmark().text().c_str(), text.c_str());
            if (!subscriber->ack(message)) return 1;  // the work is done: it never comes again
            ++done;
        }
    }
    return connection->close() ? 0 : 1;  // waits until the acknowledgments are durable
}

int main() { return run(); }
