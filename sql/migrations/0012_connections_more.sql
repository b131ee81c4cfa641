-- What a connection of the kind `generic` is described by: its addresses, modules and fields. Other kinds have none.
alter table connectors add column document jsonb, add check ((kind = 'generic') = (document is not null));

-- When its discovery was last refreshed without anybody asking, whatever came of it.
alter table connectors add column refreshed_at timestamptz;

-- When the connection was last found to be as this discovery has it.
alter table discoveries add column seen_at timestamptz;
update discoveries set seen_at = created_at;
alter table discoveries alter column seen_at set not null, alter column seen_at set default lading_now();

-- Set where a destination names the moment its allowance is there again: until then nothing is sent, after it everything.
alter table crm_allowances add column renews_at timestamptz;

-- Whether a run may write through its connection. One that has none yet is held up by nothing, and a dry run writes nothing.
create function run_standing(no bigint) returns text language sql stable as $$
  select coalesce((
    select case when c.state <> 'connected' then c.state when c.writes_paused and not r.dry_run then 'paused' else 'open' end
    from runs r join connectors c on c.id = r.connector_id where r.run_no = no), 'open')
$$;
