-- Addresses are kept as they are compared: see shared/people/address.ts.
create table invitations (
  id text primary key,
  org_id text not null references orgs on delete cascade,
  email text not null check (email <> ''),
  role text not null check (role in ('operator', 'builder', 'admin', 'owner')),
  invited_by text references people on delete set null,
  expires_at timestamptz not null,
  withdrawn_at timestamptz,
  used_at timestamptz,
  created_at timestamptz not null default lading_now(),
  check (withdrawn_at is null or used_at is null)
);
-- One to an address of an org, until it is used or withdrawn.
create unique index invitations_open on invitations (org_id, email) where withdrawn_at is null and used_at is null;
create index on invitations (email) where withdrawn_at is null and used_at is null;
create index on invitations (org_id, id);
create index on invitations (invited_by) where invited_by is not null;

-- Who accepted an invitation is a member whatever the CRM says of them: they sign in to the org without an account there.
alter table members add column invited boolean not null default false;
