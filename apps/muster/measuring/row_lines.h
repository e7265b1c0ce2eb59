// The rows of a benchmark as JSON lines in a file, beside the table that is printed.
#pragma once

#include <boost/json/object.hpp>
#include <fstream>
#include <string>

namespace muster::app {

class RowLines {
 public:
  /// Written anew; "": nowhere. A file that cannot be written ends the command.
  explicit RowLines(const std::string& file);
  /// In the file when this returns: a run that is broken off leaves what it measured.
  void add(const boost::json::object& row);

 private:
  std::ofstream out_;
};

}  // namespace muster::app
