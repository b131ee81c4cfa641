-- Calls in flight at one CRM org, of all processes together. A budget leaves with the last connection to its org.
create table crm_budgets (
  dc text not null,
  crm_org_id text not null,
  total smallint not null check (total between 1 and cap),
  cap smallint not null,
  cut_at timestamptz,
  grown_at timestamptz,
  primary key (dc, crm_org_id)
) with (fillfactor = 50);

-- What a process may use of a budget, for one run: the bound on its calls in flight until it says otherwise. Changed under the
-- budget row's lock. Points at no run, so that one erased meanwhile holds up no renewal.
create table crm_shares (
  dc text not null,
  crm_org_id text not null,
  holder text not null,
  share_no bigint not null,
  run_no bigint,
  want smallint not null,
  want_large smallint not null,
  got smallint not null,
  got_large smallint not null,
  in_use smallint not null,
  until timestamptz not null,
  primary key (dc, crm_org_id, holder, share_no),
  foreign key (dc, crm_org_id) references crm_budgets on delete cascade
);

create function forget_budget() returns trigger language plpgsql as $$
begin
  delete from crm_budgets b where b.dc = old.dc and b.crm_org_id = old.crm_org_id
    and not exists (select from connectors c where c.dc = old.dc and c.crm_org_id = old.crm_org_id);
  return null;
end $$;
create trigger connectors_forget_budget after delete on connectors for each row execute function forget_budget();
