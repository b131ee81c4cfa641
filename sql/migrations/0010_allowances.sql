-- What each CRM org has said of its rolling 24-hour credits, whichever of its connections asked. It leaves with the last of them.
create table crm_allowances (
  dc text not null,
  crm_org_id text not null,
  -- Set while the CRM is known to have none left, and the last call that was let through since.
  spent_at timestamptz,
  probe_at timestamptz,
  remaining bigint,
  remaining_at timestamptz,
  edition text,
  allowance bigint,
  allowance_at_least boolean not null default false,
  primary key (dc, crm_org_id),
  check ((remaining is null) = (remaining_at is null))
);

create function forget_allowance() returns trigger language plpgsql as $$
begin
  delete from crm_allowances a where a.dc = old.dc and a.crm_org_id = old.crm_org_id
    and not exists (select from connectors c where c.dc = old.dc and c.crm_org_id = old.crm_org_id);
  return null;
end $$;
create trigger connectors_forget_allowance after delete on connectors for each row execute function forget_allowance();
create index on connectors (dc, crm_org_id);

-- When this connection's credits were last asked for.
alter table connectors add column credits_asked_at timestamptz;

-- A note on an open run: a read made for it was refused because the allowance is spent. It refuses nothing.
alter table runs add column stopped_by text check (stopped_by = 'allowance');
