// SPDX-License-Identifier: Apache-2.0
// Reader: the sections of the file, one function each, into one Configuration. Internal to this folder.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/config/configuration.h"
#include "bindings/config/section.h"

namespace pinnace::config {

class Reader {
 public:
    Reader(Document& document, Configuration& configuration)
        : document_(document), configuration_(configuration) {}
    void read();

 private:
    // reader.cpp
    void read_root(pugi::xml_node root);
    void read_transaction_log(pugi::xml_node element);
    void read_log_topic(pugi::xml_node element);
    void read_message_type(pugi::xml_node element);
    void check_instance();

    // read_sow.cpp
    void read_sow(pugi::xml_node element);
    void read_queue(pugi::xml_node element, QueueTag tag);
    void read_sow_topic(pugi::xml_node element);
    void read_view(pugi::xml_node element);
    void read_fields(pugi::xml_node element, std::vector<std::string>& to);
    void check_sow();

    // read_actions.cpp
    void read_action(pugi::xml_node element);
    void read_on(pugi::xml_node element, ActionConfig& action, bool& built);
    void read_do(pugi::xml_node element, ActionConfig& action, bool& built);
    bool read_step_options(pugi::xml_node element, ActionStep& step);

    // read_engine.cpp
    void read_transport(pugi::xml_node element);
    void read_log_target(pugi::xml_node element);
    void read_threads(pugi::xml_node element);
    void read_memory(pugi::xml_node element);
    void read_limits(pugi::xml_node element);
    void read_durability(pugi::xml_node element);

    // check.cpp: the core's own refusals, at their places
    void check_definitions();
    void report(const Refusal& refusal, pugi::xml_node owner);
    // The element that an owner's name means: a queue's, or that of an action or its step.
    pugi::xml_node owner_element(const std::string& owner) const;

    // Things of one kind that are not built yet: one warning, at the first, names all.
    void not_built(std::string_view what, pugi::xml_node element, const std::string& name);
    void report_not_built();

    struct NotBuilt {
        pugi::xml_node first;
        std::vector<std::string> names;
    };

    Document& document_;
    Configuration& configuration_;
    std::map<std::string, NotBuilt> not_built_;
    // Where each definition stands, in the order of the configuration's lists.
    std::vector<pugi::xml_node> topic_elements_;
    std::vector<pugi::xml_node> queue_elements_;
    std::vector<pugi::xml_node> type_elements_;
    std::vector<pugi::xml_node> action_elements_;
    std::vector<pugi::xml_node> sow_topic_elements_;
    std::vector<pugi::xml_node> view_elements_;
    std::vector<std::vector<std::string>> queue_faults_;  // elements of each queue with a problem already
    bool has_shared_memory_transport_ = false;
};

}  // namespace pinnace::config
