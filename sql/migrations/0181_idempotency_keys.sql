-- The random key from which an org's idempotency values are derived, sealed. It is made once and never changes, so that a retry derives the same values.
create table idempotency_keys (
  org_id text primary key references orgs on delete cascade,
  sealed text not null
);
