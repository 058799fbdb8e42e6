// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/command.h"

int main(int argc, char** argv) { return pinnace::cli::run_command_line(argc, argv); }
