/* Owns the shared memory segment: one anonymous segment for the life of the server, found again
 * after restarts through retained data. Must not know what is counted in it.
 *
 * Anonymous: it leaves nothing on disk that could prevent the next start. In the process pool:
 * old and new children of a graceful restart use the same one. Layout: a head, the table of
 * refused requests, the metrics, the seats, the rate limiter's block. */
#include "mod_idadmin/module.h"

#include <apr_shm.h>
#include <stdatomic.h>

#include "core/base/context.h"

APLOG_USE_MODULE(idadmin);

#define RETAINED_KEY "mod_idadmin-shm-3"

/* In the process pool: must not point into the module, which is unloaded and loaded again by a
 * restart. */
typedef struct retained {
    apr_shm_t *shm;
    size_t refusals_at, metrics_at, seats_at, limiter_at, limiter_size;
} retained;

static retained *kept;

static size_t aligned(size_t at)
{
    return (at + 4095) & ~(size_t)4095;
}

static void lay_out(retained *k)
{
    k->refusals_at = 64;
    k->metrics_at = aligned(k->refusals_at + ida_refusals_size());
    k->seats_at = aligned(k->metrics_at + metrics_size());
    k->limiter_at = aligned(k->seats_at + seats_size());
}

static int is_ours(const retained *k)
{
    retained now;
    lay_out(&now);
    return k->shm && k->refusals_at == now.refusals_at && k->metrics_at == now.metrics_at &&
           k->seats_at == now.seats_at && k->limiter_at == now.limiter_at &&
           limit_slots((char *)apr_shm_baseaddr_get(k->shm) + k->limiter_at, k->limiter_size);
}

static int create(retained *k, apr_pool_t *process_pool, unsigned slots, server_rec *s)
{
    unsigned char hash_key[16];
    ida_env env;
    lay_out(k);
    k->limiter_size = limit_size(slots);
    apr_status_t rv = apr_shm_create(&k->shm, k->limiter_at + k->limiter_size, NULL, process_pool);
    if (rv != APR_SUCCESS) {
        k->shm = NULL;
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, s,
                     "IDA0201: cannot get %" APR_SIZE_T_FMT
                     " bytes of shared memory for the rate limits; lower IdAdminRateTable",
                     k->limiter_at + k->limiter_size);
        return 0;
    }
    char *base = apr_shm_baseaddr_get(k->shm);
    ida_env_default(&env);
    ida_random(&env, hash_key, sizeof hash_key);
    ida_refusals_format((ida_refusals *)(base + k->refusals_at));
    seats_format(base + k->seats_at, hash_key);
    limit_format(base + k->limiter_at, k->limiter_size, slots, hash_key);
    return 1;
}

int shm_prepare(apr_pool_t *pconf, server_rec *s)
{
    (void)pconf;
    unsigned slots = config_rate_table(s);
    kept = ap_retained_data_get(RETAINED_KEY);
    if (!kept) {
        kept = ap_retained_data_create(RETAINED_KEY, sizeof *kept);
    }
    if (!is_ours(kept)) {
        if (!create(kept, s->process->pool, slots, s)) {
            return 0;
        }
        metrics_format(shm_metrics());
        return 1;
    }
    metrics_format(shm_metrics());
    unsigned present = limit_slots(shm_limiter(NULL), kept->limiter_size), wanted = slots;
    if (limit_size(wanted) != kept->limiter_size) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "IDA0202: IdAdminRateTable %u: the table has %u records until httpd is "
                     "stopped and started again",
                     wanted, present);
    }
    return 1;
}

void *shm_limiter(size_t *size)
{
    if (!kept || !kept->shm) {
        return NULL;
    }
    if (size) {
        *size = kept->limiter_size;
    }
    return (char *)apr_shm_baseaddr_get(kept->shm) + kept->limiter_at;
}

void *shm_seats(void)
{
    return kept && kept->shm ? (char *)apr_shm_baseaddr_get(kept->shm) + kept->seats_at : NULL;
}

metrics_block *shm_metrics(void)
{
    return kept && kept->shm
               ? (metrics_block *)((char *)apr_shm_baseaddr_get(kept->shm) + kept->metrics_at)
               : NULL;
}

ida_refusals *shm_refusals(void)
{
    return kept && kept->shm
               ? (ida_refusals *)((char *)apr_shm_baseaddr_get(kept->shm) + kept->refusals_at)
               : NULL;
}

_Atomic int64_t *shm_spool_said(void)
{
    return kept && kept->shm
               ? (_Atomic int64_t *)((char *)apr_shm_baseaddr_get(kept->shm) + sizeof(uint64_t))
               : NULL;
}

_Atomic uint64_t *shm_overflow_watch(void)
{
    return kept && kept->shm ? (_Atomic uint64_t *)apr_shm_baseaddr_get(kept->shm) : NULL;
}
