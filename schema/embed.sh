#!/bin/sh
# usage: embed.sh SCHEMADIR [DIR] > migrations.c
# Turns SCHEMADIR/migrations/NNN-name.{main,cache,audit}.sql, those of DIR and roles.sql into the tables of core/db/migrations.h.
set -eu
LC_ALL=C
export LC_ALL

echo '/* made by schema/embed.sh */'
echo '#include "core/db/migrations.h"'
text() { sed 's/\\/\\\\/g; s/"/\\"/g; s/\t/\\t/g; s/?/\\?/g; s/^/      "/; s/$/\\n"/'; }
for engine in sqlite postgresql; do
    printf '\nconst ida_migration ida_migrations_%s[] = {\n' "$engine"
    for path in "$1/migrations"/*.sql ${2:+"$2"/*.sql}; do
        base=$(basename "$path" .sql)
        file=${base##*.}
        name=${base%.*}
        number=$(expr "$name" : '0*\([1-9][0-9]*\)-.') || number=
        case $file:$number in
        main:?* | cache:?* | audit:?*) ;;
        *) echo "embed.sh: $path is not named NNN-name.main.sql, .cache.sql or .audit.sql" >&2; exit 1 ;;
        esac
        printf '    { %s, "%s", "%s",\n' "$number" "$name" "$file"
        "$1/dialect.sh" "$engine" "$path" | text
        printf '    },\n'
    done
    printf '    { 0, 0, 0, 0 }\n};\n'
done
printf '\nconst char ida_roles_postgresql[] =\n'
text <"$1/roles.sql"
echo '      ;'
