-- The number of an org. Each run number begins with it: org_no * 2^32 + n. The keys of the engine's tables begin with a run number, or with that of
-- a chain's first run. So the rows of an org are one range of each key. A run number stays below 2^53, which JavaScript counts exactly.
-- Runs that are older than this table have numbers below 2^32.
create table org_numbers (
  org_id text primary key references orgs on delete cascade,
  org_no int not null generated always as identity unique check (org_no < 2097152)
);

create function number_run() returns trigger language plpgsql as $$
  declare
    number bigint;
    first_of_chain boolean := new.chain_no = new.run_no;
  begin
    -- A restore of the data alone inserts numbers that the sequence has not given, perhaps before `org_numbers` is restored. They are kept.
    if new.run_no > coalesce(pg_sequence_last_value(
      pg_get_serial_sequence(format('%I.%I', tg_table_schema, tg_table_name), 'run_no')::regclass), 0) then return new; end if;
    if new.run_no >= 4294967296 then raise exception 'no run numbers are left'; end if;
    select org_no into number from org_numbers where org_id = new.org_id;
    if number is null then
      insert into org_numbers (org_id) values (new.org_id) on conflict do nothing;
      select org_no into strict number from org_numbers where org_id = new.org_id;
    end if;
    new.run_no := number * 4294967296 + new.run_no;
    if first_of_chain then new.chain_no := new.run_no; end if;
    return new;
  end $$;
create trigger runs_number_themselves before insert on runs for each row execute function number_run();
