// SPDX-License-Identifier: Apache-2.0
// pinnace publish TOPIC [FILE|-]: a message a line, the lines as one batch, or the whole file as one message.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "bindings/cli/client_option.h"
#include "bindings/cli/output.h"

namespace pinnace::cli {
namespace {

struct Options {
    std::string socket;
    std::string topic;
    std::string file = "-";
    std::string name;
    std::optional<std::uint64_t> number;
    std::optional<std::string> group;
    std::optional<std::string> dedup;
    std::optional<std::string> delay;
    std::optional<std::string> expiration;
    bool whole = false;
    bool batch = false;
    bool answers = false;
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

// Publishes, and says what became of it.
class Publishing {
 public:
    Publishing(Connection& connection, const Options& options)
        : options_(options), publisher_(or_fail(Publisher::open(connection, options.name))) {
        // An empty input too must not hide a misspelt topic (T9).
        or_fail(publisher_.check(options.topic));
        fields_.answer = options.answers;
        if (options.group) fields_.group = *options.group;
        if (options.dedup) fields_.dedup = *options.dedup;
        if (options.delay) fields_.delay = duration_option("--delay", *options.delay);
        if (options.expiration) fields_.expiration = duration_option("--expiration", *options.expiration);
        next_ = options.number.value_or(publisher_.published() + 1);
        before_ = next_ - 1;
    }

    std::size_t message_size_max() const { return publisher_.message_size_max(); }
    std::uint64_t count() const { return next_ - 1 - before_; }

    void send(std::string_view body) {
        or_fail(publisher_.publish(options_.topic, std::as_bytes(std::span(body)), fields()));
        ++next_;
        if (count() % 256 != 0) return;
        look_at_answers();
        show(false);
    }
    // All or none.
    void send_batch(const std::vector<std::string>& bodies) {
        std::vector<OutgoingMessage> messages;
        for (const std::string& body : bodies) {
            messages.push_back({options_.topic, std::as_bytes(std::span(body)), fields()});
            ++next_;
        }
        or_fail(publisher_.publish(messages));
    }
    void finish() {
        while (options_.persisted && publisher_.persisted() != publisher_.published()) {
            const auto done = publisher_.wait_persisted(std::chrono::milliseconds(100));
            if (!done && done.error().code == ErrorCode::timed_out) show(false);
            if (!done && done.error().code != ErrorCode::timed_out) break;  // its answer is there
        }
        // Read by the engine is enough: from there on they are sequenced whatever becomes of this process.
        or_fail(publisher_.wait_read());
        look_at_answers();
        show(true);
        if (options_.answers) flush_output();
    }

 private:
    MessageOptions fields() const {
        MessageOptions fields = fields_;
        if (options_.number) fields.number = next_;
        return fields;
    }
    // The first refusal of what was published ends the command, naming the message.
    void look_at_answers() {
        for (const PublishAnswer& answer : publisher_.answers()) {
            const bool is_stored = answer.code == ErrorCode::none;
            if (!is_stored && answer.code != ErrorCode::duplicate) {
                throw CommandError{
                    fmt::format("message {} was refused: {}", answer.number - before_, to_text(answer.code))};
            }
            if (!options_.answers) continue;
            put_line(fmt::format(R"({{"number":{},"answer":"{}","bookmark":{}}})", answer.number,
                                 is_stored ? "stored" : "duplicate",
                                 answer.position == 0 ? "null" : fmt::format("\"{}\"", answer.position)));
        }
    }
    void show(bool is_last) {
        progress_.show(count(), std::min(publisher_.persisted() - first_, count()), is_last);
    }

    const Options& options_;
    Publisher publisher_;
    MessageOptions fields_;
    Progress progress_;
    std::uint64_t first_ = publisher_.published();
    std::uint64_t next_ = 0;    // number
    std::uint64_t before_ = 0;  // the number before the first one's
};

int publish(const Options& options) {
    if (options.whole && options.batch) {
        throw CommandError{"--whole makes one message, --batch one of each line: not both", kWrongUsage};
    }
    Input input(options.file);
    Connection connection = connect(options.socket, "pinnace publish", false, true);
    Publishing publishing(connection, options);
    catch_signals();
    if (options.whole) {
        publishing.send(input.all(publishing.message_size_max()));
    } else if (options.batch) {
        std::vector<std::string> bodies;
        while (const auto line = input.line()) bodies.emplace_back(*line);
        // Half a file is not what was meant to be stored together.
        if (is_interrupted()) throw CommandError{"interrupted: nothing was published"};
        publishing.send_batch(bodies);
    } else {
        while (const auto line = is_interrupted() ? std::nullopt : input.line()) publishing.send(*line);
    }
    publishing.finish();
    return kDone;
}

std::function<int()> declare(CLI::App& app) {
    auto options = std::make_shared<Options>();
    add_socket_option(app, options->socket);
    app.add_option("TOPIC", options->topic, "a topic's or a queue's name")->required();
    app.add_option("FILE", options->file, "what to publish, a message a line; - is the standard input [-]");
    app.add_flag("--whole", options->whole, "the whole file is one message");
    app.add_flag("--batch", options->batch, "the lines are one publish: stored in order, all or none");
    app.add_flag("--persisted", options->persisted, "waits until all is durable");
    app.add_flag("--answers", options->answers, "prints a line of JSON for each message, with its bookmark");
    app.add_option("--group", options->group, "the group of each message")->type_name("G");
    app.add_option("--dedup", options->dedup, "the deduplication id of each message")->type_name("K");
    app.add_option("--delay", options->delay, "not delivered before that time")->type_name("DURATION");
    app.add_option("--expiration", options->expiration, "leaves the queue then; 0 is never")
        ->type_name("DURATION");
    app.add_option("--from,--name", options->name,
                   "the publisher's name, for numbering that goes on [a new one]")
        ->type_name("P");
    app.add_option(
           "--seq", options->number,
           "the publisher's number of the first message; one that was seen is a re-send [the next one]")
        ->check(CLI::PositiveNumber)
        ->type_name("N");
    app.footer("A message that was accepted before is no failure: it is answered `duplicate`.");
    return [options] { return publish(*options); };
}

const Registration kRegistration({"publish", "publishes a file's lines", declare});

}  // namespace
}  // namespace pinnace::cli
