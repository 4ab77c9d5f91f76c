/* Changes of accounts and groups: the connector's functions of the contract
 * (worker/directory/directory.h), and what disables an account. */
#ifndef WORKER_LDAP_CHANGE_CHANGE_H
#define WORKER_LDAP_CHANGE_CHANGE_H

#include <ldap.h>

#include "worker/directory/directory.h"
#include "worker/ldap/entry/mods.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

DIRECTORY_FUNCTION(create) ld_create;
DIRECTORY_FUNCTION(set_manager) ld_set_manager;
DIRECTORY_FUNCTION(set_photo) ld_set_photo;
DIRECTORY_FUNCTION(disable) ld_disable;
DIRECTORY_FUNCTION(memberships) ld_memberships;
DIRECTORY_FUNCTION(owned) ld_owned;
DIRECTORY_FUNCTION(remove_member) ld_remove_member;
DIRECTORY_FUNCTION(update) ld_update;
DIRECTORY_FUNCTION(set_password) ld_set_password;
DIRECTORY_FUNCTION(discard_password) ld_discard_password;
DIRECTORY_FUNCTION(attributes) ld_attributes;
DIRECTORY_FUNCTION(move) ld_move;
DIRECTORY_FUNCTION(reports) ld_reports;
DIRECTORY_FUNCTION(add_members) ld_add_members;

/* 1 when a policy with pwdLockout TRUE, which gives `lock` its effect, is seen for the entry: the
 * one that the entry names, or any in the naming context. Always 1 where `lock` works by itself. A
 * failure counts as not seen. */
int ld_lock_holds(ld_call *k, const char *dn);

#endif
