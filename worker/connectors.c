/* Owns the table of connectors: the only file that knows all of them. Everything else uses
 * worker/directory/directory.h. */
#include "worker/connectors.h"
#include "worker/graph/graph.h"
#include "worker/graph/throttle.h"
#include "worker/ldap/ldap.h"

void directory_library_init(void)
{
    ld_library_init();
    graph_library_init();
}

const directory_ops *directory_ops_for(ida_directory_kind kind)
{
    static const directory_ops *const connectors[IDA_DIR_COUNT] = {
        [IDA_DIR_CLOUD] = &graph_directory_ops, [IDA_DIR_ON_PREMISES] = &ld_directory_ops};
    return (unsigned)kind < IDA_DIR_COUNT ? connectors[kind] : NULL;
}

void connectors_share(int workers)
{
    graph_throttle_share(workers);
}
