-- What an org has with the payment provider. The provider is the truth for money: `subscriptions` repeats what it was last read to say, and is
-- written in one place (shared/billing/project.ts), under the org's hold.

create table billing_accounts (
  org_id text primary key references orgs on delete cascade,
  customer_id text unique,
  customer_email text,
  -- Who works on the org's billing at this moment, across calls to the provider; nobody else does until `held_until`.
  held_by text,
  held_until timestamptz,
  checkout_seq bigint not null default 0,
  -- The session of the one plan Checkout that is open.
  plan_checkout text,
  -- Whole packs, whenever fewer than `topup_threshold` credits are available, and at most `topup_monthly_cap` credits in a calendar month (UTC).
  topup_enabled boolean not null default false,
  topup_pack text references credit_packs,
  topup_threshold bigint check (topup_threshold >= 0),
  topup_monthly_cap bigint check (topup_monthly_cap >= 0),
  -- Why it was switched off without being asked.
  topup_stopped text,
  check ((held_by is null) = (held_until is null)),
  check (not topup_enabled or (topup_pack is not null and topup_threshold is not null and topup_monthly_cap is not null))
);

-- Of each org the subscription it was last seen with, ended or not. `status` is the provider's word. `pending`: what it becomes at the period's end.
create table subscriptions (
  org_id text primary key references orgs on delete cascade,
  subscription_id text not null unique,
  status text not null,
  plan_version_id text references plan_versions,
  interval text check (interval in ('month', 'year')),
  price_id text,
  period_starts_at timestamptz,
  period_ends_at timestamptz,
  trial_ends_at timestamptz,
  cancels_at timestamptz,
  pending jsonb,
  overage_item_id text,
  card text,
  read_at timestamptz not null default lading_now()
);
create index subscriptions_by_read on subscriptions (read_at) where status not in ('canceled', 'incomplete_expired');

-- One line a plan change that a person asked for, written before the provider is. `params`: all that its calls are made of, so that one can be
-- repeated to the byte.
create table plan_changes (
  id text primary key,
  org_id text not null references orgs on delete cascade,
  person_id text references people on delete set null,
  kind text not null check (kind in ('now', 'at_renewal', 'cancel', 'take_back')),
  target jsonb not null,
  params jsonb not null,
  state text not null default 'started'
    check (state in ('started', 'accepted', 'landed', 'declined', 'refused', 'unknown', 'partial', 'superseded')),
  error text,
  created_at timestamptz not null default lading_now(),
  settled_at timestamptz
);
create index on plan_changes (org_id, created_at);
create unique index plan_changes_unsettled on plan_changes (org_id) where state in ('started', 'unknown', 'partial');

create table checkouts (
  id text primary key,
  org_id text not null references orgs on delete cascade,
  person_id text references people on delete set null,
  kind text not null check (kind in ('plan', 'credit_pack')),
  seq bigint not null,
  session_id text unique,
  state text not null default 'started' check (state in ('started', 'open', 'paid', 'complete', 'expired', 'failed')),
  plan_version_id text references plan_versions,
  interval text check (interval in ('month', 'year')),
  after_trial boolean not null default false,
  pack_key text references credit_packs,
  quantity integer check (quantity > 0),
  -- As they were when it was opened, whatever the pack holds by the time it is paid.
  credits bigint check (credits > 0),
  params jsonb not null,
  expires_at timestamptz,
  created_at timestamptz not null default lading_now(),
  settled_at timestamptz,
  check ((kind = 'plan') = (plan_version_id is not null and interval is not null)),
  check ((kind = 'credit_pack') = (pack_key is not null and quantity is not null and credits is not null))
);
create index on checkouts (org_id, created_at);
create index checkouts_open on checkouts (created_at) where state in ('started', 'open');

-- A card is charged once for each. `month`: the calendar month (UTC) whose cap it counts in.
create table topup_attempts (
  id text primary key,
  org_id text not null references orgs on delete cascade,
  month text not null,
  pack_key text not null references credit_packs,
  quantity integer not null check (quantity > 0),
  credits bigint not null check (credits > 0),
  params jsonb not null default '{}',
  state text not null default 'pending' check (state in ('pending', 'unknown', 'succeeded', 'declined', 'failed')),
  intent_id text unique,
  created_at timestamptz not null default lading_now(),
  settled_at timestamptz
);
create index on topup_attempts (org_id, month);
create unique index topup_attempts_open on topup_attempts (org_id) where state in ('pending', 'unknown');

-- Rows beyond the plan's, written with the run's end and told to the provider's meter, each under one identifier.
create table overage_reports (
  identifier text primary key,
  org_id text not null references orgs on delete cascade,
  run_id text not null,
  rows bigint not null check (rows > 0),
  at timestamptz not null default lading_now(),
  sent_at timestamptz,
  attempts integer not null default 0
);
create index overage_reports_unsent on overage_reports (at) where sent_at is null;
create index on overage_reports (org_id, at);

-- Every event the provider has told us of, once under its id. What it says is a hint: what is applied is read from the provider.
create table payment_events (
  id text primary key,
  type text not null,
  status text not null default 'received' check (status in ('received', 'processing', 'processed', 'ignored', 'deferred', 'failed')),
  org_id text references orgs on delete set null,
  error text,
  payload jsonb not null,
  attempts integer not null default 0,
  created_at timestamptz not null default lading_now(),
  processed_at timestamptz
);
create index on payment_events (created_at desc, id desc);
create index payment_events_open on payment_events (created_at) where status in ('received', 'processing', 'deferred', 'failed');
create index payment_events_deferred on payment_events (org_id) where status = 'deferred';
