-- What the payment provider charges for the ids of a plan version, as it was when they were last verified: what is shown before its page. Null while
-- nothing was verified. `currency` and, in its smallest unit, decimals by what they are for.
alter table plan_versions add column payment_amounts jsonb;
