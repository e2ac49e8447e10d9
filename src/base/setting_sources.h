// Where settings come from: the environment, else the user's file, else the site's.
//   site  CROSSRAIL_SYSCONFDIR/crossrail.conf (/etc/crossrail.conf)
//   user  $XDG_CONFIG_HOME/crossrail.conf (~/.config/crossrail.conf)
// CROSSRAIL_CONFIG names one file instead of both; "none", or set to nothing: no file. Lines are "name = value", the name being the
// variable's, in any case, with or without CROSSRAIL_. '#' at the beginning of a line or after a space begins a comment.
// Where no tuning table is named, crossrail-tuning.csv beside the user's file is taken, else the one beside the site's.
#pragma once

#include <string>
#include <vector>

#include "base/settings.h"

namespace crossrail {

// Something that was found; a later one of the same variable comes before an earlier one.
struct GivenSetting {
  std::string variable;  // empty for a file, or a line, that makes no sense as a whole
  std::string text;
  std::string from;     // "environment", "/etc/crossrail.conf:3", "found" for a tuning table that nobody named
  std::string problem;  // a sentence without a full stop; empty where all is well
};

struct SettingSources {
  Settings settings;
  std::vector<std::string> files;  // those that were read, the site's before the user's
  std::vector<GivenSetting> given;
};

// Reads environment and files anew, and says nothing.
SettingSources read_setting_sources();
// Those of this process, read once, and changed by change_process_setting().
SettingSources& process_setting_sources();

}  // namespace crossrail
