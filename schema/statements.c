/* Makes the table of statements out of the domain files. Owns no SQL of its own. */
#include "schema/statements.h"

#include <stddef.h>

#define STATEMENT(name, kinds, sqlite, postgresql) {#name, kinds, sqlite, postgresql},
const db_statement_text db_statements[STMT_COUNT] = {
#include "schema/statements/all.def"
};
