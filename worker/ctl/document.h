/* A tenant document on its way into the store: read, merged, judged, sealed, stored with its audit
 * record. Shared by the commands that change one. */
#ifndef WORKER_CTL_DOCUMENT_H
#define WORKER_CTL_DOCUMENT_H

#include "core/tenant/tenant.h"
#include "worker/ctl/ctl.h"

typedef struct ctl_document {
    ctl_call *ctl;
    const ida_tenant *tenant;
    const ida_tenant *stored; /* as `before` has it; NULL: there is none, or it is not trusted */
    ida_stored_tenant before, after;
    int created;          /* 1: there was no such company, or it was deleted */
    const char *key_name; /* of the key that seals the document */
    int whole;            /* 1: a member that the document does not name is unset (--replace) */
    int dry;              /* 1: nothing is stored (--dry-run) */
    const char *action;   /* of the audit record; NULL: tenant.apply, which also lets held
                             directories be tried at once */
    const char *detail;   /* of the audit record; NULL: none */
    const char *distrust; /* why nothing is taken over from the stored document; NULL: it is
                             trusted */
    const json_t *changes;
    json_t *names; /* sentences on names that no account or a disabled one has */
} ctl_document;

/* The document of a file ("-": standard input), merged into the stored one and judged by all rules:
 * fills tenant, before, after.document, distrust. */
ida_kind ctl_document_read(ctl_document *work, store *s, const char *file);
/* A copy of the stored document, to be changed and put back; refused where it is not trusted. */
ida_kind ctl_document_stored(ctl_document *work, store *s, const char *id, json_t **document);
/* This document takes the place of the stored one; it keeps the rules of a stored one alone. */
ida_kind ctl_document_put(ctl_document *work, const json_t *document);
/* What would change: fills changes. */
void ctl_document_compare(ctl_document *work);
/* Seals and stores it. */
ida_kind ctl_document_store(ctl_document *work, store *s);

#endif
