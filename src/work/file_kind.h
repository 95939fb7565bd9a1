/* Recognises binary files by what they begin with. */
#ifndef SANDGATE_WORK_FILE_KIND_H
#define SANDGATE_WORK_FILE_KIND_H

#include "base/attr.h"
#include "core/file_kind.h"

enum file_kind file_kind_of(struct str beginning);

#endif
