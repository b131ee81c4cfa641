-- A restore of the data alone inserts each run with the number that it had, which other tables name. So a number that the sequence has not given is
-- kept. The table `org_numbers` may be restored after the runs.
create or replace function number_run() returns trigger language plpgsql as $$
  declare
    number bigint;
    first_of_chain boolean := new.chain_no = new.run_no;
  begin
    if new.run_no > coalesce(pg_sequence_last_value(pg_get_serial_sequence(format('%I.%I', tg_table_schema, tg_table_name), 'run_no')::regclass), 0) then return new; end if;
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
