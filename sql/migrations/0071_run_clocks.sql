-- The lowest and highest difference between the CRM's clock and ours, in ms, that the run has seen. Null before the first answer.
alter table run_heads add column clock_low_ms bigint, add column clock_high_ms bigint;
