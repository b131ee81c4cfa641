-- When a template is run by itself, and where the file comes from. `enabled`: whether the clock looks at it; `stopped`: why the service
-- turned it off, `{code, message}`. `source`: what may be shown; `credentials`: the rest, sealed. `last_…`: of the last firing whose run
-- came to its end, so that the same file is not run twice. `failures`: firings that failed since one did not.
create table schedules (
  id text primary key,
  org_id text not null references orgs on delete cascade,
  template_id text not null references templates on delete cascade,
  connector_id text references connectors on delete set null,
  name text not null,
  cron text not null,
  timezone text not null,
  source jsonb not null,
  credentials text,
  declared_rows bigint,
  on_drift text not null check (on_drift in ('stop', 'warn')),
  enabled boolean not null,
  stopped jsonb,
  next_due_at timestamptz,
  last_sha256 bytea,
  last_template_version bigint,
  failures smallint not null default 0,
  version bigint not null default 1,
  created_by text references people on delete set null,
  created_at timestamptz not null default lading_now(),
  check (enabled = (next_due_at is not null)),
  check (stopped is null or not enabled)
);
create index schedules_due on schedules (next_due_at) where next_due_at is not null;
create index on schedules (template_id);
create index on schedules (org_id);
create index on schedules (connector_id);

-- One due time of a schedule, or one time somebody asked. `missed`: due times before it that an outage swallowed. `working`: a worker is at it, under
-- a lease and a fence as runs are; `running`: its run has been started. `again`: run although the file is the last one's. `reason`: why it
-- came to its outcome, `{code, message, …}`; `drift`: what no longer is as the template has it.
create table firings (
  id text primary key,
  schedule_id text not null references schedules on delete cascade,
  org_id text not null references orgs on delete cascade,
  due_at timestamptz not null,
  by text not null check (by in ('clock', 'person')),
  person_id text references people on delete set null,
  again boolean not null default false,
  missed int not null default 0,
  state text not null default 'due' check (state in ('due', 'working', 'running', 'ended')),
  outcome text check (outcome in ('done', 'stopped', 'unchanged', 'drifted', 'failed', 'skipped')),
  reason jsonb,
  drift jsonb,
  tries smallint not null default 0,
  fence bigint not null default 0,
  lease_until timestamptz not null default lading_now(),
  sha256 bytea,
  template_version bigint,
  import_no bigint references imports on delete set null,
  run_no bigint references runs on delete set null,
  counts jsonb,
  created_at timestamptz not null default lading_now(),
  started_at timestamptz,
  ended_at timestamptz,
  unique (schedule_id, due_at),
  check ((state = 'ended') = (outcome is not null))
);
create index firings_left on firings (lease_until) where state in ('due', 'working');
-- A schedule has one firing under way.
create unique index firings_under_way on firings (schedule_id) where state <> 'ended';
create index firings_running on firings (run_no) where state = 'running';
create index on firings (org_id);
create index on firings (import_no);
create index on firings (run_no);

update plan_versions set limits = limits || '{"schedules": 5}' where not limits ? 'schedules';
