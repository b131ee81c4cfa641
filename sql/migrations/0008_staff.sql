-- A staff member's view of an org is a session in it, of an hour, without being a member; null for every other session.
alter table sessions add column staff_view text check (staff_view in ('read', 'write'));

-- Addresses whose person becomes staff when they first sign in, kept as they are compared: see shared/people/address.ts.
create table staff_addresses (
  id text primary key,
  email text not null unique check (email <> ''),
  created_at timestamptz not null default lading_now()
);
create index people_address on people (lower(btrim(email) collate "C"));

-- What staff and the operator did. Outlives orgs and people, so it points at nothing and names who did it; of those it was done to
-- it keeps the id and no name.
create table staff_actions (
  id text primary key,
  kind text not null,
  -- All three null: the operator, by ADMIN_TOKEN.
  staff_id text,
  staff_name text,
  staff_email text,
  org_id text,
  person_id text,
  reason text,
  detail jsonb not null default '{}',
  created_at timestamptz not null default lading_now(),
  check ((staff_id is null) = (staff_name is null) and (staff_id is null) = (staff_email is null))
);
create index on staff_actions (org_id, id) where org_id is not null;

-- Erasing an org is begun once and never taken back: it is closed, and nobody opens it again.
alter table orgs
  add column erasing_at timestamptz,
  add constraint orgs_erasing_are_closed check (erasing_at is null or closed_at is not null);

-- What leaves with a person or an org is found by an index. The rows of a chain belong to its first run, by whose number the key begins.
create index on imports (created_by) where created_by is not null;
create index on connectors (created_by) where created_by is not null;
create index on runs (person_id) where person_id is not null;
create index on api_tokens (person_id) where person_id is not null;
create index on sign_ins (person_id) where person_id is not null;
create index on sign_ins (org_id) where org_id is not null;
create index on runs (snapshot_no) where snapshot_no is not null;
create index on runs (retry_of) where retry_of is not null;
alter table chain_rows
  drop constraint chain_rows_run_no_fkey,
  add constraint chain_rows_chain_no_fkey foreign key (chain_no) references runs on delete cascade;
alter table runs
  drop constraint runs_snapshot_no_fkey,
  add constraint runs_snapshot_no_fkey foreign key (snapshot_no) references run_snapshots on delete set null,
  drop constraint runs_retry_of_fkey,
  add constraint runs_retry_of_fkey foreign key (retry_of) references runs on delete set null;
