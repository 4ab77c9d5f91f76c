/* The numbered SQL files of schema/, embedded at build time (schema/embed.sh), sorted by file name.
 */
#ifndef CORE_DB_MIGRATIONS_H
#define CORE_DB_MIGRATIONS_H

typedef struct ida_migration {
    int number;       /* leading number of the file name; 0 ends the table */
    const char *name; /* "001-begin" */
    const char
        *file; /* "main", "cache" or "audit": the SQLite file or PostgreSQL schema it belongs to */
    const char *sql; /* the whole file */
} ida_migration;

extern const ida_migration ida_migrations_sqlite[];
extern const ida_migration ida_migrations_postgresql[];

/* Roles of PostgreSQL and what each may do; the whole of roles.sql. */
extern const char ida_roles_postgresql[];

#endif
