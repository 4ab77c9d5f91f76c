/* Owns what the connector of each place keeps and can. Must not know how it works. */
#include "core/tenant/connector.h"

static const ida_connector connectors[IDA_DIR_COUNT] = {
    [IDA_DIR_CLOUD] = {.photo_max = 4194304, .has_guests = 1},
    [IDA_DIR_ON_PREMISES] = {.photo_max = 102400, .shows_writes = 1, .locks_out = 1},
};

const ida_connector *ida_connector_of(ida_directory_kind where)
{
    return &connectors[where];
}
