// SPDX-License-Identifier: Apache-2.0
// pinnace publish TOPIC [FILE|-]: a message a line, or the whole file as one.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "bindings/cli/client_option.h"

namespace pinnace::cli {
namespace {

struct Options {
    std::string socket;
    std::string topic;
    std::string file = "-";
    std::string name;
    bool whole = false;
    bool persisted = false;
};

class Input {
 public:
    explicit Input(const std::string& path) : path_(path) {
        if (path != "-") file_ = std::fopen(path.c_str(), "re");
        if (file_ == nullptr) fail();
    }
    ~Input() {
        if (file_ != stdin) std::fclose(file_);
        std::free(line_);
    }
    Input(const Input&) = delete;
    Input& operator=(const Input&) = delete;

    // The next line without its end; nothing: no more.
    std::optional<std::string_view> line() {
        const ssize_t size = getline(&line_, &capacity_, file_);
        if (size < 0) {
            if (std::ferror(file_) != 0 && !is_interrupted()) fail();
            return std::nullopt;
        }
        std::string_view text(line_, static_cast<std::size_t>(size));
        if (text.ends_with('\n')) text.remove_suffix(1);
        return text;
    }
    // Everything; what is larger than `limit` is given up there, with one byte more.
    std::string all(std::size_t limit) {
        std::string text;
        char block[65'536];
        while (text.size() <= limit) {
            const std::size_t size = std::fread(block, 1, sizeof block, file_);
            text.append(block, size);
            if (size < sizeof block) break;
        }
        if (std::ferror(file_) != 0) fail();
        return text;
    }

 private:
    [[noreturn]] void fail() const {
        throw CommandError{fmt::format("{} cannot be read: {}", path_, std::strerror(errno))};
    }

    std::string path_;
    std::FILE* file_ = stdin;
    char* line_ = nullptr;
    std::size_t capacity_ = 0;
};

// A line on the terminal that is written over, several times a second.
class Progress {
 public:
    void show(std::uint64_t published, std::uint64_t persisted, bool is_last = false) {
        if (!is_terminal_) return;
        const auto now = std::chrono::steady_clock::now();
        if (!is_last && now - shown_at_ < std::chrono::milliseconds(100)) return;
        shown_at_ = now;
        fmt::print(stderr, "\r{} published, {} persisted{}", published, persisted, is_last ? "\n" : "");
        std::fflush(stderr);
    }

 private:
    bool is_terminal_ = isatty(STDERR_FILENO) != 0;
    std::chrono::steady_clock::time_point shown_at_;
};

// The first refusal of what was published ends the command, naming the message.
void look_at_answers(Publisher& publisher, std::uint64_t first) {
    for (const PublishAnswer& answer : publisher.answers()) {
        if (answer.code == ErrorCode::duplicate) continue;
        throw CommandError{
            fmt::format("message {} was refused: {}", answer.number - first, to_text(answer.code))};
    }
}

int publish(const Options& options) {
    Input input(options.file);
    Connection connection = connect(options.socket, "pinnace publish", false);
    Publisher publisher = or_fail(Publisher::open(connection, options.name));
    catch_signals();
    const std::uint64_t first = publisher.published();
    Progress progress;
    const auto send = [&](std::string_view body) {
        or_fail(publisher.publish(options.topic, body));
        const std::uint64_t count = publisher.published() - first;
        if (count % 256 == 0) {
            look_at_answers(publisher, first);
            progress.show(count, publisher.persisted() - first);
        }
    };
    if (options.whole) {
        send(input.all(publisher.message_size_max()));
    } else {
        while (const auto line = is_interrupted() ? std::nullopt : input.line()) send(*line);
    }
    if (options.persisted) {
        while (publisher.persisted() != publisher.published()) {
            const auto done = publisher.wait_persisted(std::chrono::milliseconds(100));
            if (!done && done.error().code != ErrorCode::timed_out) or_fail(done);
            progress.show(publisher.published() - first, publisher.persisted() - first);
        }
    } else {
        // Read by the engine is enough: from there on they are sequenced whatever becomes of this process.
        or_fail(publisher.wait_read());
    }
    look_at_answers(publisher, first);
    progress.show(publisher.published() - first, publisher.persisted() - first, true);
    return kDone;
}

std::function<int()> declare(CLI::App& app) {
    auto options = std::make_shared<Options>();
    add_socket_option(app, options->socket);
    app.add_option("TOPIC", options->topic, "a topic's or a queue's name")->required();
    app.add_option("FILE", options->file, "what to publish, a message a line; - is the standard input [-]");
    app.add_flag("--whole", options->whole, "the whole file is one message");
    app.add_flag("--persisted", options->persisted, "waits until all is durable");
    app.add_option("--name", options->name, "the publisher's name, for numbering that goes on [a new one]");
    return [options] { return publish(*options); };
}

const Registration kRegistration({"publish", "publishes a file's lines", declare});

}  // namespace
}  // namespace pinnace::cli
