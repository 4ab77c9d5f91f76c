-- PostgreSQL: what each process may do, as three roles without a login. An administrator gives them
-- to the users that the processes connect as. Safe to repeat, and to be repeated after each upgrade.
--
-- idadmin_web, for httpd's children: reads.
-- idadmin_writer, for the process that writes for them: queues and changes tasks, requests, keys; never
--   audit records, tenant documents and their seals, or data read from directories.
-- idadmin_worker: owns the data read from directories, appends to the audit log and removes records
--   past their retention, executes tasks; never changes an audit record, a tenant document or a key.
-- The user that runs this (idadminctl) owns the rest: documents, seals, keys, erasure, upgrades.
DO $$
DECLARE
    main TEXT := current_schema();
    role TEXT;
    each RECORD;
BEGIN
    FOREACH role IN ARRAY ARRAY['idadmin_web', 'idadmin_writer', 'idadmin_worker'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        END IF;
        EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I, cache, audit FROM %I', main, role);
        EXECUTE format('GRANT USAGE ON SCHEMA %I, cache, audit TO %I', main, role);
        EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I, cache, audit TO %I', main, role);
    END LOOP;
    EXECUTE format('GRANT UPDATE (seats_held) ON %I.tenant TO idadmin_writer, idadmin_worker', main);

    FOR each IN SELECT * FROM (VALUES
        ('task'), ('task_payload'), ('task_step'), ('task_membership'), ('user_lock'), ('reservation'),
        ('idempotency'), ('audit_outbox'), ('directory_check'), ('directory_state'),
        ('role_assignment'), ('access_request'), ('access_grant'), ('workflow_run'),
        ('workflow_run_action'), ('event'), ('event_counter')) AS t (name)
    LOOP
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %I.%I TO idadmin_writer, idadmin_worker',
                       main, each.name);
    END LOOP;
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %1$I.api_key, %1$I.audit_check TO idadmin_writer', main);
    FOR each IN SELECT * FROM (VALUES ('worker'), ('named_account'), ('access_end'), ('notification'), ('event_delivery'), ('setting')) AS t (name)
    LOOP
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %I.%I TO idadmin_worker', main, each.name);
    END LOOP;

    GRANT INSERT, DELETE, UPDATE (erased_mac) ON audit.record TO idadmin_worker;
    GRANT INSERT, UPDATE, DELETE ON audit.chain, audit.spool_position, audit.chain_key,
        audit.verified TO idadmin_worker;
    GRANT INSERT, UPDATE (sent) ON audit.checkpoint TO idadmin_worker;

    EXECUTE format('GRANT idadmin_worker TO %I', current_user); -- required to make it the owner of tables, and to upgrade them
    GRANT CREATE ON SCHEMA cache TO idadmin_worker;
    FOR each IN SELECT tablename AS name FROM pg_tables WHERE schemaname = 'cache' LOOP
        EXECUTE format('ALTER TABLE cache.%I OWNER TO idadmin_worker', each.name);
    END LOOP;
    GRANT ALL ON ALL TABLES IN SCHEMA cache TO idadmin_worker; -- its owner's too, revoked above
END $$;
