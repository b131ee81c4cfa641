-- When an event was last worked on: what failed is tried again later each time.
alter table payment_events add column tried_at timestamptz;
create index on payment_events (org_id, created_at);
drop index payment_events_deferred;
create index payment_events_over on payment_events (processed_at) where status in ('processed', 'ignored');

-- When the org's billing was last compared with what the provider has, beside what its events brought about.
alter table billing_accounts add column reconciled_at timestamptz;
create index plan_changes_accepted on plan_changes (created_at) where state = 'accepted';
create index subscriptions_trialing on subscriptions (trial_ends_at) where status = 'trialing';
