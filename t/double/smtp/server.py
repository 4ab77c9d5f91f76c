"""A mail server for tests (aiosmtpd): python3 server.py CONFIG.json. What a recipient's local part begins with says what becomes of
the mail: refused (550), unknown (551 to the message itself), busyN (451 the first N times), lost (taken, then no answer), held (the
first time taken, and no answer for a minute), else it is taken and written to the journal, a line of JSON each. A sender that begins
with refused (553) or busy (450) is not taken."""
import asyncio
import json
import os
import re
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

config = json.load(open(sys.argv[1]))
tries = {}


class Handler:
    async def handle_MAIL(self, server, session, envelope, address, options):
        if address.startswith("refused"):
            return "553 5.1.8 This sender is not taken"
        if address.startswith("busy"):
            return "450 4.1.8 This sender is not taken now"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 Sender ok"

    async def handle_RCPT(self, server, session, envelope, address, options):
        local = address.split("@")[0]
        busy = re.match(r"busy(\d+)", local)
        tries[address] = tries.get(address, 0) + 1
        if local.startswith("refused"):
            return "550 5.1.1 No such mailbox here"
        if busy and tries[address] <= int(busy.group(1)):
            return "451 4.3.0 Come back later"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Recipient ok"

    async def handle_DATA(self, server, session, envelope):
        local = envelope.rcpt_tos[0].split("@")[0]
        if local.startswith("unknown"):
            return "551 5.7.1 Content is not wanted"
        mail = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "tls": server.transport.get_extra_info("ssl_object") is not None,
            "user": getattr(session.auth_data, "login", b"").decode() if session.auth_data else None,
            "data": envelope.content.decode("latin-1"),
        }
        with open(config["journal"], "a", encoding="utf-8") as journal:
            journal.write(json.dumps(mail) + "\n")
        if local.startswith("held") and tries[envelope.rcpt_tos[0]] == 1:
            await asyncio.sleep(60)
        if local.startswith("lost"):
            server.transport.abort()
            return "421 gone"
        return "250 2.0.0 Taken over"


def authenticate(server, session, envelope, mechanism, data):
    want = config.get("auth")
    good = data.login.decode() == want["user"] and data.password.decode() == want["password"]
    return AuthResult(success=good, handled=False, auth_data=data)


async def main():
    context = None
    if config.get("tls"):
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(config["cert"], config["key"])
    starttls = context if config["tls"] == "starttls" else None

    def session():
        return SMTP(
            Handler(),
            tls_context=starttls,
            require_starttls=starttls is not None,
            authenticator=authenticate if config.get("auth") else None,
            auth_required=bool(config.get("auth")),
            auth_require_tls=config["tls"] == "starttls",
            enable_SMTPUTF8=True,
            hostname="mail.test",
        )

    server = await asyncio.get_running_loop().create_server(
        session, "127.0.0.1", config["port"], ssl=context if config["tls"] == "smtps" else None
    )
    async with server:
        await server.serve_forever()


asyncio.run(main())
