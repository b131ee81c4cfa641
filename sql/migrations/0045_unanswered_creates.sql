-- `creates`: creates of the row in its chain that were never answered and that no found record accounts for.
-- `match_key`: the key of the record that such a create would have made.
alter table unsettled add column creates smallint not null default 1, add column match_key bytea;

-- A record that a row took over after an unanswered create. No two chains at one CRM org take over the same record.
create table record_claims (
  dc text not null,
  crm_org_id text not null,
  record_id text not null,
  chain_no bigint not null,
  module_no smallint not null,
  row_key text not null,
  run_no bigint not null references runs on delete cascade,
  primary key (dc, crm_org_id, record_id)
);
create index on record_claims (run_no);
