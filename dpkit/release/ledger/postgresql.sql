-- Version 1 of the ledgers in a PostgreSQL database: one schema, many ledgers, one for each dataset.
-- A statement that changes what is kept is refused by a trigger, and by grants. Functions that write run as the owner of the
-- schema, so that nobody else needs the right to change a table.
CREATE SCHEMA dpkit;

CREATE TABLE dpkit.version (
    one integer PRIMARY KEY CHECK (one = 1),
    version integer NOT NULL
);

CREATE TABLE dpkit.ledgers (
    ledger integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dataset text NOT NULL UNIQUE
);

CREATE TABLE dpkit.heads (
    ledger integer PRIMARY KEY REFERENCES dpkit.ledgers,
    seq bigint NOT NULL,
    hash text NOT NULL
);

CREATE TABLE dpkit.entries (
    ledger integer NOT NULL REFERENCES dpkit.ledgers,
    seq bigint NOT NULL,
    run text NOT NULL,
    key text NOT NULL,
    body text NOT NULL,
    value text,
    hash text NOT NULL,
    PRIMARY KEY (ledger, seq)
);
-- the beginning of a name is enough for a look-up, and a name may be longer than an index holds
CREATE INDEX entries_by_key ON dpkit.entries (ledger, left(run, 100), left(key, 100), seq);
CREATE INDEX entries_by_run ON dpkit.entries (ledger, left(run, 100), seq);

CREATE FUNCTION dpkit.refuse() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'the log is append-only' USING ERRCODE = 'DPK01';
END $$;

-- the head moves by `dpkit.follow` alone, which is a trigger itself
CREATE FUNCTION dpkit.refuse_by_hand() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_trigger_depth() < 2 THEN
        RAISE EXCEPTION 'the head follows the log' USING ERRCODE = 'DPK01';
    END IF;
    RETURN NEW;
END $$;

-- amounts are lists of fractions, such as ["1/1024","0/1"]: whether each of the second is at least that of the first
CREATE FUNCTION dpkit.not_below(one json, two json) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place integer;
    a text;
    b text;
BEGIN
    IF one IS NULL OR two IS NULL OR json_typeof(one) <> 'array' OR json_typeof(two) <> 'array'
        OR json_array_length(one) <> json_array_length(two) THEN
        RETURN false;
    END IF;
    FOR place IN 0 .. json_array_length(one) - 1 LOOP
        a := one->>place;
        b := two->>place;
        IF a IS NULL OR b IS NULL OR a !~ '^[0-9]+/[1-9][0-9]*$' OR b !~ '^[0-9]+/[1-9][0-9]*$' THEN
            RETURN false;
        END IF;
        IF split_part(b, '/', 1)::numeric * split_part(a, '/', 2)::numeric
            < split_part(a, '/', 1)::numeric * split_part(b, '/', 2)::numeric THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END $$;

CREATE FUNCTION dpkit.follow() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last dpkit.heads;
    said json := NEW.body::json;
    kind text := said->>'kind';
    who text := said->>'who';
    steward boolean := pg_has_role(session_user, 'dpkit_steward', 'MEMBER');
    before json;
    beginner text;
    own boolean;
    made_now boolean;
BEGIN
    SELECT * INTO last FROM dpkit.heads WHERE ledger = NEW.ledger FOR UPDATE;
    IF NOT FOUND OR NEW.seq <> last.seq + 1
        OR NEW.hash <> encode(sha256(convert_to(last.hash || E'\n' || NEW.body, 'UTF8')), 'hex') THEN
        RAISE EXCEPTION 'an entry does not follow from the one before' USING ERRCODE = 'DPK01';
    END IF;
    IF kind IS NULL OR who IS NULL OR said->>'seq' IS DISTINCT FROM NEW.seq::text
        OR coalesce(said->>'run', '') <> NEW.run OR coalesce(said->>'key', '') <> NEW.key THEN
        RAISE EXCEPTION 'an entry is not what it says' USING ERRCODE = 'DPK01';
    END IF;
    IF kind NOT IN ('reserve', 'charge', 'release', 'fail', 'close') AND NOT steward THEN
        RAISE EXCEPTION 'this takes a steward' USING ERRCODE = 'DPK02';
    END IF;
    -- a ledger that is moved here brings the entries of others, in the transaction that creates it
    SELECT xmin = pg_current_xact_id()::xid INTO made_now FROM dpkit.ledgers WHERE ledger = NEW.ledger;
    IF NOT made_now THEN
        IF who <> session_user AND NOT starts_with(who, session_user || '/') THEN
            RAISE EXCEPTION 'an entry names another author' USING ERRCODE = 'DPK02';
        END IF;
        SELECT body::json INTO before FROM dpkit.entries WHERE ledger = NEW.ledger AND seq = last.seq;
        IF before->>'kind' = 'gone' OR (before->>'kind' = 'move' AND kind <> 'gone')
            OR (before->>'kind' = 'ready' AND kind <> 'arrive')
            OR (kind IN ('gone', 'ready', 'arrive') AND before->>'kind' NOT IN ('move', 'ready')) THEN
            RAISE EXCEPTION 'the ledger is closed for good' USING ERRCODE = 'DPK01';
        END IF;
        IF NOT dpkit.not_below(before#>'{totals,spent}', said#>'{totals,spent}')
            OR NOT dpkit.not_below(said#>'{totals,spent}', said#>'{totals,held}') THEN
            RAISE EXCEPTION 'what is spent stays spent' USING ERRCODE = 'DPK01';
        END IF;
        IF kind IN ('approve', 'charge', 'release', 'fail', 'close') THEN
            SELECT (body::json)->>'who' INTO beginner FROM dpkit.entries
                WHERE ledger = NEW.ledger AND left(run, 100) = left(NEW.run, 100) AND run = NEW.run ORDER BY seq LIMIT 1;
            own := beginner = session_user OR starts_with(beginner, session_user || '/');
            IF kind = 'approve' AND own IS NOT FALSE THEN
                RAISE EXCEPTION 'nobody approves a run of their own' USING ERRCODE = 'DPK02';
            END IF;
            IF kind <> 'approve' AND own IS NOT TRUE AND NOT steward THEN
                RAISE EXCEPTION 'the run of another takes a steward' USING ERRCODE = 'DPK02';
            END IF;
        END IF;
    END IF;
    UPDATE dpkit.heads SET seq = NEW.seq, hash = NEW.hash WHERE ledger = NEW.ledger;
    RETURN NEW;
END $$;

CREATE FUNCTION dpkit.hold(which integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM 1 FROM dpkit.heads WHERE ledger = which FOR UPDATE;
END $$;

CREATE FUNCTION dpkit.begin_ledger(name text, start text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made integer;
BEGIN
    IF NOT pg_has_role(session_user, 'dpkit_steward', 'MEMBER') THEN
        RAISE EXCEPTION 'this takes a steward' USING ERRCODE = 'DPK02';
    END IF;
    INSERT INTO dpkit.ledgers (dataset) VALUES (name) RETURNING ledger INTO made;
    INSERT INTO dpkit.heads VALUES (made, -1, start);
    RETURN made;
END $$;

CREATE TRIGGER follow BEFORE INSERT ON dpkit.entries FOR EACH ROW EXECUTE FUNCTION dpkit.follow();
CREATE TRIGGER unchanged BEFORE UPDATE OR DELETE ON dpkit.entries FOR EACH ROW EXECUTE FUNCTION dpkit.refuse();
CREATE TRIGGER unemptied BEFORE TRUNCATE ON dpkit.entries FOR EACH STATEMENT EXECUTE FUNCTION dpkit.refuse();
CREATE TRIGGER unchanged BEFORE UPDATE OR DELETE ON dpkit.ledgers FOR EACH ROW EXECUTE FUNCTION dpkit.refuse();
CREATE TRIGGER unemptied BEFORE TRUNCATE ON dpkit.ledgers FOR EACH STATEMENT EXECUTE FUNCTION dpkit.refuse();
CREATE TRIGGER unchanged BEFORE DELETE ON dpkit.heads FOR EACH ROW EXECUTE FUNCTION dpkit.refuse();
CREATE TRIGGER followed BEFORE UPDATE ON dpkit.heads FOR EACH ROW EXECUTE FUNCTION dpkit.refuse_by_hand();
CREATE TRIGGER unemptied BEFORE TRUNCATE ON dpkit.heads FOR EACH STATEMENT EXECUTE FUNCTION dpkit.refuse();

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dpkit FROM PUBLIC;
GRANT USAGE ON SCHEMA dpkit TO dpkit_reader, dpkit_analyst, dpkit_steward;
GRANT SELECT ON ALL TABLES IN SCHEMA dpkit TO dpkit_reader, dpkit_analyst, dpkit_steward;
GRANT INSERT ON dpkit.entries TO dpkit_analyst, dpkit_steward;
GRANT EXECUTE ON FUNCTION dpkit.hold(integer) TO dpkit_analyst, dpkit_steward;
GRANT EXECUTE ON FUNCTION dpkit.begin_ledger(text, text) TO dpkit_steward;
