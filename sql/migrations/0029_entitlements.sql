-- What an org may do, what it has used of it, and its AI credits.

-- A plan as sold at a time: what changes is another version, and whoever has an older one keeps it. Limits: rowsPerPeriod, rowsPerRun,
-- modules (enabled ones), schedules (those that are on), fileBytes, historyDays, aiCredits (a period's).
alter table plan_versions
  add column name text not null default '',
  -- How plans compare: moving to a higher rank is an upgrade.
  add column rank smallint not null default 0,
  -- Whether an org that asks for more is pointed to it.
  add column sold boolean not null default false,
  add column payment_product_id text,
  add column payment_price_monthly_id text,
  add column payment_price_annual_id text,
  add column payment_price_overage_id text;
update plan_versions set name = 'Free', rank = 10 where key = 'free';
update plan_versions set limits = '{"rowsPerPeriod": 1000000, "modules": 100, "aiCredits": 0}' || limits;
insert into plan_versions (id, key, version, name, rank, sold, features, limits) values
  ('free.2', 'free', 2, 'Free', 10, false, '{}',
    '{"rowsPerPeriod": 5000, "rowsPerRun": 5000, "modules": 5, "schedules": 1, "fileBytes": 26214400, "historyDays": 30, "aiCredits": 25}'),
  ('trial.1', 'trial', 1, 'Trial', 15, false, '{helper_libraries}',
    '{"rowsPerPeriod": 50000, "rowsPerRun": 50000, "modules": 25, "schedules": 10, "fileBytes": 268435456, "historyDays": 90, "aiCredits": 200}'),
  ('team.1', 'team', 1, 'Team', 20, true, '{helper_libraries}',
    '{"rowsPerPeriod": 100000, "rowsPerRun": 100000, "modules": 25, "schedules": 10, "fileBytes": 268435456, "historyDays": 90, "aiCredits": 500}'),
  ('business.1', 'business', 1, 'Business', 30, true, '{helper_libraries}',
    '{"rowsPerPeriod": 1000000, "rowsPerRun": 1000000, "modules": 100, "schedules": 50, "fileBytes": 1073741824, "historyDays": 365, "aiCredits": 2500}'),
  ('enterprise.1', 'enterprise', 1, 'Enterprise', 40, true, '{helper_libraries}',
    '{"rowsPerPeriod": 50000000, "rowsPerRun": 10000000, "modules": 1000, "schedules": 500, "fileBytes": 4294967296, "historyDays": 730, "aiCredits": 10000}');

create table credit_packs (
  key text primary key,
  name text not null,
  credits bigint not null check (credits > 0),
  payment_product_id text,
  payment_price_id text
);
insert into credit_packs (key, name, credits) values
  ('credits_500', '500 AI credits', 500),
  ('credits_2500', '2,500 AI credits', 2500),
  ('credits_10000', '10,000 AI credits', 10000);

-- `plan_anchor`: periods are months counted from it. `trial_from`: the plan that a trial, which an org has once, gives way to.
alter table orgs
  alter column plan_version_id set default 'free.2',
  add column plan_status text not null default 'active' check (plan_status in ('trialing', 'active', 'past_due', 'suspended')),
  add column plan_anchor timestamptz not null default lading_now(),
  add column trial_started_at timestamptz,
  add column trial_ends_at timestamptz,
  add column trial_from text references plan_versions,
  add column past_due_since timestamptz,
  -- By staff, whatever has been paid.
  add column suspended_at timestamptz,
  -- Rows beyond the plan's are let through, and paid for one by one.
  add column overage_enabled boolean not null default false,
  add constraint orgs_trial_is_whole check ((trial_started_at is null) = (trial_ends_at is null) and (trial_started_at is null) = (trial_from is null)),
  add constraint orgs_trialing_ends check (plan_status <> 'trialing' or trial_ends_at is not null),
  add constraint orgs_past_due_since check ((plan_status = 'past_due') = (past_due_since is not null));
update orgs set plan_anchor = created_at;
create index orgs_trialing on orgs (trial_ends_at) where plan_status = 'trialing';

-- How an org stands at this moment. A trial is over when its time is, whether or not a clock has written that down; a sandbox stands as
-- the production org it is tied to.
create view org_plans as
  select o.id as org_id, payer.id as payer_id,
    case when is_over then payer.trial_from else payer.plan_version_id end as plan_version_id,
    case when coalesce(o.suspended_at, payer.suspended_at) is not null then 'suspended' when is_over then 'active' else payer.plan_status end as status,
    case when is_over then payer.trial_ends_at else payer.plan_anchor end as anchor,
    payer.trial_started_at, payer.trial_ends_at, payer.past_due_since, payer.overage_enabled
  from orgs o
  join orgs payer on payer.id = coalesce(o.sandbox_of, o.id)
  cross join lateral (select payer.plan_status = 'trialing' and payer.trial_ends_at <= lading_now() as is_over) as trial;

-- A period's rows: what its runs may still write, and what those that have ended wrote. Sums of `row_usage`, kept under this row's lock.
create table usage_periods (
  org_id text not null references orgs on delete cascade,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  rows_limit bigint not null,
  reserved bigint not null default 0 check (reserved >= 0),
  used bigint not null default 0 check (used >= 0),
  overage bigint not null default 0 check (overage >= 0),
  primary key (org_id, starts_at)
);

-- One line a run, from its authorisation on; outlives the run. `used` is null until it has ended; `overage`: what of it was beyond the plan.
create table row_usage (
  run_id text primary key,
  org_id text not null,
  starts_at timestamptz not null,
  reserved bigint not null check (reserved >= 0),
  overage_allowed boolean not null,
  used bigint check (used >= 0),
  overage bigint not null default 0 check (overage >= 0),
  authorised_at timestamptz not null default lading_now(),
  settled_at timestamptz,
  foreign key (org_id, starts_at) references usage_periods on delete cascade
);
create index on row_usage (org_id, starts_at);
create index row_usage_open on row_usage (authorised_at) where used is null;

-- What an org has of AI credits. Sums of `credit_entries`, and of the grants; whoever moves credits of an org holds its row.
create table credit_accounts (
  org_id text primary key references orgs on delete cascade,
  included bigint not null default 0 check (included >= 0),
  purchased bigint not null default 0 check (purchased >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  check (reserved <= included + purchased)
);

-- Where credits come from. `ref` is who gave them: the same one gives once. `remaining` has not been spent, `held` of it is reserved.
-- `basis`: given by the plan, at a level of so many a period; null for what people gave or paid for.
create table credit_grants (
  org_id text not null references credit_accounts on delete cascade,
  ref text not null,
  pool text not null check (pool in ('included', 'purchased')),
  credits bigint not null check (credits > 0),
  remaining bigint not null check (remaining <= credits),
  held bigint not null default 0 check (held between 0 and remaining),
  basis bigint,
  expires_at timestamptz,
  created_at timestamptz not null default lading_now(),
  primary key (org_id, ref)
);
create index credit_grants_left on credit_grants (org_id) where remaining > 0;

-- Credits set aside for something under way. Nobody who died with it keeps them: `expires_at`.
create table credit_reservations (
  org_id text not null references credit_accounts on delete cascade,
  ref text not null,
  feature text not null,
  amount bigint not null check (amount > 0),
  state text not null default 'reserved' check (state in ('reserved', 'settled', 'released', 'expired')),
  spent bigint not null default 0 check (spent between 0 and amount),
  expires_at timestamptz not null,
  created_at timestamptz not null default lading_now(),
  primary key (org_id, ref)
);
create index credit_reservations_open on credit_reservations (expires_at) where state = 'reserved';

-- Of which grants.
create table credit_holds (
  org_id text not null,
  ref text not null,
  grant_ref text not null,
  amount bigint not null check (amount > 0),
  primary key (org_id, ref, grant_ref),
  foreign key (org_id, ref) references credit_reservations on delete cascade,
  foreign key (org_id, grant_ref) references credit_grants on delete cascade
);

-- Every move, and by how much it moved each of the three.
create table credit_entries (
  entry_no bigint generated always as identity primary key,
  org_id text not null references credit_accounts on delete cascade,
  kind text not null check (kind in ('grant', 'expire', 'reserve', 'settle', 'release')),
  included bigint not null default 0,
  purchased bigint not null default 0,
  reserved bigint not null default 0,
  feature text,
  ref text,
  created_at timestamptz not null default lading_now()
);
create index on credit_entries (org_id, created_at);
