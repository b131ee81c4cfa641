-- What the subscription's items cost, as last read from the payment provider. Null until this release reads the subscription. `priceId` is the plan
-- item's price: an earlier release changes `price_id` alone, and the amounts are then out of date.
alter table subscriptions add column paid_amounts jsonb;
