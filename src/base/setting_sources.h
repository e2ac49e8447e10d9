// Settings come from the environment, and otherwise from one file, which is CROSSRAIL_SYSCONFDIR/crossrail.conf (/etc/crossrail.conf) or the
// one that CROSSRAIL_CONFIG names. If CROSSRAIL_CONFIG is "none" or empty, there is no file. Lines are "name = value", where the name is the
// variable's in lower case without CROSSRAIL_. A '#' at the beginning of a line or after a space begins a comment.
#pragma once

#include <string>
#include <vector>

#include "base/settings.h"

namespace crossrail {

// This is a setting that was found. A later one takes precedence over an earlier one of the same variable.
struct GivenSetting {
  std::string variable;  // It is empty for a file or a line that makes no sense as a whole.
  std::string text;
  std::string from;     // It is "environment" or "/etc/crossrail.conf:3", for example.
  std::string problem;  // This is a sentence without a full stop, or empty if all is well.
};

struct SettingSources {
  Settings settings;
  std::string file;  // This is the file that was read, or empty.
  std::vector<GivenSetting> given;
};

// Reads the environment and the file anew, without logging anything.
SettingSources read_setting_sources();
// Returns the settings of this process, which are read once and changed by change_process_setting().
SettingSources& process_setting_sources();

}  // namespace crossrail
