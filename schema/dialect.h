/* Words of the statements that the two engines spell differently. For schema/statements.c, which
 * includes the statements once for each engine. */
#ifndef SCHEMA_DIALECT_H
#define SCHEMA_DIALECT_H

/* DIALECT("for SQLite", "for PostgreSQL"), defined by the includer, is the only way to differ. A
 * difference in a single statement is written there. */

/* clang-format off */

/* Lists are JSON arrays of texts: "is in the list ?n". PostgreSQL: an array makes an index
 * condition; a semijoin may scan the table for each batch. */
#define IN(n) \
    DIALECT("IN (SELECT value FROM json_each(?" #n "))", \
            "= ANY (ARRAY(SELECT jsonb_array_elements_text(?" #n "::jsonb)))")
/* The list as a table j, its texts as j.value. */
#define TEXTS(n) \
    DIALECT("json_each(?" #n ") j", "jsonb_array_elements_text(?" #n "::jsonb) j (value)")

/* STRPOS "(text, part)": the position of the part, 0 if it does not occur. HOLDS means the same;
 * SQLite's is made by core/db/sqlite.c and faster on long columns. */
#define STRPOS DIALECT("instr", "strpos")
#define HOLDS DIALECT("holds", "strpos")

/* Where accounts live, as core/tenant/value.c spells it. A condition that names both lets an engine
 * use a key that begins with tenant and directory. */
#define CLOUD "'cloud'"
#define PREMISES "'onPremises'"
#define EITHER_DIRECTORY "(" CLOUD ", " PREMISES ")"
#define BOTH_DIRECTORIES "(SELECT " CLOUD " AS directory UNION ALL SELECT " PREMISES ")"

/* Locks the row that is read, on the engine whose readers do not exclude each other. */
#define LOCK(how) DIALECT("", how)

/* Number of the main file's schema, as it is now. */
#define SCHEMA_NUMBER \
    DIALECT("SELECT user_version AS number FROM pragma_user_version", \
            "SELECT number FROM schema_version WHERE file = 'main'")

/* Names the index for SQLite, which otherwise assumes that a tenant condition matches all rows,
 * and that walking them is as good as using a covering index. */
#define INDEXED_BY(index) DIALECT(" INDEXED BY " index, "")

/* Some rows of tenant ?1 in a table, selected by key: in SQLite by its columns, in PostgreSQL by
 * ctid. */
#define SLICE(key, from) \
    " WHERE tenant_id = ?1 AND " DIALECT("(" key ") IN (SELECT " key " FROM " from ")", \
                                         "ctid = ANY (ARRAY(SELECT ctid FROM " from "))")

/* clang-format on */

#endif
