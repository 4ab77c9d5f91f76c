/* Words for the `output` schemas of the operation table: compact JSON text, put together by the
 * compiler. Example: .output = OUT_OBJECT("\"user\"", OUT_IS("user", OUT_OBJECT("\"id\"",
 * OUT_IS("id", OUT_TEXT) "," OUT_IS("mail", OUT_TEXT)))) tools/list must stay below 24 KB for all
 * eleven: say types and what is always there, no descriptions of the obvious. */
#ifndef CORE_OPERATION_SCHEMA_H
#define CORE_OPERATION_SCHEMA_H

#define OUT_TEXT "{\"type\":\"string\"}"
/* Two branches rather than a list of types: that is what clients with one type for each value can
 * read. */
#define OUT_OR_NULL(schema) "{\"anyOf\":[" schema ",{\"type\":\"null\"}]}"
#define OUT_TEXT_OR_NULL OUT_OR_NULL(OUT_TEXT)
#define OUT_INTEGER "{\"type\":\"integer\"}"
#define OUT_INTEGER_OR_NULL OUT_OR_NULL(OUT_INTEGER)
#define OUT_BOOLEAN "{\"type\":\"boolean\"}"
/* Times are RFC 3339 in UTC; `instructions` of the MCP face say so once. */
#define OUT_TIME OUT_TEXT
#define OUT_TIME_OR_NULL OUT_TEXT_OR_NULL
#define OUT_ENUM(words) "{\"enum\":[" words "]}" /* words: "\"a\",\"b\"" */

#define OUT_IS(name, schema) "\"" name "\":" schema
#define OUT_OBJECT(required, members) \
    "{\"type\":\"object\",\"required\":[" required "],\"properties\":{" members "}}"
#define OUT_OBJECT_OR_NULL(members) \
    OUT_OR_NULL("{\"type\":\"object\",\"properties\":{" members "}}")
#define OUT_LIST(item) "{\"type\":\"array\",\"items\":" item "}"

/* Root of a list {items, totalCount, nextCursor, asOf}. `item` is the schema of one item; `more`
 * further members, each with its comma in front (or "" for none); `more_required` the same for
 * their names. */
/* clang-format off */
#define OUT_PAGE(item, more_required, more) \
    OUT_OBJECT("\"items\",\"totalCount\",\"nextCursor\",\"asOf\"" more_required, \
    OUT_IS("items", OUT_LIST(item)) "," OUT_IS("totalCount", OUT_INTEGER) "," \
    OUT_IS("nextCursor", OUT_TEXT_OR_NULL) "," OUT_IS("asOf", OUT_TIME_OR_NULL) more)
/* clang-format on */

/* {"id","userPrincipalName","displayName"} of a person mentioned beside the subject */
/* clang-format off */
#define OUT_PERSON \
    OUT_OBJECT("\"id\"", OUT_IS("id", OUT_TEXT) "," \
    OUT_IS("userPrincipalName", OUT_TEXT_OR_NULL) "," OUT_IS("displayName", OUT_TEXT_OR_NULL))
/* clang-format on */

#endif
