/* What the machine itself gives: durable commits of one small row each, bare libsqlite3, WAL,
 * synchronous=FULL. Prints the rate.
 *
 *   commits FILE SECONDS */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "t/tool/clock.h"

int main(int argc, char **argv)
{
    sqlite3 *db;
    sqlite3_stmt *insert;
    if (argc != 3 || sqlite3_open(argv[1], &db) != SQLITE_OK ||
        sqlite3_exec(
            db,
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0; CREATE "
            "TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, v TEXT)",
            NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db,
                           "INSERT INTO t (v) VALUES ('a row of about the size of a short record, "
                           "one hundred bytes or so, no more')",
                           -1, &insert, NULL) != SQLITE_OK) {
        fprintf(stderr, "commits: cannot use %s\n",
                argc == 3 ? argv[1] : "(usage: commits FILE SECONDS)");
        return 1;
    }
    double start = now_s(), end = start + atof(argv[2]);
    long count = 0;
    for (; now_s() < end; count++) {
        if (sqlite3_step(insert) != SQLITE_DONE) {
            fprintf(stderr, "commits: %s\n", sqlite3_errmsg(db));
            return 1;
        }
        sqlite3_reset(insert);
    }
    printf("%.1f\n", (double)count / (now_s() - start));
    sqlite3_finalize(insert);
    sqlite3_close(db);
    return 0;
}
