-- What the audit export tells beside the settings history, the staff actions and the runs: sign-ins and their ends, cancelled runs, exports.
-- Kept for AUDIT_DAYS and erased with the org. Sessions themselves are deleted a day after they expire.
create table audit_events (
  id text collate "C" primary key default 'aud_' || replace(gen_random_uuid()::text, '-', ''),
  org_id text not null references orgs on delete cascade,
  kind text not null,
  via text not null,
  person_id text references people on delete set null,
  session_id text,
  token_id text,
  target text,
  detail jsonb not null default '{}',
  address text,
  user_agent text,
  created_at timestamptz not null default lading_now()
);
create index on audit_events (org_id, created_at, id);
create index on audit_events (created_at);
create index on audit_events (person_id) where person_id is not null;
