-- What MCP clients are let in by: OAuth 2.1 for public clients, one resource and one scope.

-- A client is what it says of itself: by registering, or in the document its id leads to. The house's: no org has one.
create table oauth_clients (
  id text primary key,
  kind text not null check (kind in ('registered', 'document')),
  name text not null,
  redirect_uris text[] not null,
  -- Of a document: when it was read last.
  read_at timestamptz not null default lading_now(),
  used_at timestamptz,
  created_at timestamptz not null default lading_now()
);
create index on oauth_clients (created_at) where used_at is null;

-- One row per visit that asks for access: ten minutes to sign in and decide, then one code for a minute. Of the code the hash alone is kept.
create table oauth_requests (
  id text primary key,
  client_id text not null references oauth_clients on delete cascade,
  redirect_uri text not null,
  client_state text,
  challenge text not null,
  browser_hash bytea not null,
  person_id text references people on delete cascade,
  org_id text references orgs on delete cascade,
  expires_at timestamptz not null,
  decided_at timestamptz,
  code_hash bytea unique,
  code_expires_at timestamptz,
  code_used_at timestamptz,
  grant_id text
);
create index on oauth_requests (client_id);
create index on oauth_requests (browser_hash);
create index on oauth_requests (expires_at);
create index on oauth_requests (person_id) where person_id is not null;
create index on oauth_requests (org_id) where org_id is not null;

-- What a member let a client do in one org. Goes with the membership, whatever ended it, and does not come back with a new one.
create table oauth_grants (
  id text primary key,
  org_id text not null,
  person_id text not null,
  client_id text not null references oauth_clients,
  last_used_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default lading_now(),
  foreign key (org_id, person_id) references members (org_id, person_id) on delete cascade
);
create index on oauth_grants (org_id, person_id);
create index on oauth_grants (client_id);

-- Hashes of access and refresh tokens. A refresh token that was used stays until it would have expired: seen again, it ends the grant.
create table oauth_tokens (
  hash bytea primary key,
  grant_id text not null references oauth_grants on delete cascade,
  kind text not null check (kind in ('access', 'refresh')),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index on oauth_tokens (grant_id);
create index on oauth_tokens (expires_at);

-- A visit to the identity provider may be on behalf of such a request.
alter table sign_ins add column oauth_request_id text references oauth_requests on delete cascade;
create index on sign_ins (oauth_request_id) where oauth_request_id is not null;
alter table sign_ins
  drop constraint sign_ins_purpose_check,
  drop constraint sign_ins_check,
  add constraint sign_ins_purpose_check check (purpose in ('session', 'connect', 'grant')),
  add constraint sign_ins_whose_check check (purpose <> 'connect' or (org_id is not null and person_id is not null)),
  add constraint sign_ins_grant_check check ((purpose = 'grant') = (oauth_request_id is not null));
