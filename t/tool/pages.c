/* A bare HTTP client for the benchmark of the cloud sync: one keep-alive connection by libcurl that
 * follows @odata.nextLink until there is none and throws the bodies away. What the connector needs
 * beyond its time is the connector's.
 *
 *   pages TOKEN_FILE URL...
 * downloads each URL with its further pages, one after the other, and prints one JSON line.
 *
 * Links are found by looking for the member's name in the text: no JSON is parsed, which is the
 * point. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/tool/clock.h"

#define TOKEN_MAX 8192

typedef struct page {
    char *text;
    size_t len, room;
} page;

static size_t take(char *bytes, size_t size, size_t count, void *baton)
{
    page *p = baton;
    size_t len = size * count;
    if (p->len + len + 1 > p->room) {
        size_t room = 2 * (p->len + len + 1);
        char *text = realloc(p->text, room);
        if (!text) {
            return 0;
        }
        p->text = text;
        p->room = room;
    }
    memcpy(p->text + p->len, bytes, len);
    p->len += len;
    p->text[p->len] = '\0';
    return len;
}

/* The value of @odata.nextLink, cut out of the text ("\/" is taken back to "/"); NULL when there is
 * none. Owned by the caller. */
static char *next_link(const page *p)
{
    static const char name[] = "\"@odata.nextLink\":\"";
    const char *at = memmem(p->text, p->len, name, sizeof name - 1);
    if (!at) {
        return NULL;
    }
    at += sizeof name - 1;
    const char *end = strchr(at, '"');
    char *link = end ? malloc((size_t)(end - at) + 1) : NULL;
    if (!link) {
        return NULL;
    }
    size_t len = 0;
    for (; at < end; at++) {
        if (*at == '\\' && at[1] == '/') {
            continue;
        }
        link[len++] = *at;
    }
    link[len] = '\0';
    return link;
}

static struct curl_slist *headers_from(const char *file)
{
    static const char name[] = "Authorization: Bearer ";
    char line[sizeof name + TOKEN_MAX];
    memcpy(line, name, sizeof name);
    FILE *in = fopen(file, "r");
    if (!in || !fgets(line + sizeof name - 1, TOKEN_MAX, in)) {
        fprintf(stderr, "pages: cannot read a token from %s\n", file);
        exit(1);
    }
    fclose(in);
    line[strcspn(line, "\r\n")] = '\0';
    return curl_slist_append(curl_slist_append(NULL, line), "Accept: application/json");
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: pages TOKEN_FILE URL...\n");
        return 2;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = headers_from(argv[1]);
    page p = {0};
    char message[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &p);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
    const char *ca = getenv("CURL_CA_BUNDLE"); // as of the command curl
    if (ca) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, ca);
    }
    long pages = 0;
    double bytes = 0, start = now_s();
    for (int i = 2; i < argc; i++) {
        char *url = strdup(argv[i]);
        while (url) {
            p.len = 0;
            curl_easy_setopt(curl, CURLOPT_URL, url);
            long status = 0;
            CURLcode code = curl_easy_perform(curl);
            curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
            if (code != CURLE_OK || status != 200 || p.len == 0) {
                fprintf(stderr, "pages: %s: %s, status %ld\n%.400s\n", url,
                        curl_easy_strerror(code), status, p.text ? p.text : message);
                return 1;
            }
            pages++;
            bytes += (double)p.len;
            free(url);
            url = next_link(&p);
        }
    }
    double seconds = now_s() - start;
    printf("{\"pages\":%ld,\"bytes\":%.0f,\"seconds\":%.3f,\"pagesPerSecond\":%.0f,"
           "\"megabytesPerSecond\":%.1f}\n",
           pages, bytes, seconds, (double)pages / seconds, bytes / 1e6 / seconds);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    curl_global_cleanup();
    free(p.text);
    return 0;
}
