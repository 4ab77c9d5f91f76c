/* Owns the list of all operations. Must not know what any of them does. */
#include "core/operation/table.h"

#define ADDRESS(name) &ida_op_##name,

const ida_operation *const ida_operations[] = {IDA_OPERATIONS(ADDRESS) NULL};
