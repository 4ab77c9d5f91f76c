/* Settings that the worker gives to all its connectors. The table itself is read by
 * directory_ops_for (worker/directory/directory.h). */
#ifndef WORKER_CONNECTORS_H
#define WORKER_CONNECTORS_H

#include "worker/directory/directory.h"

/* So many worker processes share what a cloud directory allows one application (requests a second).
 */
void connectors_share(int workers);

#endif
