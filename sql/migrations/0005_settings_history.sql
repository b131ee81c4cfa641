-- Who changed what in an org's settings, from what to what. Erased with the org.
create table changes (
  id text primary key,
  org_id text not null references orgs on delete cascade,
  page text not null,
  subject text not null,
  target text,
  -- Where the change is about a person: the target is their name of today, and nothing of it stays once they are erased.
  target_person_id text references people on delete set null,
  -- Null: not knowable, or nothing. Never a guess.
  before jsonb,
  after jsonb,
  proposed_by text check (proposed_by = 'ai'),
  registry_version bigint,
  via text not null check (via in ('session', 'token', 'oauth', 'payment', 'schedule', 'staff')),
  user_id text references people on delete set null,
  token_id text references api_tokens,
  connector_id text references connectors on delete set null,
  -- To the millisecond, as it is told, so that a place in the list can be named by it.
  created_at timestamptz(3) not null,
  check (token_id is null or via = 'token'),
  check (user_id is null or via in ('session', 'oauth'))
);
create index on changes (org_id, created_at desc, id desc);
create index on changes (user_id) where user_id is not null;
create index on changes (target_person_id) where target_person_id is not null;
create index on changes (connector_id) where connector_id is not null;
