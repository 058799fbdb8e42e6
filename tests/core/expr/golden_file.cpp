// SPDX-License-Identifier: Apache-2.0
#include "tests/core/expr/golden_file.h"

#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <sstream>

namespace pinnace::expr {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
}

std::string unescaped(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            out.push_back(text[i]);
        } else if (text[i + 1] == 'x') {
            out.push_back(static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16)));
            i += 3;
        } else {
            ++i;
            out.push_back(text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i]);
        }
    }
    return out;
}

// Texts of the facts must live as long as the lines.
std::string_view kept(const std::string& text) {
    static std::deque<std::string> texts;
    return texts.emplace_back(text);
}

void set_fact(const std::string& name, const std::string& value, MessageFacts* facts) {
    if (name == "topic")
        facts->topic = kept(value);
    else if (name == "bookmark")
        facts->bookmark = kept(value);
    else if (name == "correlation_id")
        facts->correlation_id = kept(value);
    else if (name == "size")
        facts->size = std::stoull(value);
    else if (name == "now_ns")
        facts->now_ns = std::stoll(value);
    else if (name == "in_queue")
        facts->in_queue = value == "yes";
    else if (name == "lease_count")
        facts->lease_count = static_cast<std::uint32_t>(std::stoul(value));
    else if (name == "last_leased_ns")
        facts->last_leased_ns = std::stoll(value), facts->was_leased = true;
    else
        ADD_FAILURE() << "unknown fact " << name;
}

void set_option(const std::string& name, const std::string& value, MessageType* type) {
    if (name == "field_separator")
        type->field_separator = value[0];
    else if (name == "value_separator")
        type->value_separator = value[0];
    else if (name == "header")
        type->header_format = value;
    else
        ADD_FAILURE() << "unknown option " << name;
}

void read_directive(const std::string& line, GoldenLine* state) {
    const std::size_t blank = line.find(' ');
    const std::string name = line.substr(1, blank - 1);
    const std::string rest = blank == std::string::npos ? "" : line.substr(blank + 1);
    if (name == "layout") {
        state->type.layout = split(rest, ';');
        return;
    }
    if (name == "facts") state->facts = {};
    if (name == "refuse") state->refused = 0;
    bool is_first = true;
    for (const std::string& word : split(rest, ' ')) {
        const std::size_t equals = word.find('=');
        if (name == "refuse") {
            state->refused |= find_function(word)->bit;
        } else if (name == "type" && is_first) {
            state->type = {};
            state->type.format = word;
        } else if (name == "type") {
            set_option(word.substr(0, equals), word.substr(equals + 1), &state->type);
        } else {
            set_fact(word.substr(0, equals), word.substr(equals + 1), &state->facts);
        }
        is_first = false;
    }
}

}  // namespace

std::vector<GoldenLine> read_golden_file(const std::string& path) {
    std::vector<GoldenLine> lines;
    std::ifstream file(path);
    GoldenLine state;
    for (std::string line; std::getline(file, line);) {
        ++state.number;
        if (line.empty() || line[0] == '#') continue;
        if (line[0] == '@') {
            read_directive(line, &state);
            continue;
        }
        const std::vector<std::string> parts = split(line, '\t');
        if (parts.size() != 3) {
            ADD_FAILURE() << path << ":" << state.number << ": not three parts";
            continue;
        }
        state.expression = parts[0];
        state.message = unescaped(parts[1]);
        state.result = parts[2];
        lines.push_back(state);
    }
    return lines;
}

}  // namespace pinnace::expr
