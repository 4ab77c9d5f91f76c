#!/bin/sh
# In the chroot: packages in /t/one, their next version in /t/next. There is no systemd here, so worker and httpd are
# started as their services start them.
set -eu
export DEBIAN_FRONTEND=noninteractive
say() { echo "== $*"; }
fail() { echo "not ok: $*" >&2; exit 1; }
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
stop() { # what was started, by its process ID
    for file in /t/worker.pid /run/apache2/apache2.pid /run/slapd/slapd.pid; do
        [ ! -s $file ] || kill "$(cat $file)" 2>/dev/null || :
    done
}
start_worker() {
    as_idadmin sh -c 'echo $$ >/var/log/idadmin/pid; exec idadmin-worker' 2>>/var/log/idadmin/worker.log &
    within test -s /var/log/idadmin/pid
    mv /var/log/idadmin/pid /t/worker.pid
}
stop_worker() {
    pid=$(cat /t/worker.pid)
    kill "$pid"
    within sh -c "! kill -0 $pid"
}
[ "${1:-}" != stop ] || { stop; exit 0; }
trap stop EXIT

say 'packages of the directory and the tools that the test asks with'
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt-get update -qq
apt-get install -y -qq --no-install-recommends slapd ldap-utils curl openssl procps >/t/apt.log 2>&1
before=/t/before
list() { find / -xdev \( -path /proc -o -path /t -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/lib/apt -o -path /tmp \
    -o -path /var/log/dpkg.log -o -path /var/log/apt \) -prune -o -print | sort; }

say 'installed'
apt-get install -y -qq --no-install-recommends apache2 ssl-cert systemd logrotate man-db >>/t/apt.log 2>&1
list >$before
apt-get install -y -qq --no-install-recommends /t/one/*.deb >/t/install.log 2>&1 || { cat /t/install.log; fail install; }
[ ! -e /etc/apache2/mods-enabled/idadmin.load ] || fail 'the module was enabled by itself'
[ ! -e /etc/apache2/conf-enabled/idadmin.conf ] || fail 'the site was enabled by itself'
[ ! -e /etc/systemd/system/multi-user.target.wants/idadmin-worker.service ] || fail 'the service was enabled by itself'
ok 'nothing is enabled by itself'
[ "$(stat -c '%U:%G %a' /var/lib/idadmin /var/lib/idadmin/spool /etc/idadmin/secrets | tr '\n' ' ')" = \
    'idadmin:idadmin 2750 idadmin:idadmin 2770 idadmin:idadmin 700 ' ] || fail 'owners and modes'
id -nG www-data | grep -qw idadmin || fail "httpd's user is not in the group"
ok 'users and directories'
logrotate -d /etc/logrotate.d/idadmin-worker >/t/logrotate.log 2>&1 || { cat /t/logrotate.log; fail logrotate; }
man -w 1 idadminctl 8 idadmin-worker 5 idadmin.conf 5 idadmin-tenant 8 mod_idadmin >/dev/null || fail 'manual pages'
idadminctl --version | grep -q 'Debian 0.1.0' || fail 'the version names the package'
ok 'manual pages, version'

say 'a directory'
printf '%s' 'bind-password' >/root/nordic-bind
slapd_config() { ldapmodify -Q -Y EXTERNAL -H ldapi:/// >/dev/null; }
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
    -keyout /etc/ldap/key.pem -out /etc/ldap/cert.pem 2>/dev/null
chown openldap /etc/ldap/key.pem
slapd -h 'ldapi:/// ldaps://127.0.0.1:6360/' -u openldap -g openldap
within ldapwhoami -Q -Y EXTERNAL -H ldapi:///
slapd_config <<LDIF
dn: cn=config
changetype: modify
replace: olcTLSCertificateFile
olcTLSCertificateFile: /etc/ldap/cert.pem
-
replace: olcTLSCertificateKeyFile
olcTLSCertificateKeyFile: /etc/ldap/key.pem
LDIF
base=$(ldapsearch -Q -Y EXTERNAL -H ldapi:/// -LLL -b '' -s base namingContexts | sed -n 's/^namingContexts: //p')
slapd_config <<LDIF
dn: cn=module{0},cn=config
changetype: modify
add: olcModuleLoad
olcModuleLoad: syncprov
LDIF
slapd_config <<LDIF
dn: olcDatabase={1}mdb,cn=config
changetype: modify
replace: olcRootPW
olcRootPW: bind-password
-
replace: olcSizeLimit
olcSizeLimit: unlimited
LDIF
ldapadd -Q -Y EXTERNAL -H ldapi:/// >/dev/null <<LDIF
dn: olcOverlay=syncprov,olcDatabase={1}mdb,cn=config
objectClass: olcSyncProvConfig
olcOverlay: syncprov
LDIF
ldapadd -x -H ldapi:/// -D "cn=admin,$base" -w bind-password >/dev/null <<LDIF
dn: ou=people,$base
objectClass: organizationalUnit
ou: people

dn: ou=groups,$base
objectClass: organizationalUnit
ou: groups
LDIF
ok "slapd serves $base"

say 'configured by the documented blocks'
as_idadmin idadminctl schema upgrade
install -o idadmin -g idadmin -m 400 /root/nordic-bind /etc/idadmin/secrets/nordic-bind
cat >/etc/idadmin/nordic.json <<JSON
{"companyId": "nordic", "name": "Nordic AB", "upnDomain": "nordic.example", "seatLimit": 500,
 "directories": {"onPremises": {
   "urls": ["ldaps://127.0.0.1:6360"], "caFile": "/etc/ldap/cert.pem", "dialect": "openLdap",
   "bindDn": "cn=admin,$base", "bindPasswordFile": "/etc/idadmin/secrets/nordic-bind",
   "userBase": "ou=people,$base", "groupBase": "ou=groups,$base"}}}
JSON
as_idadmin idadminctl tenant apply /etc/idadmin/nordic.json
as_idadmin idadmin-worker --check nordic || :
start_worker
sed -i 's/^Define IDADMIN_NAME .*/Define IDADMIN_NAME localhost/' /etc/apache2/conf-available/idadmin.conf
a2enconf -q idadmin
apache2ctl configtest 2>&1 | grep -q 'needs mod_headers\|over TLS alone' || fail 'a site without its modules is refused in words'
a2enmod -q ssl headers idadmin
apache2ctl configtest
apache2ctl start
as_idadmin idadminctl sync nordic --wait
(umask 077; as_idadmin idadminctl key create nordic hr-platform --access full --json >/root/key.json)
KEY=$(sed -n 's/.*"apiKey": *"\([^"]*\)".*/\1/p' /root/key.json)
hire() { # firstname surname [more JSON]
    curl -sS --fail-with-body --cacert /etc/ssl/certs/ssl-cert-snakeoil.pem -k https://localhost/v1/api/user \
        -H 'Content-Type: application/json' -H 'X-Company-ID: nordic' -H 'X-Api-User: hr-platform' -H "X-Api-Key: $KEY" \
        -d "{\"firstname\": \"$1\", \"surname\": \"$2\", \"jobTitle\": \"Engineer\"${3:-}}"
    echo
}
in_directory() { ldapsearch -x -LLL -H ldapi:/// -D "cn=admin,$base" -w bind-password -b "ou=people,$base" "(uid=$1)" dn | grep -q ^dn; }
within hire Anna Berg
within in_directory anna.berg
ok 'the first hire is in the directory'
[ "$(curl -sk -o /dev/null -w '%{http_code}' https://localhost/)" = 403 ] || fail 'everything else is refused'
[ "$(curl -sk -o /dev/null -w '%{http_code}' https://localhost/v1/openapi.json)" = 200 ] || fail 'the description is served'
ok 'everything else of the site is refused'

say 'upgraded with work queued'
stop_worker
hire Bo Ek
apt-get install -y -qq --no-install-recommends /t/next/*.deb >/t/upgrade.log 2>&1 || { cat /t/upgrade.log; fail upgrade; }
idadminctl --version | grep -q 'Debian 0.1.1' || fail 'the upgrade is there'
[ -e /etc/apache2/mods-enabled/idadmin.load ] || fail 'the module stays enabled'
grep -q 'IDADMIN_NAME localhost' /etc/apache2/conf-available/idadmin.conf || fail 'the administrator'"'"'s site stays'
apache2ctl restart
start_worker
within in_directory bo.ek
ok 'what was queued is carried out by the new version'
as_idadmin idadminctl status --json | grep -q '"version": "0.1.0 (Debian 0.1.1)"' || { as_idadmin idadminctl status; fail status; }
as_idadmin idadminctl audit ingest
as_idadmin idadminctl audit verify nordic

say 'removed'
stop_worker
apache2ctl stop
apt-get remove -y -qq libapache2-mod-idadmin idadmin-worker idadmin-console idadmin-doc >/t/remove.log 2>&1 || { cat /t/remove.log; fail remove; }
[ -e /var/lib/idadmin/idadmin.db ] || fail 'the store stays'
[ ! -e /usr/bin/idadminctl ] || fail 'the command is still there'
apache2ctl configtest || fail 'httpd starts without the module'
ok 'the store stays, httpd starts'

say 'purged'
apt-get purge -y -qq libapache2-mod-idadmin idadmin-worker idadmin-console idadmin-doc >/t/purge.log 2>&1 || { cat /t/purge.log; fail purge; }
a2dismod -q ssl headers socache_shmcb mime setenvif >/dev/null 2>&1 || :
list | diff $before - | grep -i idadmin >/t/left || :
# What the test itself, and httpd, wrote.
grep -v 'nordic.json\|/var/log/apache2/\|^> /etc/idadmin$' /t/left && fail 'something is left'
ok 'nothing is left'
