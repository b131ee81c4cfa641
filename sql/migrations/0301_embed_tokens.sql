-- Short-lived tokens of embedding pages. Each works only for imports of its template. Only a hash of the secret is stored.
-- A token that an API token created ends with that token.
create table embed_tokens (
  id text primary key,
  hash bytea not null unique,
  org_id text not null references orgs on delete cascade,
  person_id text not null references people on delete cascade,
  api_token_id text references api_tokens on delete cascade,
  template_id text not null references templates on delete cascade,
  origin text not null,
  rows_limit bigint not null check (rows_limit > 0),
  created_at timestamptz not null default lading_now(),
  expires_at timestamptz not null
);
create index on embed_tokens (org_id, expires_at);
create index on embed_tokens (person_id);
create index on embed_tokens (api_token_id);
create index on embed_tokens (template_id);

-- The embed token that created an import, and the flows of its template at that time.
alter table imports add column embed_token text, add column template_flows jsonb;
