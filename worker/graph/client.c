/* Owns the register of what sessions share. Must not know what they do with it. */
#include "worker/graph/client.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct graph_client *first;

struct graph_client *graph_client_of(const graph *g)
{
    /* Two tenants with the same application in the same directory meet the same limits, and get the
     * same token. */
    const char *key = ida_printf(g->pool, "%s\n%s\n%s\n%s\n%s\n%s\n%s", g->authority,
                                 g->directory_id, g->client_id,
                                 g->secret_file ? g->secret_file : g->certificate_file, g->origin,
                                 g->ca_file ? g->ca_file : "", g->proxy_url ? g->proxy_url : "");
    pthread_mutex_lock(&lock);
    struct graph_client *client = first;
    while (client && strcmp(client->key, key) != 0) {
        client = client->next;
    }
    if (!client && (client = calloc(1, sizeof *client))) {
        client->key = strdup(key);
        if (client->key && graph_token_init(&client->token)) {
            graph_throttle_init(&client->throttle, ida_monotonic(g->env));
            client->next = first;
            first = client;
        } else {
            free(client->key);
            free(client);
            client = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    return client;
}
