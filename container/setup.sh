#!/bin/sh
# The image's last step (Containerfile), as root: numbers of the user, httpd's configuration for a port above 1024, and the
# command of the role httpd. Settings that differ between installations come by the environment and as mounted files.
set -eu
usermod -u 990 idadmin
groupmod -g 990 idadmin
chown -R 990:990 /var/lib/idadmin /etc/idadmin/secrets /var/log/idadmin
chmod 2750 /var/lib/idadmin
chmod 2770 /var/lib/idadmin/spool

# Without root the writer runs as httpd's user: nothing is given to a user of its own.
sed -i 's/^writer_group = .*/writer_group = none/' /etc/idadmin/idadmin.conf
echo 'seal_key = /var/lib/idadmin/keys/idadmin.key' >>/etc/idadmin/idadmin.conf
install -d -o 990 -g 990 -m 700 /var/lib/idadmin/keys

cat >/etc/apache2/ports.conf <<'CONF'
Listen 8443
ServerName ${IDADMIN_SERVER_NAME}
CONF
# Logs go to the container's. A file of /proc/self/fd cannot be opened where another user owns it.
sed -i -e 's#^ErrorLog .*#ErrorLog "||/bin/cat"#' /etc/apache2/apache2.conf
rm -f /etc/apache2/conf-enabled/other-vhosts-access-log.conf
sed -i -e 's|^Define IDADMIN_NAME .*|Define IDADMIN_NAME ${IDADMIN_SERVER_NAME}|' \
    -e 's|^\(Define IDADMIN_CERTIFICATE\) .*|\1 /etc/idadmin/tls/tls.crt|' \
    -e 's|^\(Define IDADMIN_CERTIFICATE_KEY\) .*|\1 /etc/idadmin/tls/tls.key|' \
    -e 's|^IdAdminStore .*|IdAdminStore "${IDADMIN_STORE}"\nIdAdminWriterStore "${IDADMIN_WRITER_STORE}"|' \
    -e 's|^\(IdAdminAuditSpool .*\)|\1\nIdAdminSealKey /etc/idadmin/writer/idadmin.key|' \
    -e 's#CustomLog [^ ]*#CustomLog "||/bin/cat"#' \
    -e 's|\*:443>|*:8443>|' /etc/apache2/conf-available/idadmin.conf
sed -i -e '/^ *LogFormat /i\    <Location "/health">\n        SetHandler idadmin-health\n        Require all granted\n    </Location>' \
    /etc/apache2/conf-available/idadmin.conf
rm -f /etc/apache2/sites-enabled/*
a2enmod -q mpm_event authn_core authz_core authz_host authz_user env setenvif ssl headers idadmin
a2enconf -q idadmin
install -d -o www-data -g www-data -m 700 /etc/idadmin/writer
install -d -o www-data -g www-data /run/apache2 /run/lock/apache2
cat >/usr/local/bin/idadmin-httpd <<'RUN'
#!/bin/sh
set -e
. /etc/apache2/envvars
exec apache2 -D FOREGROUND
RUN
cat >/usr/local/bin/idadmin-healthy <<'RUN'
#!/bin/sh
# Of the role of this container; a worker that is degraded (1) works.
if grep -q apache2 /proc/1/comm; then
    exec curl -fsSk -o /dev/null https://127.0.0.1:8443/health/ready
fi
idadminctl health || [ $? -eq 1 ]
RUN
chmod 755 /usr/local/bin/idadmin-httpd /usr/local/bin/idadmin-healthy
