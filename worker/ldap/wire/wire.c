/* Owns the deadline of single reads and writes, and the longest message. Must not know what is
 * read. */
#include "worker/ldap/wire/wire.h"

#include <errno.h>

/* Above the socket, below TLS: TLS calls this level for each piece while it waits for the rest
 * of a record. */
#define LEVEL ((LBER_SBIOD_LEVEL_PROVIDER + LBER_SBIOD_LEVEL_TRANSPORT) / 2)

static int wire_setup(Sockbuf_IO_Desc *d, void *wire)
{
    d->sbiod_pvt = wire;
    return 0;
}

static int wire_nothing(Sockbuf_IO_Desc *d)
{
    (void)d;
    return 0;
}

static int wire_ctrl(Sockbuf_IO_Desc *d, int option, void *argument)
{
    return LBER_SBIOD_CTRL_NEXT(d, option, argument);
}

static int over(const Sockbuf_IO_Desc *d)
{
    const ld_wire *wire = d->sbiod_pvt;
    if (ida_monotonic(wire->env) < wire->until) {
        return 0;
    }
    errno = ETIMEDOUT;
    return 1;
}

static ber_slen_t wire_read(Sockbuf_IO_Desc *d, void *bytes, ber_len_t len)
{
    return over(d) ? -1 : LBER_SBIOD_READ_NEXT(d, bytes, len);
}

static ber_slen_t wire_write(Sockbuf_IO_Desc *d, void *bytes, ber_len_t len)
{
    return over(d) ? -1 : LBER_SBIOD_WRITE_NEXT(d, bytes, len);
}

int ld_wire_install(LDAP *ld, ld_wire *wire)
{
    static Sockbuf_IO layer = {
        .sbi_setup = wire_setup,
        .sbi_remove = wire_nothing,
        .sbi_ctrl = wire_ctrl,
        .sbi_read = wire_read,
        .sbi_write = wire_write,
        .sbi_close = wire_nothing,
    };
    Sockbuf *sb = NULL;
    ber_len_t most = LD_MESSAGE_MAX;
    return ldap_get_option(ld, LDAP_OPT_SOCKBUF, &sb) != LDAP_OPT_SUCCESS || !sb ||
           ber_sockbuf_ctrl(sb, LBER_SB_OPT_SET_MAX_INCOMING, &most) != 1 ||
           ber_sockbuf_add_io(sb, &layer, LEVEL, wire) != 0;
}
