// Records of every kind with something in every field, for tests of their bytes. What is written
// here is in tests/store/books_v1.golden and the later ones: new fields go into new records.
#pragma once

#include <vector>

#include "model/books.h"

namespace muster::store {

std::vector<model::BookRecord> sample_books();
/// With what came with version 2.
std::vector<model::BookRecord> sample_books_v2();
/// With what came with version 3 of a job.
std::vector<model::BookRecord> sample_books_v3();
/// With what came with version 2 of a shape.
std::vector<model::BookRecord> sample_books_v4();
std::vector<model::BookRecord> sample_books_v5();
std::vector<model::BookRecord> sample_books_v6();
std::vector<model::BookRecord> sample_books_v7();

}  // namespace muster::store
