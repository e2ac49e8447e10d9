// Where settings come from: the environment, else one file, CROSSRAIL_SYSCONFDIR/crossrail.conf (/etc/crossrail.conf) or the one that
// CROSSRAIL_CONFIG names; "none", or set to nothing: no file. Lines are "name = value", the name being the variable's in lower case without
// CROSSRAIL_. '#' at the beginning of a line or after a space begins a comment.
#pragma once

#include <string>
#include <vector>

#include "base/settings.h"

namespace crossrail {

// Something that was found; a later one of the same variable comes before an earlier one.
struct GivenSetting {
  std::string variable;  // empty for a file, or a line, that makes no sense as a whole
  std::string text;
  std::string from;     // "environment", "/etc/crossrail.conf:3"
  std::string problem;  // a sentence without a full stop; empty where all is well
};

struct SettingSources {
  Settings settings;
  std::string file;  // the one that was read; empty: none
  std::vector<GivenSetting> given;
};

// Reads environment and file anew, and says nothing.
SettingSources read_setting_sources();
// Those of this process, read once, and changed by change_process_setting().
SettingSources& process_setting_sources();

}  // namespace crossrail
