/* Which build of which version a program is: for --version, `idadminctl status` and logs. What
 * other servers see (User-Agent, serverInfo) names the version alone. */
#ifndef CORE_BASE_BUILD_H
#define CORE_BASE_BUILD_H

extern const char ida_build[]; /* "0.1.0 (v0.1.0-12-gf4d9dfc3)" */

#endif
