#!/bin/sh
# In the chroot, under its own systemd: packages in /t/one, their next version in /t/next. Blocks of the documentation are
# taken from where the package puts it, and carried out as they stand.
set -eu
export DEBIAN_FRONTEND=noninteractive
say() { echo "== $*"; }
fail() {
    echo "not ok: $*" >&2
    journalctl -u idadmin-worker -o cat -n 20 --no-pager >&2
    exit 1
}
ok() { echo "ok: $*"; }
as_idadmin() { runuser -u idadmin -- "$@"; }
within() { # a command, until it succeeds
    tries=0
    until "$@" >/t/within.log 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 240 ] || { cat /t/within.log; fail "in vain: $*"; }
        sleep 0.5
    done
}
quietly() { # a command; the end of its output is shown when it fails
    "$@" >/t/quietly.log 2>&1 || { tail -n 30 /t/quietly.log; fail "$*"; }
}
page() { zcat -f "/usr/share/doc/idadmin/doc/$1" 2>/dev/null || zcat "/usr/share/doc/idadmin/doc/$1.gz"; }
fenced() { # page, words: the block between fences that has them
    page "$1" | awk -v words="$2" '/^```/ { if (on && index(block, words)) { printf "%s", block; exit }
        on = !on; block = ""; next } on { block = block $0 "\n" }'
}
indented() { # page, heading: the first indented block below it
    page "$1" | awk -v heading="$2" '$0 == heading { below = 1 } below && /^    / { print substr($0, 5); block = 1; next }
        block { exit }'
}

say 'a directory, by the blocks for OpenLDAP'
before=/t/before
list() { find / -xdev \( -path /proc -o -path /t -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/lib/apt -o -path /tmp \
    -o -path /var/log/dpkg.log -o -path /var/log/apt -o -path /var/log/journal -o -path /var/lib/ldap -o -path /etc/ldap -o -path /var/lib/selinux \) -prune \
    -o -print | sort; }
apt-get update -qq
list >$before
cd /t/one
[ ! -e /usr/share/doc/idadmin ] || fail "the documentation is there before it was installed"
quietly apt-get install -qq --no-install-recommends ./idadmin-doc_*.deb
base=$(ldapsearch -Q -Y EXTERNAL -H ldapi:/// -b cn=config -LLL '(olcSuffix=*)' olcSuffix | sed -n 's/^olcSuffix: //p')
own() { sed "s/dc=corp,dc=example/$base/g"; }
openssl req -x509 -newkey rsa:2048 -nodes -days 9 -subj /CN=ldap1.nordic.example -addext subjectAltName=DNS:ldap1.nordic.example \
    -keyout /etc/ldap/ldap1.key -out /etc/ldap/ldap1.pem 2>/dev/null
chown openldap /etc/ldap/ldap1.key
quietly ldapmodify -Q -Y EXTERNAL -H ldapi:/// <<LDIF
dn: cn=config
changetype: modify
replace: olcTLSCertificateFile
olcTLSCertificateFile: /etc/ldap/ldap1.pem
-
replace: olcTLSCertificateKeyFile
olcTLSCertificateKeyFile: /etc/ldap/ldap1.key

dn: olcDatabase={1}mdb,cn=config
changetype: modify
replace: olcRootPW
olcRootPW: admin-password
LDIF
fenced directories.md 'cn=module,cn=config' | own >/t/idadmin.ldif
fenced directories.md 'set by ldappasswd' | own >/t/entries.ldif
[ -s /t/idadmin.ldif ] && [ -s /t/entries.ldif ] || fail 'the blocks of directories.md'
quietly ldapmodify -Q -Y EXTERNAL -H ldapi:/// -f /t/idadmin.ldif
sed -i 's|^SLAPD_SERVICES=.*|SLAPD_SERVICES="ldapi:/// ldaps://ldap1.nordic.example/"|' /etc/default/slapd
systemctl restart slapd
as_admin() { tool=$1; shift; "$tool" -x -H ldapi:/// -D "cn=admin,$base" -w admin-password "$@"; }
quietly as_admin ldapadd -f /t/entries.ldif
quietly as_admin ldappasswd -s bind-password "cn=idadmin,ou=services,$base"
ok "slapd serves $base"

say 'installed'
install_block=$(indented install.md '## Debian packages')
[ "$(echo "$install_block" | wc -l)" = 7 ] || fail 'the block of install.md has other lines than this test knows'
line() { echo "$install_block" | sed -n "$1p"; }
quietly sh -ec "$(line 1)"
quietly apt-get install -qq ./idadmin-console_*.deb
[ ! -e /etc/apache2/mods-enabled/idadmin.load ] || fail 'the module was enabled by itself'
[ ! -e /etc/apache2/conf-enabled/idadmin.conf ] || fail 'the site was enabled by itself'
systemctl is-enabled --quiet idadmin-worker && fail 'the service was enabled by itself'
ok 'nothing is enabled by itself'
[ "$(stat -c '%U:%G %a' /var/lib/idadmin /var/lib/idadmin/spool /etc/idadmin/secrets /etc/idadmin/writer | tr '\n' ' ')" = \
    'idadmin:idadmin 2750 idadmin:idadmin 2770 idadmin:idadmin 700 idadmin-writer:idadmin-writer 700 ' ] || fail 'owners and modes'
id -nG www-data | grep -qw idadmin || fail "httpd's user is not in the group"
[ "$(id -nG idadmin-writer)" = 'idadmin-writer idadmin' ] || fail 'groups of the writer'
[ "$(id -nG idadmin)" = 'idadmin idadmin-writer' ] || fail 'groups of the worker'
ok 'users and directories'
quietly logrotate -d /etc/logrotate.d/idadmin-worker
man -w 1 idadminctl 8 idadmin-worker 5 idadmin.conf 5 idadmin-tenant 8 mod_idadmin >/dev/null || fail 'manual pages'
idadminctl --version | grep -q 'Debian 0.1.0' || fail 'the version names the package'
ok 'manual pages, version'

say 'policies'
quietly apt-get install -qq --no-install-recommends apparmor make checkpolicy policycoreutils selinux-policy-dev selinux-policy-default
quietly apparmor_parser --skip-kernel-load --skip-cache --skip-read-cache --stdout /usr/share/idadmin/idadmin.apparmor
mkdir /t/selinux
cp /usr/share/idadmin/idadmin.te /usr/share/idadmin/idadmin.fc /t/selinux
quietly make -C /t/selinux -f /usr/share/selinux/devel/Makefile idadmin.pp
# Linked with the distribution's policy, not loaded: each type and each port is known there.
quietly semodule -n -s default -i /t/selinux/idadmin.pp
ok 'AppArmor and SELinux accept the policies'

say 'configured: mail of first passwords, and the directory by a credential of systemd'
perl /t/mail.pl 2525 >/t/mail 2>&1 &
cat >>/etc/idadmin/idadmin.conf <<CONF
smtp_url = smtp://127.0.0.1:2525
smtp_from = identity@nordic.example
CONF
# Root's alone: systemd hands it to the service.
(umask 077; printf %s bind-password >/etc/idadmin/secrets/bind.password)
install -D -m 644 /usr/share/idadmin/idadmin-worker-credentials.conf \
    /etc/systemd/system/idadmin-worker.service.d/credentials.conf
systemctl daemon-reload
cat >/etc/idadmin/nordic.json <<JSON
{"companyId": "nordic", "name": "Nordic AB", "upnDomain": "nordic.example", "seatLimit": 500,
 "workflows": [{"name": "Joiner", "trigger": "userCreate", "actions": [
   {"type": "sendInitialPassword", "to": "hr@nordic.example"}]}],
 "directories": {"onPremises": {
   "urls": ["ldaps://ldap1.nordic.example"], "caFile": "/etc/ldap/ldap1.pem", "dialect": "openLdap",
   "placeholderMember": "cn=placeholder,ou=groups,$base",
   "bindDn": "cn=idadmin,ou=services,$base", "bindPasswordFile": "credential:bind",
   "userBase": "ou=people,$base", "groupBase": "ou=groups,$base"}}}
JSON
sed -i 's/^Define IDADMIN_NAME .*/Define IDADMIN_NAME identity.example.com/' /etc/apache2/conf-available/idadmin.conf
a2enconf -q idadmin
apache2ctl configtest 2>&1 | grep -q 'needs mod_headers\|over TLS alone' || fail 'a site without its modules is refused in words'
quietly sh -ec "$(line 2)
$(line 3)
$(line 4)"
systemctl is-active --quiet idadmin-worker || fail 'the worker is not ready'
systemctl show -p StatusText idadmin-worker | grep -q 'Carries out tasks' || fail 'the worker has no line in systemctl status'
[ "$(systemctl show -p NRestarts --value idadmin-worker)" = 0 ] || fail 'the worker was restarted'
as_idadmin idadmin-worker --check nordic >/t/check && fail 'a process without the credential reads the password'
grep -q 'LoadCredential=bind' /t/check || fail 'and does not say why it cannot'
quietly systemd-run --pipe -q -p User=idadmin -p LoadCredential=bind:/etc/idadmin/secrets/bind.password \
    idadmin-worker --check nordic
ok 'the directory is well; its password comes by LoadCredential alone'
quietly sh -ec "$(line 5)
$(line 6)
$(line 7)"
ok 'the block of install.md'

say 'the first hire'
(umask 077; as_idadmin idadminctl key create nordic hr-platform --access full --json >/root/key.json)
KEY=$(sed -n 's/.*"apiKey": *"\([^"]*\)".*/\1/p' /root/key.json)
hire() { # firstname surname
    curl -sS --fail-with-body -k https://identity.example.com/v1/api/user \
        -H 'Content-Type: application/json' -H 'X-Company-ID: nordic' -H 'X-Api-User: hr-platform' -H "X-Api-Key: $KEY" \
        -d "{\"firstname\": \"$1\", \"surname\": \"$2\", \"jobTitle\": \"Engineer\"}"
    echo
}
in_directory() { as_admin ldapsearch -LLL -b "ou=people,$base" "(uid=$1)" dn | grep -q ^dn; }
within hire Anna Berg
within in_directory anna.berg
within grep -q ^END /t/mail
ok 'is in the directory, and the first password is on its way'
# Quoted-printable or not, the password stands on a line of its own.
anna="uid=anna.berg,ou=people,$base"
as_anna() { LDAPTLS_CACERT=/etc/ldap/ldap1.pem "$@"; }
signs_in() { as_anna ldapwhoami -x -H ldaps://ldap1.nordic.example -D "$anna" -w "$1" >/dev/null 2>&1; }
password=
for word in $(sed -e '1,/^\r*$/d' -e 's/\r$//' -e 's/=3D/=/g' /t/mail | grep -E '^[^ ]{10,}$'); do
    ! signs_in "$word" || password=$word
done
[ -n "$password" ] || { cat /t/mail; fail 'the employee cannot sign in with what was mailed'; }
quietly as_anna ldappasswd -x -H ldaps://ldap1.nordic.example -D "$anna" -w "$password" -s 'a Password of her own 7'
signs_in 'a Password of her own 7' || fail 'the employee cannot sign in with a new password'
signs_in "$password" && fail 'the first password still counts'
ok 'the employee signs in and chooses a password'
status_of() { curl -sk -o /dev/null -w '%{http_code}' "https://identity.example.com$1"; }
[ "$(status_of /)" = 403 ] || fail 'everything else is refused'
[ "$(status_of /v1/openapi.json)" = 200 ] || fail 'the description is served'
ok 'everything else of the site is refused'

writers() { # their user
    for p in /proc/[0-9]*; do [ "$(cat "$p/comm" 2>/dev/null)" != idadmin-writer ] || stat -c %U "$p"; done | sort -u
}
[ "$(writers)" = idadmin-writer ] || fail "the writer runs as $(writers)"
ok 'the writer has a user of its own'

say 'upgraded with work queued, from a time when the writer was the user of the worker'
systemctl stop idadmin-worker
hire Bo Ek
sed -i '/^IdAdminWriter /d' /etc/apache2/conf-available/idadmin.conf
apache2ctl stop
within sh -c '! pidof apache2'
chgrp idadmin /var/lib/idadmin/idadmin.db* /var/lib/idadmin/idadmin.key*
chmod 640 /var/lib/idadmin/idadmin.db* && chmod 600 /var/lib/idadmin/*.gate /var/lib/idadmin/*.revisions
chmod 400 /var/lib/idadmin/idadmin.key
userdel idadmin-writer
rm -r /etc/idadmin/writer
systemctl start apache2
hire Bea Ek
[ "$(writers)" = idadmin ] || fail "a writer of before runs as $(writers)"
systemctl start idadmin-worker --no-block
cd /t/next
quietly apt-get install -qq ./*.deb
idadminctl --version | grep -q 'Debian 0.1.1' || fail 'the upgrade is there'
[ -e /etc/apache2/mods-enabled/idadmin.load ] || fail 'the module stays enabled'
grep -q 'IDADMIN_NAME identity.example.com' /etc/apache2/conf-available/idadmin.conf || fail 'the administrator'"'"'s site stays'
systemctl restart apache2
within in_directory bo.ek
within in_directory bea.ek
[ "$(writers)" = idadmin-writer ] || fail "after the upgrade the writer runs as $(writers)"
hire Bip Ek
runuser -u idadmin -- idadminctl doctor | grep rights && fail 'doctor names files'
within sh -c "runuser -u idadmin -- idadminctl status --json | grep -q '\"version\": \"0.1.0 (Debian 0.1.1)\"'"
ok 'what was queued is carried out, the worker is of the new version'
as_idadmin idadminctl audit ingest
as_idadmin idadminctl audit verify nordic

say 'backed up, lost, restored'
systemctl stop idadmin-worker
hire Cia Dal
install -d -o idadmin -g idadmin -m 700 /t/backup /t/keys
quietly as_idadmin idadminctl backup /t/backup/one --keys /t/keys/one
apache2ctl stop
quietly apt-get remove -qq libapache2-mod-idadmin idadmin-worker idadmin-console idadmin-doc
[ -e /var/lib/idadmin/idadmin.db ] || fail 'the store stays'
[ ! -e /usr/bin/idadminctl ] || fail 'the command is still there'
quietly apache2ctl configtest
ok 'removed: the store stays, httpd starts'
quietly apt-get purge -qq libapache2-mod-idadmin idadmin-worker idadmin-console idadmin-doc
quietly a2dismod -q ssl headers socache_shmcb
list | diff $before - | grep -i '^[<>].*idadmin' >/t/left || :
# What the test itself, httpd and systemd wrote.
grep -v 'nordic.json\|bind.password\|secrets$\|/var/log/apache2/\|/etc/systemd/system\|^> /etc/idadmin$' /t/left &&
    fail 'something is left'
ok 'purged: nothing is left'
quietly apt-get install -qq ./*.deb
quietly idadminctl restore /t/backup/one --keys /t/keys/one
(umask 077; [ -e /etc/idadmin/secrets/bind.password ] || printf %s bind-password >/etc/idadmin/secrets/bind.password)
printf 'smtp_url = smtp://127.0.0.1:2525\nsmtp_from = identity@nordic.example\n' >>/etc/idadmin/idadmin.conf
sed -i 's/^Define IDADMIN_NAME .*/Define IDADMIN_NAME identity.example.com/' /etc/apache2/conf-available/idadmin.conf
quietly sh -ec "$(line 4)
$(line 5)
$(line 6)"
as_idadmin idadminctl task list nordic | grep -q cia.dal || fail 'the hire of the backup is not there'
# It may have been carried out since the backup, so it waits until a person has looked.
in_directory cia.dal && fail 'what the backup had due was carried out unasked'
TASK=$(as_idadmin idadminctl task list nordic --json | tr ',{' '\n\n' | grep -B9 cia.dal | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p' | tail -n 1)
quietly as_idadmin idadminctl task release nordic "$TASK"
within in_directory cia.dal
within hire Dan Eng
within in_directory dan.eng
as_idadmin idadminctl audit ingest
as_idadmin idadminctl audit verify nordic
ok 'restored: the key counts, what was due was held and is carried out'

say 'the system is upgraded to Debian 13'
sed -i 's/bookworm/trixie/g' /etc/apt/sources.list
quietly apt-get update -qq
quietly apt-get full-upgrade -qq
grep -q '^13' /etc/debian_version || fail "this is Debian $(cat /etc/debian_version)"
systemctl restart slapd idadmin-worker apache2
for service in slapd idadmin-worker apache2; do systemctl is-active --quiet $service || fail "$service does not run"; done
within hire Eva Falk
within in_directory eva.falk
ok 'httpd and worker run, a person is hired'
# While slapd was upgraded a synchronisation failed.
within as_idadmin idadminctl sync nordic --wait
as_idadmin idadminctl health || { as_idadmin idadminctl status; fail health; }
