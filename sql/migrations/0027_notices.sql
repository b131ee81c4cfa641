-- What happened and is to be told, written in the transaction of what it tells. `body`: what every endpoint is sent, letter for letter
-- the same at every attempt; made once, when the notice is handed out.
create table notices (
  notice_no bigint generated always as identity primary key,
  id text not null unique,
  org_id text not null references orgs on delete cascade,
  kind text not null,
  schedule_id text,
  about jsonb not null,
  body text,
  created_at timestamptz not null default lading_now(),
  expanded_at timestamptz
);
create index notices_new on notices (notice_no) where expanded_at is null;
create index on notices (org_id);
create index on notices (created_at);

-- Where notices are posted. `events`: the kinds it is told of whatever they are about, or of one schedule where one is named; a schedule may
-- name it for more. An endpoint is told one thing at a time: `busy_until` is the claim of whoever is at it, `rest_until` what it asked for.
create table webhook_endpoints (
  id text primary key,
  org_id text not null references orgs on delete cascade,
  url text not null,
  description text not null default '',
  events text[] not null,
  schedule_id text,
  secret_sealed text not null,
  old_secret_sealed text,
  old_secret_until timestamptz,
  enabled boolean not null default true,
  disabled_reason text,
  failing_since timestamptz,
  busy_until timestamptz not null default '-infinity',
  served_at timestamptz not null default '-infinity',
  rest_until timestamptz not null default '-infinity',
  created_at timestamptz not null default lading_now()
);
create index on webhook_endpoints (org_id);

-- Who is told, and of what: of everything in the org, or of one schedule.
create table notice_rules (
  rule_no bigint generated always as identity primary key,
  org_id text not null references orgs on delete cascade,
  schedule_id text references schedules on delete cascade,
  kinds text[] not null,
  endpoints text[] not null default '{}',
  unique nulls not distinct (org_id, schedule_id)
);
create index on notice_rules (schedule_id);

-- Members, never addresses: the address is looked up when it is used, and who leaves the org is told no more.
create table notice_people (
  rule_no bigint not null references notice_rules on delete cascade,
  org_id text not null,
  person_id text not null,
  primary key (rule_no, person_id),
  foreign key (org_id, person_id) references members (org_id, person_id) on delete cascade
);
create index on notice_people (org_id, person_id);

-- A notice on its way to an endpoint, or to a member by e-mail. `answer`: the beginning of what an endpoint answered.
create table deliveries (
  id text primary key,
  org_id text not null references orgs on delete cascade,
  notice_no bigint not null references notices on delete cascade,
  endpoint_id text references webhook_endpoints on delete cascade,
  person_id text references people on delete cascade,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts int not null default 0,
  next_at timestamptz not null default lading_now(),
  last_status int,
  last_error text,
  answer text,
  delivered_at timestamptz,
  created_at timestamptz not null default lading_now(),
  check (num_nonnulls(endpoint_id, person_id) = 1),
  unique (notice_no, endpoint_id),
  unique (notice_no, person_id)
);
create index deliveries_to_endpoint on deliveries (endpoint_id, next_at) where state = 'pending' and endpoint_id is not null;
create index deliveries_by_mail on deliveries (next_at) where state = 'pending' and person_id is not null;
create index on deliveries (endpoint_id, id);
create index on deliveries (person_id) where person_id is not null;
create index on deliveries (org_id);
