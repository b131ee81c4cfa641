-- The provider knows a report's identifier for a day from the first time it was told: until then it may be told again.
alter table overage_reports add column first_tried_at timestamptz;
