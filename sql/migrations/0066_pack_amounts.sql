-- What the payment provider charges for a pack, as in plan_versions.
alter table credit_packs add column payment_amounts jsonb;
