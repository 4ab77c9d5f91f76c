/* The build as libidadmin.a says it by itself: unit tests and tools are linked with this. The
 * programs are linked with obj/build.o before it, which the Makefile makes of "git describe" or
 * of the package's version. */
#include "core/base/build.h"

const char ida_build[] = IDA_VERSION;
