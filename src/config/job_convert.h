// Between a job document and what the engine takes.
#pragma once

#include "config/job_document.h"
#include "config/job_file.h"
#include "config/reader.h"

namespace muster::config {

/// Problems go to the reader, at the place of `node`, the map the document was read from.
Submission to_submission(JobDoc doc, const Node& node, Reader& reader, const JobOptions& options);
JobDoc document_of(const Submission& job);

}  // namespace muster::config
